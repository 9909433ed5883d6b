/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an event as one JSON object, for all JSON outputs. Columns and fields are written by their
 * roles, so that those of a newer recorder need no code here.
 */
#include "lib/world/event_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/event/direction.h"
#include "lib/world/parts_json.h"
#include "lib/world/who.h"

/* Largest integer that every JSON reader keeps: 2^53. */
#define EXACT_MAX (UINT64_C(1) << 53)

/* A dim3 as three numbers: x | y << 32 | z << 48. */
static void append_dim3(struct jsonw *j, const char *key, uint64_t v)
{
	jsonw_key_array(j, key);
	jsonw_u64(j, v & UINT32_MAX);
	jsonw_u64(j, v >> 32 & 0xffff);
	jsonw_u64(j, v >> 48);
	jsonw_array_end(j);
}

static void append_device(struct jsonw *j, const char *key, uint64_t v)
{
	char numbers[48];

	snprintf(numbers, sizeof(numbers), "%" PRIu64 ":%" PRIu64, v >> 20, v & 0xfffff);
	jsonw_key_str(j, key, numbers);
}

static void append_remote(struct jsonw *j, const struct world *w, const struct late_names *t,
			  const struct late_names_socket *s, uint64_t socket)
{
	const struct late_names_peer *p = late_names_peer(t, socket);

	json_string_of(j, w, "remote", s->remote);
	if (!p)
		return;
	if (p->pid)
		jsonw_key_u64(j, "remote_pid", p->pid);
	json_string_of(j, w, "remote_process", p->comm);
}

/* Writes what a number of this event stands for; false: unknown, the number itself is written. */
static bool append_named_column(struct jsonw *j, const struct world *w, const struct late_names *t,
				const struct column_def *col, uint64_t v)
{
	const struct late_names_file *f;
	const struct late_names_socket *s;
	double number;

	switch (col->id) {
	case COL_DIRECTION:
		jsonw_key_str(j, col->name, direction_code(v));
		return true;
	case COL_GRID:
	case COL_BLOCK:
		append_dim3(j, col->name, v);
		return true;
	case COL_DEVICE:
		append_device(j, col->name, v);
		return true;
	case COL_VALUE:
		memcpy(&number, &v, sizeof(number));
		jsonw_key_double(j, col->name, number);
		return true;
	case COL_NAME:
	case COL_TEXT:
		jsonw_key_bytes(j, col->name, world_text(w, late_names_word(t, v)));
		return true;
	case COL_FILE:
		f = late_names_file(t, v);
		if (!f)
			return false;
		json_string_of(j, w, "file", f->path);
		json_string_of(j, w, "fstype", f->fstype);
		json_string_of(j, w, "mount", f->mount);
		json_string_of(j, w, "origin", f->origin);
		return true;
	case COL_SOCKET:
		s = late_names_socket(t, v);
		if (!s)
			return false;
		json_string_of(j, w, "protocol", s->protocol);
		json_string_of(j, w, "local", s->local);
		append_remote(j, w, t, s, v);
		return true;
	default:
		return false;
	}
}

static void append_column(struct jsonw *j, const struct world *w, const struct late_names *t,
			  const struct column_def *col, uint64_t v, int64_t at_ns)
{
	if (append_named_column(j, w, t, col, v))
		return;
	switch (col->role) {
	case ROLE_HANDLE:
		json_hex(j, col->name, v);
		return;
	case ROLE_THREAD:
		json_thread(j, w, t, col->name, (uint32_t)v, at_ns);
		return;
	case ROLE_PROCESS:
		json_process(j, w, col->name, (uint32_t)v);
		return;
	case ROLE_STACK:
		return;
	case ROLE_OPAQUE:
		jsonw_key(j, col->name);
		jsonw_id(j, v);
		return;
	default:
		jsonw_key_u64(j, col->name, v);
		return;
	}
}

/* The number by which the machine knows a thread, process, cgroup or GPU: world ids exist only
 * inside this program. */
static uint64_t to_machine_id(const struct world *w, enum column_role role, uint64_t v)
{
	const struct world_thread *t =
		role == ROLE_THREAD ? world_get_thread(w, (uint32_t)v) : NULL;
	const struct world_process *p =
		role == ROLE_PROCESS ? world_get_process(w, (uint32_t)v) : NULL;
	const struct world_cgroup *g =
		role == ROLE_CGROUP ? world_get_cgroup(w, (uint32_t)v) : NULL;
	const struct world_gpu *gpu = role == ROLE_GPU ? world_get_gpu(w, (uint32_t)v) : NULL;

	switch (role) {
	case ROLE_THREAD:
		return t ? t->tid : 0;
	case ROLE_PROCESS:
		return p ? p->tgid : 0;
	case ROLE_CGROUP:
		return g ? g->id : 0;
	case ROLE_GPU:
		return gpu ? gpu->index : 0;
	case ROLE_STACK:
		return 0;
	default:
		return v;
	}
}

/* The first two values of an op in the order of its columns: what older tools call its arguments. A
 * double cannot hold handles: they are strings. */
static void append_args(struct jsonw *j, const struct world *w, const struct op_def *op,
			const struct event *ev)
{
	unsigned given = 0;

	jsonw_key_array(j, "args");
	for (unsigned i = 0; i < op->ncols && given < 2; i++) {
		const struct column_def *col = world_column(w, op->cols[i]);
		uint64_t v = 0;

		if (event_get(ev, op, op->cols[i], &v) && col)
			v = to_machine_id(w, col->role, v);
		if (!col || col->role == ROLE_HANDLE)
			jsonw_hex(j, v);
		else if (v > EXACT_MAX)
			jsonw_id(j, v);
		else
			jsonw_u64(j, v);
		given++;
	}
	jsonw_array_end(j);
}

static void append_context(struct jsonw *j, const struct world *w, const struct late_names *t,
			   const struct who *s, int64_t at_ns)
{
	if (s->node)
		json_string_of(j, w, "node", s->node->name);
	if (s->process)
		jsonw_key_u64(j, "pid", s->process->tgid);
	if (s->thread)
		jsonw_key_u64(j, "tid", s->thread->tid);
	json_string_of(j, w, "process_name", s->process_name);
	if (s->thread)
		json_string_of(j, w, "thread_name", s->thread_name);
}

void event_json_stacks_free(struct event_json_stacks *s)
{
	map_free(&s->at);
	buf_free(&s->text);
}

/* The value behind the key "stack"; {NULL, 0} when there is none or no memory. */
static struct bytes stack_text(struct event_json_stacks *s, const struct world *w, uint32_t stack)
{
	struct jsonw j;
	uint64_t at;
	size_t begin;

	if (s->symbols != world_symbols(w) || s->text.n > EVENT_JSON_STACKS_MAX) {
		map_clear(&s->at);
		buf_reset(&s->text);
		s->symbols = world_symbols(w);
	}
	if (map_get(&s->at, stack, &at))
		return (struct bytes){ s->text.p + (at >> 32), at & UINT32_MAX };
	begin = s->text.n;
	jsonw_init(&j, &s->text, false);
	json_frames(&j, w, stack);
	/* A name may have been looked up just now: then this text is used once. */
	if (!s->text.failed && s->symbols == world_symbols(w))
		map_put(&s->at, stack, (uint64_t)begin << 32 | (s->text.n - begin));
	return (struct bytes){ s->text.p + begin, s->text.failed ? 0 : s->text.n - begin };
}

static void stack_of(struct jsonw *j, struct event_json_stacks *s, const struct world *w,
		     uint32_t stack)
{
	struct bytes text = stack ? stack_text(s, w, stack) : (struct bytes){ 0 };

	j->out->failed |= s->text.failed;
	if (text.n > 2) {
		jsonw_key(j, "stack");
		jsonw_raw(j, text);
	}
}

void event_json(struct jsonw *j, const struct world *w, const struct late_names *t,
		const struct event *ev, struct event_json_stacks *stacks)
{
	const struct op_def *op = world_op(w, ev->op);
	struct who s = who_of(w, ev->ctx, ev->end_ns);
	const char *error = op ? event_error_name(op->source, ev->ret) : NULL;
	uint64_t v;

	jsonw_object_begin(j);
	json_when(j, t, "timestamp", "start_ns", event_start(ev));
	append_context(j, w, t, &s, ev->end_ns);
	json_op(j, op, ev->op);
	jsonw_key_u64(j, "duration_ns", ev->dur_ns);
	jsonw_key_str(j, "duration", fmt_ns(ev->dur_ns).s);
	if (s.ctx) {
		json_gpu(j, w, s.ctx->gpu);
		json_cgroup(j, w, s.ctx->cgroup);
	}
	if (op && op->flags & OP_CALL)
		jsonw_key_i64(j, "return_code", ev->ret);
	if (error)
		jsonw_key_str(j, "error", error);
	if (ev->depth)
		jsonw_key_u64(j, "depth", ev->depth);
	if (op)
		append_args(j, w, op, ev);
	for (unsigned i = 0; op && i < op->ncols; i++) {
		const struct column_def *col = world_column(w, op->cols[i]);

		if (col && event_get(ev, op, op->cols[i], &v))
			append_column(j, w, t, col, v, ev->end_ns);
	}
	if (op && event_get(ev, op, COL_FUNC, &v))
		json_string_of(j, w, "kernel_name",
			       late_names_kernel(t, s.process_id, v, ev->end_ns));
	if (stacks)
		stack_of(j, stacks, w, ev->stack);
	jsonw_object_end(j);
}
