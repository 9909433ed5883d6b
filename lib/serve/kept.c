/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON file for each state of files, written aside and renamed. Numbers are texts: nanoseconds of a clock may be more than a
 * JSON number holds.
 */
#include "lib/serve/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/io.h"
#include "lib/base/jsonw.h"

#define FORM	  "ingero.kept/1"
#define FILES	  32u
#define BYTES_MAX (64u << 20)
#define ENDING	  ".chains"

/* Another build may find something else. */
static bool program_state(struct buf *out)
{
	struct stat st;

	if (stat("/proc/self/exe", &st))
		return false;
	buf_printf(out, "%ju:%ju:%jd:%jd.%09ld", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
		   (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return !out->failed;
}

/* And the one it is in, of a person who never had a ~/.cache. */
void kept_make(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct buf above = { 0 };

	if (!mkdir(path, 0700) || errno != ENOENT || !slash)
		return;
	buf_add(&above, path, (size_t)(slash - path));
	if (!mkdir(buf_text(&above), 0700))
		mkdir(path, 0700);
	buf_free(&above);
}

/* The folder, which is ours alone; < 0: there is none. */
static int open_folder(const char *path, bool make)
{
	struct stat st;
	int fd;

	if (make)
		kept_make(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 022)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void name_of(char out[40], const char *state)
{
	snprintf(out, 40, "%016" PRIx64 ENDING, hash_bytes(state, strlen(state), 0));
}

/* ---- writing ---- */

static void put_number(struct jsonw *j, const char *key, int64_t x)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, x);
	jsonw_key_str(j, key, text);
}

static void put_value(struct jsonw *j, const char *key, struct json v)
{
	struct buf text = { 0 };

	if (!v.is)
		return;
	json_dump(&text, v, 0);
	jsonw_key(j, key);
	jsonw_raw(j, buf_bytes(&text));
	buf_free(&text);
}

static void put_chain(struct jsonw *j, const struct chain *c)
{
	jsonw_object_begin(j);
	jsonw_key_bytes(j, "id", c->id);
	jsonw_key_bytes(j, "match", c->match);
	jsonw_key_bytes(j, "kind", c->kind);
	jsonw_key_bytes(j, "summary", c->summary);
	put_number(j, "revision", c->revision);
	put_number(j, "severity", c->severity);
	put_number(j, "time_ns", c->time_ns);
	put_number(j, "first_ns", c->first_ns);
	put_number(j, "last_ns", c->last_ns);
	put_number(j, "count", (int64_t)c->count);
	put_number(j, "lost_ns", (int64_t)c->lost_ns);
	put_value(j, "body", c->body);
	jsonw_object_end(j);
}

static void put_all(struct buf *out, const char *state, const char *program,
		    const struct ask_chains *a)
{
	struct jsonw j;

	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "form", FORM);
	jsonw_key_str(&j, "files", state);
	jsonw_key_str(&j, "program", program);
	put_number(&j, "events", (int64_t)a->events);
	put_number(&j, "lost", (int64_t)a->lost);
	put_number(&j, "end_ns", a->end_ns);
	if (a->has_start)
		put_number(&j, "start_ns", a->start_ns);
	if (a->has_real)
		put_number(&j, "real_minus_mono_ns", a->real_minus_mono_ns);
	put_value(&j, "analysis", a->list.analysis);
	jsonw_key_array(&j, "chains");
	for (size_t i = 0; i < a->list.v.n; i++)
		put_chain(&j, &a->list.v.v[i]);
	jsonw_array_end(&j);
	jsonw_object_end(&j);
}

/* Until no more than FILES are there. */
static void remove_oldest(int folder)
{
	for (;;) {
		char oldest[NAME_MAX + 1] = "";
		struct timespec when = { 0 };
		struct dirent *d;
		unsigned n = 0;
		DIR *all = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

		if (!all)
			return;
		while ((d = readdir(all))) {
			struct stat st;

			if (!strstr(d->d_name, ENDING) ||
			    fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
				continue;
			n++;
			if (!*oldest || st.st_mtim.tv_sec < when.tv_sec ||
			    (st.st_mtim.tv_sec == when.tv_sec &&
			     st.st_mtim.tv_nsec < when.tv_nsec)) {
				snprintf(oldest, sizeof(oldest), "%s", d->d_name);
				when = st.st_mtim;
			}
		}
		closedir(all);
		if (n <= FILES || unlinkat(folder, oldest, 0))
			return;
	}
}

void kept_write(const char *folder, const char *state, const struct ask_chains *a)
{
	struct buf text = { 0 }, program = { 0 };
	char name[40], aside[64];
	int dir = open_folder(folder, true), fd = -1;
	struct err e;

	if (dir >= 0 && program_state(&program))
		put_all(&text, state, buf_text(&program), a);
	name_of(name, state);
	snprintf(aside, sizeof(aside), "%s.%d", name, (int)getpid());
	if (text.n && !text.failed)
		fd = openat(dir, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool whole = !write_all(fd, text.p, text.n, &e);

		whole = !close(fd) && whole;
		if (!whole || renameat(dir, aside, dir, name))
			unlinkat(dir, aside, 0);
		else
			remove_oldest(dir);
	}
	if (dir >= 0)
		close(dir);
	buf_free(&text);
	buf_free(&program);
}

/* ---- reading ---- */

static bool take_number(struct json o, const char *key, int64_t *out)
{
	struct json v = json_get(o, key);
	char text[24], *end = text;

	snprintf(text, sizeof(text), "%.*s", (int)json_bytes(v).n,
		 json_bytes(v).p ? json_bytes(v).p : "");
	*out = strtoll(text, &end, 10);
	json_free(v);
	return end > text && !*end;
}

static bool says(struct json o, const char *key, const char *text)
{
	struct json v = json_get(o, key);
	bool is = bytes_equal(json_bytes(v), bytes_of(text));

	json_free(v);
	return is;
}

static bool take_chain(struct chain_list *list, struct json o)
{
	struct json id = json_get(o, "id"), match = json_get(o, "match"),
		    kind = json_get(o, "kind"), summary = json_get(o, "summary"),
		    body = json_get(o, "body");
	struct record r = { .kind = RECORD_CHAIN };
	int64_t revision, severity, time, first, last, count, lost;
	struct buf text = { 0 };
	bool whole = take_number(o, "revision", &revision) & take_number(o, "severity", &severity) &
		     take_number(o, "time_ns", &time) & take_number(o, "first_ns", &first) &
		     take_number(o, "last_ns", &last) & take_number(o, "count", &count) &
		     take_number(o, "lost_ns", &lost);
	struct err e;

	if (whole) {
		if (body.is)
			json_dump(&text, body, 0);
		REC_SET(&r, CHAIN, id, json_bytes(id));
		REC_SET(&r, CHAIN, match, json_bytes(match));
		REC_SET(&r, CHAIN, kind, json_bytes(kind));
		REC_SET(&r, CHAIN, summary, json_bytes(summary));
		REC_SET(&r, CHAIN, revision, (uint32_t)revision);
		REC_SET(&r, CHAIN, severity, (uint32_t)severity);
		REC_SET(&r, CHAIN, time_ns, time);
		REC_SET(&r, CHAIN, first_ns, first);
		REC_SET(&r, CHAIN, last_ns, last);
		REC_SET(&r, CHAIN, count, (uint64_t)count);
		REC_SET(&r, CHAIN, lost_ns, (uint64_t)lost);
		REC_SET(&r, CHAIN, body, buf_bytes(&text));
		whole = !text.failed && !chain_list_add(list, &r, &e);
	}
	buf_free(&text);
	json_free(id);
	json_free(match);
	json_free(kind);
	json_free(summary);
	json_free(body);
	return whole;
}

static bool take_all(struct json o, struct ask_chains *out)
{
	struct json chains = json_get(o, "chains");
	int64_t events, lost;
	bool whole = take_number(o, "events", &events) & take_number(o, "lost", &lost) &
		     take_number(o, "end_ns", &out->end_ns) &
		     (json_type(chains) == JSON_TYPE_ARRAY);

	out->events = (uint64_t)events;
	out->lost = (uint64_t)lost;
	out->has_start = take_number(o, "start_ns", &out->start_ns);
	out->has_real = take_number(o, "real_minus_mono_ns", &out->real_minus_mono_ns);
	out->list.analysis = json_get(o, "analysis");
	out->list.analyzed = true;
	for (size_t i = 0, n = json_length(chains); i < n && whole; i++) {
		struct json c = json_at(chains, i);

		whole = take_chain(&out->list, c);
		json_free(c);
	}
	chain_list_sort(&out->list);
	json_free(chains);
	return whole;
}

bool kept_read(const char *folder, const char *state, struct ask_chains *out)
{
	int dir = open_folder(folder, false), fd;
	struct buf text = { 0 }, program = { 0 };
	struct json o = JSON_NONE;
	bool is = false;
	char name[40];
	struct err e;

	*out = (struct ask_chains){ 0 };
	name_of(name, state);
	fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && !read_fd(fd, name, &text, BYTES_MAX, &e) && program_state(&program) &&
	    !json_parse(buf_bytes(&text), &o, &e))
		is = says(o, "form", FORM) && says(o, "files", state) &&
		     says(o, "program", buf_text(&program)) && take_all(o, out);
	if (!is) {
		chain_list_free(&out->list);
		*out = (struct ask_chains){ 0 };
	}
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	json_free(o);
	buf_free(&text);
	buf_free(&program);
	return is;
}
