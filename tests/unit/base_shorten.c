/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names cut in the middle: short ones stay, long ones keep both ends, and no two different ones
 * read the same.
 */
#include "lib/base/shorten.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "tests/tap.h"

#define MANY 300

static struct bytes name(char *room, size_t size, unsigned i, unsigned where)
{
	memset(room, 'x', size - 1);
	room[size - 1] = 0;
	memcpy(room, "void kernel<", 12);
	memcpy(room + size - 9, ">(float)", 8);
	snprintf(room + 20 + where, 8, "%06u", i);
	room[26 + where] = 'x';
	return bytes_of(room);
}

/* How many of these read as another does. */
static unsigned alike(const struct shorten *v, size_t n)
{
	unsigned same = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			same += bytes_equal(buf_bytes(&v[i].text), buf_bytes(&v[k].text)) &&
				!bytes_equal(v[i].full, v[k].full);
	return same;
}

static void one(void)
{
	struct buf b = { 0 };
	char room[300];
	struct bytes long_one = name(room, sizeof(room), 1, 100);

	shorten_one(&b, bytes_of("saxpy"), 96);
	is_str(buf_text(&b), "saxpy", "a short name stays");
	buf_reset(&b);
	shorten_one(&b, long_one, 96);
	is_u64(b.n, 96, "a long one is as long as it may be");
	ok(memcmp(b.p, "void kernel<", 12) == 0 && memcmp(b.p + b.n - 8, ">(float)", 8) == 0 &&
		   strstr(buf_text(&b), "..."),
	   "with its beginning and its end: %s", buf_text(&b));
	buf_free(&b);
}

static void many(unsigned first, unsigned step, const char *what)
{
	static char room[MANY][600];
	struct shorten v[MANY] = { 0 };
	size_t longest = 0;

	for (unsigned i = 0; i < MANY; i++)
		v[i].full = name(room[i], sizeof(room[i]), i, first + i % 7 * step);
	v[MANY - 1].full = v[0].full; /* the same name twice is no matter */
	shorten_all(v, MANY, 96);
	is_u64(alike(v, MANY), 0, "%s: all read differently", what);
	for (unsigned i = 0; i < MANY; i++)
		longest = v[i].text.n > longest ? v[i].text.n : longest;
	ok(longest <= 96, "%s: none is longer for it: %zu", what, longest);
	for (unsigned i = 0; i < MANY; i++)
		buf_free(&v[i].text);
}

/* Whatever they are made of: few letters, so that many differ in few places, and characters of
 * several bytes. */
static void any(void)
{
	static const char *const pieces[] = { "a", "b", "\xc3\xa9", "\xe2\x82\xac",
					      "aaaaaaaaaaaaaaaa" };
	unsigned bad = 0, wrong = 0;

	srand(7);
	for (unsigned round = 0; round < 200; round++) {
		struct shorten v[40] = { 0 };
		struct buf text[40] = { 0 };

		for (unsigned i = 0; i < 40; i++) {
			for (int n = rand() % 60; n > 0; n--)
				buf_puts(&text[i], pieces[rand() % (round % 2 ? 5 : 2)]);
			for (int n = rand() % 3; n > 0; n--)
				buf_puts(&text[i], pieces[4]);
			v[i].full = buf_bytes(&text[i]);
		}
		shorten_all(v, 40, 64);
		bad += alike(v, 40);
		for (unsigned i = 0; i < 40; i++) {
			for (size_t at = 0, n; at < v[i].text.n; at += n) {
				n = utf8_length((unsigned char *)v[i].text.p + at,
						v[i].text.n - at);
				wrong += !n;
				n += !n;
			}
			buf_free(&v[i].text);
			buf_free(&text[i]);
		}
	}
	is_u64(bad, 0, "no two of any names read the same");
	is_u64(wrong, 0, "no character is cut");
}

int main(void)
{
	one();
	many(100, 0, "a difference in the middle");
	many(60, 60, "differences at several places");
	any();
	return done_testing();
}
