/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When it is said that a thread sleeps: after five seconds, and each time that the sleep has
 * doubled, or every 30 s of a few; and how rarely threads are looked at for that.
 */
#include "lib/decode/sleepers.h"
#include "tests/tap.h"

#define S 1000000000ll

/* One thread that sleeps from a second after the first look until the end: how often it was said,
 * and how many looks it took. */
static unsigned long_sleep(struct sleepers *s, int64_t begin, int64_t until, bool often,
			   int64_t *said, unsigned *looks)
{
	unsigned n = 0;

	*looks = 0;
	for (int64_t now = begin; now < until; now += S / 10) {
		if (!sleepers_look(s, now))
			continue;
		++*looks;
		if (now > begin + S && sleepers_sleeps(s, 7, begin + S, now, often))
			said[n++] = now - begin - S;
		sleepers_looked(s, now);
	}
	return n;
}

static void doubles(void)
{
	static const int64_t least[] = { 5, 10, 20, 40, 80, 160, 320 };
	struct sleepers s = { 0 };
	int64_t said[64];
	unsigned looks, n = long_sleep(&s, 1000 * S, 1402 * S, false, said, &looks);

	ok(n == sizeof(least) / sizeof(least[0]), "in 401 s it is said %u times", n);
	for (unsigned i = 0; i < n && i < sizeof(least) / sizeof(least[0]); i++)
		ok(said[i] >= least[i] * S && said[i] <= (least[i] + 5) * S,
		   "said after %lld s: %.1f s", (long long)least[i], (double)said[i] / S);
	ok(looks >= 402 / 5 && looks <= 402 / 2, "threads were looked at %u times", looks);
	sleepers_again(&s);
	n = long_sleep(&s, 1000 * S + 401 * S, 1403 * S, false, said, &looks);
	ok(n == 0, "nothing of a sleep that has just begun");
	sleepers_free(&s);
}

static void often(void)
{
	static const int64_t least[] = { 5, 10, 20, 40, 70, 100, 130, 160, 190, 220 };
	struct sleepers s = { 0 };
	int64_t said[64], now = 5000 * S;
	unsigned looks, again = 0, n = long_sleep(&s, 1000 * S, 1242 * S, true, said, &looks);

	is_int((int)n, sizeof(least) / sizeof(least[0]), "one that matters, in 241 s");
	for (unsigned i = 0; i < n && i < sizeof(least) / sizeof(least[0]); i++)
		ok(said[i] >= least[i] * S && said[i] <= (least[i] + 5) * S,
		   "said after %lld s: %.1f s", (long long)least[i], (double)said[i] / S);
	sleepers_again(&s);
	for (int64_t end = now + 600 * S; now < end; now += S) {
		if (!sleepers_look(&s, now))
			continue;
		for (uint32_t tid = 1; tid <= 2000; tid++)
			again += sleepers_sleeps(&s, tid, 4000 * S, now, true);
		sleepers_looked(&s, now);
	}
	/* They have slept for 1000 to 1600 s: the others are told at first, and after 1280 s. */
	again -= 2 * (2000 - SLEEPERS_OFTEN);
	ok(again >= 19 * SLEEPERS_OFTEN && again <= 20 * SLEEPERS_OFTEN,
	   "of 2000, in ten minutes, few are told often: %u times", again);
	sleepers_free(&s);
}

static void others(void)
{
	struct sleepers s = { 0 };
	int64_t now = 100 * S;

	ok(sleepers_look(&s, now), "the first look is at once");
	ok(!sleepers_sleeps(&s, 1, now - S, now, false), "a second is not long");
	ok(sleepers_sleeps(&s, 2, now - 90 * S, now, false), "a minute is");
	ok(sleepers_sleeps(&s, 3, now - 90 * S, now, false), "so it is of another thread");
	sleepers_looked(&s, now);
	ok(!sleepers_look(&s, now + 2 * S - 1), "no look within two seconds");
	now += 4 * S;
	ok(sleepers_look(&s, now), "and one when somebody's five are over");
	ok(sleepers_sleeps(&s, 1, now - 5 * S, now, false), "which is said");
	ok(!sleepers_sleeps(&s, 2, now - 94 * S, now, false), "the minute has not doubled");
	ok(sleepers_sleeps(&s, 3, now - 6 * S, now, false),
	   "another sleep of the same thread is another");
	sleepers_looked(&s, now);
	ok(s.due.n == 3, "three sleeps are remembered");
	now = s.next_ns;
	sleepers_look(&s, now);
	sleepers_looked(&s, now);
	ok(s.due.n == 0, "those that are over are not");
	sleepers_look(&s, s.next_ns);
	sleepers_sleeps(&s, 2, now - 98 * S, now, false);
	sleepers_looked(&s, now);
	sleepers_again(&s);
	ok(sleepers_look(&s, now + S) && sleepers_sleeps(&s, 2, now - 98 * S, now + S, false),
	   "in another file it is said again, at once");
	sleepers_free(&s);
}

int main(void)
{
	doubles();
	often();
	others();
	return tap_done();
}
