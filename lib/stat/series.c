/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans are halved in number by adding neighbours; an odd first one keeps its place, as the second
 * half of its pair.
 */
#include "lib/stat/series.h"

#include <string.h>

#define TIME_MOST (INT64_MAX / 2) /* ends of spans can then be computed */

/* Towards minus infinity: times can be negative. */
static int64_t span_of(const struct series *s, int64_t time_ns)
{
	int64_t q = time_ns / s->span_ns;

	return q - (time_ns % s->span_ns < 0);
}

static void widen_spans(struct series *s)
{
	struct series_point v[SERIES_POINTS] = { 0 };
	int64_t first = s->first >> 1;
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++) {
		unsigned at = (unsigned)(((s->first + i) >> 1) - first);

		v[at].n += s->v[i].n;
		v[at].sum += s->v[i].sum;
		n = at + 1;
	}
	memcpy(s->v, v, sizeof(v));
	s->first = first;
	s->n = n;
	s->span_ns *= 2;
}

void series_add(struct series *s, int64_t time_ns, uint64_t n, double sum)
{
	int64_t at, low, high;

	if (time_ns > TIME_MOST || time_ns < -TIME_MOST) /* no clock says so */
		time_ns = time_ns < 0 ? -TIME_MOST : TIME_MOST;
	if (time_ns >= s->at_from_ns && time_ns < s->at_to_ns) {
		s->v[s->at].n += n;
		s->v[s->at].sum += sum;
		return;
	}
	at = span_of(s, time_ns);
	if (s->n == 0) {
		s->first = at;
		s->n = 1;
		s->v[0] = (struct series_point){ 0 };
	}
	for (;;) {
		low = at < s->first ? at : s->first;
		high = at >= s->first + s->n ? at + 1 : s->first + s->n;
		if ((uint64_t)(high - low) <= SERIES_POINTS || s->span_ns > INT64_MAX / 4)
			break;
		widen_spans(s);
		at = span_of(s, time_ns);
	}
	if ((uint64_t)(high - low) > SERIES_POINTS) { /* absurd times: counted, wherever */
		at = s->first;
		low = s->first;
		high = s->first + s->n;
	}
	if (low < s->first) {
		unsigned by = (unsigned)(s->first - low);

		memmove(s->v + by, s->v, s->n * sizeof(*s->v));
		memset(s->v, 0, by * sizeof(*s->v));
		s->first = low;
		s->n += by;
	}
	if (high > s->first + s->n) {
		unsigned now = (unsigned)(high - s->first);

		memset(s->v + s->n, 0, (now - s->n) * sizeof(*s->v));
		s->n = now;
	}
	s->at = (unsigned)(at - s->first);
	s->at_from_ns = at * s->span_ns;
	s->at_to_ns = s->at_from_ns + s->span_ns;
	s->v[s->at].n += n;
	s->v[s->at].sum += sum;
}

/* Points [from, to) together. */
static struct series_point sum_points(const struct series *s, unsigned from, unsigned to)
{
	struct series_point p = { 0 };

	for (unsigned i = from; i < to; i++) {
		p.n += s->v[i].n;
		p.sum += s->v[i].sum;
	}
	return p;
}

/* How many points go into one of the picture. */
static unsigned each_of(const struct series *s, unsigned width)
{
	return s->n <= width ? 1 : (s->n + width - 1) / width;
}

unsigned series_rates(const struct series *s, int64_t start_ns, int64_t end_ns, double *v,
		      unsigned width, double *top)
{
	unsigned each = each_of(s, width), n = 0;
	int64_t span = s->span_ns * each;

	*top = 0;
	for (unsigned i = 0; i < s->n; i += each) {
		unsigned to = i + each < s->n ? i + each : s->n;
		int64_t from_ns = (s->first + i) * s->span_ns, to_ns = from_ns + span;

		from_ns = from_ns < start_ns ? start_ns : from_ns;
		to_ns = to_ns > end_ns ? end_ns : to_ns;
		if (to_ns <= from_ns || (s->n > each && 2 * (to_ns - from_ns) < span))
			continue;
		v[n] = (double)sum_points(s, i, to).n / ((double)(to_ns - from_ns) / 1e9);
		*top = v[n] > *top ? v[n] : *top;
		n++;
	}
	return n;
}

unsigned series_means(const struct series *s, double *v, unsigned width, double *top)
{
	unsigned each = each_of(s, width), n = 0;

	*top = 0;
	for (unsigned i = 0; i < s->n; i += each, n++) {
		unsigned to = i + each < s->n ? i + each : s->n;
		struct series_point p = sum_points(s, i, to);

		v[n] = p.n ? p.sum / (double)p.n : n ? v[n - 1] : 0;
		*top = v[n] > *top ? v[n] : *top;
	}
	return n;
}
