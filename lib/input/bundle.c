/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacked into files without names, so that nothing is left behind however the program ends. A
 * symbol table is read when the first frame of its library is asked for.
 */
#include "lib/input/bundle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/vec.h"
#include "lib/input/bundle_form.h"
#include "lib/symbols/symbols.h"

struct table {
	char build_id[SYM_BUILD_ID];
	int fd;
	struct sym_symbols *symbols; /* NULL: not read yet, or not readable */
	bool read;
};

struct names {
	VEC(struct table) tables;
};

static void names_free(void *ctx)
{
	struct names *n = ctx;

	for (size_t i = 0; i < n->tables.n; i++) {
		sym_symbols_free(n->tables.v[i].symbols);
		close(n->tables.v[i].fd);
	}
	vec_free(&n->tables);
	free(n);
}

/* A table under another library's build-id would tell wrong names. */
static void read_table(struct table *t)
{
	struct sym_elf *f;

	t->read = true;
	if (sym_elf_open_fd(&f, t->fd, t->build_id, NULL))
		return;
	if (strcmp(sym_elf_build_id(f), t->build_id) != 0)
		sym_elf_free(f);
	else if (sym_symbols_new(&t->symbols, f, NULL))
		t->symbols = NULL;
}

static bool name_frame(void *ctx, struct world *w, uint32_t frame, struct world_symbol *out)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_module *m = f ? world_get_module(w, f->module) : NULL;
	struct bytes id = m ? world_text(w, m->build_id) : (struct bytes){ NULL, 0 };
	struct names *n = ctx;
	struct buf name = { 0 };
	bool found = false;

	if (!f || f->kind != FRAME_NATIVE || id.n == 0)
		return false;
	for (size_t i = 0; i < n->tables.n && !found; i++) {
		struct table *t = &n->tables.v[i];

		if (strlen(t->build_id) != id.n || memcmp(t->build_id, id.p, id.n) != 0)
			continue;
		if (!t->read)
			read_table(t);
		found = t->symbols &&
			sym_symbols_find(t->symbols, f->offset, &name, &out->delta) == SYM_INSIDE;
	}
	if (found)
		out->name = world_string(w, buf_bytes(&name));
	buf_free(&name);
	return found && out->name;
}

static int unpack_to_file(struct pack_reader *r, int *out, struct err *e)
{
	char chunk[65536];
	int fd = io_nameless(e), rc = 0;
	long n = 0;

	*out = -1;
	if (fd < 0)
		return err_prefix(e, "cannot unpack a bundle");
	while (rc == 0 && (n = pack_read(r, chunk, sizeof(chunk), e)) > 0)
		rc = write_all(fd, chunk, (size_t)n, e);
	if (rc == 0 && n < 0)
		rc = (int)n;
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = err_sys(e, "cannot read a bundle");
	if (rc)
		close(fd);
	else
		*out = fd;
	return rc;
}

static int check_form(struct pack_reader *r, const char *name, struct err *e)
{
	char head[sizeof(BUNDLE_FORM) + 1] = { 0 };
	long n = pack_read(r, head, sizeof(BUNDLE_FORM) - 1, e);

	if (n < 0)
		return (int)n;
	if (strncmp(head, BUNDLE_FORM_ANY, strlen(BUNDLE_FORM_ANY)) != 0)
		return err_set(e, ERR_DAMAGED, "%s is packed, but no bundle", name);
	if (strcmp(head, BUNDLE_FORM) != 0)
		return err_set(e, ERR_TOO_NEW, "%s is a bundle of a newer form", name);
	return 0;
}

static int take_table(struct pack_reader *r, struct names *names, const char *build_id,
		      uint64_t size, struct err *e)
{
	struct table t = { .fd = -1 };
	size_t n = strlen(build_id);
	int rc;

	if (n >= sizeof(t.build_id) || size > BUNDLE_TABLE_MAX)
		return err_set(e, ERR_LIMIT, "the symbols of %s are too large", build_id);
	if (names->tables.n >= BUNDLE_TABLES_MAX)
		return err_set(e, ERR_LIMIT, "a bundle of more than %u libraries",
			       BUNDLE_TABLES_MAX);
	memcpy(t.build_id, build_id, n + 1);
	rc = unpack_to_file(r, &t.fd, e);
	if (rc == 0 && !vec_push(&names->tables, t)) {
		close(t.fd);
		rc = err_nomem(e);
	}
	return rc;
}

static int read_members(struct pack_reader *r, struct names *names, int *recording,
			const char *name, struct err *e)
{
	const size_t prefix = strlen(BUNDLE_SYMBOLS);
	const char *member;
	bool form = false;
	uint64_t size;
	int rc;

	while ((rc = pack_next(r, &member, &size, e)) > 0) {
		if (!form && strcmp(member, BUNDLE_HEAD) != 0)
			return err_set(e, ERR_DAMAGED, "%s is packed, but no bundle", name);
		if (!form)
			rc = check_form(r, name, e);
		else if (strncmp(member, BUNDLE_SYMBOLS, prefix) == 0)
			rc = take_table(r, names, member + prefix, size, e);
		else if (strcmp(member, BUNDLE_RECORDING) == 0 && *recording < 0)
			rc = unpack_to_file(r, recording, e);
		else /* of a later form */
			rc = 0;
		form = true;
		if (rc)
			return rc;
	}
	if (rc == 0 && *recording < 0)
		rc = err_set(e, ERR_DAMAGED, "%s holds no recording", name);
	return rc;
}

int input_bundle_open(int *recording, struct world *w, int fd, const char *name, struct err *e)
{
	struct world_namer namer = { .name = name_frame, .free = names_free };
	struct names *names = calloc(1, sizeof(*names));
	struct pack_reader *r = NULL;
	int rc = names ? pack_reader_new(&r, fd, name, e) : err_nomem(e);

	*recording = -1;
	if (rc == 0)
		rc = read_members(r, names, recording, name, e);
	pack_reader_free(r);
	if (rc == 0) {
		namer.ctx = names;
		rc = world_add_namer(w, &namer, e);
	} else if (names) {
		names_free(names);
	}
	if (rc && *recording >= 0) {
		close(*recording);
		*recording = -1;
	}
	return rc;
}
