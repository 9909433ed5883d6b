/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of everything events refer to: nodes, processes, threads, modules, frames, stacks,
 * strings. Each kind has a key (a few words) by which it is found; attributes beside the key are
 * those of the first definition.
 */
#include "lib/world/world.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/fmt.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/world/intern.h"
#include "lib/world/module_owner.h"
#include "lib/world/program_name.h"
#include "lib/world/python_code.h"
#include "lib/world/renames.h"

#define KEY_WORDS 3

struct stack {
	uint32_t n;
	uint32_t end; /* enum world_stack_end */
	const uint32_t *frames;
};

struct named {
	uint32_t frame;
	struct world_symbol symbol;
};

/* Names of processes that make no events themselves, as far as images and threads were entered. */
struct named_of {
	struct map image;  /* process -> its newest image that has a name */
	struct map thread; /* process -> its first thread that has one */
	uint32_t images, threads;
};

struct world {
	struct intern tables[WORLD_KINDS];
	struct arena texts;	 /* strings, frames of stacks, names of foreign ops */
	struct intern symbols;	 /* in the order they became known; never looked for */
	VEC(uint32_t) symbol_of; /* by frame id: its symbol, 0 none */
	VEC(struct world_namer) namers;
	struct map unnamed; /* frames that no namer knows */
	struct renames renames;
	struct map main_of; /* process -> its main thread, once that has renamed itself */
	struct named_of named;
	struct map programs; /* image and kernel's name -> what people call it */
	struct op_def **ops; /* 64 K entries, foreign ops only; NULL until one is met */
	struct column_def **columns;
	uint32_t foreign; /* of both */
	bool failed;
};

static const size_t element_size[WORLD_KINDS] = {
	[WORLD_STRING] = sizeof(struct bytes),
	[WORLD_NODE] = sizeof(struct world_node),
	[WORLD_PROCESS] = sizeof(struct world_process),
	[WORLD_IMAGE] = sizeof(struct world_image),
	[WORLD_THREAD] = sizeof(struct world_thread),
	[WORLD_CGROUP] = sizeof(struct world_cgroup),
	[WORLD_GPU] = sizeof(struct world_gpu),
	[WORLD_MODULE] = sizeof(struct world_module),
	[WORLD_FRAME] = sizeof(struct world_frame),
	[WORLD_STACK] = sizeof(struct stack),
	[WORLD_CTX] = sizeof(struct world_ctx),
};

struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	for (int i = 0; i < WORLD_KINDS; i++)
		w->tables[i].each = element_size[i];
	w->symbols.each = sizeof(struct named);
	return w;
}

void world_free(struct world *w)
{
	if (!w)
		return;
	for (int i = 0; i < WORLD_KINDS; i++)
		intern_free(&w->tables[i]);
	intern_free(&w->symbols);
	vec_free(&w->symbol_of);
	map_free(&w->unnamed);
	renames_free(&w->renames);
	map_free(&w->main_of);
	map_free(&w->named.image);
	map_free(&w->named.thread);
	map_free(&w->programs);
	for (size_t i = 0; i < w->namers.n; i++)
		w->namers.v[i].free(w->namers.v[i].ctx);
	vec_free(&w->namers);
	arena_free(&w->texts);
	free(w->ops);
	free(w->columns);
	free(w);
}

bool world_failed(const struct world *w)
{
	return w->failed;
}

uint32_t world_count(const struct world *w, enum world_kind kind)
{
	return w->tables[kind].n;
}

/* ---- strings and stacks: found by their bytes ---- */

static bool string_equal(const void *e, const void *key)
{
	return bytes_equal(*(const struct bytes *)e, *(const struct bytes *)key);
}

uint32_t world_string(struct world *w, struct bytes text)
{
	uint64_t hash;
	uint32_t id;

	if (!text.p)
		return 0;
	hash = hash_bytes(text.p, text.n, 0);
	id = intern_find(&w->tables[WORLD_STRING], hash, string_equal, &text);
	if (!id) {
		text.p = arena_copy(&w->texts, text.p, text.n);
		if (text.p)
			id = intern_add(&w->tables[WORLD_STRING], hash, &text);
		w->failed |= !id;
	}
	return id;
}

struct bytes world_text(const struct world *w, uint32_t id)
{
	const struct bytes *text = intern_at(&w->tables[WORLD_STRING], id);

	return text ? *text : (struct bytes){ NULL, 0 };
}

static bool stack_equal(const void *e, const void *key)
{
	const struct stack *a = e, *b = key;

	return a->n == b->n && a->end == b->end &&
	       memcmp(a->frames, b->frames, a->n * sizeof(*a->frames)) == 0;
}

uint32_t world_stack(struct world *w, const uint32_t *frames, unsigned n)
{
	return world_stack_with_end(w, frames, n, 0);
}

uint32_t world_stack_with_end(struct world *w, const uint32_t *frames, unsigned n, uint32_t end)
{
	struct stack s = { n, end, frames };
	uint64_t hash;
	uint32_t id;

	if (n == 0 || n > WORLD_STACK_MAX)
		return 0;
	hash = hash_bytes(frames, n * sizeof(*frames), end);
	id = intern_find(&w->tables[WORLD_STACK], hash, stack_equal, &s);
	if (!id) {
		s.frames = (const uint32_t *)(const void *)arena_copy(&w->texts, frames,
								      n * sizeof(*frames));
		if (s.frames)
			id = intern_add(&w->tables[WORLD_STACK], hash, &s);
		w->failed |= !id;
	}
	return id;
}

const uint32_t *world_get_stack(const struct world *w, uint32_t id, unsigned *n)
{
	const struct stack *s = intern_at(&w->tables[WORLD_STACK], id);

	*n = s ? s->n : 0;
	return s ? s->frames : NULL;
}

uint32_t world_stack_end(const struct world *w, uint32_t id)
{
	const struct stack *s = intern_at(&w->tables[WORLD_STACK], id);

	return s ? s->end : 0;
}

/* ---- subjects: found by key words ---- */

/* The key of an element of each kind. Unused words are zero. */
static void node_key(const void *e, uint64_t *k)
{
	const struct world_node *v = e;

	memcpy(k, v->uuid, sizeof(v->uuid));
	k[2] = v->boot;
}

static void process_key(const void *e, uint64_t *k)
{
	const struct world_process *v = e;

	k[0] = (uint64_t)v->node << 32 | v->tgid;
	k[1] = v->start_ns;
}

static void image_key(const void *e, uint64_t *k)
{
	const struct world_image *v = e;

	k[0] = (uint64_t)v->process << 32 | v->exec;
}

static void thread_key(const void *e, uint64_t *k)
{
	const struct world_thread *v = e;

	k[0] = (uint64_t)v->process << 32 | v->tid;
	k[1] = v->start_ns;
}

static void cgroup_key(const void *e, uint64_t *k)
{
	const struct world_cgroup *v = e;

	k[0] = v->node;
	k[1] = v->id;
}

static void gpu_key(const void *e, uint64_t *k)
{
	const struct world_gpu *v = e;

	/* Without a UUID a GPU is its index on its node. */
	k[0] = v->uuid;
	k[1] = v->uuid ? 0 : (uint64_t)v->node << 32 | v->index;
}

static void module_key(const void *e, uint64_t *k)
{
	const struct world_module *v = e;

	k[0] = (uint64_t)v->path << 32 | v->build_id;
}

static void frame_key(const void *e, uint64_t *k)
{
	const struct world_frame *v = e;

	k[0] = (uint64_t)v->kind << 32 | v->module;
	k[1] = v->offset;
	k[2] = (uint64_t)v->name << 32 | v->file;
}

static void ctx_key(const void *e, uint64_t *k)
{
	const struct world_ctx *v = e;

	k[0] = (uint64_t)v->node << 32 | v->image;
	k[1] = (uint64_t)v->thread << 32 | v->cgroup;
	k[2] = v->gpu;
}

typedef void key_of(const void *element, uint64_t key[KEY_WORDS]);

struct wanted {
	key_of *of;
	uint64_t key[KEY_WORDS];
};

static bool key_equal(const void *e, const void *wanted)
{
	const struct wanted *want = wanted;
	uint64_t key[KEY_WORDS] = { 0 };

	want->of(e, key);
	return memcmp(key, want->key, sizeof(key)) == 0;
}

static void note_names(const struct world *w, enum world_kind kind, void *e)
{
	struct world_module *module = e;
	struct world_frame *frame = e;

	if (e && kind == WORLD_MODULE)
		module->shared = module_is_shared(world_text(w, module->path));
	else if (e && kind == WORLD_FRAME && frame->kind == FRAME_PYTHON)
		frame->code = (uint8_t)python_code_of(world_text(w, frame->file));
}

static uint32_t find_or_add(struct world *w, enum world_kind kind, key_of *of, const void *v)
{
	struct wanted want = { .of = of };
	uint64_t hash;
	uint32_t id;

	of(v, want.key);
	hash = hash_bytes(want.key, sizeof(want.key), kind);
	id = intern_find(&w->tables[kind], hash, key_equal, &want);
	if (!id) {
		id = intern_add(&w->tables[kind], hash, v);
		note_names(w, kind, intern_at(&w->tables[kind], id));
		w->failed |= !id;
	}
	return id;
}

#define SUBJECT(lower, upper)                                                             \
	uint32_t world_##lower(struct world *w, const struct world_##lower *v)            \
	{                                                                                 \
		return find_or_add(w, WORLD_##upper, lower##_key, v);                     \
	}                                                                                 \
	const struct world_##lower *world_get_##lower(const struct world *w, uint32_t id) \
	{                                                                                 \
		return intern_at(&w->tables[WORLD_##upper], id);                          \
	}

SUBJECT(node, NODE)
SUBJECT(process, PROCESS)
SUBJECT(image, IMAGE)
SUBJECT(thread, THREAD)
SUBJECT(cgroup, CGROUP)
SUBJECT(gpu, GPU)
SUBJECT(module, MODULE)
SUBJECT(frame, FRAME)
SUBJECT(ctx, CTX)

/* ---- late names ---- */

void world_symbol(struct world *w, uint32_t frame, const struct world_symbol *v)
{
	struct named named = { frame, *v };
	size_t known = w->symbol_of.n;

	if (!frame || frame > w->tables[WORLD_FRAME].n || (frame < known && w->symbol_of.v[frame]))
		return;
	if (frame >= known) {
		if (!vec_reserve(&w->symbol_of, frame + 1 - known)) {
			w->failed = true;
			return;
		}
		memset(w->symbol_of.v + known, 0, (frame + 1 - known) * sizeof(uint32_t));
		w->symbol_of.n = frame + 1;
	}
	w->symbol_of.v[frame] = intern_append(&w->symbols, &named);
	w->failed |= !w->symbol_of.v[frame];
}

int world_add_namer(struct world *w, const struct world_namer *namer, struct err *e)
{
	if (!vec_push(&w->namers, *namer)) {
		namer->free(namer->ctx);
		return err_nomem(e);
	}
	map_clear(&w->unnamed);
	return 0;
}

/* Adds a name as one that arrived late: names that were returned before do not change. */
static void ask_namers(struct world *w, uint32_t frame)
{
	struct world_symbol found = { 0 };

	if (!world_get_frame(w, frame) || map_get(&w->unnamed, frame, NULL))
		return;
	for (size_t i = 0; i < w->namers.n; i++)
		if (w->namers.v[i].name(w->namers.v[i].ctx, w, frame, &found)) {
			world_symbol(w, frame, &found);
			return;
		}
	if (!map_put(&w->unnamed, frame, 1))
		w->failed = true;
}

static uint32_t symbol_of(const struct world *w, uint32_t frame)
{
	return frame < w->symbol_of.n ? w->symbol_of.v[frame] : 0;
}

const struct world_symbol *world_get_symbol(const struct world *w, uint32_t frame)
{
	const struct named *named;

	if (w->namers.n && !symbol_of(w, frame))
		ask_namers((struct world *)w, frame);
	named = intern_at(&w->symbols, symbol_of(w, frame));
	return named ? &named->symbol : NULL;
}

uint32_t world_symbols(const struct world *w)
{
	return w->symbols.n;
}

uint32_t world_symbol_frame(const struct world *w, uint32_t i)
{
	const struct named *named = intern_at(&w->symbols, i);

	return named ? named->frame : 0;
}

/* ---- names of threads and processes ---- */

void world_rename(struct world *w, uint32_t thread, int64_t since_ns, uint32_t name)
{
	const struct world_thread *t = world_get_thread(w, thread);
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;

	if (!t || !name)
		return;
	w->failed |= !renames_add(&w->renames, thread, since_ns, name);
	if (p && p->tgid == t->tid)
		w->failed |= !map_put(&w->main_of, t->process, thread);
}

uint32_t world_thread_name(const struct world *w, uint32_t thread, int64_t at_ns)
{
	const struct world_thread *t = world_get_thread(w, thread);
	uint32_t name = t ? renames_at(&w->renames, thread, at_ns) : 0;

	return name ? name : t ? t->comm : 0;
}

/* Enters the images and threads added since the last question: the newest named image of each
 * process, and its main thread, as it was called last, or else its first named one. */
static void index_names(struct world *w)
{
	struct named_of *n = &w->named;
	uint64_t known;

	while (n->images < world_count(w, WORLD_IMAGE)) {
		const struct world_image *im = world_get_image(w, ++n->images);

		w->failed |= im->comm && !map_put(&n->image, im->process, n->images);
	}
	while (n->threads < world_count(w, WORLD_THREAD)) {
		const struct world_thread *t = world_get_thread(w, ++n->threads);
		const struct world_process *p = world_get_process(w, t->process);
		bool one = (p && p->tgid == t->tid) || !map_get(&n->thread, t->process, &known);

		w->failed |= t->comm && one && !map_put(&n->thread, t->process, n->threads);
	}
}

/* Of a process without events: what it is known to execute, or its first thread's name. */
static uint32_t name_of_silent(struct world *w, uint32_t process, uint32_t *image)
{
	uint64_t known;

	index_names(w);
	if (map_get(&w->named.image, process, &known)) {
		*image = (uint32_t)known;
		return world_get_image(w, *image)->comm;
	}
	return map_get(&w->named.thread, process, &known)
		       ? world_get_thread(w, (uint32_t)known)->comm
		       : 0;
}

/* Made once for each image and name: it takes a look at the arguments. */
static uint32_t program_of(struct world *w, uint32_t image, uint32_t comm)
{
	const struct world_image *im = world_get_image(w, image);
	uint64_t key = (uint64_t)image << 32 | comm, known;
	struct buf text = { 0 };

	if (!im || !comm)
		return comm;
	if (map_get(&w->programs, key, &known))
		return (uint32_t)known;
	program_name(&text, world_text(w, comm), world_text(w, im->cmdline));
	known = text.failed ? 0 : world_string(w, buf_bytes(&text));
	w->failed |= text.failed || (known && !map_put(&w->programs, key, known));
	buf_free(&text);
	return known ? (uint32_t)known : comm;
}

uint32_t world_process_name(const struct world *w, uint32_t process, uint32_t image, int64_t at_ns)
{
	const struct world_image *im = world_get_image(w, image);
	uint64_t thread;
	uint32_t name = map_get(&w->main_of, process, &thread)
				? renames_at(&w->renames, (uint32_t)thread, at_ns)
				: 0;

	if (!name && im)
		name = im->comm;
	if (!name || !image) {
		uint32_t silent = name_of_silent((struct world *)w, process, &image);

		name = name ? name : silent;
	}
	return program_of((struct world *)w, image, name);
}

uint32_t world_process_was(const struct world *w, uint32_t process, uint32_t image)
{
	const struct world_image *im = world_get_image(w, image);
	uint32_t was = im ? program_of((struct world *)w, image, im->comm) : 0;

	return was == world_process_name(w, process, image, INT64_MAX) ? 0 : was;
}

/* ---- ops and columns of newer writers ---- */

/* A copy that is safe for terminals: the text comes from the recording. */
static const char *copy_safe_text(struct world *w, const char *text)
{
	struct buf safe = { 0 };
	const char *kept;

	fmt_safe(&safe, bytes_of(text));
	kept = safe.failed ? NULL : arena_copy(&w->texts, buf_text(&safe), safe.n);
	buf_free(&safe);
	return kept;
}

bool world_op_define(struct world *w, const struct op_def *def)
{
	const struct op_def *have = world_op(w, def->id);
	struct op_def *own;

	if (have)
		return have->track == def->track && have->ncols == def->ncols &&
		       strcmp(have->name, def->name) == 0 &&
		       memcmp(have->cols, def->cols, def->ncols * sizeof(def->cols[0])) == 0;
	if (!w->ops)
		w->ops = calloc(UINT16_MAX + 1, sizeof(struct op_def *));
	own = arena_alloc(&w->texts, sizeof(*own));
	if (!w->ops || !own) {
		w->failed = true;
		return true;
	}
	*own = *def;
	own->name = copy_safe_text(w, def->name);
	own->source_name = copy_safe_text(w, def->source_name);
	if (!own->name || !own->source_name) {
		w->failed = true;
		return true;
	}
	w->ops[def->id] = own;
	w->foreign++;
	return true;
}

const struct op_def *world_op(const struct world *w, uint16_t op)
{
	const struct op_def *def = op_builtin(op);

	return def || !w->ops ? def : w->ops[op];
}

bool world_column_define(struct world *w, const struct column_def *def)
{
	const struct column_def *have = world_column(w, def->id);
	struct column_def *own;

	if (have)
		return have->role == def->role && strcmp(have->name, def->name) == 0;
	if (!w->columns)
		w->columns = calloc(UINT16_MAX + 1, sizeof(struct column_def *));
	own = arena_alloc(&w->texts, sizeof(*own));
	if (!w->columns || !own) {
		w->failed = true;
		return true;
	}
	*own = *def;
	own->name = copy_safe_text(w, def->name);
	own->unit = copy_safe_text(w, def->unit);
	if (!own->name || !own->unit) {
		w->failed = true;
		return true;
	}
	w->columns[def->id] = own;
	w->foreign++;
	return true;
}

const struct column_def *world_column(const struct world *w, uint16_t column)
{
	const struct column_def *def = column_builtin(column);

	return def || !w->columns ? def : w->columns[column];
}

uint32_t world_foreign(const struct world *w)
{
	return w->foreign;
}
