/* SPDX-License-Identifier: Apache-2.0 */
/* What readings of a source have in common: which files it was, and how far it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/store/source_state.h"

/* Whether a recorder holds it open. */
static bool is_written(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd); /* and a lock with it */
	return is;
}

/* A recorder that was killed leaves every byte as it was, and still its recording says something
 * else from then on: that it did not end. */
int source_state_init(struct store_source *s, struct source_state *st, struct err *e)
{
	const char *const *names;
	struct stat f;
	unsigned n;
	int rc = source_update_files(s, e);

	*st = (struct source_state){ 0 };
	names = store_source_names(s, &n);
	for (unsigned i = 0; !rc && i < n; i++) {
		bool written;

		if (stat(names[i], &f))
			return err_sys(e, "cannot open %s", names[i]);
		written = is_written(names[i]);
		buf_printf(&st->identity, "%ju:%ju;", (uintmax_t)f.st_dev, (uintmax_t)f.st_ino);
		buf_printf(&st->state, "%ju:%ju:%jd:%jd.%09ld%s;", (uintmax_t)f.st_dev,
			   (uintmax_t)f.st_ino, (intmax_t)f.st_size, (intmax_t)f.st_mtim.tv_sec,
			   f.st_mtim.tv_nsec, written ? "+" : "");
		st->size += (uint64_t)f.st_size;
		st->grows |= written;
	}
	if (!rc && (st->identity.failed || st->state.failed))
		rc = err_nomem(e);
	return rc;
}

void source_state_free(struct source_state *st)
{
	buf_free(&st->state);
	buf_free(&st->identity);
}

/* The first bytes of the first, of which no two recordings have the same. */
static void begin_of(const struct store_source *s, unsigned char begin[IGE_SEGMENT_BYTES])
{
	unsigned n;
	int fd = io_open_regular(store_source_names(s, &n)[0], NULL);

	memset(begin, 0, IGE_SEGMENT_BYTES);
	if (fd >= 0 && read_at(fd, begin, IGE_SEGMENT_BYTES, 0) < 0)
		memset(begin, 0, IGE_SEGMENT_BYTES);
	if (fd >= 0)
		close(fd);
}

bool source_is_growing(const struct store_source *s)
{
	unsigned n;
	const char *const *names = store_source_names(s, &n);

	return n == 1 && is_written(names[0]);
}

int source_fingerprint_init(struct source_fingerprint *p, const struct store_source *s,
			    const struct source_state *now, struct err *e)
{
	p->identity = strdup(buf_text(&now->identity));
	p->size = 0;
	begin_of(s, p->begin);
	return p->identity ? 0 : err_nomem(e);
}

bool source_fingerprint_matches(const struct source_fingerprint *p, const struct store_source *s,
				const struct source_state *now)
{
	unsigned char begin[IGE_SEGMENT_BYTES];

	begin_of(s, begin);
	return !strcmp(p->identity, buf_text(&now->identity)) && now->size >= p->size &&
	       !memcmp(begin, p->begin, sizeof(begin));
}

void source_fingerprint_free(struct source_fingerprint *p)
{
	free(p->identity);
}

int source_report_progress(const struct request_ctx *rctx, struct input *in, const char *doing,
			   struct err *e)
{
	uint64_t done, total, events;

	if (!rctx)
		return 0;
	if (request_ctx_should_stop(rctx))
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	if (rctx->progress) {
		input_position(in, &done, &total, &events);
		/* Of a part, and of what is no file, it is not known how far it is; who asks hears
		 * that it goes on. */
		rctx->progress(rctx, (double)(total ? done : events), (double)total, doing);
	}
	return 0;
}

struct ops_input source_input_quality(const struct input *in, struct buf *notes)
{
	input_verdict(in, notes);
	return input_quality(in);
}
