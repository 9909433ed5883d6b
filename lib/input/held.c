/* SPDX-License-Identifier: Apache-2.0 */
/* In an archive they stand as words: the id in hexadecimal, a slash, the bytes; 0 where nobody knows how many. */
#include "lib/input/held.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID_DIGITS 32

static uint64_t bytes_of_file(const struct one *o)
{
	struct stat st;
	int rc = o->fd >= 0 ? fstat(o->fd, &st) : stat(input_path_of(o), &st);

	return !rc && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static void id_of(const struct one *o, char id[ID_DIGITS + 1])
{
	for (unsigned i = 0; i < sizeof(o->head.segment.id); i++)
		snprintf(id + (size_t)2 * i, 3, "%02x", o->head.segment.id[i]);
}

bool input_holds(const struct one *archive, const struct one *o, bool *grown)
{
	char id[ID_DIGITS + 1];
	const char *at = archive->holds.n && !o->holds.n && o->head.known ? archive->holds.p : NULL;
	uint64_t before;

	if (!at)
		return false;
	id_of(o, id);
	at = memmem(at, archive->holds.n, id, ID_DIGITS);
	if (!at)
		return false;
	at += ID_DIGITS;
	before = at < archive->holds.p + archive->holds.n && *at == '/' ? strtoull(at + 1, NULL, 10)
									: 0;
	*grown = before && bytes_of_file(o) > before;
	return true;
}

void input_recordings(const struct input *in, struct buf *out)
{
	for (unsigned i = 0; i < in->n; i++) {
		const struct one *o = &in->each[i];
		char id[ID_DIGITS + 1];

		if (!o->holds.n && !o->head.known)
			continue;
		if (out->n)
			buf_putc(out, ' ');
		if (o->holds.n) {
			buf_add(out, o->holds.p, o->holds.n);
			continue;
		}
		id_of(o, id);
		buf_printf(out, "%s/%" PRIu64, id, bytes_of_file(o));
	}
}
