/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a thread from its calls: which sequence is found, how many steps it has, and where no step is.
 */
#include "tests/tap.h"

#include "lib/line/steps.h"

#define US 1000ll

struct loop {
	struct steps *s;
	int64_t now_ns;
};

/* One outermost call of a letter: lower case copies, S and D wait, G launches a graph; op and stack follow from it. A
 * blank is 100 us of nothing. */
static void call(struct loop *l, char letter, int64_t ns)
{
	uint16_t op = letter == 'S'   ? OP_CUDA_STREAM_SYNC
		      : letter == 'D' ? OP_CUDA_DEVICE_SYNC
		      : letter == 'G' ? OP_CUDA_GRAPH_LAUNCH
				      : OP_CUDA_MEMCPY_ASYNC;
	struct event ev = { .op = op, .dur_ns = (uint64_t)ns, .stack = (uint32_t)letter };
	struct parts parts = { 0 };
	struct line_piece p = { .ev = &ev,
				.op = op_builtin(op),
				.thread = 1,
				.process = 1,
				.start_ns = l->now_ns,
				.end_ns = l->now_ns + ns,
				.parts = &parts };

	ev.end_ns = l->now_ns += ns;
	parts_add(&parts, PART_SELF, 0, (uint64_t)ns);
	if (!steps_call(l->s, &p))
		abort();
}

static void calls(struct loop *l, const char *letters)
{
	for (; *letters; letters++) {
		if (*letters == ' ')
			l->now_ns += 100 * US;
		else
			call(l, *letters, (*letters == 'S' ? 30 : 10) * US);
	}
}

static const struct step_phase *told(const struct loop *l)
{
	return steps_threads(l->s) ? steps_told(steps_thread(l->s, 0)) : NULL;
}

/* what, `times` times, with instead of every 7th; how many steps, and how the sequence reads. */
static void loop(const char *name, const char *what, unsigned times, const char *instead,
		 uint64_t steps, const char *sequence)
{
	struct loop l = { steps_new(), 0 };
	const struct step_phase *p;
	char text[STEPS_SEQUENCE + 1] = "";

	for (unsigned i = 0; i < times; i++)
		calls(&l, i % 7 == 6 && instead ? instead : what);
	p = told(&l);
	for (unsigned i = 0; p && i < p->nsequence; i++)
		text[i] = (char)p->sequence[i].stack;
	is_u64(p ? p->count : 0, steps, "%s: steps", name);
	is_str(text, sequence, "%s: the sequence", name);
	steps_free(l.s);
}

static void slow(void)
{
	struct loop l = { steps_new(), 0 };
	const struct step_phase *p;
	struct event ev = { .op = OP_SCHED_OFFCPU, .dur_ns = 5000 * 1000 };
	struct parts parts = { 0 };
	struct line_piece off = { .ev = &ev, .thread = 1, .process = 1, .parts = &parts };

	parts_add(&parts, PART_PREEMPTED, 0, ev.dur_ns);
	for (unsigned i = 1; i <= 100; i++) {
		calls(&l, "a ");
		if (i == 41 || i == 77) {
			off.start_ns = l.now_ns;
			off.end_ns = l.now_ns += 5000 * US;
			steps_interval(l.s, &off);
		}
		calls(&l, "bS");
	}
	p = told(&l);
	/* What comes before the end of the first sequence belongs to no step. */
	is_u64(p->count, 99, "steps");
	is_near((double)sketch_quantile(&p->dur, 0.5), 150 * US, 600, "their median");
	is_u64(p->ns, 99 * 150 * US + 2 * 5000 * US, "their time");
	is_u64(p->slow[0].number, 40, "the first of two slow ones by number");
	is_u64(p->slow[1].number, 76, "and the second");
	is_u64(p->slow[1].dur_ns, 5150 * US, "how long it took");
	is_u64(p->slow[1].part_ns[PART_PREEMPTED], 5000 * US, "and why");
	is_u64(p->slow[2].dur_ns, 150 * US, "no other is slow");
	steps_free(l.s);
}

static void phases(void)
{
	struct loop l = { steps_new(), 0 };
	const struct step_phase *p;

	for (unsigned i = 0; i < 8; i++)
		calls(&l, "x yS");
	for (unsigned i = 0; i < 50; i++)
		calls(&l, "a bD ");
	p = told(&l);
	is_u64(p->sequence[2].stack, 'D', "of two loops the longer one is told");
	is_int((int)steps_thread(l.s, 0)->phases, 2, "and that there were two");
	ok(p->count > 40 && p->count < 50, "with its steps alone");
	steps_free(l.s);
}

/* Pauses of copies, of all that ends steps, and of nothing that is looked at. */
static void pause(struct paused *p, unsigned tier, int64_t since_ns, int64_t until_ns)
{
	struct record r = { .kind = RECORD_PAUSED };

	REC_SET(&r, PAUSED, since_ns, since_ns);
	REC_SET(&r, PAUSED, until_ns, until_ns);
	REC_SET(&r, PAUSED, tier, tier);
	if (!paused_record(p, &r))
		abort();
}

/* A loop of 1 ms steps, of which what is paused is left out: copies a and b, and a wait. */
static void play(struct loop *l, const struct paused *p, const char *what, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		int64_t next_ns = l->now_ns + 1000 * US;

		for (const char *w = what; *w; w++) {
			enum op_tier tier = *w == 'S' ? TIER_WAITS : TIER_SUBMITS;
			struct line_piece at = { .thread = 1, .end_ns = l->now_ns + 30 * US };

			if (paused_ns(p, 0, tier, l->now_ns, l->now_ns + 30 * US)) {
				l->now_ns += 30 * US;
				continue;
			}
			steps_check_pauses(l->s, p, &at);
			call(l, *w, 30 * US);
		}
		l->now_ns = next_ns;
	}
}

static void copies_paused(void)
{
	struct loop l = { steps_new(), 1000 * US };
	struct paused p = { 0 };
	const struct step_phase *ph;

	/* Attached for the first 8 ms of each 200 ms, and never for as long as a loop takes to be found again. */
	for (int i = 0; i < 10; i++)
		pause(&p, TIER_SUBMITS, (i * 200 + 8) * 1000 * US, (i + 1) * 200 * 1000 * US);
	play(&l, &p, "xS", 6);
	play(&l, &p, "abcS", 1900);
	ph = told(&l);
	ok(ph && ph->count >= 1850,
	   "copies in windows: the loop's steps are there throughout (%" PRIu64 ")",
	   ph ? ph->count : 0);
	is_u64(ph->gaps, 0, "without a gap");
	ok(ph->end_ns - ph->start_ns > 1800 * 1000 * US, "from the first of them to the last");
	is_u64(steps_unseen_ns(steps_thread(l.s, 0), ph, &p), 0,
	       "and no longer loop can be missing");
	steps_free(l.s);
	paused_free(&p);
}

static void copies_end_steps(void)
{
	struct loop l = { steps_new(), 1000 * US };
	struct paused p = { 0 };
	const struct step_phase *ph;

	for (int i = 0; i < 10; i++)
		pause(&p, TIER_SUBMITS, (i * 200 + 50) * 1000 * US, (i + 1) * 200 * 1000 * US);
	play(&l, &p, "ab", 2000);
	ph = told(&l);
	ok(ph && ph->count > 400 && ph->count < 500, "a loop of copies: steps in windows");
	is_u64(ph->gaps, 9, "of which there are ten");
	is_near((double)steps_estimate(ph), 1850, 20, "how many there were is estimated");
	is_u64(steps_unseen_ns(steps_thread(l.s, 0), ph, &p), 0, "the gaps hide no longer loop");
	steps_free(l.s);
	paused_free(&p);
}

static void hidden(void)
{
	struct loop l = { steps_new(), 1000 * US };
	struct paused p = { 0 };
	const struct step_phase *ph;

	pause(&p, TIER_SUBMITS, 100 * 1000 * US, 3000 * 1000 * US);
	play(&l, &p, "xS", 50);
	play(&l, &p, "ab", 2000);
	play(&l, &p, "S", 1);
	ph = told(&l);
	ok(ph && ph->end_ns < 100 * 1000 * US, "a loop before a pause");
	ok(steps_unseen_ns(steps_thread(l.s, 0), ph, &p) > 1900 * 1000 * US,
	   "a longer one may be in the pause");
	steps_free(l.s);
	paused_free(&p);
}

int main(void)
{
	loop("a step", "a bS", 100, NULL, 99, "abS");
	loop("three in a row", "a bS", 4, NULL, 0, "");
	loop("five in a row", "a bS", 6, NULL, 5, "abS");
	loop("a copy for each tensor", "aaaa bS", 50, "aa bS", 49, "abS");
	loop("one wait", " S", 50, NULL, 49, "S");
	loop("a wait inside", "aSbD", 50, NULL, 49, "bDaS");
	loop("graphs", "G ", 50, NULL, 0, "");
	loop("graphs and a wait", "aG S", 50, NULL, 49, "aGS");
	loop("something else now and then", "a bS", 100, "a cS bS", 113, "abS");
	loop("nothing repeats", "abSbaDSaab", 3, NULL, 0, "");
	slow();
	phases();
	copies_paused();
	copies_end_steps();
	hidden();
	return tap_done();
}
