/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function per key that needs more than a name of the world.
 */
#include "lib/query/by_label.h"

#include <inttypes.h>

#include "lib/query/launcher.h"
#include "lib/base/fmt.h"
#include "lib/event/direction.h"
#include "lib/account/names.h"
#include "lib/world/call_site.h"

#define LIBRARY	   (1u << 31) /* in the upper half of a kernel's id: a frame, not a name */
#define PLACES_MAX 65536      /* processes whose place is stored; that of further ones is unknown */

static bool has_column(const struct op_def *op, uint16_t column)
{
	for (unsigned i = 0; i < op->ncols; i++)
		if (op->cols[i] == column)
			return true;
	return false;
}

/* By the name that its handle has then, and without one by the library that launched it. */
static struct by_id kernel_id(const struct world *w, const struct event *ev, uint32_t process,
			      uint64_t func, struct by_kernels *kernels)
{
	uint32_t name = kernel_names_find(&kernels->names, process, func, ev->end_ns);
	uint64_t frame = 0;

	if (!name)
		frame = launcher_find_library(&kernels->libraries, w, ev->stack);
	return (struct by_id){ .a = process + 1ull + ((name ? name : frame | LIBRARY) << 32),
			       .b = func,
			       .ctx = ev->ctx,
			       .stack = ev->stack };
}

struct by_id by_id_of_event(const struct world *w, enum by_key key, const struct event *ev,
			    const struct op_def *op, uint32_t process, struct by_kernels *kernels)
{
	const struct world_ctx *c = world_get_ctx(w, ev->ctx);
	struct by_id id = { .ctx = ev->ctx };
	uint64_t x;

	switch (key) {
	case BY_OP:
		id.a = op->id;
		break;
	case BY_PID:
	case BY_POD:
	case BY_CONTAINER:
	case BY_RANK:
		id.a = process;
		break;
	case BY_STACK:
	case BY_LINE:
		id.a = ev->stack;
		break;
	case BY_THREAD:
		id.a = c ? c->thread : 0;
		break;
	case BY_DEVICE:
		id.a = c ? c->gpu : 0;
		break;
	case BY_CGROUP:
		id.a = c ? c->cgroup : 0;
		break;
	case BY_NODE:
		id.a = c ? c->node : 0;
		break;
	case BY_KERNEL:
		if (op->flags & OP_LAUNCH && event_get(ev, op, COL_FUNC, &x))
			return kernel_id(w, ev, process, x, kernels);
		id.none = !(op->flags & OP_LAUNCH) || !has_column(op, COL_FUNC);
		break;
	case BY_STREAM:
		if (event_get(ev, op, COL_STREAM, &x)) {
			id.a = process + 1ull;
			id.b = x;
		}
		id.none = !has_column(op, COL_STREAM);
		break;
	case BY_SIZE: /* 1: no bytes; 2: 1; 3: 2 and 3; 4: 4 to 7 … */
		if (event_get(ev, op, COL_BYTES, &x))
			id.a = x ? 65u - (unsigned)__builtin_clzll(x) : 1;
		id.none = !has_column(op, COL_BYTES);
		break;
	case BY_DIRECTION:
		if (event_get(ev, op, COL_DIRECTION, &x))
			id.a = x < UINT32_MAX ? x + 1 : UINT32_MAX;
		id.none = !has_column(op, COL_DIRECTION);
		break;
	case BY_STEP: /* not of the event alone */
		break;
	}
	return id;
}

bool by_label_shared(enum by_key key)
{
	return key == BY_LINE || key == BY_KERNEL || key == BY_POD || key == BY_CONTAINER ||
	       key == BY_RANK;
}

static uint32_t string_of(struct world *w, const struct buf *text)
{
	return text->failed || text->n == 0 ? 0 : world_string(w, buf_bytes(text));
}

static uint32_t text_of(struct world *w, struct bytes text)
{
	return text.n ? world_string(w, text) : 0;
}

static struct by_place *place_of(struct by_places *p, uint32_t process)
{
	uint64_t at;

	if (map_get(&p->of_process, process, &at))
		return &p->v.v[at];
	at = p->v.n;
	if (!vec_push(&p->v, (struct by_place){ 0 }) || !map_put(&p->of_process, process, at))
		return NULL;
	return &p->v.v[at];
}

bool by_places_record(struct by_places *p, struct world *w, const struct record *rec)
{
	const struct rec_PLACE *r = &rec->u.PLACE;
	struct buf text = { 0 };
	struct by_place *place;
	bool good;

	if (rec->kind != RECORD_PLACE || !REC_HAS(rec, PLACE, process) ||
	    (p->v.n >= PLACES_MAX && !map_get(&p->of_process, r->process, NULL)))
		return true;
	place = place_of(p, r->process);
	if (!place)
		return false;
	if (REC_HAS(rec, PLACE, pod) && REC_HAS(rec, PLACE, namespace)) {
		buf_printf(&text, "%.*s/%.*s", (int)r->namespace.n, r->namespace.p, (int)r->pod.n,
			   r->pod.p);
		place->pod = string_of(w, &text);
		buf_reset(&text);
	} else if (REC_HAS(rec, PLACE, pod) || REC_HAS(rec, PLACE, pod_uid)) {
		place->pod = text_of(w, REC_HAS(rec, PLACE, pod) ? r->pod : r->pod_uid);
	}
	if (REC_HAS(rec, PLACE, container))
		place->container = text_of(w, r->container);
	if (REC_HAS(rec, PLACE, container_name))
		place->container_name = text_of(w, r->container_name);
	if (REC_HAS(rec, PLACE, run))
		place->run = text_of(w, r->run);
	if (REC_HAS(rec, PLACE, rank)) {
		buf_printf(&text, "%u", r->rank);
		place->rank = string_of(w, &text);
		place->rank_number = r->rank;
	}
	good = !text.failed && !world_failed(w);
	buf_free(&text);
	return good;
}

void by_places_free(struct by_places *p)
{
	vec_free(&p->v);
	map_free(&p->of_process);
}

/* The name of the thread (key BY_THREAD) or of the program that the process runs; each stands in
 * for the other where that one is unknown. */
static uint32_t comm_of(const struct by_labels *l, const struct world_ctx *c)
{
	const struct world_image *im = c ? world_get_image(l->w, c->image) : NULL;
	uint32_t process = im ? world_process_name(l->w, im->process, c->image, INT64_MAX) : 0;
	uint32_t thread = c ? world_thread_name(l->w, c->thread, INT64_MAX) : 0;

	if (l->key == BY_THREAD)
		return thread ? thread : process;
	return process ? process : thread;
}

/* Only where there are several: most recordings are of one. */
static uint32_t node_name(const struct world *w, uint32_t node)
{
	const struct world_node *n = world_get_node(w, node);

	return n && world_count(w, WORLD_NODE) > 1 ? n->name : 0;
}

static void key_pid(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		    struct buf *key)
{
	const struct world_process *p = world_get_process(l->w, (uint32_t)id->a);

	if (!p)
		return;
	buf_printf(key, "%u", p->tgid);
	row->name = comm_of(l, world_get_ctx(l->w, id->ctx));
	row->node = node_name(l->w, p->node);
}

static void with_pid(const struct by_labels *l, uint32_t comm, const struct world_process *p,
		     struct by_row *row)
{
	struct bytes name = world_text(l->w, comm);
	struct buf text = { 0 };

	buf_printf(&text, "%.*s%s", (int)name.n, name.n ? name.p : "", name.n ? " " : "");
	buf_printf(&text, "(process %u)", p->tgid);
	row->name = string_of(l->w, &text);
	row->node = node_name(l->w, p->node);
	buf_free(&text);
}

static void key_thread(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		       struct buf *key)
{
	const struct world_thread *th = world_get_thread(l->w, (uint32_t)id->a);
	const struct world_process *p = th ? world_get_process(l->w, th->process) : NULL;

	if (!th)
		return;
	buf_printf(key, "%u", th->tid);
	if (p)
		with_pid(l, comm_of(l, world_get_ctx(l->w, id->ctx)), p, row);
}

#define CALLERS_SHOWN 2 /* of a call site, by their names */

static void add_function(const struct by_labels *l, uint32_t frame, struct buf *out)
{
	const struct world_symbol *s = world_get_symbol(l->w, frame);
	const struct world_frame *f = world_get_frame(l->w, frame);
	struct bytes name = world_text(l->w, s ? s->name : f ? f->name : 0);

	if (name.n)
		buf_add(out, name.p, name.n);
	else
		name_frame(out, l->w, frame);
}

/* A stack out of Python as people read it: the innermost function of C whose name is known, the
 * innermost of Python, how many frames lie between and within, the call site, and the next
 * functions of its chain. */
static uint32_t label_python_stack(const struct by_labels *l, const uint32_t *frames, unsigned n)
{
	unsigned site = call_site_find(l->w, frames, n), python = 0, named, between = 0, i;
	struct buf text = { 0 };
	uint32_t id;

	while (python < site && world_get_frame(l->w, frames[python])->kind != FRAME_PYTHON)
		python++;
	for (named = 0; named < python && !world_get_symbol(l->w, frames[named]);)
		named++;
	if (named < python)
		add_function(l, frames[named], &text);
	if (python < site) {
		buf_puts(&text, named < python ? " < " : "");
		add_function(l, frames[python], &text);
	}
	for (i = 0; i < site; i++)
		between += i != python && (i != named || named == python) &&
			   world_get_frame(l->w, frames[i])->kind != FRAME_GAP;
	if (between)
		buf_printf(&text, " < (%u frame%s)", between, between == 1 ? "" : "s");
	buf_puts(&text, text.n ? " < " : "");
	name_frame(&text, l->w, frames[site]);
	i = call_site_outward(l->w, frames, n, site);
	for (unsigned k = 0; k < CALLERS_SHOWN && i < n; k++) {
		buf_puts(&text, " < ");
		add_function(l, frames[i], &text);
		i = call_site_outward(l->w, frames, n, i);
	}
	id = string_of(l->w, &text);
	buf_free(&text);
	return id;
}

/* Innermost first. */
static void key_stack(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		      struct buf *key)
{
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(l->w, (uint32_t)id->a, &n);

	if (call_site_is_python(l->w, (uint32_t)id->a))
		row->name = label_python_stack(l, frames, n);

	for (unsigned i = 0; i < n; i++) {
		buf_puts(key, i ? " < " : "");
		name_frame(key, l->w, frames[i]);
	}
}

static void key_kernel(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		       struct buf *key)
{
	uint32_t process = (uint32_t)id->a - 1, name = (uint32_t)(id->a >> 32);
	const struct world_process *p = world_get_process(l->w, process);
	struct bytes text;

	/* One that came after the launch holds as well. */
	if (name & LIBRARY)
		name = kernel_names_find(&l->kernels->names, process, id->b, INT64_MIN);
	text = world_text(l->w, kernel_names_text(&l->kernels->names, name));
	if (text.n) {
		buf_add(key, text.p, text.n);
		return;
	}
	/* The handle means something in its process only. */
	if (!launcher_append_name(key, l->w, id->stack, id->b) && p)
		with_pid(l, comm_of(l, world_get_ctx(l->w, id->ctx)), p, row);
}

static void key_stream(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		       struct buf *key)
{
	const struct world_process *p = world_get_process(l->w, (uint32_t)(id->a - 1));

	buf_printf(key, "0x%" PRIx64, id->b);
	if (p)
		with_pid(l, comm_of(l, world_get_ctx(l->w, id->ctx)), p, row);
}

static void key_size(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		     struct buf *key)
{
	uint64_t from = id->a > 1 ? 1ull << (id->a - 2) : 0;
	struct buf name = { 0 };

	row->order = id->a;
	buf_printf(key, "%" PRIu64, from);
	buf_puts(&name, fmt_bytes(from).s);
	if (from > 1 && from <= UINT64_MAX / 2)
		buf_printf(&name, " to %s", fmt_bytes(2 * from).s);
	row->name = string_of(l->w, &name);
	buf_free(&name);
}

static void key_direction(const struct by_labels *l, const struct by_id *id, struct by_row *row,
			  struct buf *key)
{
	const char *code = direction_code(id->a - 1);

	row->order = id->a;
	if (code) {
		buf_puts(key, code);
		row->name = world_string(l->w, bytes_of(direction_text(id->a - 1)));
	} else {
		buf_printf(key, "%" PRIu64, id->a - 1);
	}
}

static void key_device(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		       struct buf *key)
{
	const struct world_gpu *g = world_get_gpu(l->w, (uint32_t)id->a);
	struct bytes name;
	struct buf text = { 0 };

	if (!g)
		return;
	name = world_text(l->w, g->uuid);
	if (name.n)
		buf_add(key, name.p, name.n);
	else
		buf_printf(key, "%u", g->index);
	name = world_text(l->w, g->name);
	buf_printf(&text, "GPU %u%s%.*s", g->index, name.n ? " " : "", (int)name.n,
		   name.n ? name.p : "");
	row->name = string_of(l->w, &text);
	row->node = node_name(l->w, g->node);
	buf_free(&text);
}

static void key_cgroup(const struct by_labels *l, const struct by_id *id, struct by_row *row,
		       struct buf *key)
{
	const struct world_cgroup *g = world_get_cgroup(l->w, (uint32_t)id->a);
	struct bytes path = g ? world_text(l->w, g->path) : (struct bytes){ 0 };

	if (!g)
		return;
	if (path.n)
		buf_add(key, path.p, path.n);
	else
		buf_printf(key, "%" PRIu64, g->id);
	row->node = node_name(l->w, g->node);
}

static void key_node(const struct by_labels *l, const struct by_id *id, struct buf *key)
{
	const struct world_node *n = world_get_node(l->w, (uint32_t)id->a);
	struct bytes name = n ? world_text(l->w, n->name) : (struct bytes){ 0 };

	if (n && name.n)
		buf_add(key, name.p, name.n);
	for (unsigned i = 0; n && !name.n && i < sizeof(n->uuid); i++)
		buf_printf(key, "%02x", n->uuid[i]);
}

static void key_place(const struct by_labels *l, const struct by_id *id, struct by_row *row)
{
	const struct by_place *p;
	uint64_t at;

	if (!map_get(&l->places->of_process, id->a, &at))
		return;
	p = &l->places->v.v[at];
	row->key = l->key == BY_POD ? p->pod : l->key == BY_RANK ? p->rank : p->container;
	if (!row->key)
		return;
	row->name = l->key == BY_RANK ? p->run : l->key == BY_CONTAINER ? p->container_name : 0;
	row->order = l->key == BY_RANK ? p->rank_number + 1 : 0;
}

bool by_label_set_row(const struct by_labels *l, const struct by_id *id, struct by_row *row)
{
	const struct op_def *op;
	struct buf key = { 0 };
	bool good;

	row->kind = BY_UNKNOWN;
	switch (l->key) {
	case BY_OP:
		op = world_op(l->w, (uint16_t)id->a);
		buf_puts(&key, op ? op->name : "");
		row->name = op ? world_string(l->w, bytes_of(op->source_name)) : 0;
		break;
	case BY_PID:
		key_pid(l, id, row, &key);
		break;
	case BY_THREAD:
		key_thread(l, id, row, &key);
		break;
	case BY_STACK:
		key_stack(l, id, row, &key);
		break;
	case BY_LINE:
		if (name_site_frame(l->w, (uint32_t)id->a))
			name_frame(&key, l->w, name_site_frame(l->w, (uint32_t)id->a));
		break;
	case BY_KERNEL:
		key_kernel(l, id, row, &key);
		break;
	case BY_STREAM:
		key_stream(l, id, row, &key);
		break;
	case BY_SIZE:
		key_size(l, id, row, &key);
		break;
	case BY_DIRECTION:
		key_direction(l, id, row, &key);
		break;
	case BY_DEVICE:
		key_device(l, id, row, &key);
		break;
	case BY_CGROUP:
		key_cgroup(l, id, row, &key);
		break;
	case BY_STEP:
		break; /* lib/query/by_steps.c */
	case BY_NODE:
		key_node(l, id, &key);
		break;
	case BY_POD:
	case BY_CONTAINER:
	case BY_RANK:
		key_place(l, id, row);
		break;
	}
	if (key.n)
		row->key = string_of(l->w, &key);
	if (row->key && l->no_numbers && (l->key == BY_PID || l->key == BY_THREAD)) {
		row->key = comm_of(l, world_get_ctx(l->w, id->ctx));
		row->name = row->node = 0;
	}
	if (row->key)
		row->kind = BY_KNOWN;
	else
		row->name = row->node = 0;
	good = !key.failed && !world_failed(l->w);
	buf_free(&key);
	return good;
}
