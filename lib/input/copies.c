/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes are compared only of files that begin with the same header, which is mostly none. */
#include "lib/input/input_internal.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"

static int open_again(const struct one *o)
{
	return o->fd < 0 ? io_open_regular(input_path_of(o), NULL) : o->fd;
}

static void close_again(const struct one *o, int fd)
{
	if (o->fd < 0 && fd >= 0)
		close(fd);
}

/* < 0, 0, > 0; *beginning: the shorter one is the beginning of the other. */
static int by_content(const struct one *a, const struct one *b, bool *beginning)
{
	static _Thread_local char x[1 << 14], y[1 << 14];
	int p = open_again(a), q = open_again(b), c = 0;

	*beginning = false;
	for (off_t at = 0;; at += (off_t)sizeof(x)) {
		ssize_t n = read_at(p, x, sizeof(x), at), m = read_at(q, y, sizeof(y), at);

		c = n > 0 && m > 0 ? memcmp(x, y, (size_t)(n < m ? n : m)) : 0;
		*beginning = !c && n != m && n >= 0 && m >= 0;
		if (!c && n != m)
			c = n < m ? -1 : 1;
		if (c || n < (ssize_t)sizeof(x))
			break;
	}
	close_again(a, p);
	close_again(b, q);
	return c;
}

int input_copies_order(const void *one, const void *other)
{
	const struct one *a = one, *b = other;
	int c = clock_head_order(&a->head, &b->head);
	bool beginning;

	return c || !input_is_file(a) || !input_is_file(b) ? c : by_content(a, b, &beginning);
}

enum input_copy input_copy_of(const struct one *a, const struct one *b)
{
	bool beginning;

	if (!a->head.known || !b->head.known || clock_head_order(&a->head, &b->head))
		return INPUT_OTHER;
	if (!input_is_file(a) || !input_is_file(b))
		return INPUT_ALIKE;
	if (by_content(a, b, &beginning) == 0)
		return INPUT_SAME;
	return beginning ? INPUT_BEGINNING : INPUT_ALIKE;
}
