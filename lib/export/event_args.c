/* SPDX-License-Identifier: Apache-2.0 */
/* Lists an event's arguments for timelines by the roles of its columns, so that columns of newer
 * recorders appear, too. */
#include "lib/export/event_args.h"

#include <inttypes.h>

#include "lib/base/utf8.h"
#include "lib/event/direction.h"

/* In the order of enum event_object. */
static const char *const objects[] = {
	"",	   "futex", "descriptor", "timer", "disk",    "page fault", "GPU",	 "child",
	"stopped", "poll",  "socket",	  "GIL",   "freezer", "probe",	    "memory map"
};

static uint32_t string_of(const struct late_names *told, uint16_t column, uint64_t v)
{
	const struct late_names_socket *s;
	const struct late_names_file *f;

	switch (column) {
	case COL_NAME:
	case COL_TEXT:
		return late_names_word(told, v);
	case COL_FILE:
		f = late_names_file(told, v);
		return f ? f->path : 0;
	case COL_SOCKET:
		s = late_names_socket(told, v);
		return !s ? 0 : s->remote ? s->remote : s->local;
	default:
		return 0;
	}
}

/* False: nothing to say of it. */
static bool of_column(struct event_arg *n, const struct column_def *col, const struct op_def *op,
		      const struct late_names *told, uint32_t process, int64_t at_ns)
{
	uint32_t string;

	switch (col->id) {
	case COL_FUNC:
		string = late_names_kernel(told, process, n->number, at_ns);
		n->id = NOTE_KERNEL;
		n->key = "kernel";
		n->kind = NOTE_STRING;
		n->number = string;
		return string;
	case COL_STREAM: /* of launches the arrows tell */
		n->kind = NOTE_TEXT;
		return n->number && !(op->flags & OP_LAUNCH);
	case COL_VALUE:
		n->kind = NOTE_REAL;
		memcpy(&n->real, &n->number, sizeof(n->real));
		return true;
	case COL_OBJECT_KIND:
		n->kind = NOTE_TEXT;
		return n->number && n->number < sizeof(objects) / sizeof(objects[0]);
	case COL_DIRECTION:
		n->kind = NOTE_TEXT;
		return direction_code(n->number);
	case COL_GRID:
	case COL_BLOCK:
	case COL_DEVICE:
		n->kind = NOTE_TEXT;
		return true;
	case COL_FILE:
	case COL_SOCKET:
	case COL_NAME:
	case COL_TEXT:
		string = string_of(told, col->id, n->number);
		n->kind = NOTE_STRING;
		n->number = string;
		return string;
	default:
		break;
	}
	switch (col->role) {
	case ROLE_HANDLE:
	case ROLE_STACK:
	case ROLE_PROCESS:
	case ROLE_CGROUP:
	case ROLE_GPU:
		return false;
	case ROLE_THREAD:
		n->kind = NOTE_TEXT;
		return n->number;
	case ROLE_DURATION:
		return n->number;
	default:
		return true;
	}
}

unsigned event_args_of(struct event_arg *notes, const struct world *w,
		       const struct late_names *told, const struct event *ev,
		       const struct op_def *op, uint32_t process)
{
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	const struct world_gpu *gpu = ctx && ctx->gpu ? world_get_gpu(w, ctx->gpu) : NULL;
	unsigned n = 0;

	for (unsigned i = 0; op && i < op->ncols; i++) {
		const struct column_def *col;
		struct event_arg *note = &notes[n];

		if (!(ev->present >> i & 1))
			continue;
		col = world_column(w, op->cols[i]);
		if (!col || col->id >= EVENT_ARGS_ID_MAX)
			continue;
		*note = (struct event_arg){ .id = col->id, .key = col->name, .number = ev->x[i] };
		n += of_column(note, col, op, told, process, ev->end_ns);
	}
	if (ev->ret && op && op->flags & OP_CALL) {
		notes[n++] = (struct event_arg){ NOTE_RETURN, NOTE_NUMBER, "return_code",
						 (uint64_t)(int64_t)ev->ret, 0 };
		if (event_error_name(op->source, ev->ret))
			notes[n++] =
				(struct event_arg){ NOTE_ERROR, NOTE_TEXT, "error",
						    (uint64_t)op->source << 32 | (uint32_t)ev->ret,
						    0 };
	}
	if (gpu && gpu->index)
		notes[n++] = (struct event_arg){ NOTE_GPU, NOTE_NUMBER, "gpu_id", gpu->index, 0 };
	return n;
}

static void thread_text(struct buf *out, const struct world *w, uint32_t id)
{
	const struct world_thread *t = world_get_thread(w, id);

	if (!t)
		return;
	event_args_clean(out, world_text(w, world_thread_name(w, id, INT64_MAX)));
	buf_printf(out, "%s%u", out->n ? " " : "", t->tid);
}

void event_arg_text(struct buf *out, const struct world *w, const struct event_arg *note)
{
	uint64_t v = note->number;

	if (note->kind == NOTE_STRING) {
		event_args_clean(out, world_text(w, (uint32_t)v));
		return;
	}
	switch (note->id) {
	case NOTE_ERROR:
		buf_puts(out, event_error_name((uint8_t)(v >> 32), (int32_t)v));
		return;
	case COL_OBJECT_KIND:
		buf_puts(out, objects[v]);
		return;
	case COL_DIRECTION:
		buf_puts(out, direction_code(v));
		return;
	case COL_GRID:
	case COL_BLOCK:
		buf_printf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, v & UINT32_MAX,
			   v >> 32 & 0xffff, v >> 48);
		return;
	case COL_DEVICE:
		buf_printf(out, "%" PRIu64 ":%" PRIu64, v >> 20, v & 0xfffff);
		return;
	case COL_STREAM:
		buf_printf(out, "0x%" PRIx64, v);
		return;
	default:
		thread_text(out, w, (uint32_t)v);
	}
}

uint32_t event_args_detail(const struct late_names *told, const struct event *ev,
			   const struct op_def *op, uint32_t process)
{
	static const uint16_t naming[] = { COL_FILE, COL_SOCKET, COL_NAME };
	uint64_t v;

	if (event_get(ev, op, COL_FUNC, &v))
		return late_names_kernel(told, process, v, ev->end_ns);
	for (unsigned i = 0; i < sizeof(naming) / sizeof(naming[0]); i++) {
		uint32_t string =
			event_get(ev, op, naming[i], &v) ? string_of(told, naming[i], v) : 0;

		if (string)
			return string;
	}
	return 0;
}

void event_args_clean(struct buf *out, struct bytes text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t n = text.n > EVENT_ARGS_TEXT_MAX ? EVENT_ARGS_TEXT_MAX : text.n;

	while (n) {
		size_t length = utf8_length(p, n);

		if (length && *p)
			buf_add(out, p, length);
		else
			utf8_put(out, 0xfffd);
		length = length ? length : 1;
		p += length;
		n -= length;
	}
}
