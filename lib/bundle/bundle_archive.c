/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs and unpacks bundles with libarchive. No byte of an archive decides where something is
 * written, and the bytes unpacked are limited by the archive's size. zstd and gzip are enabled only
 * where libarchive has them built in: otherwise it would run external programs.
 */
#include "lib/bundle/bundle_archive.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/bundle/library.h"

bool pack_name_ok(const char *name)
{
	unsigned slashes = 0;
	size_t n = strlen(name);

	if (n == 0 || n > PACK_NAME_MAX || name[n - 1] == '/' || name[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];

		if (c == '/' && (i == 0 || ++slashes > 1 || name[i + 1] == '.'))
			return false;
		if (!(c == '/' || c == '.' || c == '_' || c == '-' || (c >= '0' && c <= '9') ||
		      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return false;
	}
	return true;
}

bool pack_looks_so(int fd)
{
	char head[263] = { 0 };
	ssize_t n = read_at(fd, head, sizeof(head), 0);

	return (n >= 2 && memcmp(head, "\x1f\x8b", 2) == 0) ||
	       (n >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0) ||
	       (n >= 262 && memcmp(head + 257, "ustar", 5) == 0);
}

#ifdef INGERO_HAVE_ARCHIVE

#define CHUNK 65536

struct pack_writer {
	const struct pack_library *lib;
	struct archive *archive;
	struct archive_entry *entry;
	pack_put_fn *put;
	void *ctx;
	struct err failed; /* what put said */
};

struct pack_reader {
	const struct pack_library *lib;
	struct archive *archive;
	const char *name;
	uint64_t left; /* bytes that may still come out */
	unsigned members;
	int fd;
	off_t at;
	char chunk[CHUNK];
};

static int set_pack_error(struct pack_writer *w, struct err *e)
{
	const char *why = w->lib->error_string(w->archive);

	if (w->failed.code) {
		if (e)
			*e = w->failed;
		return w->failed.code;
	}
	return err_set(e, ERR_CANNOT, "cannot pack: %s", why ? why : "libarchive does not say why");
}

static la_ssize_t put_bytes(struct archive *a, void *ctx, const void *p, size_t n)
{
	struct pack_writer *w = ctx;

	(void)a;
	return w->put(w->ctx, p, n, &w->failed) ? -1 : (la_ssize_t)n;
}

int pack_writer_new(struct pack_writer **out, pack_put_fn *put, void *ctx, struct err *e)
{
	const struct pack_library *lib = pack_library(e);
	struct pack_writer *w = calloc(1, sizeof(*w));
	int rc = 0;

	*out = NULL;
	if (!lib || !w) {
		free(w);
		return lib ? err_nomem(e) : ERR_CANNOT;
	}
	*w = (struct pack_writer){ .lib = lib, .put = put, .ctx = ctx };
	w->archive = lib->write_new();
	w->entry = lib->entry_new();
	if (!w->archive || !w->entry)
		rc = err_nomem(e);
	else if (lib->write_pax(w->archive) != ARCHIVE_OK ||
		 (lib->write_zstd(w->archive) != ARCHIVE_OK &&
		  lib->write_gzip(w->archive) != ARCHIVE_OK) ||
		 lib->write_last(w->archive, 1) != ARCHIVE_OK || /* no zeros behind the end */
		 lib->write_open(w->archive, w, NULL, put_bytes, NULL) != ARCHIVE_OK)
		rc = set_pack_error(w, e);
	if (rc)
		pack_writer_free(w);
	else
		*out = w;
	return rc;
}

int pack_add(struct pack_writer *w, const char *name, uint64_t n, struct err *e)
{
	if (!pack_name_ok(name))
		return err_set(e, ERR_USAGE, "%s is no name for a part of a bundle", name);
	if (n > INT64_MAX)
		return err_set(e, ERR_LIMIT, "%s is too large", name);
	w->lib->entry_clear(w->entry);
	w->lib->entry_set_pathname(w->entry, name);
	w->lib->entry_set_size(w->entry, (la_int64_t)n);
	w->lib->entry_set_filetype(w->entry, AE_IFREG);
	w->lib->entry_set_perm(w->entry, 0600);
	return w->lib->write_header(w->archive, w->entry) == ARCHIVE_OK ? 0 : set_pack_error(w, e);
}

int pack_data(struct pack_writer *w, const void *p, size_t n, struct err *e)
{
	return n == 0 || w->lib->write_data(w->archive, p, n) == (la_ssize_t)n
		       ? 0
		       : set_pack_error(w, e);
}

int pack_finish(struct pack_writer *w, struct err *e)
{
	return w->lib->write_close(w->archive) == ARCHIVE_OK ? 0 : set_pack_error(w, e);
}

void pack_writer_free(struct pack_writer *w)
{
	if (!w)
		return;
	if (w->entry)
		w->lib->entry_free(w->entry);
	if (w->archive)
		w->lib->write_free(w->archive);
	free(w);
}

/* ---- reading ---- */

static la_ssize_t get_bytes(struct archive *a, void *ctx, const void **p)
{
	struct pack_reader *r = ctx;
	ssize_t n = read_at(r->fd, r->chunk, sizeof(r->chunk), r->at);

	(void)a;
	*p = r->chunk;
	r->at += n > 0 ? n : 0;
	return n;
}

static int set_unpack_error(const struct pack_reader *r, struct err *e)
{
	const char *why = r->lib->error_string(r->archive);

	return err_set(e, ERR_DAMAGED, "%s is no bundle, or damaged: %s", r->name,
		       why ? why : "it cannot be unpacked");
}

/* Formats and compressions; zstd only when libarchive has it itself. */
static bool enable_formats(struct pack_reader *r, bool zstd)
{
	return r->archive && r->lib->read_tar(r->archive) == ARCHIVE_OK &&
	       r->lib->read_gzip(r->archive) == ARCHIVE_OK &&
	       (!zstd || r->lib->read_zstd(r->archive) == ARCHIVE_OK);
}

int pack_reader_new(struct pack_reader **out, int fd, const char *name, struct err *e)
{
	const struct pack_library *lib = pack_library(e);
	struct pack_reader *r = calloc(1, sizeof(*r));
	struct stat st;
	int rc = 0;

	*out = NULL;
	if (!lib || !r) {
		free(r);
		return lib ? err_nomem(e) : err_prefix(e, "cannot read %s", name);
	}
	r->lib = lib;
	r->fd = fd;
	r->name = name;
	r->archive = lib->read_new();
	if (fstat(fd, &st))
		rc = err_sys(e, "cannot read %s", name);
	else
		r->left = (uint64_t)st.st_size * PACK_RATIO + PACK_ALLOWANCE;
	if (rc == 0 && !enable_formats(r, true)) {
		if (r->archive)
			lib->read_free(r->archive);
		r->archive = lib->read_new();
		if (!enable_formats(r, false))
			rc = err_nomem(e);
	}
	if (rc == 0 && lib->read_open(r->archive, r, NULL, get_bytes, NULL) != ARCHIVE_OK)
		rc = set_unpack_error(r, e);
	if (rc)
		pack_reader_free(r);
	else
		*out = r;
	return rc;
}

int pack_next(struct pack_reader *r, const char **member, uint64_t *n, struct err *e)
{
	struct archive_entry *entry;
	int rc = r->lib->read_next(r->archive, &entry);

	if (rc == ARCHIVE_EOF)
		return 0;
	if (rc != ARCHIVE_OK)
		return set_unpack_error(r, e);
	if (++r->members > PACK_MEMBERS)
		return err_set(e, ERR_LIMIT, "%s holds more than %u files", r->name, PACK_MEMBERS);
	*member = r->lib->entry_pathname(entry);
	if (!*member || !pack_name_ok(*member) || r->lib->entry_filetype(entry) != AE_IFREG ||
	    r->lib->entry_hardlink(entry) || r->lib->entry_size(entry) < 0)
		return err_set(e, ERR_DAMAGED, "%s holds what no bundle does", r->name);
	*n = (uint64_t)r->lib->entry_size(entry);
	if (*n > r->left)
		return err_set(e, ERR_LIMIT, "%s would unpack to more than a bundle of its size",
			       r->name);
	return 1;
}

long pack_read(struct pack_reader *r, void *p, size_t n, struct err *e)
{
	la_ssize_t got = r->lib->read_data(r->archive, p, n);

	if (got < 0)
		return set_unpack_error(r, e);
	if ((uint64_t)got > r->left)
		return err_set(e, ERR_LIMIT, "%s unpacks to more than a bundle of its size",
			       r->name);
	r->left -= (uint64_t)got;
	return (long)got;
}

void pack_reader_free(struct pack_reader *r)
{
	if (!r)
		return;
	if (r->archive)
		r->lib->read_free(r->archive);
	free(r);
}

#else

static int set_unsupported(struct err *e)
{
	return err_set(e, ERR_CANNOT,
		       "bundles need libarchive, which this build had not (make deps, then make)");
}

int pack_writer_new(struct pack_writer **out, pack_put_fn *put, void *ctx, struct err *e)
{
	*out = NULL;
	return set_unsupported(e);
}

int pack_add(struct pack_writer *w, const char *name, uint64_t n, struct err *e)
{
	return set_unsupported(e);
}

int pack_data(struct pack_writer *w, const void *p, size_t n, struct err *e)
{
	return set_unsupported(e);
}

int pack_finish(struct pack_writer *w, struct err *e)
{
	return set_unsupported(e);
}

void pack_writer_free(struct pack_writer *w)
{
}

int pack_reader_new(struct pack_reader **out, int fd, const char *name, struct err *e)
{
	*out = NULL;
	return set_unsupported(e);
}

int pack_next(struct pack_reader *r, const char **member, uint64_t *n, struct err *e)
{
	return set_unsupported(e);
}

long pack_read(struct pack_reader *r, void *p, size_t n, struct err *e)
{
	return set_unsupported(e);
}

void pack_reader_free(struct pack_reader *r)
{
}

#endif
