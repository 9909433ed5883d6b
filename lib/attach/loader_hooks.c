/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader is known by its name: it has no other mark. The distance of two of its symbols, which
 * the probe carries as its cookie, leads to its list.
 */
#include "lib/attach/loader_hooks.h"

#include <string.h>

#include "lib/host/proc.h"
#include "lib/symbols/elf.h"

bool loader_hooks_is_loader(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-musl", 7) == 0 ||
	       strncmp(name, "ld-2.", 5) == 0 || strncmp(name, "ld64.so", 7) == 0;
}

struct hook_symbols {
	uint64_t hook_offset, hook_value, debug_value;
};

static bool on_symbol(void *ctx, const struct sym_elf_symbol *s)
{
	struct hook_symbols *found = ctx;

	if (strcmp(s->name, "_dl_debug_state") == 0) {
		found->hook_offset = s->offset;
		found->hook_value = s->value;
	} else if (strcmp(s->name, "_r_debug") == 0) {
		found->debug_value = s->value;
	}
	return true;
}

#define R_STATE_OFFSET 24 /* of r_state in struct r_debug, <link.h> on 64-bit */

bool mapped_file_is(const struct mapped_file *f, const struct host_mapping *m)
{
	return f->inode == m->inode && f->major == m->major && f->minor == m->minor;
}

bool loader_hooks_has(const struct loader_hooks *h, const struct host_mapping *m)
{
	for (size_t i = 0; i < h->files.n; i++)
		if (mapped_file_is(&h->files.v[i], m))
			return true;
	return false;
}

void loader_hooks_add(struct loader_hooks *h, uint32_t tgid, const struct host_mapping *m)
{
	struct hook_symbols found = { 0 };
	struct sym_elf *file;
	struct probe_site site;
	struct err e = { 0 };
	char path[4400];
	bool failed = false;

	if (loader_hooks_has(h, m))
		return;
	host_maps_path(tgid, m, path, sizeof(path));
	if (sym_elf_open(&file, path, &e) == 0) {
		/* Exported by most loaders; local in some. */
		if (sym_elf_symbols(file, SYM_NAMES, on_symbol, &found, &e) == 0 &&
		    !found.hook_offset)
			sym_elf_symbols(file, SYM_NAMES | SYM_FULL, on_symbol, &found, &e);
		sym_elf_free(file);
	}
	if (!found.hook_offset) {
		if (!e.code)
			err_set(&e, ERR_CANNOT, "%s has no debug hook", m->path.p);
	} else {
		site.offset = found.hook_offset;
		site.cookie = found.debug_value
				      ? found.debug_value + R_STATE_OFFSET - found.hook_value
				      : 0;
		if (probe_link_attach(probe_session_hook(h->session), path, m->path.p, &site, 1,
				      &failed, &h->fds, &e) == 1)
			h->any = true;
	}
	/* Of a process that has ended its file cannot be had any more: the next one has it, too. */
	if (e.code && host_proc_sight(tgid) == HOST_GONE)
		return;
	vec_push(&h->files, (struct mapped_file){ m->major, m->minor, m->inode });
	if (e.code && !h->error.code)
		h->error = e;
}
