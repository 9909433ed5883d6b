/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the frame of the program's own code on a native stack, by the module that each frame is
 * in, and of the library frames within it the innermost that has a name.
 */
#include "lib/world/own_site.h"

#include <string.h>

#include "lib/base/bytes.h"
#include "lib/world/call_site.h"
#include "lib/world/fault_stack.h"
#include "lib/world/module_owner.h"
#include "lib/world/known_work.h"
#include "lib/world/standard_name.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static struct bytes module_path(const struct world *w, const struct world_frame *f)
{
	const struct world_module *m = world_get_module(w, f->module);

	return m ? world_text(w, m->path) : (struct bytes){ 0 };
}

bool own_site_is_loader(const struct world *w, uint32_t frame)
{
	static const char *const names[] = { "ld-linux", "ld-musl", "ld64.so", "ld.so" };
	const struct world_frame *f = frame ? world_get_frame(w, frame) : NULL;
	struct bytes name = { 0 };

	if (f && f->kind == FRAME_NATIVE)
		name = bytes_file_name(module_path(w, f));
	for (size_t i = 0; i < COUNT(names); i++)
		if (bytes_begin_with(name, names[i]))
			return true;
	return false;
}

/* The innermost native frame with a name of the program's own, before one of the standard library's
 * templates; n: there is none. */
static unsigned find_own(const struct world *w, const uint32_t *frames, unsigned n)
{
	unsigned standard = n;

	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (!f || f->kind == FRAME_KERNEL || !world_get_symbol(w, frames[i]) ||
		    !module_is_own(w, f))
			continue;
		if (!standard_frame(w, frames[i]))
			return i;
		if (standard == n)
			standard = i;
	}
	return standard;
}

/* Whether the frame has a name that says more than its caller's line: what interprets a program's
 * lines does not. */
static bool says_more(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);
	struct bytes name;

	if (!f || f->kind == FRAME_GAP)
		return false;
	if (f->kind == FRAME_PYTHON || world_is_fault(w, frame))
		return true;
	name = bytes_file_name(module_path(w, f));
	return world_get_symbol(w, frame) && !bytes_begin_with(name, "python") &&
	       !bytes_begin_with(name, "libpython");
}

/* The outermost frame of work that its line does not show; 0: none is. A batch that is loaded, or a
 * tensor that is moved, is what the line says. */
static uint32_t find_work(const struct world *w, const uint32_t *frames, unsigned n)
{
	while (n-- > 0) {
		enum known_work work = known_work_of_frame(w, frames[n]);

		if (work != KNOWN_WORK_OTHER && work != KNOWN_WORK_LOADS &&
		    work != KNOWN_WORK_MOVES)
			return frames[n];
	}
	return 0;
}

struct own_site own_site_of(const struct world *w, uint32_t stack)
{
	unsigned n = 0, at, own;
	const uint32_t *frames = stack ? world_get_stack(w, stack, &n) : NULL;
	const struct world_frame *f;
	struct own_site site = { 0 };

	at = call_site_find(w, frames, n);
	if (at >= n)
		return site;
	f = world_get_frame(w, frames[at]);
	own = f && f->kind != FRAME_PYTHON ? find_own(w, frames, n) : n;
	at = own < n ? own : at;
	site.frame = frames[at];
	site.inner = find_work(w, frames, at);
	for (unsigned i = 0; i < at && !site.inner; i++)
		site.inner = says_more(w, frames[i]) ? frames[i] : 0;
	return site;
}

struct own_site own_sites_get(struct own_sites *o, const struct world *w, uint32_t stack)
{
	struct own_site site = { 0 };
	uint64_t both;

	if (stack == 0)
		return site;
	if (map_get(&o->by, stack, &both))
		return (struct own_site){ .frame = (uint32_t)both, .inner = both >> 32 };
	site = own_site_of(w, stack);
	both = (uint64_t)site.inner << 32 | site.frame;
	map_put(&o->by, stack, both); /* where that fails it is looked up again */
	return site;
}
