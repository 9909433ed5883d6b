/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a bundle: reads the recording for its dictionaries alone and adds the symbols of each
 * library. Paths in a recording are not trusted: only regular files are opened, and function names
 * go into the bundle only from a file with the recorded build-id.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/vec.h"
#include "lib/ige/reader.h"
#include "lib/input/bundle.h"
#include "lib/input/bundle_form.h"
#include "lib/input/input.h"
#include "lib/symbols/slim.h"

struct packing {
	struct world *world;
	input_bundle_find_fn *find;
	void *find_ctx;
	struct pack_writer *writer;
	VEC(uint32_t) packed; /* build-ids */
	struct input_bundle_told *told;
	struct buf *notes;
};

static int find_by_path(void *ctx, const char *path, const char *build_id)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Dictionaries stand before what uses them: the last block is reached only for the last ones. What
 * events hold is decoded only to find out whether it is damaged. */
static int read_dictionaries(struct packing *p, int fd, const char *name, struct err *e)
{
	const struct ige_report *report;
	struct ige_reader *r;
	struct stream_item item;
	struct ige_block b;
	int rc = ige_reader_open(&r, p->world, fd, false, name, e);

	if (rc)
		return rc;
	while ((rc = ige_reader_block(r, &b, e)) > 0)
		while ((rc = ige_reader_items(r, &item, e)) > 0)
			;
	report = ige_reader_report(r);
	if (rc == 0 && report->empty)
		rc = err_set(e, ERR_DAMAGED, "%s is empty", name);
	else if (rc == 0)
		p->told->verdict = input_report_verdict(report, name, &p->told->damage);
	if (rc == 0 && report->growing)
		rc = err_set(e, ERR_CANNOT, "%s is still being recorded: bundle it afterwards",
			     name);
	ige_reader_free(r);
	return rc;
}

static int add_member(struct packing *p, const char *name, struct bytes data, struct err *e)
{
	int rc = pack_add(p->writer, name, data.n, e);

	return rc ? rc : pack_data(p->writer, data.p, data.n, e);
}

static void note_missing(struct packing *p, const char *path, const char *why)
{
	p->told->missing++;
	buf_printf(p->notes, "no symbols of %s: %s\n", path, why);
}

static bool is_packed(const struct packing *p, uint32_t build_id)
{
	for (size_t i = 0; i < p->packed.n; i++)
		if (p->packed.v[i] == build_id)
			return true;
	return false;
}

/* Symbols of the file, appended to out. False: it is not the one, told. */
static bool symbols_of(struct packing *p, const char *path, const char *build_id, struct buf *out,
		       size_t *functions)
{
	int fd = p->find ? p->find(p->find_ctx, path, build_id) : -1;
	struct sym_elf *f = NULL;
	struct err e = { 0 };
	bool good = false;

	if (fd < 0)
		fd = find_by_path(NULL, path, build_id);
	if (fd < 0)
		note_missing(p, path, "it is not there, or may not be read");
	else if (sym_elf_open_fd(&f, fd, path, &e))
		note_missing(p, path, e.text);
	else if (strcmp(sym_elf_build_id(f), build_id) != 0)
		note_missing(p, path, "the file there is another one now (its build-id differs)");
	else if (sym_slim(f, out, functions, &e))
		note_missing(p, path, e.text);
	else
		good = true;
	sym_elf_free(f);
	if (fd >= 0)
		close(fd);
	return good;
}

static int pack_module(struct packing *p, const struct world_module *m, struct err *e)
{
	const char *path = world_text(p->world, m->path).p,
		   *build_id = world_text(p->world, m->build_id).p;
	struct buf table = { 0 }, name = { 0 };
	size_t functions;
	int rc = 0;

	if (!path || !*path || path[0] == '[' || is_packed(p, m->build_id))
		return 0;
	buf_printf(&name, "%s%s", BUNDLE_SYMBOLS, build_id ? build_id : "");
	if (!build_id || strspn(build_id, "0123456789abcdef") != strlen(build_id) || !*build_id ||
	    strlen(build_id) >= SYM_BUILD_ID) {
		note_missing(p, path, "it has no build-id");
	} else if (p->packed.n >= BUNDLE_TABLES_MAX) {
		note_missing(p, path, "too many libraries for one bundle");
	} else if (symbols_of(p, path, build_id, &table, &functions)) {
		rc = vec_push(&p->packed, m->build_id)
			     ? add_member(p, buf_text(&name), buf_bytes(&table), e)
			     : err_nomem(e);
		p->told->modules++;
		p->told->functions += functions;
	}
	buf_free(&table);
	buf_free(&name);
	return rc;
}

/* Of modules that some frame lies in. */
static int pack_modules(struct packing *p, struct err *e)
{
	uint32_t n = world_count(p->world, WORLD_MODULE);
	bool *used = calloc((size_t)n + 1, 1);
	int rc = used ? 0 : err_nomem(e);

	for (uint32_t i = 1; used && i <= world_count(p->world, WORLD_FRAME); i++) {
		const struct world_frame *f = world_get_frame(p->world, i);

		if (f->kind == FRAME_NATIVE && f->module <= n)
			used[f->module] = true;
	}
	for (uint32_t i = 1; rc == 0 && i <= n; i++)
		if (used[i])
			rc = pack_module(p, world_get_module(p->world, i), e);
	free(used);
	return rc;
}

static int pack_recording(struct packing *p, int fd, const char *name, struct err *e)
{
	char chunk[65536];
	uint64_t left;
	struct stat st;
	off_t at = 0;
	int rc;

	if (fstat(fd, &st))
		return err_sys(e, "cannot read %s", name);
	left = (uint64_t)st.st_size;
	rc = pack_add(p->writer, BUNDLE_RECORDING, left, e);
	while (rc == 0 && left) {
		ssize_t n = read_at(fd, chunk, left < sizeof(chunk) ? left : sizeof(chunk), at);

		if (n <= 0)
			return n ? err_sys(e, "cannot read %s", name)
				 : err_set(e, ERR_CANNOT, "%s became shorter", name);
		rc = pack_data(p->writer, chunk, (size_t)n, e);
		left -= (uint64_t)n;
		at += n;
	}
	return rc;
}

int input_bundle_write(int fd, const char *name, input_bundle_find_fn *find, void *find_ctx,
		       pack_put_fn *put, void *put_ctx, struct input_bundle_told *told,
		       struct buf *notes, struct err *e)
{
	struct packing p = { .find = find, .find_ctx = find_ctx, .told = told, .notes = notes };
	struct stat st;
	int rc;

	told->modules = told->missing = 0;
	told->functions = 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "%s is no file", name);
	p.world = world_new();
	rc = p.world ? read_dictionaries(&p, fd, name, e) : err_nomem(e);
	if (rc == 0)
		rc = pack_writer_new(&p.writer, put, put_ctx, e);
	if (rc == 0)
		rc = add_member(&p, BUNDLE_HEAD, bytes_of(BUNDLE_FORM), e);
	if (rc == 0)
		rc = pack_modules(&p, e);
	if (rc == 0)
		rc = pack_recording(&p, fd, name, e);
	if (rc == 0)
		rc = pack_finish(p.writer, e);
	pack_writer_free(p.writer);
	vec_free(&p.packed);
	world_free(p.world);
	return rc;
}
