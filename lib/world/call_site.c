/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the frame of a stack that names a place in the program. Two passes over the Python
 * frames, outermost first: whose code each is, and which of them the chosen standing makes members
 * of the chain.
 */
#include "lib/world/call_site.h"

#include <string.h>

#include "lib/world/module_owner.h"
#include "lib/world/python_code.h"
#include "lib/world/standard_name.h"

/* What the lines of a chain have in common. */
struct standing {
	enum python_code_kind kind;
	struct bytes package; /* of PYTHON_PACKAGE and PYTHON_LIBRARY */
};

/* The Python frames of a stack, outermost first. */
struct walk {
	const struct world *w;
	const uint32_t *frames;
	unsigned n, next; /* frames before this place are yet to come */
	unsigned at;	  /* place of the current one */
	const struct world_frame *frame;
	enum python_code_kind kind; /* of the current one */
	bool in_others;		    /* code that is neither own nor Python's lies further out */
};

static const struct world_frame *python_frame(const struct world *w, uint32_t id)
{
	const struct world_frame *f = world_get_frame(w, id);

	return f && f->kind == FRAME_PYTHON ? f : NULL;
}

/* Whether a line does no more than enter a package's main function, or start a process: a module's,
 * of what has no file of modules, that calls no library which would return to it. */
static bool only_enters(const struct walk *k)
{
	const struct world_frame *inner = NULL;

	if (!bytes_equal(world_text(k->w, k->frame->name), bytes_of("<module>")))
		return false;
	for (unsigned i = k->at; i-- > 0 && !inner;)
		inner = python_frame(k->w, k->frames[i]);
	if (!inner)
		return false;
	return inner->code == PYTHON_PACKAGE || inner->code == PYTHON_RUNNER ||
	       inner->code == PYTHON_STARTER;
}

/* Text that was compiled inside other code is a program's work; else it is what a person typed. */
static enum python_code_kind kind_of_entry(const struct walk *k)
{
	if (k->in_others)
		return PYTHON_GENERATED;
	return only_enters(k) ? PYTHON_STARTER : PYTHON_OWN;
}

static bool next_frame(struct walk *k)
{
	k->frame = NULL;
	while (k->next > 0 && !k->frame)
		k->frame = python_frame(k->w, k->frames[--k->next]);
	if (!k->frame)
		return false;
	k->at = k->next;
	k->kind = k->frame->code;
	if (k->kind == PYTHON_ENTRY)
		k->kind = kind_of_entry(k);
	else if (k->kind != PYTHON_STDLIB && k->kind != PYTHON_STARTER &&
		 k->kind != PYTHON_GENERATED)
		k->in_others = true;
	return true;
}

/* Where a process of multiprocessing begins: "BaseProcess._bootstrap" of process.py, without its
 * class up to Python 3.10. */
static bool begins_process(const struct world *w, const struct world_frame *f)
{
	return f && bytes_end_with(world_text(w, f->name), "_bootstrap") &&
	       bytes_end_with(world_text(w, f->file), "/multiprocessing/process.py");
}

/* What lies further out than the begin of the process was its parent's when it forked. */
static struct walk begin_walk(const struct world *w, const uint32_t *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (begins_process(w, python_frame(w, frames[i])))
			n = i + 1;
	return (struct walk){ .w = w, .frames = frames, .n = n, .next = n };
}

static struct bytes package_of(const struct walk *k)
{
	return k->kind == PYTHON_PACKAGE || k->kind == PYTHON_LIBRARY
		       ? python_package_of(world_text(k->w, k->frame->file))
		       : (struct bytes){ 0 };
}

/* The best standing that any frame has, of packages the outermost one's. False: no Python on this
 * stack. */
static bool find_standing(const struct world *w, const uint32_t *frames, unsigned n,
			  struct standing *out)
{
	static const enum python_code_kind ranks[] = { PYTHON_OWN,	PYTHON_PACKAGE,
						       PYTHON_LIBRARY,	PYTHON_RUNNER,
						       PYTHON_STDLIB,	PYTHON_STARTER,
						       PYTHON_GENERATED };
	struct walk k = begin_walk(w, frames, n);
	unsigned best = sizeof(ranks) / sizeof(ranks[0]);

	while (next_frame(&k))
		for (unsigned i = 0; i < best; i++)
			if (ranks[i] == k.kind) {
				*out = (struct standing){ k.kind, package_of(&k) };
				best = i;
			}
	return best < sizeof(ranks) / sizeof(ranks[0]);
}

static bool has_standing(const struct walk *k, const struct standing *s)
{
	return k->kind == s->kind && bytes_equal(package_of(k), s->package);
}

static unsigned find_python(const struct world *w, const uint32_t *frames, unsigned n)
{
	struct walk k = begin_walk(w, frames, n);
	struct standing s;
	unsigned at = n;

	if (!find_standing(w, frames, n, &s))
		return n;
	while (next_frame(&k))
		if (has_standing(&k, &s))
			at = k.at;
	return at;
}

static unsigned next_python(const struct world *w, const uint32_t *frames, unsigned n,
			    unsigned from)
{
	struct walk k = begin_walk(w, frames, n);
	struct standing s;
	unsigned at = n;

	if (!find_standing(w, frames, n, &s))
		return n;
	while (next_frame(&k) && k.at > from)
		if (has_standing(&k, &s))
			at = k.at;
	return at;
}

/* Libraries that only pass a call on: their callers' lines are the news. */
static bool passes_on(const struct world *w, const struct world_frame *f)
{
	static const char *const names[] = { "libc.so",	 "libc-",      "libpthread",
					     "ld-linux", "libcuda.so", "libcudart.so" };
	const struct world_module *m = world_get_module(w, f->module);
	struct bytes name = bytes_file_name(m ? world_text(w, m->path) : (struct bytes){ 0 });

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bytes_begin_with(name, names[i]))
			return true;
	return false;
}

bool call_site_passes_on(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);

	return f && f->kind == FRAME_NATIVE && passes_on(w, f);
}

/* A program that was stripped has no names of its own: its innermost frame is still its place,
 * before that of the library that started it or that it called. */
static unsigned find_native(const struct world *w, const uint32_t *frames, unsigned n)
{
	unsigned named = n, first = n, nameless = n;

	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (!f || f->kind == FRAME_KERNEL || f->kind == FRAME_GAP)
			continue;
		if (first == n)
			first = i;
		if (!world_get_symbol(w, frames[i])) {
			if (nameless == n && module_is_own(w, f))
				nameless = i;
			continue;
		}
		if (!passes_on(w, f) && !standard_frame(w, frames[i]))
			return i;
		if (named == n)
			named = i;
	}
	if (nameless < n)
		return nameless;
	return named < n ? named : first;
}

unsigned call_site_find(const struct world *w, const uint32_t *frames, unsigned n)
{
	unsigned at = find_python(w, frames, n);

	return at < n ? at : find_native(w, frames, n);
}

uint32_t call_site_frame(const struct world *w, uint32_t stack)
{
	unsigned n = 0;
	const uint32_t *frames = stack ? world_get_stack(w, stack, &n) : NULL;
	unsigned at = call_site_find(w, frames, n);

	return at < n ? frames[at] : 0;
}

bool call_site_is_python(const struct world *w, uint32_t stack)
{
	return python_frame(w, call_site_frame(w, stack)) != NULL;
}

bool call_site_is_starter(const struct world *w, uint32_t stack)
{
	unsigned n = 0;
	const uint32_t *frames = stack ? world_get_stack(w, stack, &n) : NULL;
	struct standing s;

	return find_standing(w, frames, n, &s) &&
	       (s.kind == PYTHON_STDLIB || s.kind == PYTHON_STARTER || s.kind == PYTHON_RUNNER ||
		s.kind == PYTHON_GENERATED);
}

unsigned call_site_outward(const struct world *w, const uint32_t *frames, unsigned n, unsigned from)
{
	const struct world_frame *f;

	if (from + 1 >= n)
		return n;
	if (python_frame(w, frames[from]))
		return next_python(w, frames, n, from);
	f = world_get_frame(w, frames[from + 1]);
	if (!f || f->kind == FRAME_PYTHON || f->kind == FRAME_GAP)
		return n;
	return world_get_symbol(w, frames[from + 1]) && !passes_on(w, f) ? from + 1 : n;
}
