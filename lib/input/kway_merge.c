/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around a list is never chosen before what is in one, so that nobody has to ask
 * whether a list has ended. */
#include "lib/input/kway_merge.h"

#include <string.h>

void input_kway_merge_begin(struct input_kway_merge *s)
{
	s->n = 0;
	s->end = 1;
}

/* Puts the smallest and the largest number around a list of n numbers at `at`. */
static void set_sentinels(uint64_t *v, uint32_t at, uint32_t n)
{
	v[at - 1] = 0;
	v[at + n] = UINT64_MAX;
}

uint64_t *input_kway_merge_add(struct input_kway_merge *s, uint32_t n)
{
	uint32_t at = s->end;

	s->each[s->n].at = at;
	s->each[s->n++].n = n;
	set_sentinels(s->a, at, n);
	s->end = at + n + 2;
	return s->a + at;
}

/* The smallest from the front and the largest from the back, until they meet: neither gets to the
 * other end of a list, unless that is all there is. */
static void merge_two(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *out)
{
	const uint64_t *x = a + na - 1, *y = b + nb - 1;
	uint64_t *back = out + na + nb - 1;
	size_t half = (na + nb) / 2, i = 0, k = 0;

	/* i numbers of a are taken from its front, k from its back; the others came from b. */
	for (size_t n = 0; n < half; n++, out++, back--, b++, y--) {
		uint64_t p = a[i], q = *(b - i), r = *(x - k), s = y[k];

		*out = p < q ? p : q;
		*back = r > s ? r : s;
		i += p < q;
		k += r > s;
	}
	if ((na + nb) & 1)
		*out = a[i] < *(b - i) ? a[i] : *(b - i);
}

const uint64_t *input_kway_merge_merge(struct input_kway_merge *s, size_t *n)
{
	uint64_t *from = s->a, *to = s->b, *other;

	while (s->n > 1) {
		unsigned kept = 0;

		for (unsigned i = 0; i < s->n; i += 2, kept++) {
			uint32_t at = s->each[i].at, na = s->each[i].n, nb = 0;

			if (i + 1 < s->n) {
				nb = s->each[i + 1].n;
				merge_two(from + at, na, from + s->each[i + 1].at, nb, to + at);
			} else {
				memcpy(to + at, from + at, na * sizeof(*to));
			}
			s->each[kept].at = at;
			s->each[kept].n = na + nb;
			set_sentinels(to, at, na + nb);
		}
		s->n = kept;
		other = from;
		from = to;
		to = other;
	}
	*n = s->n ? s->each[0].n : 0;
	return from + 1; /* the first list begins there, whatever it was put together from */
}
