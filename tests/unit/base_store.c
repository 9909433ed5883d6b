/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers, vectors, maps, arenas and hashes: contents survive growth, limits hold, and the map is
 * compared step by step with a table that cannot be wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <wchar.h>

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/check.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/io.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "tests/tap.h"

static void buffers(void)
{
	struct buf b = { 0 }, big = { 0 };
	char *at;
	int i;

	is_str(buf_text(&b), "", "an empty buffer is an empty text");
	for (i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i);
	is_u64(b.n, 10 * 2 + 90 * 3 + 900 * 4, "a thousand numbers");
	ok(!strncmp(b.p + b.n - 8, "998,999,", 9), "the end of them, and a zero byte");
	buf_reset(&b);
	buf_puts(&b, "abc");
	buf_putc(&b, 'd');
	buf_add(&b, "e\0f", 3);
	ok(b.n == 7 && !memcmp(b.p, "abcde\0f", 8), "bytes with a zero inside");
	buf_reset(&b);
	buf_printf(&b, "%0300d", 7);
	is_u64(b.n, 300, "a print longer than the first guess");
	at = buf_reserve(&b, 5);
	memcpy(at, "12345", 5);
	buf_added(&b, 5);
	ok(!strcmp(b.p + 300, "12345"), "reserved and filled");
	ok(!buf_reserve(&big, SIZE_MAX - 5) && big.failed, "an impossible size fails");
	buf_puts(&big, "x");
	ok(big.failed && big.n == 0, "and the failure sticks");
	buf_free(&b);
	buf_free(&big);
	ok(!big.failed, "free clears it");
}

static void vectors(void)
{
	VEC(uint32_t) v = { 0 };
	bool all = true;
	uint32_t i;

	for (i = 0; i < 10000; i++)
		all &= vec_push(&v, i * 3);
	ok(all && v.n == 10000, "ten thousand pushed");
	for (i = 0; i < 10000; i++)
		all &= v.v[i] == i * 3;
	ok(all, "and all there");
	ok(!vec_reserve(&v, SIZE_MAX / 4), "an impossible size fails");
	ok(v.n == 10000 && v.v[9999] == 29997, "and leaves the array as it was");
	vec_free(&v);
	ok(!v.v && !v.n && !v.cap, "freed");
}

#define KEYS 512

/* Few keys, all kinds of changes: collisions, deletions inside runs and growth all happen. */
static void maps(void)
{
	uint64_t truth[KEYS], x = 88172645463325252u, key, value, sum = 0, want = 0;
	bool there[KEYS] = { false };
	size_t count = 0, steps, at = 0, seen = 0, wrong = 0, k;
	struct map m = { 0 };

	ok(!map_get(&m, 1, &value) && !map_del(&m, 1), "an empty map has nothing");
	for (steps = 0; steps < 200000; steps++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k = (size_t)(x >> 20) % KEYS;
		key = k << (k % 40);
		if (k && key == 0)
			continue;
		/* Shifting can make two indices one key: let the smaller index stand for both. */
		for (at = 0; at < k && at << (at % 40) != key; at++)
			;
		k = at;
		if (x & 1) {
			wrong += !map_put(&m, key, x);
			count += !there[k];
			there[k] = true;
			truth[k] = x;
		} else {
			wrong += map_del(&m, key) != there[k];
			count -= there[k];
			there[k] = false;
		}
		for (at = 0; at < 4; at++) {
			size_t probe = (k + at * 37) % KEYS, same;
			uint64_t probe_key = probe << (probe % 40);

			for (same = 0; same < probe && same << (same % 40) != probe_key; same++)
				;
			if (map_get(&m, probe_key, &value) != there[same] ||
			    (there[same] && value != truth[same]))
				wrong++;
		}
	}
	is_u64(wrong, 0, "200,000 random steps agree with a plain table");
	is_u64(m.n, count, "and the count");
	for (k = 0; k < KEYS; k++)
		if (there[k])
			want += truth[k];
	at = 0;
	while (map_each(&m, &at, &key, &value)) {
		sum += value;
		seen++;
	}
	ok(seen == count && sum == want, "each visits every entry once");
	map_clear(&m);
	ok(m.n == 0 && !map_get(&m, 0, NULL), "cleared");
	map_put(&m, 0, 7);
	map_put(&m, UINT64_MAX, 8);
	ok(map_get(&m, 0, &value) && value == 7 && map_get(&m, UINT64_MAX, &value) && value == 8,
	   "keys 0 and 2^64-1 are keys like others");
	map_free(&m);
}

static bool is_even(void *ctx, uint64_t key, uint64_t value)
{
	(void)ctx;
	return value == key * 2 && key % 2 == 0;
}

/* Runs that go around the end of the table too. */
static void pruned(void)
{
	struct map m = { 0 };
	size_t wrong = 0;

	map_prune(&m, is_even, NULL);
	for (uint64_t n = 1; n <= 300; n++) {
		for (uint64_t key = 0; key < n; key++)
			map_put(&m, key, key * 2);
		map_prune(&m, is_even, NULL);
		wrong += m.n != (n + 1) / 2;
		for (uint64_t key = 0; key < n; key++)
			wrong += map_get(&m, key, NULL) != (key % 2 == 0);
		map_clear(&m);
	}
	is_u64(wrong, 0, "what is not wanted is removed, and nothing else");
	map_free(&m);
}

static void arenas(void)
{
	static const size_t sizes[] = { 1, 7, 8, 100, 5000, 3, 2000000, 16, 0, 40000 };
	struct arena a = { 0 };
	char *p[200];
	size_t i, k, wrong = 0;

	for (i = 0; i < 200; i++) {
		size_t n = sizes[i % 10];

		p[i] = arena_alloc(&a, n);
		wrong += !p[i] || (uintptr_t)p[i] % 8;
		memset(p[i], (int)i, n);
	}
	for (i = 0; i < 200; i++)
		for (k = 0; k < sizes[i % 10]; k += 97)
			wrong += p[i][k] != (char)i;
	is_u64(wrong, 0, "allocations are aligned and do not overlap");
	is_str(arena_copy(&a, "hello!", 5), "hello", "a copied text ends");
	ok(!arena_alloc(&a, SIZE_MAX - 3), "an impossible size fails");
	arena_free(&a);
	is_u64(a.total, 0, "freed");
}

static void hashes(void)
{
	unsigned char key[24] = { 0 };
	uint64_t base;
	unsigned bit, near = 0;

	ok(hash_bytes("", 0, 0) != hash_bytes("\0", 1, 0), "length counts");
	ok(hash_bytes("a", 1, 0) != hash_bytes("a", 1, 1), "the seed counts");
	base = hash_bytes(key, sizeof(key), 5);
	for (bit = 0; bit < sizeof(key) * 8; bit++) {
		int changed;

		key[bit / 8] ^= (unsigned char)(1 << bit % 8);
		changed = __builtin_popcountll(base ^ hash_bytes(key, sizeof(key), 5));
		key[bit / 8] ^= (unsigned char)(1 << bit % 8);
		near += changed < 12 || changed > 52;
	}
	is_u64(near, 0, "every input bit changes about half of the output");
}

static void errors(void)
{
	struct err e = { 0 };
	char longest[600];

	is_int(err_set(&e, ERR_DAMAGED, "block %d", 3), ERR_DAMAGED, "set returns the code");
	err_prefix(&e, "run.ige");
	is_str(e.text, "run.ige: block 3", "prefix stands in front");
	is_int(e.code, ERR_DAMAGED, "and keeps the code");
	errno = ENOENT;
	is_int(err_sys(&e, "cannot open x"), ERR_CANNOT, "a missing file is 'cannot'");
	is_str(e.text, "cannot open x: No such file or directory", "with the system's words");
	errno = EPIPE;
	is_int(err_sys(&e, "x"), ERR_CLOSED, "a closed pipe is its own code");
	errno = EIO;
	is_int(err_sys(NULL, "x"), ERR_SYS, "nobody has to listen");
	errno = EACCES;
	err_sys(&e, "%ls",
		(const wchar_t[]){ 0xd800,
				   0 }); /* which printf fails on, with an error of its own */
	is_int(errno, EACCES, "errno is told, and stays");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	err_set(&e, ERR_SYS, "%s", longest);
	err_prefix(&e, "%s", longest);
	is_u64(strlen(e.text), sizeof(e.text) - 1, "too long is cut");
}

static void sizes(void)
{
	size_t n = 5;

	ok(size_mul(1u << 20, 4, &n) && n == 1u << 22, "a product");
	ok(!size_mul(SIZE_MAX / 2, 3, &n) && n == 1u << 22, "that does not fit");
	ok(!size_add(SIZE_MAX, 1, &n) && size_add(SIZE_MAX, 0, &n), "a sum at the edge");
}

static void files(void)
{
	char path[] = "/tmp/ingero-unit.XXXXXX";
	struct buf b = { 0 };
	struct err e = { 0 };
	int fd = mkstemp(path);

	is_int(write_all(fd, "0123456789", 10, &e), 0, "written");
	is_int(read_file(path, &b, 10, &e), 0, "read at the limit");
	is_str(buf_text(&b), "0123456789", "the same");
	buf_reset(&b);
	is_int(read_file(path, &b, 9, &e), ERR_LIMIT, "one byte too large");
	buf_reset(&b);
	is_int(read_file("/proc/self/stat", &b, 100000, &e), 0, "a file without a size");
	ok(b.n > 20, "has contents");
	is_int(read_file("/nonexistent/x", &b, 1, &e), ERR_CANNOT, "a missing one");
	like(e.text, "cannot open /nonexistent/x: No such file", "says so");
	close(fd);
	fd = open("/dev/full", O_WRONLY);
	is_int(write_all(fd, "x", 1, &e), ERR_SYS, "a full disk");
	like(e.text, "No space left", "says so");
	close(fd);
	unlink(path);
	buf_free(&b);
}

int main(void)
{
	buffers();
	vectors();
	maps();
	pruned();
	arenas();
	hashes();
	errors();
	sizes();
	files();
	return tap_done();
}
