/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from outside: nothing is allocated for a line, and every text is checked before it is kept.
 * Invariant: the WORD record of a text is said before the first event that names it.
 */
#include "lib/record/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/as_user.h"
#include "lib/base/hash.h"
#include "lib/base/utf8.h"

#define SECOND_NS 1000000000
#define READS_MAX 16 /* of 4 KB in one go: whoever writes faster waits */

static struct bytes trim_blanks(struct bytes b)
{
	while (b.n && (b.p[b.n - 1] == ' ' || b.p[b.n - 1] == '\t' || b.p[b.n - 1] == '\r'))
		b.n--;
	while (b.n && (b.p[0] == ' ' || b.p[0] == '\t')) {
		b.p++;
		b.n--;
	}
	return b;
}

static bool is_printable(struct bytes b)
{
	for (size_t i = 0; i < b.n;) {
		size_t n = utf8_length((const unsigned char *)b.p + i, b.n - i);

		if (n == 0 || (b.p[i] != '\t' && (unsigned char)b.p[i] < ' ') || b.p[i] == 127)
			return false;
		i += n;
	}
	return true;
}

static bool parse_number(struct bytes b, double *value)
{
	char text[64], *end;

	if (b.n == 0 || b.n >= sizeof(text))
		return false;
	for (size_t i = 0; i < b.n; i++) /* no hexadecimal, no "nan(...)" */
		if (!strchr("0123456789+-.eE", b.p[i]))
			return false;
	memcpy(text, b.p, b.n);
	text[b.n] = 0;
	*value = strtod(text, &end);
	return *end == 0 && isfinite(*value);
}

static bool is_equal(struct bytes b, const char *word)
{
	return b.n == strlen(word) && memcmp(b.p, word, b.n) == 0;
}

struct mark mark_parse(struct bytes line)
{
	struct mark m = { .kind = MARK_BAD };
	struct bytes rest;
	size_t n = 0;

	line = trim_blanks(line);
	if (line.n == 0)
		m.kind = MARK_NOTHING;
	if (line.n == 0 || line.n > MARKS_LINE || !is_printable(line))
		return m;
	while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t')
		n++;
	m.name = (struct bytes){ line.p, n };
	rest = trim_blanks((struct bytes){ line.p + n, line.n - n });
	if (is_equal(m.name, "begin") || is_equal(m.name, "end")) {
		if (rest.n == 0)
			return m;
		m.kind = is_equal(m.name, "begin") ? MARK_BEGIN : MARK_END;
		m.name = rest;
		return m;
	}
	m.kind = MARK_IS_POINT;
	m.has_value = parse_number(rest, &m.value);
	if (!m.has_value)
		m.text = rest;
	return m;
}

static void emit_word(const struct mark_word *w, const struct record_marks_owner *to)
{
	struct record r = { .kind = RECORD_WORD };

	REC_SET(&r, WORD, time_ns, w->used_ns);
	REC_SET(&r, WORD, id, w->id);
	REC_SET(&r, WORD, text, ((struct bytes){ w->text, w->n }));
	to->record(to->ctx, &r);
}

uint64_t record_marks_word(struct record_marks *m, struct bytes text, int64_t now_ns,
			   const struct record_marks_owner *to)
{
	struct mark_word new = { hash_bytes(text.p, text.n, 0), now_ns, NULL, text.n };
	uint64_t i;

	if (map_get(&m->said, new.id, &i)) {
		if (now_ns > m->words.v[i].used_ns)
			m->words.v[i].used_ns = now_ns;
		return new.id;
	}
	if (m->words.n >= MARKS_TEXTS)
		return 0;
	new.text = malloc(text.n + 1);
	if (!new.text || !vec_push(&m->words, new)) {
		free(new.text);
		return 0;
	}
	if (!map_put(&m->said, new.id, m->words.n - 1)) {
		free(m->words.v[--m->words.n].text);
		return 0;
	}
	if (text.n)
		memcpy(new.text, text.p, text.n);
	emit_word(&new, to);
	return new.id;
}

static bool emit_point(struct record_marks *m, const struct mark *v, int64_t now_ns,
		       const struct record_marks_owner *to)
{
	const struct op_def *def = op_builtin(OP_MARK_POINT);
	struct event ev = { .op = OP_MARK_POINT, .end_ns = now_ns, .ctx = m->ctx };
	uint64_t name = record_marks_word(m, v->name, now_ns, to), text = 0, bits;

	if (v->text.n)
		text = record_marks_word(m, v->text, now_ns, to);
	if (!name || (v->text.n && !text))
		return false;
	event_set(&ev, def, COL_NAME, name);
	if (v->has_value) {
		memcpy(&bits, &v->value, sizeof(bits));
		event_set(&ev, def, COL_VALUE, bits);
	}
	if (text)
		event_set(&ev, def, COL_TEXT, text);
	to->event(to->ctx, &ev);
	return true;
}

static bool end_range(struct record_marks *m, uint64_t name, int64_t now_ns,
		      const struct record_marks_owner *to)
{
	const struct op_def *def = op_builtin(OP_MARK_RANGE);
	struct event ev = { .op = OP_MARK_RANGE, .end_ns = now_ns, .ctx = m->ctx };
	size_t i = m->open.n;

	while (i > 0 && m->open.v[i - 1].name != name)
		i--;
	if (i == 0)
		return false;
	ev.dur_ns = (uint64_t)(now_ns - m->open.v[i - 1].start_ns);
	memmove(&m->open.v[i - 1], &m->open.v[i], (m->open.n - i) * sizeof(m->open.v[0]));
	m->open.n--;
	event_set(&ev, def, COL_NAME, name);
	to->event(to->ctx, &ev);
	return true;
}

static void handle_line(struct record_marks *m, struct bytes line, int64_t now_ns,
			const struct record_marks_owner *to)
{
	struct mark v = mark_parse(line);
	bool good = false, room = true;
	uint64_t name;

	if (v.kind == MARK_NOTHING)
		return;
	if (now_ns - m->second_ns >= SECOND_NS) {
		m->second_ns = now_ns;
		m->in_second = 0;
	}
	if (++m->in_second > MARKS_RATE) {
		m->over++;
		return;
	}
	if (v.kind == MARK_IS_POINT)
		good = room = emit_point(m, &v, now_ns, to);
	if (v.kind == MARK_BEGIN || v.kind == MARK_END) {
		name = record_marks_word(m, v.name, now_ns, to);
		room = name && (v.kind == MARK_END || m->open.n < MARKS_OPEN);
		good = room && (v.kind == MARK_END
					? end_range(m, name, now_ns, to)
					: vec_push(&m->open, (struct mark_open){ name, now_ns }));
	}
	m->taken += good;
	m->bad += !good && room;
	m->full += !room;
}

void record_marks_bytes(struct record_marks *m, const char *p, size_t n, int64_t now_ns,
			const struct record_marks_owner *to)
{
	while (n > 0) {
		const char *end = memchr(p, '\n', n);
		size_t part = end ? (size_t)(end - p) : n;

		if (!m->skipping && m->rest.n + part > MARKS_LINE) {
			m->skipping = true;
			m->bad++;
		}
		if (!m->skipping)
			buf_add(&m->rest, p, part);
		if (end && !m->skipping)
			handle_line(m, buf_bytes(&m->rest), now_ns, to);
		if (end || m->skipping)
			m->rest.n = 0;
		if (end)
			m->skipping = false;
		part += end != NULL;
		p += part;
		n -= part;
	}
}

void record_marks_take(struct record_marks *m, int64_t now_ns, const struct record_marks_owner *to)
{
	char room[4096];

	for (unsigned i = 0; m->path && i < READS_MAX; i++) {
		ssize_t n = read(m->fd, room, sizeof(room));

		if (n <= 0)
			break;
		record_marks_bytes(m, room, (size_t)n, now_ns, to);
	}
}

int record_marks_open(struct record_marks *m, const char *path, const struct record_owner *owner,
		      struct err *e)
{
	struct as_user as;
	struct stat st;
	int rc = 0;

	m->fd = -1;
	/* As the owner, so that a link planted in the owner's folder leads nowhere the owner could
	 * not go. */
	as_user_begin(&as, owner->uid, owner->gid);
	m->made = mkfifo(path, 0600) == 0;
	/* For writing too: the end of one writer must not look like the end of all. */
	if (m->made || errno == EEXIST)
		m->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	as_user_end(&as);
	if (m->fd < 0)
		rc = err_sys(e, "cannot make the FIFO %s", path);
	if (rc == 0 && (fstat(m->fd, &st) || !S_ISFIFO(st.st_mode)))
		rc = err_set(e, ERR_CANNOT, "%s is there and is no FIFO", path);
	m->path = rc == 0 ? strdup(path) : NULL;
	if (rc == 0 && !m->path)
		rc = err_nomem(e);
	return rc;
}

void record_marks_again(struct record_marks *m, int64_t since_ns,
			const struct record_marks_owner *to)
{
	size_t kept = 0;

	map_clear(&m->said);
	for (size_t i = 0; i < m->words.n; i++) {
		struct mark_word w = m->words.v[i];

		if (w.used_ns < since_ns || !map_put(&m->said, w.id, kept)) {
			free(w.text);
			continue;
		}
		m->words.v[kept++] = w;
		emit_word(&w, to);
	}
	m->words.n = kept;
}

/* Removes the FIFO that was created here, unless its path leads to another file by now. */
static void remove_created(const struct record_marks *m)
{
	struct stat ours, there;

	if (m->made && fstat(m->fd, &ours) == 0 && lstat(m->path, &there) == 0 &&
	    there.st_ino == ours.st_ino && there.st_dev == ours.st_dev)
		unlink(m->path);
}

void record_marks_close(struct record_marks *m)
{
	if (m->path) {
		remove_created(m);
		close(m->fd);
	}
	free(m->path);
	m->path = NULL;
	buf_free(&m->rest);
	vec_free(&m->open);
	map_free(&m->said);
	for (size_t i = 0; i < m->words.n; i++)
		free(m->words.v[i].text);
	vec_free(&m->words);
}
