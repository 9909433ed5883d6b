/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the script or the module among the arguments of an interpreter. A command line
 * does not mark where an argument ends, so arguments with blanks are split: what is ambiguous is
 * left out.
 */
#include "lib/world/program_name.h"

#include <stddef.h>
#include <string.h>

/* Options whose value is an argument of its own, each between blanks; the names of the others begin
 * with "-", too. */
static const struct interpreter {
	const char *name;
	const char *valued;
	const char *module; /* the option whose value is what it runs, NULL none */
	const char *text;   /* the option whose value is a program itself */
} interpreters[] = {
	{ "python", " -W -X --check-hash-based-pycs ", "-m", "-c" },
	{ "pypy", " -W -X ", "-m", "-c" },
	{ "node", " -r --require --import --loader --env-file -C --conditions ", NULL, "-e" },
	{ "java", " -cp -classpath --class-path -p --module-path --add-modules ", "-jar", NULL },
	{ "bash", " -o -O --rcfile --init-file ", NULL, "-c" },
	{ "sh", " -o ", NULL, "-c" },
	{ "perl", " -I ", NULL, "-e" },
	{ "ruby", " -I -r ", NULL, "-e" },
	{ "julia", " -t --threads -p --procs -L --load -J --sysimage ", NULL, "-e" },
};

/* What torch calls the main thread of any Python process that uses it: no name of the program. */
static const char torch_main[] = "pt_main_thread";

static struct bytes next_word(struct bytes *rest)
{
	struct bytes word;
	size_t n = 0;

	while (rest->n && *rest->p == ' ') {
		rest->p++;
		rest->n--;
	}
	while (n < rest->n && rest->p[n] != ' ')
		n++;
	word = (struct bytes){ rest->p, n };
	rest->p += n;
	rest->n -= n;
	return word;
}

/* "python3.12" is of python, "nodejs" is not of node: only a version may follow. */
static bool is_version_of(struct bytes name, const char *interpreter)
{
	size_t n = strlen(interpreter);

	if (name.n < n || memcmp(name.p, interpreter, n) != 0)
		return false;
	while (n < name.n &&
	       ((name.p[n] >= '0' && name.p[n] <= '9') || name.p[n] == '.' || name.p[n] == 't'))
		n++;
	return n == name.n;
}

static const struct interpreter *interpreter_of(struct bytes name)
{
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		if (is_version_of(name, interpreters[i].name))
			return &interpreters[i];
	return NULL;
}

static bool is_listed(const char *list, struct bytes word)
{
	for (const char *at = list; (at = memmem(at, strlen(at), word.p, word.n)) != NULL; at++)
		if (at > list && at[-1] == ' ' && at[word.n] == ' ')
			return true;
	return false;
}

static void add_bytes(struct buf *out, struct bytes text)
{
	buf_putc(out, ' ');
	buf_add(out, text.p, text.n);
}

/* A program in the arguments has no name, except those with which Python starts its processes. */
static void add_text(struct buf *out, const char *option, struct bytes text)
{
	static const char from[] = "from multiprocessing.";
	struct bytes module;

	while (text.n && *text.p == ' ') {
		text.p++;
		text.n--;
	}
	if (text.n < sizeof(from) || memcmp(text.p, from, sizeof(from) - 1) != 0) {
		add_bytes(out, bytes_of(option));
		return;
	}
	text.p += sizeof("from ") - 1;
	text.n -= sizeof("from ") - 1;
	module = next_word(&text);
	buf_puts(out, " (");
	buf_add(out, module.p, module.n);
	buf_putc(out, ')');
}

/* A package that is run by its file is known by its folder. */
static struct bytes script_name(struct bytes path)
{
	struct bytes name = bytes_file_name(path);

	if (!bytes_equal(name, bytes_of("__main__.py")) || name.n + 1 >= path.n)
		return name;
	return bytes_file_name((struct bytes){ path.p, path.n - name.n - 1 });
}

static void add_program(struct buf *out, const struct interpreter *in, struct bytes rest)
{
	struct bytes word;

	while ((word = next_word(&rest)).n) {
		if (word.p[0] != '-') {
			add_bytes(out, script_name(word));
			return;
		}
		if (in->text && bytes_equal(word, bytes_of(in->text))) {
			add_text(out, in->text, rest);
			return;
		}
		if (in->module && bytes_equal(word, bytes_of(in->module))) {
			if (in->module[1] == 'm')
				add_bytes(out, word);
			word = next_word(&rest);
			add_bytes(out, bytes_file_name(word));
			return;
		}
		if (word.n == 1) /* standard input */
			return;
		if (is_listed(in->valued, word))
			next_word(&rest);
	}
}

bool program_is_interpreter(struct bytes comm)
{
	return bytes_equal(comm, bytes_of(torch_main)) || interpreter_of(comm);
}

void program_name(struct buf *out, struct bytes comm, struct bytes cmdline)
{
	bool torch = bytes_equal(comm, bytes_of(torch_main));
	struct bytes rest = cmdline, first = bytes_file_name(next_word(&rest));
	const struct interpreter *in = interpreter_of(torch ? first : comm);

	/* Who changed its arguments says by them what it is. */
	if (!in || interpreter_of(first) != in) {
		buf_add(out, comm.p, comm.n);
		return;
	}
	if (torch)
		comm = first;
	buf_add(out, comm.p, comm.n);
	add_program(out, in, rest);
}
