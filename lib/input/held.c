/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the device memory that processes held at the end of an archive; there it stands as words:
 * the id in hexadecimal, a slash, the bytes; 0 where the size is unknown. */
#include "lib/input/input_internal.h"

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

/* What stands behind the id of a word that ends at `end`. */
static uint64_t bytes_of_word(const char *id, const char *end)
{
	const char *slash = id + ID_DIGITS;

	return slash < end && *slash == '/' ? strtoull(slash + 1, NULL, 10) : 0;
}

/* Whether words list the recording of that id, with at least so many bytes. */
static enum input_held match_recording(const struct buf *words, const char *id, uint64_t bytes)
{
	const char *at = memmem(words->p, words->n, id, ID_DIGITS);
	uint64_t before;

	if (!at)
		return INPUT_HELD_NOT;
	before = bytes_of_word(at, words->p + words->n);
	return before && bytes > before ? INPUT_HELD_LESS : INPUT_HELD_ALL;
}

/* All that another archive has, one by one. */
static enum input_held holds_all(const struct buf *words, const struct buf *others)
{
	unsigned n = 0, held = 0;

	for (const char *at = others->p, *last = at + others->n, *end; at < last; at = end + 1) {
		enum input_held one;

		end = memchr(at, ' ', (size_t)(last - at));
		end = end ? end : last;
		if (end - at < ID_DIGITS)
			continue;
		one = match_recording(words, at, bytes_of_word(at, end));
		if (one == INPUT_HELD_LESS)
			return one;
		held += one == INPUT_HELD_ALL;
		n++;
	}
	return !held ? INPUT_HELD_NOT : held < n ? INPUT_HELD_SOME : INPUT_HELD_ALL;
}

enum input_held input_holds(const struct one *archive, const struct one *o)
{
	char id[ID_DIGITS + 1];

	if (!archive->holds.n)
		return INPUT_HELD_NOT;
	if (o->holds.n)
		return holds_all(&archive->holds, &o->holds);
	if (!o->head.known)
		return INPUT_HELD_NOT;
	id_of(o, id);
	return match_recording(&archive->holds, id, bytes_of_file(o));
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
