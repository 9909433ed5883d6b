/* SPDX-License-Identifier: Apache-2.0 */
/* A place is a process, a part (in the field for an op), and a stack. */
#include "lib/account/standing.h"

#include <stdlib.h>

#include "lib/base/oom_flag.h"
#include "lib/account/analysis_state.h"
#include "lib/account/names.h"
#include "lib/world/call_site.h"

#define TOLD   256 /* places */
#define FRAMES 12  /* of each stack; */
#define INSIDE 4   /* of them inside of the program's own code */

bool standing_add(struct where *standing, const struct line_piece *p)
{
	enum part most = PART_UNKNOWN;

	if (!line_unended(p))
		return true;
	for (uint32_t m = p->parts->mask; m; m &= m - 1) {
		enum part part = (enum part)__builtin_ctz(m);

		if (most == PART_UNKNOWN || p->parts->ns[part] > p->parts->ns[most])
			most = part;
	}
	return where_add(standing, p->process, (uint16_t)most, p->ev->stack, p->ev->dur_ns,
			 p->ev->dur_ns);
}

static int longest_first(const void *a, const void *b)
{
	const struct where_place *x = *(const struct where_place *const *)a,
				 *y = *(const struct where_place *const *)b;

	if (x->max_ns != y->max_ns)
		return x->max_ns < y->max_ns ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Frames worth reading: around Python code what lies between is the interpreter, but for the
 * libraries of the device. */
static bool is_readable(const struct cause *c, uint32_t frame, bool python)
{
	const struct world_frame *f = world_get_frame(c->w, frame);

	if (!f || f->kind == FRAME_GAP)
		return false;
	if (python && f->kind == FRAME_NATIVE)
		return world_get_symbol(c->w, frame) && name_of_device(c->w, frame);
	return f->kind == FRAME_PYTHON || world_get_symbol(c->w, frame);
}

/* Innermost first: some of what lies inside the site, then the site and the lines of its chain. In
 * native code every frame with a name belongs to it. */
static void frames_json(struct cause *c, struct jsonw *j, uint32_t stack)
{
	unsigned n = 0, told = 0, i = 0;
	const uint32_t *frame = world_get_stack(c->w, stack, &n);
	unsigned site = call_site_find(c->w, frame, n);
	bool python = name_python(c->w, stack);
	struct buf text = { 0 };

	jsonw_key_array(j, "frames");
	while (i < n && told < FRAMES) {
		if (is_readable(c, frame[i], python) && (i >= site || told < INSIDE)) {
			name_frame(&text, c->w, frame[i]);
			jsonw_bytes(j, buf_bytes(&text));
			text.n = 0;
			told++;
		}
		i = python && i >= site ? call_site_outward(c->w, frame, n, i) : i + 1;
	}
	jsonw_array_end(j);
	j->out->failed |= text.failed;
	buf_free(&text);
}

static bool has_children(const struct cause *c, uint32_t process)
{
	const struct world_process *p = world_get_process(c->w, process);

	for (size_t i = 0; p && i < c->tally.order.n; i++) {
		const struct world_process *child = world_get_process(c->w, c->tally.order.v[i]);

		if (child && child->parent == p->tgid && child->node == p->node)
			return true;
	}
	return false;
}

/* Where a launcher waits for its children (timeout in sigsuspend), or a tracker of resources for
 * what is written into its pipe: in no line of the program. */
static bool is_bystander(const struct cause *c, const struct where_place *wait)
{
	bool python = call_site_is_python(c->w, wait->stack);
	bool starter = !python || call_site_is_starter(c->w, wait->stack);

	switch ((enum part)wait->op) {
	case PART_CHILD:
		return starter;
	case PART_BLOCKED:
	case PART_SLEEP:
		return starter && has_children(c, wait->subject);
	case PART_FD:
	case PART_POLL:
		return python && starter;
	default:
		return false;
	}
}

void standing_json(struct cause *c, struct jsonw *j)
{
	size_t n = c->standing.v.n;
	const struct where_place **all = n ? malloc(n * sizeof(*all)) : NULL;

	if (n && !all) {
		oom_flag_set();
		j->out->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		all[i] = &c->standing.v.v[i];
	if (n)
		qsort(all, n, sizeof(*all), longest_first);
	jsonw_key_array(j, "standing");
	for (size_t i = 0; i < n && i < TOLD; i++) {
		jsonw_object_begin(j);
		name_process_keys(j, c->w, &c->tally, all[i]->subject);
		jsonw_key_str(j, "part", part_name((enum part)all[i]->op));
		jsonw_key_u64(j, "threads", all[i]->count);
		jsonw_key_u64(j, "longest_ns", all[i]->max_ns);
		jsonw_key_u64(j, "sum_ns", all[i]->sum_ns);
		jsonw_key_bool(j, "bystander", is_bystander(c, all[i]));
		frames_json(c, j, all[i]->stack);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_key_u64(j, "standing_total", n);
	free(all);
}
