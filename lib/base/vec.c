/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one growth rule behind every VEC: doubling from eight elements, sizes checked.
 */
#include "lib/base/vec.h"

#include "lib/base/check.h"
#include "lib/base/oom_flag.h"

bool vec_grow_(void **v, size_t *cap, size_t n, size_t more, size_t each)
{
	size_t need, room, size;
	void *p;

	if (!size_add(n, more, &need))
		return false;
	if (need <= *cap)
		return true;
	room = *cap < 8 ? 8 : *cap;
	while (room < need)
		if (!size_mul(room, 2, &room))
			return false;
	if (!size_mul(room, each, &size))
		return false;
	p = realloc(*v, size);
	if (!p) {
		oom_flag_set();
		return false;
	}
	*v = p;
	*cap = room;
	return true;
}

void vec_fit_(void **v, size_t *cap, size_t n, size_t each)
{
	void *p = n ? realloc(*v, n * each) : NULL;

	if (n && !p)
		return; /* as it was */
	if (!n)
		free(*v);
	*v = p;
	*cap = n;
}
