/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits are for what is whole: the file being written comes on top, so it is taken off the limit
 * first.
 */
#include "lib/record/destination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Files of a ring of no given size: an eighth of the ring is let go at a time. */
#define RING_PARTS     8
#define FILE_BYTES_MAX (1ull << 30)
#define FILE_BYTES_MIN (64ull << 10) /* a file says some 10 KB of itself */

static bool ends_in_ige(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && strcmp(path + n - 4, ".ige") == 0;
}

/* "runs/", or a folder that is there. */
static bool is_folder(const char *path)
{
	size_t n = strlen(path);
	struct stat st;

	return (n > 0 && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* A name in the folder that says when and by whom. */
static int name_within(struct record_destination *d, const char *folder, char **out, struct err *e)
{
	time_t now = time(NULL);
	char when[32];
	struct tm tm;
	int rc;

	rc = record_output_directory(folder, &d->owner, d->nnames == 0, e);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	if (rc == 0 &&
	    asprintf(out, "%s%s%s-%s-%d.ige", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
		     d->flight ? "flight" : "run", when, (int)getpid()) < 0) {
		*out = NULL;
		rc = err_nomem(e);
	}
	return rc;
}

static int check_options(const struct record_destination *d, struct err *e)
{
	if (d->keep && !d->rotate_bytes && !d->rotate_ns && !d->flight)
		return err_set(e, ERR_USAGE, "--keep wants --rotate or --rotate-every");
	if (d->rotate_bytes && d->rotate_bytes < FILE_BYTES_MIN)
		return err_set(e, ERR_USAGE, "files of less than 64 KiB are not worth --rotate");
	if (d->max_bytes && d->max_bytes < 2 * FILE_BYTES_MIN)
		return err_set(e, ERR_USAGE, "--max-size leaves room for no recording");
	if (d->rotate_bytes && d->max_bytes && d->rotate_bytes > d->max_bytes / 2)
		return err_set(e, ERR_USAGE, "--max-size leaves no room for two files of --rotate");
	if (d->flight && d->nnames > 1)
		return err_set(e, ERR_USAGE, "a flight recorder writes to one place: -o once");
	for (size_t i = 0; d->flight && i < d->nnames; i++)
		if (strcmp(d->names[i], "-") == 0)
			return err_set(e, ERR_USAGE,
				       "a flight recorder writes files, not standard output");
	return 0;
}

/* What a row of files is called together, in a shell. */
static int pattern_of(struct record_destination *d, const char *name, struct err *e)
{
	int stem = (int)strlen(name) - (ends_in_ige(name) ? 4 : 0);

	free(d->path);
	d->row = true;
	if (asprintf(&d->path, "%.*s-*.ige", stem, name) >= 0)
		return 0;
	d->path = NULL;
	return err_nomem(e);
}

static int make_row(struct record_destination *d, const char *name, bool folder,
		    struct record_rotation **out, struct err *e)
{
	struct record_rotation_limits limits = { .files = d->keep, .folder = folder };
	int rc;

	if (!d->rotate_bytes && d->max_bytes && !d->flight)
		d->rotate_bytes = d->max_bytes / RING_PARTS < FILE_BYTES_MIN ? FILE_BYTES_MIN
				  : d->max_bytes / RING_PARTS > FILE_BYTES_MAX
					  ? FILE_BYTES_MAX
					  : d->max_bytes / RING_PARTS;
	if (d->max_bytes)
		limits.bytes = d->max_bytes - (d->flight ? 0 : d->rotate_bytes);
	rc = record_rotation_new(out, name, &limits, e);
	return rc ? rc : pattern_of(d, name, e);
}

static int open_one(struct record_destination *d, const char *name, bool folder, struct err *e)
{
	bool row = strcmp(name, "-") != 0 &&
		   (folder || d->rotate_bytes || d->rotate_ns || d->max_bytes);
	struct record_rotation *r = NULL;
	const char *first = name;
	int rc = row ? make_row(d, name, folder, &r, e) : 0;

	if (rc == 0 && row) {
		first = record_rotation_next(r);
		rc = first ? 0 : err_nomem(e);
	}
	if (rc == 0)
		rc = record_output_open(&d->outputs[d->noutputs], first, &d->owner, e);
	if (rc) {
		record_rotation_free(r);
		return rc;
	}
	if (row)
		record_output_rotate(d->outputs[d->noutputs], r);
	if (!row && record_output_is_file(d->outputs[d->noutputs]) && !d->path) {
		d->path = strdup(record_output_path(d->outputs[d->noutputs]));
		if (!d->path)
			rc = err_nomem(e);
	}
	d->noutputs++;
	return rc;
}

/* One output of that name; a folder gets a row of files of its own. */
static int open_named(struct record_destination *d, const char *name, bool folder, struct err *e)
{
	char *own = NULL;
	int rc = folder ? name_within(d, name, &own, e) : 0;

	if (folder && !d->max_given && !d->flight)
		d->max_bytes = RECORD_RING_BYTES;
	if (rc == 0 && d->flight)
		rc = make_row(d, own ? own : name, false, &d->files, e);
	else if (rc == 0)
		rc = open_one(d, own ? own : name, folder, e);
	free(own);
	return rc;
}

int record_destination_open(struct record_destination *d, struct err *e)
{
	int rc = check_options(d, e);

	if (rc == 0 && d->nnames == 0)
		rc = open_named(d, d->folder, !ends_in_ige(d->folder), e);
	for (size_t i = 0; rc == 0 && i < d->nnames && i < (d->flight ? 1 : 2); i++)
		rc = open_named(d, d->names[i], is_folder(d->names[i]), e);
	return rc;
}
