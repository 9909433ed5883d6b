/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of Misra and Gries, weighted: what finds no place takes as much from all that have
 * one. Its error is at most the whole divided by the candidates and one.
 */
#include "lib/account/launched.h"

void launched_add(struct launched *l, uint64_t func, uint64_t ns)
{
	uint64_t least = ns;
	unsigned i, room = LAUNCHED_KEPT;

	for (i = 0; i < LAUNCHED_KEPT; i++) {
		if (l->v[i].ns && l->v[i].func == func) {
			l->v[i].ns += ns;
			return;
		}
		if (l->v[i].ns == 0)
			room = i;
		else if (l->v[i].ns < least)
			least = l->v[i].ns;
	}
	if (room == LAUNCHED_KEPT) {
		for (i = 0; i < LAUNCHED_KEPT; i++) {
			l->v[i].ns -= least;
			if (l->v[i].ns == 0)
				room = i;
		}
		ns -= least;
	}
	if (ns && room < LAUNCHED_KEPT) {
		l->v[room].func = func;
		l->v[room].ns = ns;
	}
}

bool launched_most(const struct launched *l, uint64_t total_ns, uint64_t *func)
{
	for (unsigned i = 0; i < LAUNCHED_KEPT; i++)
		if (l->v[i].ns && l->v[i].ns >= total_ns - total_ns / 2) {
			*func = l->v[i].func;
			return true;
		}
	return false;
}
