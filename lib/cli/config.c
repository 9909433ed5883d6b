/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the configuration file (ingero.yaml) line by line into options. Invariant: pieces of the
 * text are ended where they end, so that they can be handed out without copies.
 */
#include "lib/cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"
#include "lib/cli/defaults.h"
#include "lib/cli/message.h"

/* ---- the text
 * -------------------------------------------------------------------------------------- */

struct parse {
	char *section, *key; /* of the lines before; "" none */
	size_t section_indent, key_indent;
	unsigned line;
	cli_config_fn *fn;
	void *ctx;
};

static char *trim_blanks(char *p)
{
	size_t n;

	p += strspn(p, " \t");
	n = strlen(p);
	while (n && strchr(" \t\r", p[n - 1]))
		n--;
	p[n] = '\0';
	return p;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* The first stop or comment (a # at the start or behind a blank; within a list there is none)
 * outside of quotes, or the end; NULL: a quote without an end. Quotes are such where a value
 * begins: at the start, and in a list behind its bracket and commas. */
static char *find_stop(char *p, bool list, char stop)
{
	bool begins = true;
	char quote = 0, *c;

	for (c = p; *c; c++) {
		if (quote) {
			if (quote == '"' ? *c == '\\' && c[1] : *c == '\'' && c[1] == '\'')
				c++;
			else if (*c == quote)
				quote = 0;
		} else if (*c == stop ||
			   (*c == '#' && stop != ',' && (c == p || is_blank(c[-1])))) {
			return c;
		} else if (begins && is_quote(*c)) {
			quote = *c;
			begins = false;
		} else if (!is_blank(*c)) {
			begins = list && (*c == ',' || *c == '[');
		}
	}
	return quote ? NULL : c;
}

/* Without its quotes, in place: between apostrophes two of them are one, between others \" and
 * \\ are what they stand for. NULL: there is more behind them. */
static char *unquote_value(char *p)
{
	char *to, *from, quote;

	p = trim_blanks(p);
	quote = *p;
	if (!is_quote(quote))
		return p;
	for (from = to = p + 1; *from; *to++ = *from++) {
		if (quote == '"' && *from == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		else if (quote == '\'' && *from == quote && from[1] == quote)
			from++;
		else if (*from == quote)
			break;
	}
	if (!*from || from[1])
		return NULL;
	*to = '\0';
	return p + 1;
}

static int emit_entry(struct parse *s, char *value, struct err *e)
{
	struct cli_config_entry entry = { s->section, s->key, unquote_value(value), s->line };

	if (!entry.value)
		return err_set(e, ERR_USAGE, "line %u: more behind a quote", s->line);
	return s->fn(s->ctx, &entry, e);
}

/* "- a": one value. */
static int emit_item(struct parse *s, char *value, struct err *e)
{
	char *end;

	value = trim_blanks(value);
	end = find_stop(value, false, '\0');
	if (!end)
		return err_set(e, ERR_USAGE, "line %u: a quote without an end", s->line);
	*end = '\0';
	return emit_entry(s, value, e);
}

/* "[a, b]" or one value, and a comment. */
static int emit_value(struct parse *s, char *value, struct err *e)
{
	char *end, *next;
	int rc = 0;

	if (*value != '[')
		return emit_item(s, value, e);
	end = find_stop(value, true, '\0');
	if (!end)
		return err_set(e, ERR_USAGE, "line %u: a quote without an end", s->line);
	*end = '\0';
	value = trim_blanks(value);
	end = value + strlen(value) - 1;
	if (end == value || *end != ']')
		return err_set(e, ERR_USAGE, "line %u: a list without an end", s->line);
	*end = '\0';
	for (value++; rc == 0 && value; value = next) {
		next = find_stop(value, false, ',');
		if (next && *next)
			*next++ = '\0';
		else
			next = NULL;
		value = trim_blanks(value);
		if (*value)
			rc = emit_entry(s, value, e);
	}
	return rc;
}

/* Behind the key; NULL: it is none. */
static char *colon_of(char *text)
{
	char *c = is_quote(*text) ? find_stop(text, false, ':') : text;

	while (c && *c && !(*c == ':' && (!c[1] || is_blank(c[1]))))
		c = *c == '#' && c > text && is_blank(c[-1]) ? NULL : c + 1;
	return c && *c && c > text ? c : NULL;
}

static int one_line(struct parse *s, char *text, struct err *e)
{
	size_t indent = strspn(text, " ");
	char *colon, *value;
	int rc;

	if (text[indent] == '\t')
		return err_set(e, ERR_USAGE, "line %u: a tab where blanks are wanted", s->line);
	text = trim_blanks(text);
	if (!*text || *text == '#' || strcmp(text, "---") == 0)
		return 0;
	if (text[0] == '-' && (text[1] == ' ' || !text[1])) {
		if (!*s->key)
			return err_set(e, ERR_USAGE, "line %u: an item of no list", s->line);
		return emit_item(s, text + 1, e);
	}
	colon = colon_of(text);
	if (!colon)
		return err_set(e, ERR_USAGE, "line %u: not \"key: value\"", s->line);
	*colon = '\0';
	value = trim_blanks(colon + 1);
	if (indent == 0)
		s->section = colon; /* "" */
	/* A line further in than a key without a value: that key was a section. */
	if (indent > s->key_indent && *s->key) {
		if (*s->section)
			return err_set(e, ERR_USAGE, "line %u: more than two levels", s->line);
		s->section = s->key;
	}
	s->key = unquote_value(text);
	s->key_indent = indent;
	if (!s->key)
		return err_set(e, ERR_USAGE, "line %u: more behind a quote", s->line);
	if (!*value || *value == '#')
		return 0;
	rc = emit_value(s, value, e);
	s->key = colon; /* complete: nothing belongs to it any more */
	return rc;
}

int cli_config_parse(char *text, size_t n, cli_config_fn *fn, void *ctx, struct err *e)
{
	struct parse s = { .section = text + n, .key = text + n, .fn = fn, .ctx = ctx };
	int rc = 0;

	if (memchr(text, '\0', n))
		return err_set(e, ERR_USAGE, "not a text");
	text += strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3; /* as editors of Windows begin one */
	for (char *line = text, *next; rc == 0 && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		s.line++;
		rc = one_line(&s, line, e);
	}
	return rc;
}

/* ---- the file
 * -------------------------------------------------------------------------------------- */

/* As root, trust only a file that root or the user behind sudo owns and nobody else can write.
 * Other users distrust only ./ingero.yaml (anywhere), as the folder may be anybody's. */
static bool is_trusted(const struct stat *st, bool anywhere)
{
	const char *sudo = getenv("SUDO_UID");

	if (geteuid() != 0)
		return !anywhere ||
		       (!(st->st_mode & S_IWOTH) && (st->st_uid == 0 || st->st_uid == geteuid()));
	return !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st->st_uid == 0 || (sudo && strtoul(sudo, NULL, 10) == st->st_uid));
}

/* 1: read; 0: there is no file, or it is not trusted; warns of the latter unless INGERO_CONFIG
 * named the file. */
static int read_one(const char *path, bool named, bool anywhere, struct buf *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (is_trusted(&st, anywhere))
			rc = read_fd(fd, path, out, CLI_CONFIG_MAX, e) == 0 ? 1 : e->code;
		else if (!named)
			cli_warn("%s is not followed: it is not root's or yours alone", path);
	}
	close(fd);
	return rc;
}

int cli_config_find(char **text, size_t *n, char *path, size_t path_size, struct err *e)
{
	const char *named = getenv("INGERO_CONFIG");
	struct buf b = { 0 };
	char in_home[4096];
	const char *places[] = { "ingero.yaml", "/etc/ingero/ingero.yaml", in_home };
	int rc = 0;

	*text = NULL;
	*n = 0;
	if (named && !*named)
		return 0;
	snprintf(in_home, sizeof(in_home), "%s/.config/ingero/ingero.yaml", cli_home());
	if (named) {
		snprintf(path, path_size, "%s", named);
		rc = read_one(named, true, false, &b, e);
		if (rc == 0)
			rc = err_set(e, ERR_CANNOT, "cannot read %s, which INGERO_CONFIG names: %s",
				     named,
				     access(named, R_OK) ? strerror(errno)
							 : "it is not root's or yours alone");
	}
	for (size_t i = 0; !named && rc == 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, path_size, "%s", places[i]);
		rc = read_one(places[i], false, i == 0, &b, e);
	}
	if (rc > 0) {
		*n = b.n;
		buf_putc(&b, '\0');
		if (b.failed)
			rc = err_nomem(e);
		else
			*text = b.p;
	}
	if (!*text)
		buf_free(&b);
	return rc < 0 ? rc : 0;
}
