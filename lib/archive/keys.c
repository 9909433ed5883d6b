/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts large arrays of index keys in a mapped scratch file. Blocks of the file are allocated
 * before they are mapped: a page that could not be written would end the program by SIGBUS.
 */
#include "lib/archive/keys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/io.h"

#define FIRST	   (1 << 20) /* bytes */
#define DIGIT_BITS 11

int keys_grow(struct keys *k, size_t n, struct err *e)
{
	size_t bytes = k->cap ? k->cap * k->each * 2 : FIRST;
	void *v;
	int rc;

	if (k->cap - k->n >= n)
		return 0;
	while (bytes / k->each < k->n + n)
		bytes *= 2;
	if (!k->fd) {
		int fd = io_nameless(e);

		if (fd < 0)
			return fd;
		k->fd = fd + 1;
	}
	rc = posix_fallocate(k->fd - 1, 0, (off_t)bytes);
	if (rc)
		return err_set(e, ERR_CANNOT, "no room for sorting in /var/tmp: %s", strerror(rc));
	v = k->v ? mremap(k->v, k->cap * k->each, bytes, MREMAP_MAYMOVE)
		 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd - 1, 0);
	if (v == MAP_FAILED)
		return err_sys(e, "cannot map %zu bytes", bytes);
	k->v = v;
	k->cap = bytes / k->each;
	return 0;
}

void keys_free(struct keys *k)
{
	if (k->v)
		munmap(k->v, k->cap * k->each);
	if (k->fd)
		close(k->fd - 1);
	*k = (struct keys){ .each = k->each };
}

/* One pass of the radix sort: from a to b by one digit of their times. */
static void radix_pass(const struct timed *a, struct timed *b, size_t n, int64_t least,
		       unsigned shift)
{
	size_t at[1 << DIGIT_BITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[((uint64_t)a[i].time - (uint64_t)least) >> shift & ((1 << DIGIT_BITS) - 1)]++;
	for (size_t i = 0; i < 1 << DIGIT_BITS; i++) {
		size_t of = at[i];

		at[i] = sum;
		sum += of;
	}
	for (size_t i = 0; i < n; i++)
		b[at[((uint64_t)a[i].time - (uint64_t)least) >> shift & ((1 << DIGIT_BITS) - 1)]++] =
			a[i];
}

int keys_by_time(const struct keys *times, size_t first, struct keys *order, struct err *e)
{
	const int64_t *t = (const int64_t *)times->v + first;
	struct keys other = { .each = sizeof(struct timed) };
	size_t n = times->n - first;
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool sorted = true;
	int rc = n ? keys_grow(order, n, e) : 0;

	for (size_t i = 0; i < n && !rc; i++) {
		((struct timed *)order->v)[i] = (struct timed){ t[i], i + 1 };
		sorted &= i == 0 || t[i] >= t[i - 1];
		least = t[i] < least ? t[i] : least;
		most = t[i] > most ? t[i] : most;
	}
	if (!rc && !sorted)
		rc = keys_grow(&other, n, e);
	for (unsigned shift = 0; !rc && !sorted && shift < 64; shift += DIGIT_BITS) {
		struct keys swap = *order;

		if (!(((uint64_t)most - (uint64_t)least) >> shift))
			break;
		radix_pass(order->v, other.v, n, least, shift);
		*order = other;
		other = swap;
	}
	keys_free(&other);
	order->n = n;
	return rc;
}

int keys_by_rank(const struct keys *ids, size_t first, const uint32_t *rank, uint32_t ranks,
		 struct keys *order, struct err *e)
{
	const uint32_t *id = (const uint32_t *)ids->v + first;
	size_t n = ids->n - first, sum = 0, *at;
	int rc = n ? keys_grow(order, n, e) : 0;

	if (rc)
		return rc;
	at = calloc((size_t)ranks + 1, sizeof(*at));
	if (!at)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		at[rank[id[i]]]++;
	at[0] = 0;
	for (size_t i = 1; i <= ranks; i++) {
		size_t of = at[i];

		at[i] = sum;
		sum += of;
	}
	for (size_t i = 0; i < n; i++) {
		if (rank[id[i]])
			((uint32_t *)order->v)[at[rank[id[i]]]++] = (uint32_t)(i + 1);
	}
	order->n = sum;
	free(at);
	return 0;
}
