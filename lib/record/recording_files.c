/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are copied into the queue whole and leave it whole: what a full or broken disk cut off is
 * taken back, so a file always ends at the end of a block.
 */
#include "lib/record/recording_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/as_user.h"
#include "lib/host/rights.h"

#define QUEUE_BYTES (64u << 20)
#define RETRY_NS    200000000 /* a full disk is tried again, */
#define LAST_TRIES  5	      /* so often once the recording is over */

struct chunk {
	struct chunk *next;
	enum ige_put_kind kind;
	uint32_t events;
	bool next_file; /* nothing to write: what follows belongs to the next one */
	size_t n;
	char p[];
};

struct record_output {
	int fd;
	char *path;
	bool regular;
	bool made;  /* by us: there was no such file */
	bool begun; /* until then nothing is written, and the file is as it was */
	struct record_owner owner;
	struct record_rotation *rotation; /* the writing thread's, once it writes; NULL: one file */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct chunk *first, **last;
	size_t queued;
	bool keep; /* nobody could say any more that something was given up */
	bool finish;
	unsigned tried; /* since then, for want of room */
	off_t good;	/* end of the last whole block in the file */
	struct record_output_state state;
};

static bool has_owner(const struct record_owner *owner)
{
	return owner->uid != 0 && geteuid() == 0;
}

/* What is there is opened as it is; *made: nothing was. */
static int open_or_make(const char *path, int flags, bool *made)
{
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600);

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags | O_CREAT, 0600);
	return fd;
}

/* As the owner if there is one: neither a link planted in the owner's folder nor root's rights lead
 * where the owner could not go. */
static int open_as(const char *path, const struct record_owner *owner, bool *made)
{
	struct as_user as;
	int fd;

	as_user_begin(&as, owner->uid, owner->gid);
	fd = open_or_make(path, O_RDWR | O_CLOEXEC, made);
	as_user_end(&as);
	return fd;
}

/* The error of a file that cannot be opened: errno, or what the user behind sudo may not do. */
static int explain_refusal(const char *path, const struct record_owner *owner, struct err *e)
{
	bool denied = errno == EACCES || errno == EPERM;
	struct stat st;

	if (!denied || !has_owner(owner))
		return err_sys(e, "cannot write %s", path);
	if (lstat(path, &st) == 0)
		return err_set(e, ERR_CANNOT,
			       "%s is not replaced: user %u, behind sudo, may not write it (name "
			       "another file, or remove it)",
			       path, (unsigned)owner->uid);
	return err_set(e, ERR_CANNOT,
		       "cannot create %s: user %u, behind sudo, may not write in its folder (name "
		       "a file in another one, or unset SUDO_UID to record as root)",
		       path, (unsigned)owner->uid);
}

/* 0: written; 1: no room now; -1: failed, not to be tried again. */
static int write_chunk(struct record_output *o, const struct chunk *c, struct err *e)
{
	size_t at = 0;
	bool room, back;

	while (at < c->n) {
		ssize_t n = write(o->fd, c->p + at, c->n - at);

		if (n >= 0) {
			at += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN || errno == EWOULDBLOCK) { /* it was handed to us so */
			struct pollfd wait = { .fd = o->fd, .events = POLLOUT };

			poll(&wait, 1, -1);
			continue;
		}
		err_sys(e, "cannot write %s", o->path);
		room = errno != ENOSPC && errno != EDQUOT;
		back = o->regular && ftruncate(o->fd, o->good) == 0 &&
		       lseek(o->fd, o->good, SEEK_SET) == o->good;
		return back && !room ? 1 : -1;
	}
	o->good += (off_t)c->n;
	return 0;
}

/* No room for a chunk: events are dropped, anything else waits for room. After the end of the
 * recording losses cannot be recorded any more: the file then ends before the chunk. */
static bool drop_or_wait(struct record_output *o, const struct chunk *c)
{
	struct timespec until;

	if (o->finish && o->tried++ == LAST_TRIES)
		return o->state.gone = true;
	if (c->kind == IGE_PUT_EVENTS && !o->keep && !o->finish) {
		o->state.dropped_disk += c->events;
		return true;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += RETRY_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&o->more, &o->lock, &until);
	return false;
}

/* Replaces a complete file by the next one of the rotation. 0: done; 1: no room for one now; -1:
 * failed, not to be tried again. */
static int change_file(struct record_output *o, struct err *e)
{
	const char *path;
	uint64_t removed;
	bool made, full;
	int fd;

	record_rotation_grown(o->rotation, (uint64_t)o->good);
	path = record_rotation_next(o->rotation);
	if (!path) {
		err_nomem(e);
		return -1;
	}
	fd = open_as(path, &o->owner, &made);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) {
		full = errno == ENOSPC || errno == EDQUOT;
		err_sys(e, "cannot write %s", path);
		if (fd >= 0)
			close(fd);
		record_rotation_unmade(o->rotation);
		return full ? 1 : -1;
	}
	close(o->fd);
	o->fd = fd;
	o->good = 0;
	removed = record_rotation_prune(o->rotation);
	pthread_mutex_lock(&o->lock);
	o->state.files++;
	o->state.removed = removed;
	pthread_mutex_unlock(&o->lock);
	return 0;
}

static void *write_loop(void *arg)
{
	struct record_output *o = arg;
	bool settled = false;

	pthread_mutex_lock(&o->lock);
	for (;;) {
		struct chunk *c = o->first;
		struct err e = { 0 };
		int rc = 0;

		if (o->begun && !settled) /* whether there will be other files is known */
			(void)host_rights_keep(o->rotation ? host_rights_files(has_owner(&o->owner))
							   : HOST_RIGHTS_NONE);
		settled = o->begun;
		if (!c || !o->begun) {
			if (o->finish)
				break;
			pthread_cond_wait(&o->more, &o->lock);
			continue;
		}
		if (!o->state.gone) {
			pthread_mutex_unlock(&o->lock);
			rc = c->next_file ? change_file(o, &e) : write_chunk(o, c, &e);
			pthread_mutex_lock(&o->lock);
		}
		if (rc && !o->state.error.code && e.code != ERR_CLOSED)
			o->state.error = e;
		if (rc > 0 && !drop_or_wait(o, c))
			continue;
		if (rc < 0)
			o->state.gone = true;
		else if (rc == 0 && !o->state.gone)
			o->state.bytes += c->n;
		o->first = c->next;
		if (!o->first)
			o->last = &o->first;
		o->queued -= c->n;
		free(c);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* Appended with the lock held. */
static void queue_chunk(struct record_output *o, struct chunk *c)
{
	*o->last = c;
	o->last = &c->next;
	o->queued += c->n;
	o->state.file_bytes += c->n;
	pthread_cond_signal(&o->more);
}

int record_output_next(struct record_output *o, struct err *e)
{
	struct chunk *c;

	if (!o->rotation)
		return 0;
	c = malloc(sizeof(*c));
	if (!c)
		return err_nomem(e);
	*c = (struct chunk){ .kind = IGE_PUT_FRAME, .next_file = true };
	pthread_mutex_lock(&o->lock);
	queue_chunk(o, c);
	o->state.file_bytes = 0;
	pthread_mutex_unlock(&o->lock);
	return 0;
}

void record_output_rotate(struct record_output *o, struct record_rotation *r)
{
	o->rotation = r;
	o->state.files = 1;
}

static int output_put(struct record_output *o, enum ige_put_kind kind, const void *p, size_t n,
		      uint32_t events, struct err *e)
{
	struct chunk *c = NULL;
	int rc = 0;

	pthread_mutex_lock(&o->lock);
	if (o->state.gone) {
		rc = ERR_CLOSED;
	} else if (kind == IGE_PUT_EVENTS && !o->keep && o->queued + n > QUEUE_BYTES) {
		o->state.dropped_queue += events;
	} else if ((c = malloc(sizeof(*c) + n))) {
		*c = (struct chunk){ .kind = kind, .events = events, .n = n };
		memcpy(c->p, p, n);
		queue_chunk(o, c);
	} else {
		rc = err_nomem(e);
	}
	pthread_mutex_unlock(&o->lock);
	return rc;
}

static int tee_put(struct ige_sink *sink, enum ige_put_kind kind, const void *p, size_t n,
		   uint32_t events, struct err *e)
{
	struct record_tee *tee = (struct record_tee *)sink;
	unsigned left = 0;

	for (unsigned i = 0; i < tee->n; i++) {
		int rc = output_put(tee->outputs[i], kind, p, n, events, e);

		if (rc < 0 && rc != ERR_CLOSED)
			return rc;
		left += rc == 0;
	}
	return left ? 0 : err_set(e, ERR_CLOSED, "the reader of the recording went away");
}

void record_tee_init(struct record_tee *tee, struct record_output *const *outputs, unsigned n)
{
	*tee = (struct record_tee){ .sink = { .put = tee_put }, .n = n };
	memcpy(tee->outputs, outputs, n * sizeof(*outputs));
}

/* Removes the file created for a recording that never began, unless its path leads to another file
 * by now. */
static void remove_created(const struct record_output *o)
{
	struct stat ours, there;
	struct as_user as;

	if (!o->made || fstat(o->fd, &ours))
		return;
	as_user_begin(&as, o->owner.uid, o->owner.gid);
	if (lstat(o->path, &there) == 0 && there.st_ino == ours.st_ino &&
	    there.st_dev == ours.st_dev)
		unlink(o->path);
	as_user_end(&as);
}

int record_output_create(const char *path, const struct record_owner *owner, struct err *e)
{
	bool made;
	int fd = open_as(path, owner, &made);

	if (fd < 0)
		explain_refusal(path, owner, e);
	return fd;
}

int record_output_directory(const char *path, const struct record_owner *owner, bool for_owner,
			    struct err *e)
{
	struct as_user as;
	struct stat st;
	int rc;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0
					   : err_set(e, ERR_CANNOT, "%s is not a directory", path);
	as_user_begin(&as, owner->uid, owner->gid);
	rc = mkdir(path, 0700);
	as_user_end(&as);
	if (rc == 0)
		return 0;
	if (!for_owner || !has_owner(owner) || errno != EACCES)
		return explain_refusal(path, owner, e);
	if (mkdir(path, 0700))
		return err_sys(e, "cannot make %s", path);
	if (lchown(path, owner->uid, owner->gid))
		return err_sys(e, "cannot give %s to its user", path);
	return 0;
}

int record_output_open(struct record_output **out, const char *path,
		       const struct record_owner *owner, struct err *e)
{
	struct record_output *o = calloc(1, sizeof(*o));
	struct stat st;
	int rc;

	*out = NULL;
	if (!o)
		return err_nomem(e);
	o->last = &o->first;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->more, NULL);
	o->owner = *owner;
	o->path = strdup(strcmp(path, "-") == 0 ? "standard output" : path);
	o->fd = strcmp(path, "-") == 0 ? STDOUT_FILENO : open_as(path, owner, &o->made);
	if (!o->path) {
		rc = err_nomem(e);
		goto out;
	}
	if (o->fd < 0) {
		rc = explain_refusal(path, owner, e);
		goto out;
	}
	if (isatty(o->fd)) {
		rc = err_set(e, ERR_USAGE,
			     "not writing a binary recording to a terminal (use -o FILE, or pipe "
			     "it into a "
			     "program: ingero-record -o - … | ingero-stat)");
		goto out;
	}
	o->regular = fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode);
	if (o->regular && o->fd != STDOUT_FILENO) {
		if (flock(o->fd, LOCK_EX | LOCK_NB)) {
			rc = err_set(e, ERR_CANNOT,
				     "cannot write %s: another recorder is writing it", path);
			goto out;
		}
	} else if (o->regular) {
		o->good = lseek(o->fd, 0, SEEK_CUR);
	}
	rc = pthread_create(&o->thread, NULL, write_loop, o);
	if (rc) {
		rc = err_set(e, ERR_SYS, "cannot start a thread: %s", strerror(rc));
		goto out;
	}
	*out = o;
	return 0;
out:
	if (o->fd > STDERR_FILENO) {
		if (o->path)
			remove_created(o);
		close(o->fd);
	}
	free(o->path);
	free(o);
	return rc;
}

int record_output_begin(struct record_output *o, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&o->lock);
	if (!o->begun && o->regular && o->fd != STDOUT_FILENO && ftruncate(o->fd, 0))
		rc = err_sys(e, "cannot write %s", o->path);
	o->begun = rc == 0;
	pthread_cond_signal(&o->more);
	pthread_mutex_unlock(&o->lock);
	return rc;
}

void record_output_state(struct record_output *o, struct record_output_state *state)
{
	pthread_mutex_lock(&o->lock);
	*state = o->state;
	pthread_mutex_unlock(&o->lock);
}

void record_output_last(struct record_output *o, struct record_output_state *state)
{
	pthread_mutex_lock(&o->lock);
	o->keep = true;
	*state = o->state;
	pthread_mutex_unlock(&o->lock);
}

const char *record_output_path(const struct record_output *o)
{
	return o->path;
}

bool record_output_is_file(const struct record_output *o)
{
	return o->regular;
}

int record_output_close(struct record_output *o, struct record_output_state *last, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&o->lock);
	o->finish = true;
	pthread_cond_signal(&o->more);
	pthread_mutex_unlock(&o->lock);
	pthread_join(o->thread, NULL);
	while (o->first) { /* of a recording that never began */
		struct chunk *c = o->first;

		o->first = c->next;
		free(c);
	}
	if (!o->begun)
		remove_created(o);
	if (close(o->fd) && !o->state.error.code)
		err_sys(&o->state.error, "cannot write %s", o->path);
	record_rotation_free(o->rotation);
	*last = o->state;
	if (o->state.error.code) {
		*e = o->state.error;
		rc = ERR_CANNOT;
	}
	free(o->path);
	free(o);
	return rc;
}
