/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the report says when there is nothing to tell: healthy, not recorded and empty are three
 * different things. What is lost beside events is told of the machine that lost it. And text from
 * outside cannot drive a terminal.
 */
#include "tests/tap.h"

#include "lib/report/report_parts.h"
#include "lib/api/report_from_answer.h"
#include "tests/unit/events.h"

static void say(struct stage *s, bool last, struct buf *text, struct buf *json)
{
	struct query_chains_run *run = query_chains_new(s->w, NULL);
	struct stream_item it = { .kind = STREAM_EVENTS };
	const struct query_chains *a;
	struct report r;

	for (size_t i = 0; i < s->rec.n; i++)
		query_chains_item(
			run, &(struct stream_item){ .kind = STREAM_RECORD, .record = &s->rec.v[i] },
			NULL);
	s->rec.n = 0;
	stage_sort(s);
	it.events = s->ev.v;
	it.n = s->ev.n;
	query_chains_item(run, &it, NULL);
	if (last) {
		it = (struct stream_item){ .kind = STREAM_LAST };
		query_chains_item(run, &it, NULL);
	}
	query_chains_end(run, &a, NULL);
	ok(a->unfinished == !last, "the stream's end is seen");
	r = report_from_answer(&(struct report_answer){ .chains = a }, false, NULL);
	buf_reset(text);
	buf_reset(json);
	report_text(text, &r, false);
	report_json(json, &r);
	query_chains_free(run);
	s->ev.n = 0;
}

static void lost(struct stage *s, uint32_t node, const char *layer, uint32_t n, uint32_t of)
{
	struct record *r = stage_record(s, RECORD_COVERAGE);

	REC_SET(r, COVERAGE, layer, bytes_of(layer));
	REC_SET(r, COVERAGE, node, node);
	REC_SET(r, COVERAGE, requested, of);
	REC_SET(r, COVERAGE, failed, n);
	REC_SET(r, COVERAGE, reason, bytes_of("ring full"));
}

/* Of two machines each lost its own; what was said last of one holds. */
static void missing(struct stage *s, struct actor v, struct buf *text, struct buf *json)
{
	struct world_node n = { .uuid = { 9 }, .boot = 8 };
	uint32_t first = s->node, second;
	struct actor w;

	lost(s, first, "lost stacks", 3, 40);
	stage_call(s, v, OP_CUDA_LAUNCH, 0, 0, MS);
	say(s, true, text, json);
	like(buf_text(text), "Missing: 3 of 40 stacks lost: ring full.\n", "of one machine");
	like(buf_text(json), "\"node\": \"testhost\"", "whose name its JSON has");
	n.name = world_string(s->w, bytes_of("otherhost"));
	second = s->node = world_node(s->w, &n);
	w = stage_actor(s, 100, 100, 1, "train");
	s->node = first;
	lost(s, first, "lost stacks", 3, 40);
	lost(s, second, "lost stacks", 5, 60);
	lost(s, second, "driver", 1, 60); /* nothing of that is lost */
	lost(s, second, "lost stacks", 7, 80);
	stage_call(s, v, OP_CUDA_LAUNCH, 0, 0, MS);
	stage_call(s, w, OP_CUDA_LAUNCH, 0, 0, MS);
	say(s, true, text, json);
	like(buf_text(text),
	     "Missing: 3 of 40 stacks lost on testhost: ring full.\n"
	     "Missing: 7 of 80 stacks lost on otherhost: ring full.\n",
	     "of two");
}

/* Numbers as one reads them: none is 0 that is not, and none has more places than it says something
 * with. */
static void values(struct buf *text)
{
	static const struct {
		double value;
		const char *unit, *said;
	} table[] = { { 0, "", "0" },
		      { 3.1e-19, "", "3e-19" },
		      { 0.004, "", "0.004" },
		      { 0.25, "", "0.25" },
		      { 23.24, "", "23.2" },
		      { 1181504, "", "1,181,504" },
		      { 197757.62, "/s", "197,758/s" },
		      { 5060, "ns", "5.06 us" } };

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		buf_reset(text);
		report_value(text, table[i].value, bytes_of(table[i].unit));
		is_str(buf_text(text), table[i].said, "a value of unit \"%s\"", table[i].unit);
	}
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     evil = stage_actor(&s, 200, 200, 50, "e\033[2Jvil\n");
	struct buf text = { 0 }, json = { 0 };

	say(&s, true, &text, &json);
	like(buf_text(&text), "Nothing was recorded", "no events");
	like(buf_text(&json), "\"host_recorded\": false", "no events: nothing known of the host");

	stage_record(&s, RECORD_ASLEEP);
	say(&s, false, &text, &json);
	like(buf_text(&text), "Nothing ended here: threads sleep",
	     "no events, but a thread that sleeps");

	for (int64_t t = 0; t < 1000 * MS; t += MS)
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 100 * US);
	say(&s, false, &text, &json);
	like(buf_text(&text), "Nothing can be said about the host",
	     "calls without scheduler events");
	ok(!strstr(buf_text(&text), "on CPU"), "and nobody is said to have been on CPU");

	for (int64_t t = 0; t < 1000 * MS; t += MS) {
		stage_call(&s, v, OP_CUDA_DEVICE_SYNC, 0, t, t + 800 * US);
		stage_set(stage_offcpu(&s, v, 1, t + 10 * US, t + 790 * US, 0, 0), COL_OBJECT_KIND,
			  OBJECT_GPU);
	}
	say(&s, true, &text, &json);
	like(buf_text(&text), "No host cause found", "waiting for the device only");
	like(buf_text(&text), "80.", "with the share that waits for the device");
	like(buf_text(&text), "waiting for the GPU", "and the breakdown");
	like(buf_text(&text), "unknown                                   stolen by the hypervisor",
	     "what nobody said is unknown");
	like(buf_text(&json), "\"steal_recorded\": false", "not 0");
	like(buf_text(&json), "\"chains\": []", "no chains");

	for (int64_t t = 0; t < 1000 * MS; t += 10 * MS) {
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 5 * MS, t + 6 * MS);
		stage_offcpu(&s, v, 0, t, t + 4 * MS, 4 * MS, 0);
		stage_occupied(&s, evil, 0, t, t + 4 * MS);
	}
	say(&s, true, &text, &json);
	like(buf_text(&text), "e?[2Jvil? (pid 200) took the CPU from train (pid 100) for 400 ms",
	     "the verdict, harmless");
	ok(!strchr(buf_text(&text), 033), "no escape reaches a terminal");
	ok(!strncmp(buf_text(&text), "train (pid 100): no steps; ", 27) &&
		   strstr(buf_text(&text), " e?[2Jvil? (pid 200) had the CPU") <
			   strchr(buf_text(&text), '\n'),
	   "the first line says where the time of a program without steps went, harmless, too");
	missing(&s, v, &text, &json);
	values(&text);
	buf_free(&text);
	buf_free(&json);
	stage_free(&s);
	return tap_done();
}
