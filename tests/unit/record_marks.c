/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of marks: what each means, and that no bytes, cut anywhere, are taken for something else. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/record/marks.h"
#include "tests/tap.h"

static uint64_t events, words;

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	(void)ev;
	events++;
}

static void on_record(void *ctx, const struct record *r)
{
	(void)ctx;
	words += r->kind == RECORD_WORD;
}

static const struct {
	const char *line;
	enum mark_kind kind;
	const char *name, *text;
	double value;
} lines[] = {
	{ "step 12", MARK_IS_POINT, "step", "", 12 },
	{ "  loss\t-4.25e-3 ", MARK_IS_POINT, "loss", "", -4.25e-3 },
	{ "epoch", MARK_IS_POINT, "epoch", "", 0 },
	{ "request 7f3a b", MARK_IS_POINT, "request", "7f3a b", 0 },
	{ "x 0x10", MARK_IS_POINT, "x", "0x10", 0 },
	{ "x nan", MARK_IS_POINT, "x", "nan", 0 },
	{ "x 1e999", MARK_IS_POINT, "x", "1e999", 0 },
	{ "x 1 2", MARK_IS_POINT, "x", "1 2", 0 },
	{ "begin forward pass\r", MARK_BEGIN, "forward pass", "", 0 },
	{ "end forward pass", MARK_END, "forward pass", "", 0 },
	{ "\xc3\xa9poque 3", MARK_IS_POINT, "\xc3\xa9poque", "", 3 },
	{ "", MARK_NOTHING, "", "", 0 },
	{ " \t ", MARK_NOTHING, "", "", 0 },
	{ "begin", MARK_BAD, "", "", 0 },
	{ "end ", MARK_BAD, "", "", 0 },
	{ "a\x01", MARK_BAD, "", "", 0 },
	{ "a \xff", MARK_BAD, "", "", 0 },
	{ "a \xc3", MARK_BAD, "", "", 0 },
};

static void parsed(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct mark m = mark_parse(bytes_of(lines[i].line));

		is_int(m.kind, lines[i].kind, "kind of '%s'", lines[i].line);
		if (m.kind == MARK_BAD || m.kind == MARK_NOTHING)
			continue;
		ok(bytes_equal(m.name, bytes_of(lines[i].name)) &&
			   bytes_equal(m.text, bytes_of(lines[i].text)) &&
			   (m.has_value ? m.value : 0) == lines[i].value,
		   "its parts");
	}
}

static void cut_anywhere(void)
{
	static const char text[] =
		"begin a\nstep 1\nend a\nend a\nbegin b\nbegin b\nend b\nend b\n";
	const struct record_marks_owner to = { on_event, on_record, NULL };
	bool same = true;

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		struct record_marks m = { .fd = -1 };

		events = words = 0;
		record_marks_bytes(&m, text, cut, 1000, &to);
		record_marks_bytes(&m, text + cut, sizeof(text) - 1 - cut, 2000, &to);
		same &= events == 4 && words == 3 && m.taken == 7 && m.bad == 1 && m.open.n == 0;
		record_marks_close(&m);
	}
	ok(same, "the same wherever reading was cut");
}

static void limits(void)
{
	const struct record_marks_owner to = { on_event, on_record, NULL };
	struct record_marks m = { .fd = -1 };
	char line[MARKS_LINE + 2];

	events = 0;
	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 10; i++)
		record_marks_bytes(&m, line, MARKS_LINE, 1, &to);
	record_marks_bytes(&m, "\nstep 1\n", 8, 1, &to);
	ok(m.bad == 1 && m.taken == 1 && events == 1, "a line without an end is one bad line");
	for (int i = 0; i < MARKS_RATE + 10; i++)
		record_marks_bytes(&m, "step 1\n", 7, 2, &to);
	is_u64(m.over, 11, "no more in a second than that"); /* one line came before */
	record_marks_bytes(&m, "step 1\n", 7, 1000000001 + 1, &to);
	is_u64(m.over, 11, "but in the next one");
	for (int i = 0; i < 2 * MARKS_OPEN; i++)
		record_marks_bytes(&m, "begin x\n", 8, 3000000000, &to);
	is_u64(m.open.n, MARKS_OPEN, "ranges that never end are few");
	record_marks_close(&m);
}

/* The names of events that the next file begins with stand in it too. */
static void another_file(void)
{
	const struct record_marks_owner to = { on_event, on_record, NULL };
	struct record_marks m = { .fd = -1 };
	char line[64];

	words = 0;
	record_marks_bytes(&m, "epoch 1\n", 8, 1000, &to);
	record_marks_bytes(&m, "loss 2\nloss 3\n", 14, 2000, &to);
	is_u64(words, 2, "each name is said");
	record_marks_again(&m, 2000, &to);
	is_u64(words, 3, "in the next file that of an event which goes there");
	record_marks_bytes(&m, "loss 4\nepoch 2\n", 15, 3000, &to);
	is_u64(words, 4, "and others when they are used");
	for (int i = 0; i < MARKS_TEXTS + 10; i++) {
		snprintf(line, sizeof(line), "request r%d\n", i);
		record_marks_bytes(&m, line, strlen(line), i * 1000000ll, &to);
	}
	ok(m.full == 13 && m.bad == 0,
	   "texts beyond what is kept are told apart from what is wrong");
	record_marks_close(&m);
}

static void taken_away(void)
{
	char folder[] = "/tmp/ingero-marks-XXXXXX", path[64];
	const struct record_owner nobody = { 0 };
	struct record_marks m = { 0 };
	struct err e = { 0 };
	FILE *f;

	if (!mkdtemp(folder))
		return;
	snprintf(path, sizeof(path), "%s/marks", folder);
	is_int(record_marks_open(&m, path, &nobody, &e), 0, "a FIFO is made: %s", e.text);
	record_marks_close(&m);
	ok(access(path, F_OK) != 0, "and taken away");
	m = (struct record_marks){ 0 };
	is_int(record_marks_open(&m, path, &nobody, &e), 0, "another one: %s", e.text);
	unlink(path);
	f = fopen(path, "w");
	if (f)
		fclose(f);
	record_marks_close(&m);
	ok(access(path, F_OK) == 0, "what somebody has put in its place is theirs");
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	parsed();
	cut_anywhere();
	limits();
	another_file();
	taken_away();
	return done_testing();
}
