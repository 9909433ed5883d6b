/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of real libraries against `readelf --debug-dump=frames-interp`: the rule at the
 * first and at the last byte of every row has to say what binutils says there. Expressions, which
 * readelf does not print, have to be one.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/symbols/unwind_table.h"
#include "tests/tap.h"

#define COLUMNS_MAX 64
#define CIES_MAX    4096

struct line {
	uint64_t address;
	char cfa[24], fp[24], ra[24];
};

struct compare {
	const char *fp_name; /* as readelf calls it */
	const struct unwind_table *table;
	const uint64_t *rules;
	uint16_t machine;
	unsigned fp_column, ra_column, ncolumns;
	uint64_t end; /* of the function */
	uint64_t rows, wrong, bad, by_expression;
	bool in_cie, has_row,
		other_column; /* the CIE's return address is in a register of its own */
	struct line row;      /* read last */
	struct {
		unsigned long at;
		bool other_column;
		struct line row;
	} cies[CIES_MAX];
	unsigned ncies;
};

static bool is_offset(const char *text, int64_t offset)
{
	char want[32];

	snprintf(want, sizeof(want), "c%+lld", (long long)offset);
	return strcmp(text, want) == 0;
}

static bool agrees_on_cfa(const struct compare *c, const char *cfa, uint64_t rule)
{
	char want[32];
	bool bp = unwind_rule_kind(rule) == UNWIND_BP;

	if (strcmp(cfa, "exp") == 0)
		return unwind_rule_kind(rule) == UNWIND_DBP ||
		       unwind_rule_kind(rule) == UNWIND_PLT ||
		       unwind_rule_kind(rule) == UNWIND_SIGNAL;
	snprintf(want, sizeof(want), "%s%+d",
		 bp			   ? c->fp_name
		 : c->machine == EM_X86_64 ? "rsp"
					   : "sp",
		 unwind_rule_cfa(rule));
	return (bp || unwind_rule_kind(rule) == UNWIND_SP) && strcmp(cfa, want) == 0;
}

static bool agrees_on_fp(const struct compare *c, const char *fp, uint64_t rule)
{
	int32_t offset = unwind_rule_fp_offset(rule);

	if (unwind_rule_kind(rule) == UNWIND_SIGNAL)
		return strcmp(fp, "exp") == 0;
	if (c->machine == EM_AARCH64)
		offset = unwind_rule_fp_offset_arm64(rule);
	switch (unwind_rule_fp(rule)) {
	case UNWIND_FP_SAME:
		return strcmp(fp, "u") == 0 || strcmp(fp, "s") == 0;
	case UNWIND_FP_CFA:
		return is_offset(fp, offset);
	case UNWIND_FP_BP:
		return strcmp(fp, "exp") == 0;
	default:
		return false;
	}
}

static bool agrees_on_ra(const struct compare *c, const char *ra, uint64_t rule)
{
	if (unwind_rule_kind(rule) == UNWIND_SIGNAL)
		return strcmp(ra, "exp") == 0;
	if (c->machine == EM_X86_64)
		return is_offset(ra, -8);
	if (rule & UNWIND_IN_LINK)
		return strcmp(ra, "u") == 0 || strcmp(ra, "s") == 0;
	return is_offset(ra, unwind_rule_ra_offset(rule));
}

/* What has no rule of its own: another register, or a return address that is elsewhere. */
static bool is_beyond_rules(const struct compare *c, const struct line *r)
{
	return (strncmp(r->cfa, "rsp", 3) != 0 && strncmp(r->cfa, "rbp", 3) != 0 &&
		strncmp(r->cfa, "x29", 3) != 0 && strncmp(r->cfa, "sp", 2) != 0) ||
	       (c->machine == EM_X86_64 && !is_offset(r->ra, -8));
}

static bool agrees(struct compare *c, const struct line *r, uint64_t address)
{
	uint64_t rule = c->rules[unwind_table_find(c->table, address)];

	switch (unwind_rule_kind(rule)) {
	case UNWIND_END:
		return strcmp(r->ra, "u") == 0;
	case UNWIND_BAD:
		c->bad++;
		return c->other_column || is_beyond_rules(c, r);
	case UNWIND_NONE:
		return false;
	default:
		c->by_expression += strcmp(r->cfa, "exp") == 0;
		return agrees_on_cfa(c, r->cfa, rule) && agrees_on_fp(c, r->fp, rule) &&
		       agrees_on_ra(c, r->ra, rule);
	}
}

/* The row read last holds up to there. */
static void check_row(struct compare *c, uint64_t end)
{
	struct line *r = &c->row;

	if (!c->has_row || c->in_cie || r->address >= end)
		return;
	c->rows++;
	if (agrees(c, r, r->address) && agrees(c, r, end - 1))
		return;
	if (c->wrong++ < 5) {
		uint64_t rule = c->rules[unwind_table_find(c->table, r->address)];

		printf("# %#lx: readelf %s %s %s, rule kind %u cfa %d fp %u %d\n",
		       (unsigned long)r->address, r->cfa, r->fp, r->ra, unwind_rule_kind(rule),
		       unwind_rule_cfa(rule), unwind_rule_fp(rule), unwind_rule_fp_offset(rule));
	}
}

/* A function in which nothing changes has no rows of its own: it is as its CIE says. */
static void begin_function(struct compare *c, const char *text)
{
	const char *cie = strstr(text, "cie="), *pc = strstr(text, "pc=");
	unsigned long at, start, end;

	c->in_cie = c->has_row = false;
	c->end = 0;
	if (!cie || !pc || sscanf(cie, "cie=%lx", &at) != 1 ||
	    sscanf(pc, "pc=%lx..%lx", &start, &end) != 2)
		return;
	c->end = end;
	for (unsigned i = c->ncies; i-- > 0;)
		if (c->cies[i].at == at) {
			c->row = c->cies[i].row;
			c->other_column = c->cies[i].other_column;
			c->has_row = true;
			break;
		}
	c->row.address = start;
}

/* A register in a register is two words, "r9 (r9)", but one column. */
static unsigned split_words(char *text, char *word[COLUMNS_MAX])
{
	unsigned n = 0;
	char *at;

	for (char *w = strtok_r(text, " \n", &at); w && n < COLUMNS_MAX;
	     w = strtok_r(NULL, " \n", &at))
		if (*w != '(')
			word[n++] = w;
	return n;
}

static void read_row(struct compare *c, char **word, unsigned n)
{
	struct line r = { .address = strtoull(word[0], NULL, 16), .fp = "u", .ra = "u" };

	snprintf(r.cfa, sizeof(r.cfa), "%s", word[1]);
	if (c->fp_column && c->fp_column < n)
		snprintf(r.fp, sizeof(r.fp), "%s", word[c->fp_column]);
	if (c->ra_column && c->ra_column < n)
		snprintf(r.ra, sizeof(r.ra), "%s", word[c->ra_column]);
	check_row(c, r.address < c->end ? r.address : c->end);
	c->row = r;
	c->has_row = true;
	if (c->in_cie && c->ncies)
		c->cies[c->ncies - 1].row = r;
}

static void read_columns(struct compare *c, char **word, unsigned n)
{
	c->fp_column = c->ra_column = 0;
	c->ncolumns = n;
	for (unsigned i = 2; i < n; i++) {
		if (strcmp(word[i], c->fp_name) == 0)
			c->fp_column = i;
		if (strcmp(word[i], "ra") == 0)
			c->ra_column = i;
	}
}

static void read_line(struct compare *c, char *text)
{
	bool cie = strstr(text, " CIE ") != NULL, fde = strstr(text, " FDE ") != NULL;
	char *word[COLUMNS_MAX], copy[4096];
	unsigned n;

	if (cie || fde) {
		check_row(c, c->end);
		c->has_row = false;
	}
	if (fde) {
		begin_function(c, text);
		return;
	}
	snprintf(copy, sizeof(copy), "%s", text);
	n = split_words(copy, word);
	if (cie && c->ncies < CIES_MAX) {
		c->cies[c->ncies].at = strtoul(word[0], NULL, 16);
		c->cies[c->ncies++].other_column =
			!strstr(text, c->machine == EM_X86_64 ? " ra=16" : " ra=30");
		c->in_cie = true;
	} else if (n > 1 && strcmp(word[0], "LOC") == 0) {
		read_columns(c, word, n);
		c->has_row = c->has_row && c->in_cie;
	} else if (n > 1 && n == c->ncolumns && strlen(word[0]) == 16) {
		read_row(c, word, n);
	}
}

/* The program, with its output to be read from *out if asked for, and without its complaints. */
static pid_t start_program(char *const argv[], FILE **out)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(out ? ends[1] : null, 1);
		dup2(null, 2);
		close(ends[0]);
		close(ends[1]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	if (out)
		*out = fdopen(ends[0], "r");
	else
		close(ends[0]);
	return pid;
}

static bool end_program(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static bool run_program(char *const argv[])
{
	return end_program(start_program(argv, NULL));
}

/* What it complains of, such as debug files that are not there, does not matter: rows are counted. */
static void read_frames(struct compare *c, const char *path)
{
	char *argv[] = { "readelf", "-W", "--debug-dump=frames-interp", (char *)path, NULL };
	char text[4096];
	FILE *out = NULL;
	pid_t pid = start_program(argv, &out);

	while (out && fgets(text, sizeof(text), out))
		read_line(c, text);
	check_row(c, c->end);
	if (out)
		fclose(out);
	end_program(pid);
}

static void compare_file(const char *path, const char *what)
{
	struct unwind_rules *rules = unwind_rules_new();
	struct compare *c = calloc(1, sizeof(*c));
	struct unwind_table *table = NULL;
	struct sym_elf *f = NULL;
	struct err e = { 0 };
	unsigned n;

	if (!rules || !c || sym_elf_open(&f, path, &e) ||
	    unwind_table_build(&table, f, rules, &e)) {
		ok(false, "%s: %s", what, e.text);
	} else {
		c->table = table;
		c->rules = unwind_rules_all(rules, &n);
		c->machine = sym_elf_machine(f);
		c->fp_name = c->machine == EM_X86_64 ? "rbp" : "x29";
		read_frames(c, path);
		ok(c->rows > 10 && c->wrong == 0,
		   "%s: %" PRIu64 " rows of readelf, %" PRIu64 " of them not the same", what,
		   c->rows, c->wrong);
		ok(c->bad * 50 <= c->rows, "%s: no rule for %" PRIu64 " of them", what, c->bad);
		printf("# %s: %u functions, %u rows, %zu KB, %u rules, %" PRIu64 " expressions\n",
		       path, table->nfunctions, table->nrows, unwind_table_bytes(table) >> 10, n,
		       c->by_expression);
	}
	unwind_table_free(table);
	unwind_rules_free(rules);
	sym_elf_free(f);
	free(c);
}

static bool find_library(const char *name, char path[PATH_MAX])
{
	void *library = dlopen(name, RTLD_LAZY);
	struct link_map *map;

	if (!library)
		return false;
	path[0] = 0;
	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path) == NULL)
		path[0] = 0;
	dlclose(library);
	return path[0] != 0;
}

/* The first of the names that is there; names end with NULL. */
static void compare_library(const char *const *names, const char *what)
{
	char path[PATH_MAX];

	for (; *names; names++) {
		struct stat st;

		if (**names == '/' ? stat(*names, &st) == 0 && realpath(*names, path)
				   : find_library(*names, path)) {
			compare_file(path, what);
			return;
		}
	}
	printf("# %s\n", what);
	skip("this library is not here");
}

/* Frames of every kind that a compiler makes, built without frame pointers. */
static void compare_program(const char *compiler, const char *what)
{
	char dir[] = "/tmp/unwind.XXXXXX", path[64];
	char *argv[] = {
		(char *)compiler,	"-O2", "-fomit-frame-pointer", "-pthread", "-o", path,
		"tests/live/frames.cc", NULL
	};

	if (!mkdtemp(dir))
		return;
	snprintf(path, sizeof(path), "%s/program", dir);
	if (run_program(argv)) {
		compare_file(path, what);
	} else {
		printf("# %s\n", what);
		skip("no such compiler here");
	}
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	char *version[] = { "readelf", "--version", NULL };

	if (!run_program(version))
		return tap_skip_all("no readelf here");
	compare_library((const char *const[]){ "libc.so.6", NULL }, "the C library");
	compare_library((const char *const[]){ "libstdc++.so.6", NULL }, "the C++ library");
	compare_library((const char *const[]){ "libpython3.11.so.1.0", "libpython3.12.so.1.0",
					       "libpython3.13.so.1.0", NULL },
			"Python");
	compare_library((const char *const[]){ "/usr/local/cuda/lib64/libcudart.so.13",
					       "/usr/local/cuda-13.0/lib/libcudart.so.13",
					       "build/double-real/cuda13/libcudart.so.13",
					       "build/double/libcudart.so.13", NULL },
			"a CUDA library");
	compare_library((const char *const[]){ "/usr/aarch64-linux-gnu/lib/libc.so.6", NULL },
			"the C library of arm64");
	compare_program("c++", "a C++ program");
	compare_program("aarch64-linux-gnu-g++", "a C++ program for arm64");
	return tap_done();
}
