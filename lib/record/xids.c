/* SPDX-License-Identifier: Apache-2.0 */
/* In the order they came: what is too old to be matched stands first. */
#include "lib/record/xids.h"

#include <string.h>

static void drop_waiting(struct record_xids *x, unsigned i)
{
	x->n--;
	memmove(x->waiting + i, x->waiting + i + 1, (x->n - i) * sizeof(x->waiting[0]));
}

bool record_xids_new(struct record_xids *x, enum record_xid_source source, uint32_t gpu,
		     uint32_t number, int64_t time_ns)
{
	x->told[source]++;
	while (x->n && time_ns - x->waiting[0].time_ns > RECORD_XIDS_MATCH_NS)
		drop_waiting(x, 0);
	for (unsigned i = 0; i < x->n; i++) {
		const struct record_xid *w = &x->waiting[i];

		if (w->source != source && w->gpu == gpu && w->number == number) {
			drop_waiting(x, i);
			return false;
		}
	}
	if (x->n == RECORD_XIDS_MAX)
		drop_waiting(x, 0);
	x->waiting[x->n++] = (struct record_xid){
		.gpu = gpu, .number = number, .source = source, .time_ns = time_ns
	};
	return true;
}
