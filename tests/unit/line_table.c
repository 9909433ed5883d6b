/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of code that a compiler made here, in every version of DWARF, and of our own
 * executable as addr2line prints them; and of tables cut and bent at every byte.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/symbols/line_table.h"
#include "lib/symbols/lookup.h"
#include "lib/symbols/symbols.h"
#include "tests/tap.h"

static const char inner_text[] = "static inline int inner(int x)\n"
				 "{\n"
				 "	return x * sink;\n"
				 "}\n";

static const char outer_text[] = "extern volatile int sink;\n"
				 "#include \"part/inner.h\"\n"
				 "int dropped(int x);\n"
				 "int dropped(int x)\n"
				 "{\n"
				 "	return x * sink + 5;\n"
				 "}\n"
				 "__attribute__((noinline)) int outer(int x);\n"
				 "int outer(int x)\n"
				 "{\n"
				 "	sink = 3;\n"
				 "	return inner(x) + 7;\n"
				 "}\n"
				 "volatile int sink;\n"
				 "int main(void)\n"
				 "{\n"
				 "	return outer(1);\n"
				 "}\n";

static char directory[] = "/tmp/ingero-lines-XXXXXX";

static void write_text(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		printf("# cannot write %s\n", path);
}

/* Whether it succeeded. INGERO_COMPILE is more than one word: a shell runs it. */
static bool run_shell(const char *command)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* The executable, or false: this compiler cannot. */
static bool compile(const char *flags, char *path, size_t size)
{
	const char *compiler = getenv("INGERO_COMPILE");
	char command[4096];

	snprintf(path, size, "%s/program", directory);
	snprintf(command, sizeof(command),
		 "cd %s && %s -w -O2 -g -ffunction-sections -fno-ipa-cp -Wl,--gc-sections -o "
		 "program "
		 "outer.c %s 2>/dev/null",
		 directory, compiler ? compiler : "cc", flags);
	return run_shell(command);
}

struct function {
	uint64_t offset, address, size;
	const char *name;
};

static bool find_function(void *ctx, const struct sym_elf_symbol *s)
{
	struct function *f = ctx;

	if (strcmp(s->name, f->name) != 0)
		return true;
	f->address = s->value;
	f->offset = s->offset;
	f->size = s->size;
	return false;
}

static bool has_line(struct line_table *t, const struct function *f, const char *base,
		     uint32_t wanted, bool first)
{
	struct buf file = { 0 };
	uint32_t line;
	bool found = false;

	for (uint64_t i = 0; i < (first ? 1 : f->size) && !found; i++) {
		buf_reset(&file);
		found = line_table_find(t, f->address + i, &file, &line) && line == wanted &&
			strcmp(strrchr(buf_text(&file), '/') ? strrchr(buf_text(&file), '/') + 1
							     : buf_text(&file),
			       base) == 0;
	}
	buf_free(&file);
	return found;
}

static void check_program(const char *path, const char *what, bool relative)
{
	struct function outer = { .name = "outer" };
	struct line_table *t = NULL;
	struct buf file = { 0 };
	struct sym_symbols *s;
	struct err e = { 0 };
	struct sym_elf *f;
	char wanted[256];
	uint32_t line = 0;

	if (sym_elf_open(&f, path, &e)) {
		ok(false, "%s: %s", what, e.text);
		return;
	}
	sym_elf_symbols(f, SYM_FULL | SYM_NAMES, find_function, &outer, &e);
	is_int(line_table_new(&t, f, &e), 0, "%s: is read", what);
	ok(has_line(t, &outer, "outer.c", 10, true) || has_line(t, &outer, "outer.c", 11, true),
	   "%s: the first line of a function", what);
	ok(has_line(t, &outer, "outer.c", 11, false), "%s: a line in it", what);
	ok(has_line(t, &outer, "inner.h", 3, false), "%s: the line of a function inlined there",
	   what);
	ok(!has_line(t, &outer, "outer.c", 6, false), "%s: none of a function dropped at linking",
	   what);
	ok(!line_table_find(t, 0, &file, &line) && !line_table_find(t, 8, &file, &line) &&
		   !line_table_find(t, UINT64_MAX, &file, &line) && file.n == 0,
	   "%s: nothing of other addresses", what);
	line_table_find(t, outer.address, &file, &line);
	snprintf(wanted, sizeof(wanted), "%s%souter.c", relative ? "" : directory,
		 relative ? "" : "/");
	is_str(buf_text(&file), wanted, "%s: the path as the compiler knew it", what);
	line_table_free(t);
	sym_elf_free(f);
	buf_reset(&file);
	if (sym_symbols_open(&s, path, &e) == 0) {
		ok(sym_symbols_line(s, outer.offset, &file, &line) && line >= 9 && line <= 11,
		   "%s: by its place in the file", what);
		sym_symbols_free(s);
	}
	buf_free(&file);
}

static void every_version(void)
{
	static const struct {
		const char *flags;
		bool relative;
	} all[] = {
		{ "-gdwarf-2 -gstrict-dwarf", true },
		{ "-gdwarf-3", true },
		{ "-gdwarf-4", true },
		{ "-gdwarf-5", false },
		{ "-gdwarf-5 -gdwarf64", false },
		{ "-gdwarf-5 -gz=zlib", false },
		{ "-gdwarf-4 -gz=zlib -static", true },
	};
	char path[256];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (compile(all[i].flags, path, sizeof(path)))
			check_program(path, all[i].flags, all[i].relative);
		else
			skip("no compiler that takes these options");
	if (compile("-g0", path, sizeof(path))) {
		struct line_table *t = NULL;
		struct buf file = { 0 };
		struct sym_elf *f;
		uint32_t line;

		if (sym_elf_open(&f, path, NULL) == 0) {
			is_int(line_table_new(&t, f, NULL), 0, "without lines: no error");
			ok(!line_table_find(t, 0x1000, &file, &line), "and none is found");
			line_table_free(t);
			sym_elf_free(f);
		}
	}
}

/* ---- as addr2line ---- */

#define ASKED 4096

struct sample {
	uint64_t addresses[ASKED];
	unsigned n, met;
};

static bool sample_function(void *ctx, const struct sym_elf_symbol *f)
{
	struct sample *s = ctx;

	/* What a sanitizer adds has lines that addr2line does not print. */
	if (f->name && !strncmp(f->name, "_sub_", 5))
		return true;
	/* Three places in every third function. */
	for (uint64_t i = 1; f->size > 4 && s->met % 3 == 0 && i <= 3 && s->n < ASKED; i++)
		s->addresses[s->n++] = f->value + i * f->size / 4;
	s->met++;
	return true;
}

static unsigned compare_lines(const struct sample *s, struct line_table *t, FILE *answers,
			      unsigned *told)
{
	struct buf file = { 0 };
	char text[8192], mine[32];
	const char *wanted;
	unsigned wrong = 0;
	uint32_t line;

	for (unsigned i = 0; i < s->n && fgets(text, sizeof(text), answers); i++) {
		char *end = strstr(text, " (");

		text[strcspn(text, "\n")] = 0;
		if (end)
			*end = 0; /* the discriminator */
		buf_reset(&file);
		if (line_table_find(t, s->addresses[i], &file, &line))
			snprintf(mine, sizeof(mine), "%u", line);
		else
			snprintf(mine, sizeof(mine), "?");
		/* Of a function in an included file it has the line, but the other file's name. */
		wanted = strrchr(text, ':') ? strrchr(text, ':') + 1 : "?";
		if (strcmp(wanted, "?") != 0 && strcmp(wanted, "0") != 0)
			(*told)++;
		else
			wanted = "?";
		if (strcmp(wanted, mine) != 0 && wrong++ < 10)
			printf("# %#" PRIx64 ": %s, addr2line: %s\n", s->addresses[i], mine, text);
	}
	buf_free(&file);
	return wrong;
}

static void as_addr2line(void)
{
	static struct sample s;
	char path[4096] = "", command[8400], list[256];
	struct line_table *t = NULL;
	unsigned told = 0, wrong;
	struct sym_elf *f;
	FILE *p;

	if (!run_shell("addr2line --version >/dev/null 2>&1") ||
	    readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 ||
	    sym_elf_open(&f, path, NULL)) {
		skip("no addr2line here");
		return;
	}
	sym_elf_symbols(f, SYM_FULL | SYM_FUNCTIONS | SYM_NAMES, sample_function, &s, NULL);
	is_int(line_table_new(&t, f, NULL), 0, "our own executable is read");
	snprintf(list, sizeof(list), "%s/addresses", directory);
	p = fopen(list, "w");
	for (unsigned i = 0; p && i < s.n; i++)
		fprintf(p, "%#" PRIx64 "\n", s.addresses[i]);
	if (p)
		fclose(p);
	snprintf(command, sizeof(command), "addr2line -e '%s' <%s >%s.lines", path, list, list);
	snprintf(list, sizeof(list), "%s/addresses.lines", directory);
	p = run_shell(command) ? fopen(list, "r") : NULL;
	wrong = p ? compare_lines(&s, t, p, &told) : 0;
	if (p)
		fclose(p);
	if (told == 0)
		skip("this executable has no lines that addr2line knows");
	else
		is_u64(wrong, 0, "%u lines of %u addresses as addr2line prints them", told, s.n);
	line_table_free(t);
	sym_elf_free(f);
}

/* ---- damaged ones ---- */

static void ask_all(const char *bytes, size_t n, const struct function *outer)
{
	struct line_table *t = NULL;
	struct buf file = { 0 };
	struct sym_elf *f;
	uint32_t line;
	int fd = memfd_create("bent", MFD_CLOEXEC);

	if (write(fd, bytes, n) == (ssize_t)n && sym_elf_open_fd(&f, fd, "bent", NULL) == 0) {
		if (line_table_new(&t, f, NULL) == 0)
			for (uint64_t i = 0; i < outer->size; i += 5)
				line_table_find(t, outer->address + i, &file, &line);
		line_table_free(t);
		sym_elf_free(f);
	}
	buf_free(&file);
	close(fd);
}

static void bend_section(const char *path, const char *name)
{
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	struct function outer = { .name = "outer" };
	struct sym_elf_part part;
	struct sym_elf *f;
	uint64_t bends = 0;
	char *bytes;
	size_t n;

	if (sym_elf_open(&f, path, NULL))
		return;
	sym_elf_symbols(f, SYM_FULL | SYM_NAMES, find_function, &outer, NULL);
	n = sym_elf_size(f);
	bytes = malloc(n);
	if (bytes && sym_lookup_section(f, name, &part) && part.size <= n - part.offset &&
	    sym_elf_bytes(f, 0, bytes, n) == n)
		for (uint64_t i = 0; i < part.size && i < 4096; i++)
			for (unsigned k = 0; k < sizeof(flips); k++) {
				bytes[part.offset + i] ^= (char)flips[k];
				ask_all(bytes, n, &outer);
				bytes[part.offset + i] ^= (char)flips[k];
				bends++;
			}
	ok(bends > 0, "%s bent %" PRIu64 " times: no harm", name, bends);
	free(bytes);
	sym_elf_free(f);
}

static void bent_tables(void)
{
	static const char *const all[][2] = { { "-gdwarf-5", ".debug_line" },
					      { "-gdwarf-5", ".debug_line_str" },
					      { "-gdwarf-3", ".debug_line" },
					      { "-gdwarf-5 -gz=zlib", ".debug_line" } };
	char path[256];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (compile(all[i][0], path, sizeof(path)))
			bend_section(path, all[i][1]);
}

int main(void)
{
	char command[256];

	if (!mkdtemp(directory))
		return tap_skip_all("no room in /tmp");
	snprintf(command, sizeof(command), "%s/part", directory);
	mkdir(command, 0700);
	write_text("outer.c", outer_text);
	write_text("part/inner.h", inner_text);
	every_version();
	as_addr2line();
	bent_tables();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (!run_shell(command))
		printf("# %s stays\n", directory);
	return tap_done();
}
