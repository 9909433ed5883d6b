/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of NVTX: an end finds its own beginning or is counted; texts are whatever bytes they are. */
#include "lib/record/nvtx.h"
#include "lib/base/utf8.h"
#include "tests/tap.h"

static struct {
	char text[256][1600];
	uint64_t id[256];
	size_t words;
	struct event last;
	size_t events;
} got;

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	got.last = *ev;
	got.events++;
}

static void on_record(void *ctx, const struct record *r)
{
	size_t i = got.words++ % 256;
	struct bytes t = r->u.WORD.text;

	(void)ctx;
	got.id[i] = r->u.WORD.id;
	snprintf(got.text[i], sizeof(got.text[i]), "%.*s", (int)t.n, t.p);
}

static const char *name(void)
{
	for (size_t i = 0; i < got.words && i < 256; i++)
		if (got.id[i] == got.last.x[0])
			return got.text[i];
	return "?";
}

static const struct record_marks_owner to = { on_event, on_record, NULL };
static const struct decode_thread one = { 1, 1, 10, 11, 12 }, two = { 2, 1, 10, 21, 22 },
				  other = { 3, 3, 30, 31, 32 }, moved = { 1, 1, 10, 11, 13 };

struct said {
	const struct decode_thread *who;
	uint8_t what;
	uint32_t level;
	uint64_t id; /* or domain */
	const char *name;
	uint64_t dur; /* of the range that ends here */
};

static void run(const char *what, const struct said *s, size_t n, size_t open, uint64_t unmatched,
		uint64_t vague)
{
	struct record_nvtx v = { 0 };
	struct record_marks m = { .fd = -1 };
	struct world *world = world_new();

	for (size_t i = 0; i < n; i++) {
		struct wire_nvtx w = { .kind = WIRE_NVTX, .what = s[i].what };
		size_t before = got.events;
		bool ends = s[i].what == NVTX_POP || s[i].what == NVTX_END;

		w.level = s[i].level;
		w.time_ns = 1000 + i;
		w.domain = s[i].level ? s[i].id : 0;
		w.id = s[i].level ? 0 : s[i].id;
		if (!ends) {
			w.text = NVTX_NARROW;
			snprintf(w.name, sizeof(w.name), "%s", s[i].name);
		}
		ok(record_nvtx_take(&v, &m, world, s[i].who, &w, NVTX_HEAD + NVTX_SHORT, &to),
		   "%s: %zu is taken", what, i);
		is_u64(got.events - before, ends && s[i].dur, "%s: %zu is a range%s", what, i,
		       s[i].dur ? "" : " not");
		if (!ends || !s[i].dur)
			continue;
		is_u64(got.last.dur_ns, s[i].dur, "%s: as long as it was", what);
		is_str(name(), s[i].name, "%s: by its name", what);
	}
	is_u64(v.open.n, open, "%s: open", what);
	is_u64(v.unmatched, unmatched, "%s: without a beginning", what);
	is_u64(v.vague, vague, "%s: of several which", what);
	record_nvtx_free(&v);
	record_marks_close(&m);
	world_free(world);
}

#define RUN(what, open, unmatched, vague, ...)                                  \
	do {                                                                    \
		const struct said s[] = { __VA_ARGS__ };                        \
		run(what, s, sizeof(s) / sizeof(s[0]), open, unmatched, vague); \
	} while (0)

static void matched(void)
{
	RUN("nested", 0, 0, 0, { &one, NVTX_PUSH, 1, 0, "a", 0 }, { &one, NVTX_PUSH, 2, 0, "b", 0 },
	    { &two, NVTX_PUSH, 1, 0, "c", 0 }, { &one, NVTX_POP, 2, 0, "b", 2 },
	    { &one, NVTX_POP, 1, 0, "a", 4 }, { &two, NVTX_POP, 1, 0, "c", 3 });
	RUN("domains", 0, 0, 0, { &one, NVTX_PUSH, 1, 5, "a", 0 },
	    { &one, NVTX_PUSH, 1, 6, "b", 0 }, { &one, NVTX_POP, 1, 5, "a", 2 },
	    { &one, NVTX_POP, 1, 6, "b", 2 });
	/* A GPU has become the current one in between. */
	RUN("moved", 0, 0, 0, { &one, NVTX_PUSH, 1, 0, "a", 0 },
	    { &moved, NVTX_POP, 1, 0, "a", 1 });
	/* The push of level 2 was lost: its pop is not taken for that of level 1. */
	RUN("lost push", 0, 1, 0, { &one, NVTX_PUSH, 1, 0, "a", 0 },
	    { &one, NVTX_POP, 2, 0, "", 0 }, { &one, NVTX_POP, 1, 0, "a", 2 });
	RUN("lost pop", 0, 0, 0, { &one, NVTX_PUSH, 1, 0, "a", 0 },
	    { &one, NVTX_PUSH, 1, 0, "b", 0 }, { &one, NVTX_POP, 1, 0, "b", 1 });
	RUN("started", 1, 1, 0, { &one, NVTX_START, 0, 7, "a", 0 },
	    { &one, NVTX_START, 0, 8, "b", 0 }, { &other, NVTX_START, 0, 7, "c", 0 },
	    { &two, NVTX_END, 0, 7, "a", 3 }, { &one, NVTX_END, 0, 8, "b", 3 },
	    { &one, NVTX_END, 0, 8, "", 0 });
	RUN("no ids", 0, 0, 3, { &one, NVTX_START, 0, 0, "a", 0 }, { &one, NVTX_END, 0, 0, "a", 1 },
	    { &one, NVTX_START, 0, 0, "b", 0 }, { &two, NVTX_START, 0, 0, "c", 0 },
	    { &one, NVTX_END, 0, 0, "", 0 }, { &one, NVTX_START, 0, 0, "d", 0 },
	    { &one, NVTX_END, 0, 0, "", 0 }, { &one, NVTX_END, 0, 0, "", 0 },
	    { &one, NVTX_START, 0, 0, "e", 0 }, { &one, NVTX_END, 0, 0, "e", 1 });
}

/* What threads that have ended left open makes room before anybody else's. */
static void left_open(void)
{
	struct wire_nvtx w = { .kind = WIRE_NVTX, .what = NVTX_PUSH, .level = 1, .time_ns = 1 };
	struct record_marks m = { .fd = -1 };
	struct world *world = world_new();
	struct record_nvtx v = { 0 };

	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	for (; w.level < NVTX_OPEN; w.level++)
		record_nvtx_take(&v, &m, world, &two, &w, sizeof(w), &to);
	is_u64(v.open.n, NVTX_OPEN, "as many as there is room for");
	record_nvtx_ended(&v, two.thread, 0);
	w.level = 2;
	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	w.what = NVTX_POP;
	w.level = 1;
	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	ok(v.ranges == 1 && v.over == 0 && v.endless == 1, "one that will not end makes room");
	record_nvtx_free(&v);
	record_marks_close(&m);
	world_free(world);
}

static void texts(void)
{
	static const struct {
		const char *bytes;
		uint8_t n, text, cut;
		const char *want;
	} cases[] = {
		{ "plain", 5, NVTX_NARROW, 0, "plain" },
		{ "a\tb\x7f", 4, NVTX_NARROW, 0, "a?b?" },
		{ "\xff\xc3", 2, NVTX_NARROW, 0, "??" },
		{ "\xc3\xa9", 2, NVTX_NARROW, 0, "\xc3\xa9" },
		{ "ab\xe2\x82", 4, NVTX_NARROW, 1, "ab..." },
		{ "", 0, NVTX_NARROW, 0, "(no name)" },
		{ "x", 1, NVTX_NO_TEXT, 0, "(no name)" },
		{ "x", 1, NVTX_HANDLE, 0, "(registered)" },
		{ "A\0\0\0\xe9\0\0\0\0\xf6\1\0", 12, NVTX_WIDE, 0, "A\xc3\xa9\xf0\x9f\x98\x80" },
		{ "\0\xd8\0\0\1\0\0\0", 8, NVTX_WIDE, 0, "\xef\xbf\xbd?" },
	};
	struct record_nvtx v = { 0 };
	struct record_marks m = { .fd = -1 };
	struct world *world = world_new();
	struct wire_nvtx w = { .kind = WIRE_NVTX, .what = NVTX_MARK };
	uint64_t seed = 1;
	bool good = true;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(w.name, 0, sizeof(w.name));
		memcpy(w.name, cases[i].bytes, cases[i].n);
		w.text = cases[i].text;
		w.cut = cases[i].cut;
		record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
		is_str(name(), cases[i].want, "text %zu", i);
	}
	/* A registered text is known by its handle, in its own process. */
	w = (struct wire_nvtx){
		.what = NVTX_REGISTER, .text = NVTX_NARROW, .id = 99, .name = "kept"
	};
	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	w = (struct wire_nvtx){ .what = NVTX_MARK, .text = NVTX_HANDLE, .handle = 99 };
	record_nvtx_take(&v, &m, world, &two, &w, sizeof(w), &to);
	is_str(name(), "kept", "of another thread");
	record_nvtx_take(&v, &m, world, &other, &w, sizeof(w), &to);
	is_str(name(), "(registered)", "not of another process");
	/* Whatever bytes they are: the text is UTF-8 that a line can hold. */
	for (unsigned round = 0; round < 2000 && good; round++) {
		uint8_t *p = (uint8_t *)&w;
		size_t n = round % 2 ? sizeof(w) : NVTX_HEAD + NVTX_SHORT, words = got.words;

		for (size_t i = 0; i < sizeof(w); i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			p[i] = (uint8_t)(seed >> 56);
		}
		w.what = NVTX_MARK;
		w.text &= 3;
		record_nvtx_take(&v, &m, world, &one, &w, n, &to);
		for (const char *t = words < got.words ? got.text[words % 256] : ""; *t && good;) {
			size_t length = utf8_length((const unsigned char *)t, strlen(t));

			good = length > 0 && (unsigned char)*t >= ' ' && *t != 127;
			t += length;
		}
	}
	ok(good, "texts of any bytes can be shown");
	w.what = 77;
	ok(!record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to),
	   "what is not known is not understood");
	record_nvtx_free(&v);
	record_marks_close(&m);
	world_free(world);
}

static void many(void)
{
	struct record_nvtx v = { 0 };
	struct record_marks m = { .fd = -1 };
	struct world *world = world_new();
	struct wire_nvtx w = { .what = NVTX_START, .text = NVTX_NARROW, .name = "r" };

	for (w.id = 1; w.id <= NVTX_OPEN + 10; w.id++)
		record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	is_u64(v.open.n, NVTX_OPEN, "no more are kept open");
	is_u64(v.over, 10, "the others are counted");
	w.what = NVTX_END;
	w.id = 5;
	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	w.id = 11;
	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	is_u64(v.unmatched, 1, "the oldest were given up");
	is_u64(v.ranges, 1, "not the next one");
	record_nvtx_free(&v);
	record_marks_close(&m);
	world_free(world);
}

/* As many as there is room for, and those of who is gone make room. */
static void registered(void)
{
	struct wire_nvtx w = { .what = NVTX_REGISTER, .text = NVTX_NARROW, .name = "old" };
	struct record_marks m = { .fd = -1 };
	struct world *world = world_new();
	struct gone_processes gone = { 0 };
	struct record_nvtx v = { 0 };

	for (w.id = 1; w.id <= NVTX_NAMES + 2; w.id++)
		record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	ok(v.names == NVTX_NAMES + 2 && v.nameless == 2, "names without room are counted");
	w.id = 7;
	snprintf(w.name, sizeof(w.name), "new");
	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	w.what = NVTX_MARK;
	w.text = NVTX_HANDLE;
	w.handle = 7;
	record_nvtx_take(&v, &m, world, &one, &w, sizeof(w), &to);
	is_str(name(), "new", "a handle that is used again has its new name all the same");
	map_put(&gone.processes, one.process, one.tgid);
	record_nvtx_gone(&v, &gone);
	w.what = NVTX_REGISTER;
	w.text = NVTX_NARROW;
	record_nvtx_take(&v, &m, world, &other, &w, sizeof(w), &to);
	is_u64(v.nameless, 2, "there is room again when a process is gone");
	map_free(&gone.processes);
	record_nvtx_free(&v);
	record_marks_close(&m);
	world_free(world);
}

int main(void)
{
	matched();
	left_open();
	texts();
	many();
	registered();
	return done_testing();
}
