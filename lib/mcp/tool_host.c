/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not about a recording: whether this machine can record, and how the tests of this build
 * went. The first asks ingero-check, which then only looks; the second reads the one file that this
 * build's tests write.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/cli/sibling.h"
#include "lib/mcp/tool.h"

#define CHECK_SECONDS 30
#define CHECK_MAX     (1u << 20)
#define REPORT_MAX    (16u << 20)

/* ---- can this machine record? ---- */

static const struct answer_column check_columns[] = {
	{ "id", "check" }, { "status", NULL }, { "text", NULL }, { "advice", "do" }, { 0 }
};
static const struct answer_list check_lists[] = {
	{ .key = "checks", .columns = check_columns, .more = "a larger budget" },
	{ 0 },
};
static const struct answer_layout check_layout = { NULL, check_lists, NULL };

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int read_check(int fd, const struct request_ctx *rctx, struct buf *out, struct err *e)
{
	int64_t until = now_ms() + CHECK_SECONDS * 1000;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char block[4096];

	for (;;) {
		ssize_t n = poll(&p, 1, 100) > 0 ? read(fd, block, sizeof(block)) : -1;

		if (n == 0)
			return out->failed ? err_nomem(e) : 0;
		if (n > 0)
			buf_add(out, block, (size_t)n);
		if (now_ms() > until || out->n > CHECK_MAX)
			return err_set(e, ERR_LIMIT, "ingero-check took longer than %d s",
				       CHECK_SECONDS);
		if (request_ctx_should_stop(rctx))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
	}
}

/* By the process that is there for it. */
static int have_checked(const struct mcp_checker *checker, const struct request_ctx *rctx,
			struct buf *text, struct err *e)
{
	int fds[2], rc = cli_sibling_pipe(fds, e);

	if (rc)
		return rc;
	rc = mcp_checker_run(checker, fds[1], CHECK_SECONDS, e);
	close(fds[1]);
	rc = rc ? rc : read_check(fds[0], rctx, text, e);
	close(fds[0]);
	return rc;
}

static int run_check(const struct mcp_checker *checker, const struct request_ctx *rctx,
		     struct buf *text, struct err *e)
{
	char *argv[] = { "ingero-check", "--look-only", "--json", NULL };
	int fds[2], rc, nothing[2];
	pid_t pid;

	if (checker)
		return have_checked(checker, rctx, text, e);
	rc = cli_sibling_pipe(fds, e);
	if (rc)
		return rc;
	rc = cli_sibling_pipe(nothing, e);
	if (rc) {
		close(fds[0]);
		close(fds[1]);
		return rc;
	}
	/* Its input ends at once: ours may be the client's. */
	close(nothing[1]);
	pid = cli_sibling_start(argv, &(struct cli_sibling_fds){ nothing[0], fds[1], -1 }, e);
	close(nothing[0]);
	close(fds[1]);
	rc = pid < 0 ? e->code : read_check(fds[0], rctx, text, e);
	close(fds[0]);
	if (pid > 0) {
		if (rc)
			kill(pid, SIGKILL);
		cli_sibling_wait(pid);
	}
	return rc;
}

static int call_check(void *ctx, const struct request_ctx *rctx, struct json args,
		      struct mcp_reply *out, struct err *e)
{
	struct buf text = { 0 };
	struct json o = JSON_NONE;
	struct tool_call c;
	int rc = tool_begin(&c, ctx, rctx, args, out, false, e);

	rc = rc ? rc : run_check(c.tools->opt.checker, rctx, &text, e);
	if (!rc && json_parse(buf_bytes(&text), &o, e))
		rc = err_set(e, ERR_CANNOT, "ingero-check is not there, or did not answer: %.200s",
			     buf_text(&text));
	rc = rc ? rc : tool_answer(&c, o, &check_layout, e);
	buf_free(&text);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_check = {
	.name = "get_check",
	.title = "Can this machine record?",
	.description = "What recording needs on the machine of this server: kernel, rights, CUDA "
		       "libraries, GPUs. Only looks: "
		       "loads and attaches nothing.",
	.input_schema = ARGS_SCHEMA(ARGS_FORM "," ARGS_JQ),
	.output_schema = TOOL_OUTPUT(
		"\"schema\":{\"type\":\"string\"},\"checks\":{\"type\":\"array\",\"items\":"
		"{\"type\":\"object\"}}"),
	.call = call_check,
};

/* ---- how the tests went ---- */

static const struct answer_column suite_columns[] = { { "suite", NULL },
						      { "files", NULL },
						      { "passed", NULL },
						      { "failed", NULL },
						      { "skipped", NULL },
						      { "wall_s", "s" },
						      { 0 } };
static const struct answer_column failed_columns[] = { { "suite", NULL },    { "file", NULL },
						       { "passed", NULL },   { "failed", NULL },
						       { "failures", NULL }, { 0 } };
static const struct answer_list report_lists[] = {
	{ .key = "failing",
	  .title = "failing:",
	  .columns = failed_columns,
	  .more = "a larger budget" },
	{ .key = "suites", .title = "suites:", .columns = suite_columns, .more = "a larger budget" },
	{ 0 },
};

static void report_head(struct buf *out, struct json answer)
{
	static const char *const words[][2] = { { "passed", " checks passed, " },
						{ "failed", " failed, " },
						{ "skipped", " skipped in " },
						{ "wall_s", " s; " },
						{ "ended", "\n" } };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		token_budget_append_member(out, answer, words[i][0]);
		buf_puts(out, words[i][1]);
	}
}

static const struct answer_layout report_layout = { report_head, report_lists, NULL };

/* BUILD/test-report.json of the build that this program is BUILD/bin/… of. */
static int report_path(char path[PATH_MAX], struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 32);
	char *slash = NULL;

	path[n > 0 ? n : 0] = 0;
	for (int i = 0; i < 2; i++) {
		slash = strrchr(path, '/');
		if (slash)
			*slash = 0;
	}
	if (!slash)
		return err_set(e, ERR_CANNOT, "there is no report of tests");
	memcpy(slash, "/test-report.json", sizeof("/test-report.json"));
	return 0;
}

/* Keeps only the failed tests, and the number of all; the sums of the suites have the rest. */
static void select_failing(struct json *o)
{
	struct json tests = json_get(*o, "tests"), rows = json_array();

	for (size_t i = 0; i < json_length(tests); i++) {
		struct json t = json_at(tests, i), failed = json_get(t, "failed");

		if (json_double(failed, 0) > 0)
			json_append(&rows, t);
		else
			json_free(t);
		json_free(failed);
	}
	json_set(o, "failing", rows);
	json_set(o, "tests", json_number((double)json_length(tests)));
	json_free(tests);
}

static int call_report(void *ctx, const struct request_ctx *rctx, struct json args,
		       struct mcp_reply *out, struct err *e)
{
	char own[PATH_MAX];
	struct buf text = { 0 };
	struct json o = JSON_NONE;
	struct tool_call c;
	const char *path;
	int rc = tool_begin(&c, ctx, rctx, args, out, false, e);

	path = c.tools->opt.test_report;
	if (!rc && !path) {
		rc = report_path(own, e);
		path = own;
	}
	if (!rc && read_file(path, &text, REPORT_MAX, e))
		rc = err_set(e, ERR_CANNOT,
			     "there is no report of tests here: make check writes one, beside the "
			     "programs it "
			     "builds");
	rc = rc ? rc : json_parse(buf_bytes(&text), &o, e);
	if (!rc && json_type(o) != JSON_TYPE_OBJECT) {
		json_free(o);
		rc = err_set(e, ERR_DAMAGED, "the report of tests is no JSON object");
	}
	if (!rc) {
		select_failing(&o);
		rc = tool_answer(&c, o, &report_layout, e);
	}
	buf_free(&text);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_test_report = {
	.name = "get_test_report",
	.title = "How the tests went",
	.description = "The report of make check for the build this server is of: suites, failing "
		       "tests, times.",
	.input_schema = ARGS_SCHEMA(ARGS_FORM "," ARGS_JQ),
	.output_schema =
		TOOL_OUTPUT("\"schema\":{\"type\":\"string\"},\"passed\":{\"type\":\"integer\"},"
			    "\"failed\":{\"type\":\"integer\"},"
			    "\"skipped\":{\"type\":\"integer\"},\"wall_s\":{\"type\":\"number\"},"
			    "\"suites\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"failing\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.call = call_report,
};
