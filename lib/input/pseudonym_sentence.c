/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the names in a sentence of a finding (lib/input/pseudonym_sentence.h). Known names are
 * looked for from left to right, the longest first; what is between them is judged word by word, as
 * it stands between blanks and without what encloses it.
 */
#include "lib/input/pseudonym_sentence.h"

#include <ctype.h>
#include <string.h>

#include "lib/input/sentence_words.h"

#define WORD_MAX   96 /* bytes: ours are shorter */
#define DOTTED_MAX 3  /* numbers with dots between them: a version; four may be an address */

/* "+", and a "/" that is no path's: it says nothing. */
static bool is_punctuation(struct bytes text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!ispunct((unsigned char)text.p[i]))
			return false;
	return true;
}

/* As tests/lint/sentence_words.t strips words. */
static bool is_enclosing(char c)
{
	return c && strchr("!\"#$%&'()*+,-.:;<=>?[]^_`{|}", c);
}

static bool is_number(struct bytes text)
{
	size_t dots = 0, colons = 0, at = 0;

	if (text.n > 2 && text.p[0] == '0' && text.p[1] == 'x') {
		for (at = 2; at < text.n && isxdigit((unsigned char)text.p[at]);)
			at++;
		return at == text.n;
	}
	for (; at < text.n; at++) {
		dots += text.p[at] == '.';
		colons += text.p[at] == ':';
		if (!isdigit((unsigned char)text.p[at]) && !strchr(".,:+-x", text.p[at]))
			return false;
	}
	return dots < DOTTED_MAX && colons < DOTTED_MAX;
}

static struct bytes strip_enclosing(struct bytes word)
{
	while (word.n && is_enclosing(word.p[0])) {
		word.p++;
		word.n--;
	}
	while (word.n && is_enclosing(word.p[word.n - 1]))
		word.n--;
	return word;
}

static bool is_ours(struct bytes word)
{
	char form[WORD_MAX];
	size_t n = 0;

	word = strip_enclosing(word);
	if (is_punctuation(word) || is_number(word))
		return true;
	for (size_t i = 0; i < word.n; i++) {
		bool digit = isdigit((unsigned char)word.p[i]);

		if (digit && n && form[n - 1] == '#')
			continue;
		if (n == sizeof(form))
			return false;
		form[n++] = digit ? '#' : word.p[i];
	}
	return sentence_word_known((struct bytes){ form, n });
}

/* Or several, as in "trace=nanosleep,clock_nanosleep" and in "4804)'s". */
bool pseudonym_word_ours(struct bytes word)
{
	size_t begin = 0;

	if (is_ours(word))
		return true;
	for (size_t at = 0; at <= word.n; at++) {
		if (at < word.n && !strchr("=,'", word.p[at]))
			continue;
		if (!is_ours((struct bytes){ word.p + begin, at - begin }))
			return false;
		begin = at + 1;
	}
	return true;
}

static bool ends_with(const struct buf *out, size_t since, const char *with)
{
	size_t n = strlen(with);

	return out->n >= since + n && !memcmp(out->p + out->n - n, with, n);
}

/* What stands between two blanks or names. */
static void add_word(struct bytes word, size_t since, struct buf *out)
{
	size_t front = 0, behind = 0;

	if (pseudonym_word_ours(word)) {
		buf_add(out, word.p, word.n);
		return;
	}
	while (front < word.n && is_enclosing(word.p[front]))
		front++;
	while (behind < word.n - front && is_enclosing(word.p[word.n - 1 - behind]))
		behind++;
	buf_add(out, word.p, front);
	/* One mark for several words. */
	if (!front && !out->failed && ends_with(out, since, ALIAS_LEFT_OUT " "))
		out->n--;
	else if (front || !ends_with(out, since, ALIAS_LEFT_OUT))
		buf_puts(out, ALIAS_LEFT_OUT);
	buf_add(out, word.p + word.n - behind, behind);
}

/* Of a path that begins with a name, what is ours is the name of a file: "/cpu.weight". */
static void add_word_behind_name(struct bytes word, size_t since, struct buf *out)
{
	if (word.n > 1 && word.p[0] == '/' && !pseudonym_word_ours(word)) {
		buf_putc(out, '/');
		word.p++;
		word.n--;
	}
	add_word(word, since, out);
}

/* From there to the next blank. */
static struct bytes rest_of_word(struct bytes text, size_t begin)
{
	size_t end = begin;

	while (end < text.n && !strchr(" \n\t", text.p[end]))
		end++;
	return (struct bytes){ text.p + begin, end - begin };
}

/* How long the name is that begins there. One that stays as it is takes no word of ours apart:
 * "/proc/12/task". */
static size_t match_name(const struct known_names *names, struct bytes text, size_t begin,
			 size_t at, struct bytes *alias)
{
	size_t n = at < text.n && known_names_bound(text, at)
			   ? known_names_match(names, text, at, alias)
			   : 0;

	if (n && bytes_equal((struct bytes){ text.p + at, n }, *alias) &&
	    at + n <= begin + rest_of_word(text, begin).n &&
	    pseudonym_word_ours(rest_of_word(text, begin)))
		return 0;
	return n;
}

void pseudonym_sentence(const struct known_names *names, struct bytes text, struct buf *out)
{
	size_t begin = 0, at = 0, since = out->n;
	bool behind_name = false;
	struct bytes alias;

	for (;;) {
		bool ends = at == text.n || strchr(" \n\t", text.p[at]);
		size_t n = match_name(names, text, begin, at, &alias);
		struct bytes word = { text.p + begin, at - begin };

		if (!ends && !n) {
			at++;
			continue;
		}
		if (behind_name)
			add_word_behind_name(word, since, out);
		else
			add_word(word, since, out);
		if (n)
			buf_add(out, alias.p, alias.n);
		else if (at == text.n)
			return;
		else
			buf_putc(out, text.p[at]);
		behind_name = n > 0;
		at += n ? n : 1;
		begin = at;
	}
}
