/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds default folders and the recordings in them. A run is what one recorder wrote: files whose
 * names differ in the number at their end only.
 */
#include "lib/cli/defaults.h"

#include <dirent.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fmt.h"
#include "lib/base/vec.h"
#include "lib/cli/message.h"

/* More files than this in one folder: somebody else's archive, to be named file by file. */
#define FILES_MAX 65536u

const char *cli_home(void)
{
	const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL, *home = getenv("HOME");
	struct passwd *pw = sudo ? getpwuid((uid_t)strtoul(sudo, NULL, 10)) : NULL;

	if (!sudo && !home)
		pw = getpwuid(getuid());
	return pw ? pw->pw_dir : home ? home : "";
}

void cli_default_folder(struct buf *out)
{
	const char *named = getenv("INGERO_DB");

	if (named && *named)
		buf_puts(out, named);
	else if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0)
		buf_puts(out, "/var/lib/ingero");
	else
		buf_printf(out, "%s/.ingero", cli_home());
}

const char *cli_scratch_folder(void)
{
	const char *named = getenv("TMPDIR");

	return named && *named ? named : "/var/tmp";
}

void cli_names_free(struct cli_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	vec_free(names);
}

static int add_name(struct cli_names *to, const char *folder, const char *name, struct err *e)
{
	struct buf path = { 0 };

	if (folder)
		buf_printf(&path, "%s/", folder);
	buf_puts(&path, name);
	buf_putc(&path, '\0');
	if (!path.failed && vec_push(to, path.p))
		return 0;
	buf_free(&path);
	return err_nomem(e);
}

static int compare_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_folder(struct cli_names *to, const char *folder, struct err *e)
{
	size_t before = to->n;
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return err_sys(e, "cannot read %s", folder);
	while (rc == 0 && (entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);

		if (n < 5 || strcmp(entry->d_name + n - 4, ".ige") != 0)
			continue;
		rc = to->n - before < FILES_MAX
			     ? add_name(to, folder, entry->d_name, e)
			     : err_set(e, ERR_LIMIT, "%s holds more than %u recordings", folder,
				       FILES_MAX);
	}
	closedir(dir);
	if (rc == 0 && to->n > before)
		qsort(to->v + before, to->n - before, sizeof(*to->v), compare_by_name);
	return rc;
}

/* Up to the number of a file: "run-20260131-154000-77" of "run-20260131-154000-77-000002.ige". */
static size_t run_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t name = slash ? (size_t)(slash + 1 - path) : 0, n = strlen(path) - 4, digits = n;

	while (digits > name && path[digits - 1] >= '0' && path[digits - 1] <= '9')
		digits--;
	return n - digits == 6 && digits > name && path[digits - 1] == '-' ? digits - 1 : n;
}

static int64_t modified_ns(const char *path)
{
	struct stat st;

	return stat(path, &st) ? INT64_MIN
			       : (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* Removes all files but those of the run that path belongs to. */
static void keep_run(struct cli_names *files, const char *path)
{
	size_t n = run_of(path), kept = 0;
	char *run = strndup(path, n);

	for (size_t i = 0; run && i < files->n; i++) {
		if (run_of(files->v[i]) == n && memcmp(files->v[i], run, n) == 0)
			files->v[kept++] = files->v[i];
		else
			free(files->v[i]);
	}
	if (run)
		files->n = kept;
	free(run);
}

/* Removes all files but those of the run that was written last. */
static void keep_newest(struct cli_names *files)
{
	const char *newest = NULL;
	int64_t when = INT64_MIN;

	for (size_t i = 0; i < files->n; i++) {
		int64_t t = modified_ns(files->v[i]);

		if (t >= when) {
			when = t;
			newest = files->v[i];
		}
	}
	if (newest)
		keep_run(files, newest);
}

int cli_run_files(struct cli_names *out, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct buf folder = { 0 };
	int rc;

	buf_add(&folder, path, slash ? (size_t)(slash - path) : 0);
	rc = folder.failed ? err_nomem(e) : add_folder(out, buf_text(&folder), e);
	buf_free(&folder);
	if (!rc)
		keep_run(out, path);
	return rc;
}

/* What lies in a folder that somebody named may be more than was thought of. */
static void say_folder(const char *folder, char *const *names, size_t n)
{
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < n; i++)
		bytes += stat(names[i], &st) == 0 ? (uint64_t)st.st_size : 0;
	if (n > 1)
		cli_note("reading all of %s: %zu recordings, %s", folder, n, fmt_bytes(bytes).s);
}

/* In the folder where, which is a row, or the recording of that name. */
static int newest_run(struct cli_names *to, const char *where, bool *row, struct err *e)
{
	struct stat st;
	int rc = 0;

	if (stat(where, &st) == 0 && !S_ISDIR(st.st_mode)) {
		rc = add_name(to, NULL, where, e);
	} else if ((rc = add_folder(to, where, e)) == 0) {
		keep_newest(to);
		*row = true;
	}
	if (rc == 0 && to->n)
		cli_note("reading %s%s", to->v[0], to->n > 1 ? " and what follows it" : "");
	return rc;
}

static int newest_default_run(struct cli_names *to, bool *row, struct err *e)
{
	struct buf folder = { 0 };
	struct err ignored = { 0 };
	int rc = 0;

	cli_default_folder(&folder);
	if (folder.failed)
		rc = err_nomem(e);
	else if (newest_run(to, buf_text(&folder), row, &ignored) == ERR_NOMEM)
		rc = err_nomem(e);
	buf_free(&folder);
	return rc;
}

int cli_default_operands(struct cli_operands *operands, const char *db, bool serves, struct err *e)
{
	static struct cli_names names; /* the operands from here on */
	bool folders = false;
	struct stat st;
	int rc = 0;

	operands->row = false;
	if (operands->n == 0 && db) {
		rc = newest_run(&names, db, &operands->row, e);
		if (rc == 0 && names.n == 0)
			rc = err_set(e, ERR_CANNOT,
				     "%s holds no recording yet (ingero-record makes them)", db);
	} else if (operands->n == 0 && (serves || isatty(STDIN_FILENO))) {
		rc = newest_default_run(&names, &operands->row, e);
	}
	folders = names.n > 0;
	for (size_t i = 0; i < operands->n; i++)
		folders |= stat(operands->v[i], &st) == 0 && S_ISDIR(st.st_mode);
	for (size_t i = 0; rc == 0 && folders && i < operands->n; i++) {
		bool folder = stat(operands->v[i], &st) == 0 && S_ISDIR(st.st_mode);
		size_t before = names.n;

		rc = folder ? add_folder(&names, operands->v[i], e)
			    : add_name(&names, NULL, operands->v[i], e);
		if (rc == 0 && folder && names.n == before)
			rc = err_set(e, ERR_CANNOT, "%s holds no recording", operands->v[i]);
		else if (rc == 0 && folder)
			say_folder(operands->v[i], names.v + before, names.n - before);
	}
	if (rc || !folders)
		return rc;
	if (!vec_push(&names, NULL))
		return err_nomem(e);
	operands->v = names.v;
	operands->n = names.n - 1;
	return 0;
}
