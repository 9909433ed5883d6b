/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses option values by their type: durations, sizes, times, numbers. A value is taken whole or
 * refused: "10x", "1e99" and "" are mistakes, not ten, infinity and zero.
 */
#include "lib/cli/value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/timetext.h"
#include "lib/base/vec.h"

bool cli_takes_argument(enum cli_type type)
{
	return type != CLI_FLAG && type != CLI_COUNT;
}

int cli_size_parse(const char *text, uint64_t *bytes, struct err *e)
{
	static const char letters[] = "kmgt";
	double number, scale = 1;
	const char *letter;
	char *end;

	errno = 0;
	number = strtod(text, &end);
	if (end == text || errno || !isfinite(number) || number < 0 || strpbrk(text, "xXpPnNeE"))
		goto bad;
	if (*end) {
		letter = strchr(letters, *end | 0x20);
		if (!letter)
			goto bad;
		scale = (double)(1ull << 10 * (letter - letters + 1));
		end++;
		if (*end == 'i' || *end == 'I')
			end++;
		if (*end == 'b' || *end == 'B')
			end++;
		if (*end)
			goto bad;
	}
	if (number * scale >= 9.2e18)
		goto bad;
	*bytes = (uint64_t)(number * scale);
	return 0;
bad:
	return err_set(e, ERR_USAGE, "'%s' is not a size (as 4096, 64k, 10g)", text);
}

static int integer_set(const struct cli_option *o, int64_t *to, const char *text, struct err *e)
{
	const char *digits = text + (*text == '-' || *text == '+');
	long long x;
	char *end;

	errno = 0;
	/* 0x10 is sixteen, but 010 is ten to everybody but C. */
	x = strtoll(text, &end, strncmp(digits, "0x", 2) == 0 ? 16 : 10);
	if (end == text || *end)
		return err_set(e, ERR_USAGE, "'%s' is not a whole number", text);
	if (errno || (o->max > o->min && (x < o->min || x > o->max)))
		return err_set(e, ERR_USAGE, "'%s' is not within %" PRId64 "..%" PRId64, text,
			       o->max > o->min ? o->min : INT64_MIN,
			       o->max > o->min ? o->max : INT64_MAX);
	*to = x;
	return 0;
}

/* In any case of letters; what is set is written as the choice is. */
static int choice_set(const struct cli_option *o, const char **to, char *text, struct err *e)
{
	const char *at = o->choices;
	size_t n = strlen(text);

	while (*at) {
		size_t len = strcspn(at, "|");

		if (len == n && !strncasecmp(at, text, n)) {
			memcpy(text, at, n);
			*to = text;
			return 0;
		}
		at += len + (at[len] == '|');
	}
	return err_set(e, ERR_USAGE, "'%s' is none of %s", text, o->choices);
}

static int list_set(struct cli_list *to, char *text, bool split, struct err *e)
{
	for (;;) {
		char *comma = split ? strchr(text, ',') : NULL;

		if (comma)
			*comma = '\0';
		if (!*text)
			return err_set(e, ERR_USAGE, "an empty value");
		if (!vec_push(to, text))
			return err_nomem(e);
		if (!comma)
			return 0;
		text = comma + 1;
	}
}

int cli_value_set(const struct cli_option *o, void *values, char *text, struct err *e)
{
	void *to = (char *)values + o->offset;
	double number;
	char *end;

	switch (o->type) {
	case CLI_FLAG:
		*(bool *)to = true;
		return 0;
	case CLI_COUNT:
		++*(int *)to;
		return 0;
	case CLI_STRING:
		*(const char **)to = text;
		return 0;
	case CLI_CHOICE:
		return choice_set(o, to, text, e);
	case CLI_INT:
		return integer_set(o, to, text, e);
	case CLI_NUMBER:
		number = strtod(text, &end);
		if (end == text || *end || !isfinite(number))
			return err_set(e, ERR_USAGE, "'%s' is not a number", text);
		*(double *)to = number;
		return 0;
	case CLI_SIZE:
		return cli_size_parse(text, to, e);
	case CLI_DURATION:
		return duration_parse(bytes_of(text), to, e);
	case CLI_LIST:
	case CLI_REPEAT:
		return list_set(to, text, o->type == CLI_LIST, e);
	}
	return err_set(e, ERR_USAGE, "no such type");
}

void cli_list_free(struct cli_list *list)
{
	vec_free(list);
}
