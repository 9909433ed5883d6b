/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an input through a sliding window. Consumed bytes make room for new ones, so that the
 * window stays as large as a block or two.
 */
#include "lib/ige/window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/ige/block.h"

/* Bytes per read of a file that is reopened for each read: about a block, since the window is then
 * one of many. */
#define MANY_READ_BYTES (64u << 10)

/* ---- more files than may be open ---- */

int ige_window_let_go(struct ige_window *w, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(w->fd, &st))
		return err_sys(e, "cannot read %s", w->name);
	w->path = path;
	w->device = st.st_dev;
	w->inode = st.st_ino;
	ige_window_close(w);
	return 0;
}

int ige_window_open(struct ige_window *w, struct err *e)
{
	off_t at = (off_t)(w->offset + ige_window_held(w));
	struct stat st;

	if (!w->path || w->fd >= 0)
		return 0;
	w->fd = open(w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (w->fd < 0 || fstat(w->fd, &st) || lseek(w->fd, at, SEEK_SET) < 0)
		return err_sys(e, "cannot open %s again", w->name);
	if (st.st_dev != w->device || st.st_ino != w->inode)
		return err_set(e, ERR_CANNOT, "%s: another file took its place while it was read",
			       w->name);
	return 0;
}

void ige_window_close(struct ige_window *w)
{
	if (!w->path || w->fd < 0)
		return;
	close(w->fd);
	w->fd = -1;
}

/* ---- reading ---- */

static int fill_window(struct ige_window *w, size_t n, struct err *e)
{
	size_t once = w->path ? MANY_READ_BYTES : IGE_READ_BYTES;

	while (ige_window_held(w) < n && !w->eof) {
		ssize_t got;

		/* What was passed makes room before the window grows: it stays as large as a block
		 * or two. */
		if (w->from && w->cap - w->to < once) {
			memmove(w->bytes, w->bytes + w->from, ige_window_held(w));
			w->to -= w->from;
			w->from = 0;
		}
		if (w->cap - w->to < once) {
			size_t cap = w->to + (n > once ? n : once) + once;
			unsigned char *window = realloc(w->bytes, cap);

			if (!window)
				return err_nomem(e);
			w->bytes = window;
			w->cap = cap;
		}
		do
			got = read(w->fd, w->bytes + w->to, w->cap - w->to);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return err_sys(e, "cannot read %s", w->name);
		if (got == 0)
			w->eof = true;
		w->to += (size_t)got;
	}
	return 0;
}

int ige_window_fill(struct ige_window *w, size_t n, struct err *e)
{
	int rc;

	if (ige_window_held(w) >= n || w->eof)
		return 0;
	rc = ige_window_open(w, e);
	if (!rc)
		rc = fill_window(w, n, e);
	ige_window_close(w);
	return rc;
}

void ige_window_pass(struct ige_window *w, size_t n)
{
	w->from += n;
	w->offset += n;
	if (w->from == w->to)
		w->from = w->to = 0;
}

bool ige_window_sound(const unsigned char *p, size_t n)
{
	struct ige_header h;
	struct ige_segment s;
	int rc;

	if (n >= IGE_BLOCK_BYTES && ige_header_unpack(&h, p, NULL) == 0)
		return true;
	if (n < IGE_SEGMENT_BYTES)
		return false;
	rc = ige_segment_unpack(&s, p, NULL);
	return rc == 0 || rc == ERR_TOO_NEW;
}

int ige_window_resync(struct ige_window *w, size_t limit, struct err *e)
{
	size_t skipped = 0;

	while (skipped < limit) {
		int rc = ige_window_fill(w, IGE_SEGMENT_BYTES, e);
		size_t n = ige_window_held(w), at;

		if (rc)
			return rc;
		for (at = 0; at < n && at < limit - skipped; at++) {
			const unsigned char *p = w->bytes + w->from + at;

			if ((*p == 'I' || *p == 0x89) && n - at >= IGE_BLOCK_BYTES &&
			    ige_window_sound(p, n - at)) {
				/* A segment header needs more bytes than a block header: it is
				 * looked at again whole. */
				*w->skipped += at;
				ige_window_pass(w, at);
				return 1;
			}
			/* What could still be the beginning of a header stays in the window. */
			if (!w->eof && n - at < IGE_SEGMENT_BYTES)
				break;
		}
		*w->skipped += at;
		ige_window_pass(w, at);
		skipped += at;
		if (w->eof && ige_window_held(w) == 0)
			return 0;
	}
	return 0;
}
