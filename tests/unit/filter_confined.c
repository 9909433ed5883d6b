/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of people one does not know: what is right is evaluated, what wants more than to compute
 * gets nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/filter/confined.h"
#include "tests/tap.h"

static const struct filter_confined usual = { .seconds = 30,
					      .memory_bytes = 64 << 20,
					      .output_max = 1 << 16 };

static bool at_once(void *ctx)
{
	return true;
}

static const struct {
	const char *filter;
	int rc;
	const char *want; /* what it makes, or a part of the message */
} filters[] = {
	{ ".", 0, "{\"a\":[1,2,3],\"b\":\"x\"}\n" },
	{ ".a[]", 0, "1\n2\n3\n" },
	{ ".a | map(. * 2) | add", 0, "12\n" },
	{ "empty", 0, "" },
	{ ".a[0] | . as $x | [range(3)] | map(. + $x)", 0, "[1,2,3]\n" },
	{ ".b | test(\"^X$\"; \"i\")", 0, "true\n" },
	{ "$ENV | length", 0, "0\n" },
	{ "env | length", 0, "0\n" },
	{ "", 0, "{\"a\":[1,2,3],\"b\":\"x\"}\n" },
	{ ".a[", ERR_USAGE, "jq: " },
	{ "frobnicate", ERR_USAGE, "frobnicate" },
	{ ".b + 1", ERR_USAGE, "cannot be added" },
	{ "error(\"x\")", ERR_USAGE, "x" },
	{ "include \"/etc/passwd\"; .", ERR_USAGE, "module not found" },
	{ "import \"/etc/hostname\" as $x; $x", ERR_USAGE, "module not found" },
	{ "input", ERR_USAGE, "jq: " },
	{ ".b | debug", 0, "\"x\"\n" },
	{ "[range(1e9)] | length", ERR_LIMIT, "the jq filter" },
	{ "def f: f | f; f", ERR_LIMIT, "the jq filter" },
	{ "last(range(1e12))", ERR_LIMIT, "the jq filter takes longer" },
	{ "range(1e9)", ERR_LIMIT, "the jq filter makes more" },
};

/* The capability sets of the first child of this process, each as its line of /proc; "" there is
 * none. */
static void read_child_sets(char text[512])
{
	char path[64], line[256];
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	text[0] = 0;
	while (proc && !text[0] && (entry = readdir(proc)) != NULL) {
		bool ours = false;
		FILE *f;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/status", entry->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			if (strncmp(line, "PPid:", 5) == 0)
				ours = strtol(line + 5, NULL, 10) == getpid();
			if (ours &&
			    (strncmp(line, "Cap", 3) == 0 || strncmp(line, "NoNewPrivs", 10) == 0))
				snprintf(text + strlen(text), 512 - strlen(text), "%s", line);
		}
		if (f)
			fclose(f);
	}
	if (proc)
		closedir(proc);
}

/* It is looked at until it is confined: what the filter does comes behind that. */
static bool seen_confined(void *ctx)
{
	char *text = ctx;

	read_child_sets(text);
	return strstr(text, "NoNewPrivs:\t1") != NULL;
}

static void test_capabilities(void)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	struct filter_confined how = usual;
	struct buf out = { 0 };
	struct err e = { 0 };
	char text[512] = "";

	how.stop = seen_confined;
	how.ctx = text;
	filter_confined_jq("last(range(1e12))", bytes_of("{}"), &how, &out, &e);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const char *at = strstr(text, sets[i]);

		if (geteuid() != 0 && strcmp(sets[i], "CapBnd") == 0)
			continue; /* what is not ours to change gives nothing either */
		ok(at && strncmp(at + 6, ":\t0000000000000000\n", 19) == 0,
		   "who evaluates a filter has no %s", sets[i]);
	}
	buf_free(&out);
}

static void test_filters(void)
{
	static const char text[] = "{\"a\":[1,2,3],\"b\":\"x\"}";

	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		struct filter_confined how = usual;
		struct buf out = { 0 };
		struct err e = { 0 };
		int rc;

		/* What runs for ever needs not run for long to do so. */
		if (filters[i].rc == ERR_LIMIT && !strstr(filters[i].want, "more"))
			how.seconds = 1;
		rc = filter_confined_jq(filters[i].filter, bytes_of(text), &how, &out, &e);
		is_int(rc, filters[i].rc, "%s: %s", filters[i].filter, e.text);
		if (rc)
			like(e.text, filters[i].want, "%s: what is said", filters[i].filter);
		else
			is_str(buf_text(&out), filters[i].want, "%s: what is made",
			       filters[i].filter);
		buf_free(&out);
	}
}

/* As in a server's pool, whose threads take no signal. */
static void *ask_without_signals(void *arg)
{
	struct filter_confined how = usual;
	struct buf out = { 0 };
	struct err e = { 0 };
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	how.seconds = 1;
	is_int(filter_confined_jq("first(repeat(empty))", bytes_of("1"), &how, &out, &e), ERR_LIMIT,
	       "no end, asked by a thread that takes no signals");
	is_str(e.text, "the jq filter takes longer than 1 s", "is a matter of time");
	buf_free(&out);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	struct filter_confined how = usual;
	struct buf out = { 0 };
	struct err e;

	setenv("SECRET", "token", 1);
	test_filters();
	test_capabilities();
	if (pthread_create(&thread, NULL, ask_without_signals, NULL) == 0)
		pthread_join(thread, NULL);
	how.stop = at_once;
	is_int(filter_confined_jq("last(range(1e12))", bytes_of("1"), &how, &out, &e),
	       ERR_INTERRUPTED, "who asked gave up");
	is_int(filter_confined_jq(".", bytes_of("{"), &usual, &out, &e), ERR_USAGE, "no JSON");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left behind");
	buf_free(&out);
	return tap_done();
}
