/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the report says when there is nothing to tell: healthy, not recorded and empty are three different things.
 * And that text from outside cannot drive a terminal.
 */
#include "tests/tap.h"

#include "lib/ask/chains.h"
#include "lib/emit/report.h"
#include "tests/unit/events.h"

static void say(struct stage *s, bool last, struct buf *text, struct buf *json)
{
	struct ask_chains_run *run = ask_chains_new(s->w, NULL);
	struct stream_item it = { .kind = STREAM_EVENTS };
	const struct ask_chains *a;
	struct report r = { 0 };

	stage_sort(s);
	it.events = s->ev.v;
	it.n = s->ev.n;
	ask_chains_item(run, &it, NULL);
	if (last) {
		it = (struct stream_item){ .kind = STREAM_LAST };
		ask_chains_item(run, &it, NULL);
	}
	ask_chains_end(run, &a, NULL);
	ok(a->unfinished == !last, "the stream's end is seen");
	r.chains = &a->list;
	r.events = a->events;
	r.start_ns = a->start_ns;
	r.end_ns = a->end_ns;
	r.has_start = a->has_start;
	buf_reset(text);
	buf_reset(json);
	report_text(text, &r, false);
	report_json(json, &r);
	ask_chains_free(run);
	s->ev.n = 0;
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
	is_int(strncmp(buf_text(&text), "e?[2J", 5), 0, "and it is the first line");
	buf_free(&text);
	buf_free(&json);
	stage_free(&s);
	return tap_done();
}
