/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces names, paths and addresses by pseudonyms made under a key, path part by path part. A
 * part stays when it is one of the words below, with or without a version behind it ("python3.11",
 * "libnccl.so.2"; not "node-17", which is somebody's), and so does what lies below the standard
 * library and below a public package of Python. Of other parts a known ending stays
 * ("n-41c0…fe.py"), and what the kernel or an orchestrator puts in front
 * ("docker-…").
 */
#include "lib/input/pseudonym.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/input/pseudonym_words.h"

#define TEXT_MAX 16384 /* a pseudonym is not longer: the whole text then has one */

static void append_hash(const struct keyhash *key, const char *prefix, struct bytes text,
			struct buf *out)
{
	buf_printf(out, "%s-%010" PRIx64, prefix, keyhash_bytes(key, text.p, text.n) >> 24);
}

static bool has_prefix(struct bytes text, const char *with)
{
	size_t n = strlen(with);

	return text.n >= n && !memcmp(text.p, with, n);
}

static struct bytes suffix_from(struct bytes text, size_t at)
{
	return (struct bytes){ text.p + at, text.n - at };
}

static bool all_of(struct bytes text, const char *chars)
{
	for (size_t i = 0; i < text.n; i++)
		if (!text.p[i] || !strchr(chars, text.p[i]))
			return false;
	return true;
}

/* "", ".so", "3.11", "-12.4", ".so.535.104": nobody's name. */
static bool is_version(struct bytes text)
{
	while (text.n)
		if (has_prefix(text, ".so"))
			text = suffix_from(text, 3);
		else if (strchr("0123456789.-_", text.p[0]) && text.p[0])
			text = suffix_from(text, 1);
		else
			return false;
	return true;
}

static bool is_public(struct bytes text)
{
	if (text.n <= 3 && all_of(text, "0123456789."))
		return true;
	/* The longest word it begins with may not be the one that leaves a version: "lib" and
	 * "lib64". */
	for (size_t n = text.n; n; n--) {
		struct bytes word = { text.p, n };

		if (pseudonym_word_known(word) && is_version(suffix_from(text, n)) &&
		    (n == text.n || !pseudonym_word_names(word)))
			return true;
	}
	return false;
}

/* Disks, as the kernel numbers them: "sda1", "nvme0n1p2", "dm-3". */
static bool is_disk(struct bytes text)
{
	static const struct {
		const char *kind;
		size_t letters; /* at most, behind it */
	} kinds[] = { { "nvme", 0 }, { "sd", 2 },   { "vd", 2 }, { "xvd", 2 },
		      { "dm-", 0 },  { "loop", 0 }, { "md", 0 }, { "zram", 0 } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].kind), letters = 0;

		if (!has_prefix(text, kinds[i].kind) || text.n > n + 10)
			continue;
		while (letters < kinds[i].letters && n < text.n &&
		       islower((unsigned char)text.p[n])) {
			letters++;
			n++;
		}
		return text.n > n - letters && (letters || !kinds[i].letters) &&
		       all_of(suffix_from(text, n), "0123456789np");
	}
	return false;
}

static void append_part(const struct keyhash *key, struct bytes text, struct buf *out)
{
	size_t front, ending;

	if (!text.n || is_public(text) || is_disk(text)) {
		buf_add(out, text.p, text.n);
		return;
	}
	front = alias_front(text);
	buf_add(out, text.p, front);
	text = suffix_from(text, front);
	ending = alias_ending(text);
	append_hash(key, "n", (struct bytes){ text.p, text.n - ending }, out);
	buf_add(out, text.p + text.n - ending, ending);
}

static struct bytes next_part(struct bytes *path, char at)
{
	const char *end = memchr(path->p, at, path->n);
	struct bytes part = { path->p, end ? (size_t)(end - path->p) : path->n };

	*path = suffix_from(*path, part.n);
	return part;
}

static bool is_equal(struct bytes text, const char *word)
{
	return text.n == strlen(word) && !memcmp(text.p, word, text.n);
}

static void append_path(const struct keyhash *key, struct bytes path, struct buf *out)
{
	struct bytes before = { 0 };
	/* Of the standard library, of a package: what lies below is everybody's. */
	bool standard = false, packages = false, everybodys = false;

	while (path.n) {
		struct bytes p = next_part(&path, '/');

		if (is_equal(p, "site-packages") || is_equal(p, "dist-packages")) {
			packages = true;
			everybodys = false;
		} else if (packages) {
			everybodys = is_public(p);
			packages = false;
		} else if (standard) {
			everybodys = true;
		}
		standard = has_prefix(p, "python3.") && is_version(suffix_from(p, 6)) &&
			   (is_equal(before, "lib") || is_equal(before, "lib64"));
		if (everybodys)
			buf_add(out, p.p, p.n);
		else
			append_part(key, p, out);
		before = p;
		if (path.n) {
			buf_putc(out, '/');
			path = suffix_from(path, 1);
			/* A slash at the end, and two in a row, are no parts. */
			if (!path.n)
				break;
		}
	}
}

/* Of the kernel's own threads everything is everybody's, but who is called like one need not be
 * one: what stands behind has to be numbers. Numbers behind others' names stay, to tell workers
 * apart. */
static void append_program(const struct keyhash *key, struct bytes text, struct buf *out)
{
	size_t digits = 0;

	while (digits < text.n && digits < 4 && isdigit((unsigned char)text.p[text.n - 1 - digits]))
		digits++;
	for (size_t n = text.n; n; n--)
		if (pseudonym_word_known((struct bytes){ text.p, n }) &&
		    all_of(suffix_from(text, n), "0123456789.-_:/uH+")) {
			buf_add(out, text.p, text.n);
			return;
		}
	if (memchr(text.p, '/', text.n)) {
		append_path(key, text, out);
		return;
	}
	if (alias_ending(text) || digits == text.n)
		digits = 0;
	append_part(key, (struct bytes){ text.p, text.n - digits }, out);
	if (digits)
		buf_putc(out, '-');
	buf_add(out, text.p + text.n - digits, digits);
}

/* One argument: "--data=/mnt/x", "-m", "train.py", "0.1". */
static void append_argument(const struct keyhash *key, struct bytes text, struct buf *out)
{
	struct bytes name;

	if (text.n == 2 && text.p[0] == '-') {
		buf_add(out, text.p, text.n);
		return;
	}
	while (text.n && text.p[0] == '-') {
		buf_putc(out, '-');
		text = suffix_from(text, 1);
	}
	name = next_part(&text, '=');
	append_path(key, name, out);
	if (text.n) {
		buf_putc(out, '=');
		append_path(key, suffix_from(text, 1), out);
	}
}

static void append_command(const struct keyhash *key, struct bytes text, struct buf *out)
{
	while (text.n) {
		append_argument(key, next_part(&text, ' '), out);
		if (text.n) {
			buf_putc(out, ' ');
			text = suffix_from(text, 1);
		}
	}
}

static void append_address(const struct keyhash *key, struct bytes text, struct buf *out)
{
	static const char *const nobodys[] = { "127.0.0.1", "0.0.0.0", "[::1]", "[::]", "*" };
	const char *colon = memrchr(text.p, ':', text.n);
	struct bytes host = text, port = { text.p + text.n, 0 };

	if (text.n && (text.p[0] == '/' || text.p[0] == '@')) {
		if (text.p[0] == '@')
			buf_putc(out, '@');
		append_path(key, text.p[0] == '@' ? suffix_from(text, 1) : text, out);
		return;
	}
	if (colon && all_of(suffix_from(text, (size_t)(colon + 1 - text.p)), "0123456789")) {
		host.n = (size_t)(colon - text.p);
		port = suffix_from(text, host.n);
	}
	for (size_t i = 0; i < sizeof(nobodys) / sizeof(nobodys[0]); i++)
		if (is_equal(host, nobodys[i])) {
			buf_add(out, text.p, text.n);
			return;
		}
	if (host.n)
		append_hash(key, "addr", host, out);
	buf_add(out, port.p, port.n);
}

static void append_origin(const struct keyhash *key, struct bytes text, struct buf *out)
{
	const char *colon = memchr(text.p, ':', text.n);

	if (colon && (size_t)(colon - text.p) + 1 < text.n && colon[1] == '/') {
		append_hash(key, "host", (struct bytes){ text.p, (size_t)(colon - text.p) }, out);
		buf_putc(out, ':');
		text = suffix_from(text, (size_t)(colon + 1 - text.p));
	}
	append_path(key, text, out);
}

static void append_target(const struct keyhash *key, struct bytes text, struct buf *out)
{
	if (is_equal(text, "all") ||
	    (has_prefix(text, "pid ") && all_of(suffix_from(text, 4), "0123456789, "))) {
		buf_add(out, text.p, text.n);
	} else if (has_prefix(text, "user ")) {
		buf_puts(out, "user ");
		if (is_equal(text, "user root"))
			buf_puts(out, "root");
		else
			append_hash(key, "user", suffix_from(text, 5), out);
	} else if (has_prefix(text, "command ")) {
		buf_puts(out, "command ");
		append_command(key, suffix_from(text, 8), out);
	} else {
		append_command(key, text, out);
	}
}

static void append_gpus(const struct keyhash *key, struct bytes text, struct buf *out)
{
	while (text.n) {
		struct bytes one = next_part(&text, ',');

		if (has_prefix(one, "GPU-") || has_prefix(one, "MIG-"))
			append_hash(key, one.p[0] == 'G' ? "GPU" : "MIG", suffix_from(one, 4), out);
		else if (all_of(one, "0123456789- "))
			buf_add(out, one.p, one.n);
		else
			append_hash(key, "GPU", one, out);
		if (text.n) {
			buf_putc(out, ',');
			text = suffix_from(text, 1);
		}
	}
}

static const char closing[] = ",;:.)";

/* How far a name goes that has blanks in it: to its other quotation mark; a path to the word behind
 * which a colon tells what was wrong with it, or to the last one that has a slash within. */
static size_t name_words(struct bytes text, size_t n)
{
	const char *mark =
		strchr("\"'", text.p[0]) ? memchr(text.p + 1, text.p[0], text.n - 1) : NULL;
	size_t end = n;

	if (mark && mark >= text.p + n) {
		struct bytes rest = suffix_from(text, (size_t)(mark - text.p));

		return (size_t)(mark - text.p) + next_part(&rest, ' ').n;
	}
	if (text.p[0] != '/' || strchr(closing, text.p[n - 1]))
		return n;
	for (size_t at = n + 1, next; at < text.n; at = next + 1) {
		struct bytes rest = suffix_from(text, at), w = next_part(&rest, ' ');

		next = at + w.n;
		if (w.n && w.p[w.n - 1] == ':')
			return next;
		if (w.n && w.p[0] != '/' && memchr(w.p, '/', w.n))
			end = next;
	}
	return end;
}

/* Words of a sentence are ours, unless they name something: a path, or what stands in quotation
 * marks. */
static void append_sentence(const struct keyhash *key, struct bytes text, struct buf *out)
{
	while (text.n) {
		struct bytes rest = text, w = next_part(&rest, ' ');
		size_t behind = 0;

		if (w.n)
			w.n = name_words(text, w.n);
		text = suffix_from(text, w.n);
		while (behind < w.n && strchr(closing, w.p[w.n - 1 - behind]))
			behind++;
		w.n -= behind;
		if (w.n > 1 && (memchr(w.p, '/', w.n) || w.p[0] == '"' || w.p[0] == '\'' ||
				memchr(w.p, '@', w.n)))
			append_path(key, w, out);
		else
			buf_add(out, w.p, w.n);
		buf_add(out, w.p + w.n, behind);
		if (text.n) {
			buf_putc(out, ' ');
			text = suffix_from(text, 1);
		}
	}
}

void pseudonym_text(const struct keyhash *key, enum pseudonym_kind kind, struct bytes text,
		    struct buf *out)
{
	size_t before = out->n;

	if (!text.n)
		return;
	switch (kind) {
	case ALIAS_KEEP:
		buf_add(out, text.p, text.n);
		return;
	case ALIAS_HOST:
		append_hash(key, "host", text, out);
		break;
	case ALIAS_POD:
		append_hash(key, "pod", text, out);
		break;
	case ALIAS_PATH:
		append_path(key, text, out);
		break;
	case ALIAS_PROGRAM:
		append_program(key, text, out);
		break;
	case ALIAS_COMMAND:
		append_command(key, text, out);
		break;
	case ALIAS_ADDRESS:
		append_address(key, text, out);
		break;
	case ALIAS_ORIGIN:
		append_origin(key, text, out);
		break;
	case ALIAS_TARGET:
		append_target(key, text, out);
		break;
	case ALIAS_GPU:
		append_gpus(key, text, out);
		break;
	case ALIAS_FUNCTION:
		if (!memchr(text.p, '/', text.n)) {
			buf_add(out, text.p, text.n);
			return;
		}
		append_sentence(key, text, out);
		break;
	case ALIAS_SENTENCE:
		append_sentence(key, text, out);
		break;
	default:
		append_hash(key, "n", text, out);
		break;
	}
	if (out->n - before > TEXT_MAX) {
		out->n = before;
		append_hash(key, "n", text, out);
	}
}

uint64_t pseudonym_u64(const struct keyhash *key, uint64_t id)
{
	uint64_t alias = id ? keyhash_bytes(key, &id, sizeof(id)) : 0;

	return id && !alias ? 1 : alias;
}

uint32_t pseudonym_uid(const struct keyhash *key, uint32_t uid)
{
	/* Far from those of the system, and a valid one. */
	return uid ? 100000 + (uint32_t)(pseudonym_u64(key, uid) % 2000000000) : 0;
}
