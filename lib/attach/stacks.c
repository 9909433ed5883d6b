/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sides: the drain side owns the world, the maps and the modules; the naming thread
 * (stacks_names.c) owns symbol tables. They meet in two lists under one lock. A module's file is
 * opened when the module is first seen, so that its symbols stay readable after the process and
 * even the file are gone.
 */
#include "lib/attach/stacks_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/unwind_rule.h"
#include "lib/base/bisect.h"
#include "lib/host/clock.h"

#define GAPS_MAX  2	       /* frames that say that native ones are missing, and Python's */
#define FORMER_NS 2000000000ll /* what was mapped until then may still be asked for */

_Static_assert((int)UNWIND_ENDS == (int)STACK_AT_START && (int)UNWIND_CUT == (int)STACK_CUT &&
		       (int)UNWIND_GUESSED == (int)STACK_GUESSED &&
		       (int)UNWIND_TABLELESS == (int)STACK_NO_TABLE &&
		       (int)UNWIND_UNKNOWN == (int)STACK_NO_RULE &&
		       (int)UNWIND_FAULT == (int)STACK_UNREADABLE &&
		       (int)UNWIND_STUCK == (int)STACK_STUCK &&
		       (int)UNWIND_CHANGING == (int)STACK_CHANGING &&
		       (int)UNWIND_BY_POINTERS == (int)STACK_FRAME_POINTERS,
	       "what the kernel side says is what files say");

int probe_stacks_new(struct probe_stacks **out, struct world *w, struct err *e)
{
	struct probe_stacks *s = calloc(1, sizeof(*s));
	int rc;

	*out = s;
	if (!s)
		return err_nomem(e);
	s->world = w;
	s->round = 1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	rc = pthread_create(&s->thread, NULL, probe_stacks_name_loop, s);
	if (rc)
		return err_set(e, ERR_SYS, "cannot start a thread: %s", strerror(rc));
	s->running = true;
	return 0;
}

void probe_stacks_free(struct probe_stacks *s)
{
	if (!s)
		return;
	if (s->running) {
		pthread_mutex_lock(&s->lock);
		s->finish = true;
		s->outstanding -= s->questions.n;
		s->questions.n = 0;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	for (size_t i = 0; i < s->answers.n; i++)
		probe_stacks_free_answer(&s->answers.v[i]);
	for (size_t i = 0; i < s->modules.n; i++) {
		sym_registered_free(s->modules.v[i]->kernels);
		sym_symbols_free(s->modules.v[i]->names);
		close(s->modules.v[i]->fd);
		free(s->modules.v[i]->path);
		free(s->modules.v[i]);
	}
	for (size_t i = 0; i < s->processes.n; i++) {
		vec_free(&s->processes.v[i]->ranges);
		file_ranges_free(&s->processes.v[i]->files);
		free(s->processes.v[i]);
	}
	vec_free(&s->fresh);
	vec_free(&s->questions);
	vec_free(&s->answers);
	vec_free(&s->modules);
	vec_free(&s->processes);
	map_free(&s->by_tgid);
	map_free(&s->asked);
	free(s);
}

void probe_stacks_by_lists(struct probe_stacks *s, struct probe_unwinds *unwinds)
{
	s->unwinds = unwinds;
}

static struct process_maps *maps_make(struct probe_stacks *s, uint32_t tgid)
{
	struct process_maps *p = probe_stacks_maps_of(s, tgid);

	if (p) {
		if (p->ended) { /* the number is another's now */
			p->ranges.n = 0;
			p->files.now.n = p->files.former.n = 0;
		}
		p->ended = 0;
		return p;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	if (vec_push(&s->processes, p)) {
		if (map_put(&s->by_tgid, tgid, s->processes.n - 1))
			return p;
		s->processes.n--;
	}
	free(p);
	return NULL;
}

void probe_stacks_ended(struct probe_stacks *s, uint32_t tgid)
{
	struct process_maps *p = probe_stacks_maps_of(s, tgid);

	if (p)
		p->ended = s->round;
}

void probe_stacks_forget(struct probe_stacks *s)
{
	int64_t before = host_clock_mono() - FORMER_NS;

	for (size_t i = s->processes.n; i-- > 0;) {
		struct process_maps *p = s->processes.v[i], *last;

		file_ranges_forget(&p->files, before);
		if (!p->ended || p->ended == s->round)
			continue;
		map_del(&s->by_tgid, p->tgid);
		last = s->processes.v[--s->processes.n];
		s->processes.v[i] = last;
		if (last != p)
			map_put(&s->by_tgid, last->tgid, i);
		vec_free(&p->ranges);
		file_ranges_free(&p->files);
		free(p);
	}
	s->round++;
}

void probe_stacks_maps_begin(struct probe_stacks *s, uint32_t tgid)
{
	struct process_maps *p = maps_make(s, tgid);

	if (p)
		p->stale = true;
}

void probe_stacks_executed(struct probe_stacks *s, uint32_t tgid, int64_t time_ns)
{
	struct process_maps *p = probe_stacks_maps_of(s, tgid);

	if (!p)
		return;
	p->ranges.n = 0;
	p->executed_ns = time_ns;
	file_ranges_begin(&p->files, time_ns);
}

void probe_stacks_changed(struct probe_stacks *s, uint32_t tgid, int64_t time_ns, bool removed)
{
	struct process_maps *p = probe_stacks_maps_of(s, tgid);

	if (p && !p->changed_ns)
		p->changed_ns = time_ns;
	if (p && removed)
		p->removed_ns = time_ns;
}

/* What is in no file has the kernel's name, as "[vdso]", or none: code made at run time. */
static const char *name_of_mapping(const struct host_mapping *m)
{
	return m->inode || m->path.n ? m->path.p : "[anonymous code]";
}

static bool is_module(const struct module *v, const struct host_mapping *m)
{
	return v->inode == m->inode && v->major == m->major && v->minor == m->minor &&
	       (m->inode || strcmp(v->path, name_of_mapping(m)) == 0);
}

/* Index + 1 of the file's module, opened on first sight. */
static uint32_t module_index(struct probe_stacks *s, uint32_t tgid, const struct host_mapping *m)
{
	struct module *v;

	for (size_t i = s->modules.n; i > 0; i--) {
		v = s->modules.v[i - 1];
		if (!is_module(v, m))
			continue;
		/* The process that had it first had ended; no name was asked for yet. */
		if (v->fd < 0 && m->inode && !v->id)
			v->fd = host_maps_open(tgid, m);
		return (uint32_t)i;
	}
	v = calloc(1, sizeof(*v));
	if (!v)
		return 0;
	*v = (struct module){ .major = m->major,
			      .minor = m->minor,
			      .inode = m->inode,
			      .path = strdup(name_of_mapping(m)),
			      .fd = -1 };
	if (m->inode)
		v->fd = host_maps_open(tgid, m);
	if (!v->path || !vec_push(&s->modules, v)) {
		close(v->fd);
		free(v->path);
		free(v);
		return 0;
	}
	return (uint32_t)s->modules.n;
}

void probe_stacks_maps_add(struct probe_stacks *s, uint32_t tgid, const struct host_mapping *m)
{
	struct process_maps *p = probe_stacks_maps_of(s, tgid);
	struct range r = { .start = m->start, .end = m->end, .offset = m->offset };

	if (p && p->stale) {
		p->ranges.n = 0;
		p->stale = false;
		file_ranges_begin(&p->files, p->changed_ns ? p->changed_ns : host_clock_mono());
		p->changed_ns = p->removed_ns = 0;
	}
	if (p)
		file_ranges_add(&p->files, m);
	if (!p || !m->executable)
		return;
	r.module = module_index(s, tgid, m);
	vec_push(&p->ranges, r);
}

void probe_stacks_loops(struct probe_stacks *s, const struct host_mapping *m,
			const struct sym_python_loop *loops, unsigned n)
{
	for (size_t i = 0; i < s->modules.n; i++) {
		struct module *v = s->modules.v[i];

		if (v->inode == m->inode && v->major == m->major && v->minor == m->minor) {
			v->loops = loops;
			v->nloops = n;
		}
	}
}

static bool in_loop(const struct module *m, uint64_t offset)
{
	for (unsigned i = 0; i < m->nloops; i++)
		if (offset - m->loops[i].offset < m->loops[i].size)
			return true;
	return false;
}

bool probe_stacks_inherit(struct probe_stacks *s, uint32_t parent, uint32_t child)
{
	const struct process_maps *from = probe_stacks_maps_of(s, parent);
	struct process_maps *to = from ? maps_make(s, child) : NULL;

	if (!to || from->ranges.n == 0)
		return false;
	to->ranges.n = 0;
	to->stale = false;
	if (!vec_reserve(&to->ranges, from->ranges.n))
		return false;
	memcpy(to->ranges.v, from->ranges.v, from->ranges.n * sizeof(*to->ranges.v));
	to->ranges.n = from->ranges.n;
	return file_ranges_copy(&to->files, &from->files);
}

static uint32_t module_id(struct probe_stacks *s, struct module *v)
{
	char build_id[SYM_BUILD_ID] = "", path[32];
	struct err ignored = { 0 };

	if (v->id)
		return v->id;
	if (v->fd >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", v->fd);
		if (sym_elf_build_id_of(path, build_id, &ignored))
			build_id[0] = 0;
	}
	v->id = world_module(
		s->world,
		&(struct world_module){
			.path = world_string(s->world, bytes_of(v->path)),
			.build_id = build_id[0] ? world_string(s->world, bytes_of(build_id)) : 0 });
	return v->id;
}

static const struct range *find_range(const struct process_maps *p, uint64_t ip)
{
	size_t lo = 0, hi = p ? p->ranges.n : 0;

	bisect(i, lo, hi, p->ranges.v[i].end <= ip);
	return p && lo < p->ranges.n && p->ranges.v[lo].start <= ip ? &p->ranges.v[lo] : NULL;
}

/* Questions go to the naming thread once a turn: waking it for each costs more than the name. */
static void queue_name(struct probe_stacks *s, const struct question *q)
{
	vec_push(&s->fresh, *q);
}

/* With the lock held. What there is no memory for has no name. */
static void hand_over(struct probe_stacks *s)
{
	for (size_t i = 0; i < s->fresh.n; i++)
		s->outstanding += vec_push(&s->questions, s->fresh.v[i]);
	if (s->fresh.n)
		pthread_cond_broadcast(&s->changed);
	s->fresh.n = 0;
}

static void request_name(struct probe_stacks *s, uint32_t frame, struct module *module,
			 uint64_t offset)
{
	if (module->fd < 0 || map_get(&s->asked, frame, NULL) || !map_put(&s->asked, frame, 1))
		return;
	queue_name(s, &(struct question){ .frame = frame, .module = module, .offset = offset });
}

void probe_stacks_stub(struct probe_stacks *s, const struct probe_stub *stub)
{
	const struct process_maps *p = probe_stacks_maps_of(s, stub->tgid);
	const struct file_range *r =
		p ? file_ranges_find(&p->files, stub->handle, stub->since_ns) : NULL;
	struct module *module = r ? probe_stacks_module_of(s, r) : NULL;

	/* The loader changed the mappings, and the process ended before they were read again. */
	if (p && p->changed_ns && stub->since_ns >= p->changed_ns)
		return;
	if (module && module->fd >= 0)
		queue_name(s, &(struct question){ .stub = *stub,
						  .module = module,
						  .offset = stub->handle - r->start + r->offset });
}

static uint32_t gap_frame(struct probe_stacks *s, const char *what, const char *where)
{
	struct world_frame f = { .kind = FRAME_GAP };
	struct buf b = { 0 };

	buf_printf(&b, "%s%s", what, where);
	f.name = world_string(s->world, buf_bytes(&b));
	buf_free(&b);
	return world_frame(s->world, &f);
}

/* Native frames are missing behind the last one: where the walk ended. */
static uint32_t native_gap(struct probe_stacks *s, const struct module *last)
{
	const char *name = last ? strrchr(last->path, '/') : NULL;

	return gap_frame(s, "native frames end in ",
			 last ? name ? name + 1 : last->path : "unknown code");
}

/* Where the code of a frame lies. */
struct code_at {
	bool mapped;	       /* something is known to lie there */
	struct module *module; /* NULL: not known */
	uint64_t offset;       /* in its file */
};

static struct module *module_of(const struct probe_stacks *s, uint32_t index)
{
	return index ? s->modules.v[index - 1] : NULL;
}

/* By what the process maps now, and mapped until a moment ago. */
static struct code_at code_by_maps(struct probe_stacks *s, uint32_t tgid, uint64_t at)
{
	const struct process_maps *p = probe_stacks_maps_of(s, tgid);
	const struct range *r = find_range(p, at);
	/* A library may have been closed since. */
	const struct file_range *former = r || !p ? NULL : file_ranges_former(&p->files, at);
	struct code_at c = { .mapped = r != NULL };

	if (r) {
		c.module = module_of(s, r->module);
		c.offset = at - r->start + r->offset;
	} else if (former && former->until_ns > p->executed_ns) {
		c.module = probe_stacks_module_of(s, former);
		c.mapped = c.module != NULL;
		c.offset = at - former->start + former->offset;
	}
	return c;
}

static struct code_at code_of(struct probe_stacks *s, const struct wire_stack *stack, uint64_t at)
{
	struct host_mapping m;

	if (probe_unwinds_file(s->unwinds, stack->list, at, &m))
		return (struct code_at){ true, module_of(s, module_index(s, stack->tgid, &m)),
					 at - m.start + m.offset };
	return code_by_maps(s, stack->tgid, at);
}

_Static_assert(WIRE_STACK_MAX + PYTHON_FRAMES_MAX + GAPS_MAX <= WORLD_STACK_MAX,
	       "a stack has room for all frames that cross");

/* As files say it. */
static uint32_t end_of(struct probe_stacks *s, const struct wire_stack *stack)
{
	bool wrong = stack->ends & UNWIND_UNSURE && !probe_unwinds_confirm(s->unwinds, stack);

	return (stack->ends & ~(uint32_t)UNWIND_UNSURE) | (wrong ? UNWIND_CHANGING : 0);
}

uint32_t probe_stacks_resolve(struct probe_stacks *s, const struct wire_stack *stack,
			      const struct probe_part *python, unsigned npython,
			      const char *python_missing)
{
	struct probe_part native[WORLD_STACK_MAX];
	uint32_t frames[WORLD_STACK_MAX];
	const struct module *last = NULL;
	uint32_t end = end_of(s, stack);
	unsigned known = 0, n = stack->n < WORLD_STACK_MAX ? stack->n : WORLD_STACK_MAX;

	for (unsigned i = 0; i < n; i++) {
		/* Return addresses: the call is the instruction before, which may be the last of
		 * its function. */
		struct code_at c = code_of(s, stack, stack->ip[i] - 1);
		struct world_frame f = { .kind = FRAME_UNKNOWN, .offset = stack->ip[i] };

		if (c.module) {
			f.kind = FRAME_NATIVE;
			f.module = module_id(s, c.module);
			f.offset = c.offset;
		}
		native[i].frame = world_frame(s->world, &f);
		native[i].mark = c.module && in_loop(c.module, f.offset);
		if (c.module && native[i].frame)
			request_name(s, native[i].frame, c.module, f.offset);
		if (c.mapped) {
			last = c.module;
			known = i + 1;
		}
	}
	/* Code without frame pointers leaves any value in that register: an address outside of code
	 * is dropped, but kept without Python frames, as its file may just have been mapped. */
	if (npython && known)
		n = known;
	n = probe_interleave(frames, WORLD_STACK_MAX - 1, native, n, python, npython,
			     npython ? native_gap(s, last) : 0);
	if (python_missing)
		frames[n++] = gap_frame(s, python_missing, "");
	return world_stack_with_end(s->world, frames, n, end);
}

int probe_stacks_file(const struct probe_stacks *s, const char *path, const char *build_id)
{
	for (size_t i = 0; i < s->modules.n; i++) {
		const struct module *v = s->modules.v[i];
		const struct world_module *m = world_get_module(s->world, v->id);

		if (v->fd >= 0 && m && strcmp(v->path, path) == 0 &&
		    bytes_equal(world_text(s->world, m->build_id), bytes_of(build_id)))
			return fcntl(v->fd, F_DUPFD_CLOEXEC, 3);
	}
	return -1;
}

void probe_stacks_collect(struct probe_stacks *s, bool wait, probe_stub_fn *fn, void *ctx)
{
	pthread_mutex_lock(&s->lock);
	hand_over(s);
	while (wait && s->outstanding > 0)
		pthread_cond_wait(&s->changed, &s->lock);
	for (size_t i = 0; i < s->answers.n; i++) {
		struct answer *a = &s->answers.v[i];

		if (a->frame)
			world_symbol(
				s->world, a->frame,
				&(struct world_symbol){
					.name = world_string(s->world, bytes_of(a->name)),
					.file = a->file ? world_string(s->world, bytes_of(a->file))
							: 0,
					.line = a->line,
					.delta = a->delta });
		else if (fn)
			fn(ctx, &a->stub, bytes_of(a->name));
		probe_stacks_free_answer(a);
	}
	s->answers.n = 0;
	pthread_mutex_unlock(&s->lock);
}
