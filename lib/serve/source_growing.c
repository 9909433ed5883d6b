/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analysis says what it found of the whole when it ends, and cannot go on then. So a child ends it: a copy of ours that takes as much
 * memory as it changes, writes what it found and is gone. Where there can be no child, who asks reads all of it.
 */
#include "lib/serve/source_growing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/json.h"
#include "lib/base/nomem.h"
#include "lib/serve/chains_json.h"

#define LOOK_MS	 50
#define CHILD_NS INT64_C(60000000000) /* it takes some ten milliseconds */

struct source_growing {
	struct source_place place;
	struct world *w;
	struct input *in;
	struct ask_story *story;
};

void source_growing_free(struct source_growing *g)
{
	if (!g)
		return;
	ask_story_free(g->story);
	input_free(g->in);
	world_free(g->w);
	source_place_free(&g->place);
	free(g);
}

void source_grown_free(struct source_grown *g)
{
	ask_chains_drop(&g->held);
	story_said_free(&g->said);
	source_growing_free(g->ended);
	g->ended = NULL;
}

static int start(struct serve_source *s, const struct source_state *now, struct err *e)
{
	struct source_growing *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return err_nomem(e);
	g->w = world_new();
	g->story = g->w ? ask_story_new(g->w) : NULL;
	rc = g->story ? source_place_of(&g->place, s, now, e) : err_nomem(e);
	rc = rc ? rc : source_input(s, &g->in, g->w, NULL, e);
	if (!rc && input_follow(g->in))
		s->growing = g;
	else
		source_growing_free(g);
	return rc;
}

static int read_on(struct source_growing *g, const struct serve_asker *asker, struct err *e)
{
	struct event_stream *stream = input_stream(g->in);
	struct stream_item item;
	int rc = 0;

	while (!rc && (rc = stream->next(stream, &item, e)) > 0) {
		rc = ask_story_item(g->story, &item, e);
		rc = rc ? rc : source_tick(asker, g->in, "looking for causes", e);
	}
	return rc == ERR_TOO_NEW ? 0 : rc;
}

/* ---- what it says by now ---- */

static void child(struct source_growing *g, int fd)
{
	struct story told;
	struct buf text = { 0 };
	struct jsonw j;
	struct err e;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	if (ask_story_end(g->story, &told, &e))
		_exit(1);
	jsonw_init(&j, &text, false);
	jsonw_object_begin(&j);
	chains_json_put(&j, told.chains);
	story_json_put(&j, told.failures, told.oncpu);
	jsonw_object_end(&j);
	_exit(text.failed || nomem_seen() || write_all(fd, text.p, text.n, &e));
}

/* Until it has said all, somebody gives up, or it takes too long: false. */
static bool hear(int fd, const struct serve_asker *asker, struct buf *text)
{
	int64_t until = held_now_ns() + CHILD_NS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char block[65536];

	while (held_now_ns() < until && !serve_asker_stops(asker)) {
		ssize_t n = poll(&p, 1, LOOK_MS) > 0 ? read(fd, block, sizeof(block)) : -1;

		if (n == 0)
			return !text->failed;
		if (n > 0)
			buf_add(text, block, (size_t)n);
	}
	return false;
}

static bool ask_child(struct source_growing *g, const struct serve_asker *asker, struct buf *text)
{
	sigset_t all, before;
	int fds[2], status = 0;
	bool whole;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		child(g, fds[1]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(fds[1]);
	whole = pid > 0 && hear(fds[0], asker, text);
	close(fds[0]);
	if (pid > 0) {
		if (!whole)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return whole && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void say(struct source_growing *g, const struct serve_asker *asker, struct source_grown *out)
{
	struct json o = JSON_NONE;
	struct buf text = { 0 };

	if (ask_child(g, asker, &text) && !json_parse(buf_bytes(&text), &o, NULL) &&
	    chains_json_take(o, &out->held) && story_json_take(o, &out->said)) {
		out->held.unfinished = true;
		out->answer = &out->held;
		out->failures = &out->said.failures;
		out->oncpu = &out->said.oncpu;
	} else {
		if (!out->said.text.is)
			json_free(o);
		source_grown_free(out);
	}
	buf_free(&text);
}

static int answer(struct serve_source *s, const struct source_state *now,
		  const struct serve_asker *asker, struct source_grown *out, struct buf *notes,
		  struct err *e)
{
	struct source_growing *g = s->growing;
	struct story told;
	int rc = read_on(g, asker, e);

	/* Who gives up leaves it where it is: it can be read on from there. */
	if (rc == ERR_INTERRUPTED)
		return rc;
	if (!rc) {
		g->place.size = now->size;
		out->input = source_quality(g->in, notes);
		if (out->input.growing) {
			say(g, asker, out);
			return 0;
		}
		rc = ask_story_end(g->story, &told, e);
	}
	s->growing = NULL;
	if (rc) {
		source_growing_free(g);
		return rc;
	}
	out->ended = g;
	out->answer = told.chains;
	out->failures = told.failures;
	out->oncpu = told.oncpu;
	return 0;
}

int source_growing_chains(struct serve_source *s, bool begin, const struct serve_asker *asker,
			  struct source_grown *out, struct buf *notes, struct err *e)
{
	struct source_state now;
	int rc;

	*out = (struct source_grown){ 0 };
	pthread_mutex_lock(&s->lock);
	/* Only here: what somebody saw who waited since is shorter than what was read for others. */
	rc = source_state_of(s, &now, e);
	if (!rc && s->growing && !source_place_is(&s->growing->place, s, &now)) {
		source_growing_free(s->growing);
		s->growing = NULL;
	}
	if (!rc && !s->growing && begin)
		rc = start(s, &now, e);
	if (!rc && s->growing)
		rc = answer(s, &now, asker, out, notes, e);
	pthread_mutex_unlock(&s->lock);
	source_state_free(&now);
	return rc;
}
