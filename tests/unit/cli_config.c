/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero.yaml: what a text says, entry by entry, and where one that is not of our subset stops
 * being understood; then every beginning and thousands of mutations of one.
 */
#include "lib/cli/config.h"

#include <stdlib.h>

#include "lib/base/buf.h"
#include "tests/tap.h"

static int note(void *ctx, const struct cli_config_entry *entry, struct err *e)
{
	struct buf *out = ctx;

	(void)e;
	buf_printf(out, "%s%s%s=%s;", entry->section, *entry->section ? "." : "", entry->key,
		   entry->value);
	return 0;
}

static int parse(const char *text, size_t n, struct buf *out, struct err *e)
{
	char *copy = malloc(n + 1);
	int rc;

	buf_reset(out);
	memcpy(copy, text, n);
	copy[n] = '\0';
	rc = cli_config_parse(copy, n, note, out, e);
	free(copy);
	return rc;
}

static const char whole[] = "# ours\n"
			    "node: gpu7   # which\n"
			    "color: 'never'\n"
			    "record:\n"
			    "  max-size: 10g\n"
			    "  pid: [1, 2,3 ]\n"
			    "  exclude:\n"
			    "    - cudaFree\n"
			    "    - \"driver:*\"\n"
			    "verbose: true\n"
			    "fleet:\n"
			    "  nodes:\n"
			    "  - a:8443\n"
			    "  - b\n"
			    "url: http://x:1/#y\r\n";

static void read(void)
{
	static const struct {
		const char *text, *entries, *error;
	} rows[] = {
		{ "", "", NULL },
		{ "---\n\n# nothing\n", "", NULL },
		{ whole,
		  "node=gpu7;color=never;record.max-size=10g;record.pid=1;record.pid=2;record.pid="
		  "3;"
		  "record.exclude=cudaFree;record.exclude=driver:*;verbose=true;fleet.nodes=a:8443;"
		  "fleet.nodes=b;url=http://x:1/#y;",
		  NULL },
		{ "a: \"#no comment\"\n", "a=#no comment;", NULL },
		{ "a: it's # so\nb: don't\n", "a=it's;b=don't;", NULL },
		{ "a: 'it''s # so' # b\n", "a=it's # so;", NULL },
		{ "a: \"say \\\"x\\\" \\\\ \\n\"  # b", "a=say \"x\" \\ \\n;", NULL },
		{ "a: ['b,c', \"d, #e\", f's, g'] # h\n", "a=b,c;a=d, #e;a=f's;a=g';", NULL },
		{ "a: [b,#c]\nd: [#e]", "a=b;a=#c;d=#e;", NULL },
		{ "a: [\"driver:cu[AB]*\", c[0]]\n", "a=driver:cu[AB]*;a=c[0];", NULL },
		{ "a:\n  - 'x # y' # z\n  - it's\n  - ''\n", "a=x # y;a=it's;a=;", NULL },
		{ "a: 1\r\n# b\r\n\r\nc:\r\n  d: [1,\t'2']\r\n---\r\ne: 'f'\r\n",
		  "a=1;c.d=1;c.d=2;e=f;", NULL },
		{ "\xef\xbb\xbf"
		  "a: 1\n",
		  "a=1;", NULL },
		{ "'a': 1\n\"b: c\": 2\n", "a=1;b: c=2;", NULL },
		{ "a: # b\n  c: 1\n", "a.c=1;", NULL },
		{ "a: 'b\n", "", "line 1: a quote without an end" },
		{ "a: ['b, c]\n", "", "line 1: a quote without an end" },
		{ "a: 'b' c\n", "", "line 1: more behind a quote" },
		{ "a # b: c\n", "", "line 1: not \"key: value\"" },
		{ "a: [\n", "", "line 1: a list without an end" },
		{ "a: []\nb: x\n", "b=x;", NULL },
		{ "a:\nb: x\n", "b=x;", NULL },
		{ "a:\n  b: 1\n  c: 2\nd: 3", "a.b=1;a.c=2;d=3;", NULL },
		{ "just words\n", "", "line 1: not \"key: value\"" },
		{ "a: 1\n\tb: 2\n", "a=1;", "line 2: a tab where blanks are wanted" },
		{ "- a\n", "", "line 1: an item of no list" },
		{ "a: 1\n- b\n", "a=1;", "line 2: an item of no list" },
		{ "a: [1, 2\n", "", "line 1: a list without an end" },
		{ "a:\n  b:\n    c: 1\n", "", "line 3: more than two levels" },
		{ ": x\n", "", "line 1: not \"key: value\"" },
	};
	struct buf out = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = { 0 };
		int rc = parse(rows[i].text, strlen(rows[i].text), &out, &e);

		is_int(rc, rows[i].error ? ERR_USAGE : 0, "text %zu", i);
		is_str(out.n ? buf_text(&out) : "", rows[i].entries, "what it says");
		is_str(e.text, rows[i].error ? rows[i].error : "", "and where it ends");
	}
	buf_free(&out);
}

static void bent(void)
{
	size_t n = sizeof(whole) - 1;
	struct buf out = { 0 };
	char text[sizeof(whole)];
	unsigned state = 7, read = 0;

	for (size_t cut = 0; cut <= n; cut++)
		read += parse(whole, cut, &out, NULL) == 0;
	ok(read > n / 2, "every beginning is read or refused");
	read = 0;
	for (unsigned round = 0; round < 20000; round++) {
		memcpy(text, whole, sizeof(whole));
		for (unsigned i = 0; i < 3; i++) {
			state = state * 1103515245u + 12345u;
			text[(state >> 8) % n] = "\n :-#[],'\"\tx"[(state >> 4) % 12];
		}
		read += parse(text, n, &out, NULL) == 0;
	}
	ok(read > 0, "%u of 20000 bent texts are read, the others refused", read);
	is_int(parse("a: 1\0b", 6, &out, NULL), ERR_USAGE, "a zero byte is no text");
	buf_free(&out);
}

int main(void)
{
	read();
	bent();
	return done_testing();
}
