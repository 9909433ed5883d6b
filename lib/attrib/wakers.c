/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring per thread that grows with use: most threads never hold a lock that somebody waits for,
 * and theirs stay small.
 */
#include "lib/attrib/wakers.h"

#include <stdlib.h>

void wakers_free(struct wakers *w)
{
	free(w->v);
	*w = (struct wakers){ 0 };
}

bool wakers_add(struct wakers *w, const struct waker_interval *iv)
{
	if (w->n == w->cap && w->cap < WAKERS_KEPT) {
		uint32_t cap = w->cap ? w->cap * 2 : 8;
		struct waker_interval *v = malloc(cap * sizeof(*v));

		if (!v)
			return false;
		for (uint32_t i = 0; i < w->n; i++)
			v[i] = w->v[(w->next - w->n + i) & (w->cap - 1)];
		free(w->v);
		w->v = v;
		w->cap = cap;
		w->next = w->n;
	}
	w->v[w->next++ & (w->cap - 1)] = *iv;
	if (w->n < w->cap)
		w->n++;
	return true;
}

const struct waker_interval *wakers_back(const struct wakers *w, uint32_t i, int64_t a_ns)
{
	const struct waker_interval *iv;

	if (i == 0 || i > w->n)
		return NULL;
	iv = &w->v[(w->next - i) & (w->cap - 1)];
	return iv->end_ns > a_ns ? iv : NULL;
}

bool wakers_covers(const struct wakers *w, int64_t a_ns, int64_t now_ns)
{
	if (now_ns - a_ns > WAKERS_AGE_NS)
		return false;
	if (w->n < WAKERS_KEPT)
		return true;
	return w->v[(w->next - w->n) & (w->cap - 1)].start_ns <= a_ns;
}
