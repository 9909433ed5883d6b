/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds the tasks that took a CPU into culprits: one per process, cgroup or kernel thread. The key
 * is the 64-bit hash of the culprit's identity by content (node, parent, command), never a world
 * id, so that the same events give the same culprits in the same order whatever file they came
 * from.
 */
#include "lib/attrib/culprit.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/world/who.h"

void culprits_free(struct culprits *c)
{
	map_free(&c->keys);
	map_free(&c->seen_pids);
	map_free(&c->first_names);
	vec_free(&c->v);
	vec_free(&c->by_thread);
	vec_free(&c->cgroup_of);
	vec_free(&c->young_after_ns);
	vec_free(&c->recorders);
}

bool culprits_begin(struct culprits *c, uint32_t node, uint64_t boot_ns)
{
	if (node && !world_get_node(c->w, node))
		return true;
	if (!vec_reach(&c->young_after_ns, node))
		return false;
	if (!c->young_after_ns.v[node])
		c->young_after_ns.v[node] = boot_ns;
	return true;
}

bool culprits_young(const struct culprits *c, const struct world_process *p)
{
	uint64_t after = p->node < c->young_after_ns.n ? c->young_after_ns.v[p->node] : 0;

	if (!after && c->young_after_ns.n)
		after = c->young_after_ns.v[0];
	return after && p->start_ns > after;
}

bool culprits_recorded_by(struct culprits *c, uint32_t node, uint32_t tgid, uint64_t start_ns)
{
	for (size_t i = 0; i < c->recorders.n; i++) {
		const struct culprit_recorder *r = &c->recorders.v[i];

		if (r->node == node && r->tgid == tgid && r->start_ns == start_ns)
			return true;
	}
	return vec_push(&c->recorders, (struct culprit_recorder){ node, tgid, start_ns });
}

/* start_ns: 0 not known. */
static bool has_recorder(const struct culprits *c, uint32_t node, uint32_t tgid, uint64_t start_ns)
{
	for (size_t i = 0; i < c->recorders.n; i++) {
		const struct culprit_recorder *r = &c->recorders.v[i];

		if (r->tgid == tgid && (!r->node || !node || r->node == node) &&
		    (!r->start_ns || !start_ns || r->start_ns == start_ns))
			return true;
	}
	return false;
}

bool culprits_is_recorder(const struct culprits *c, const struct world_process *p)
{
	return p && has_recorder(c, p->node, p->tgid, p->start_ns);
}

bool culprits_is_command(const struct culprits *c, const struct world_process *p)
{
	return p && has_recorder(c, p->node, p->parent, 0);
}

const struct line_culprit *culprit_get(const struct culprits *c, uint32_t id)
{
	return id && id <= c->v.n ? &c->v.v[id - 1] : NULL;
}

static uint64_t mix_hash(uint64_t a, uint64_t b)
{
	return hash_u64(a ^ (hash_u64(b) + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2)));
}

static uint64_t hash_name(struct bytes name, uint64_t seed)
{
	return hash_bytes(name.p ? name.p : "", name.n, seed);
}

static uint32_t get_or_add(struct culprits *c, uint64_t key, const struct line_culprit *v)
{
	uint64_t id;

	if (map_get(&c->keys, key, &id))
		return (uint32_t)id;
	if (!vec_push(&c->v, *v))
		return 0;
	if (!map_put(&c->keys, key, c->v.n)) {
		c->v.n--;
		return 0;
	}
	if (c->v.v[c->v.n - 1].base == 0)
		c->v.v[c->v.n - 1].base = (uint32_t)c->v.n;
	return (uint32_t)c->v.n;
}

/* The culprit that this process or thread is new to; NULL: it is not. */
static struct line_culprit *first_met(struct culprits *c, uint32_t id, uint64_t key)
{
	return id && !map_get(&c->seen_pids, key, NULL) && map_put(&c->seen_pids, key, 1)
		       ? &c->v.v[id - 1]
		       : NULL;
}

/* Note that this process or thread belongs to the culprit. */
static void add_subject(struct culprits *c, uint32_t id, uint32_t subject, uint32_t pid)
{
	struct line_culprit *v = first_met(c, id, (uint64_t)id << 32 | subject);

	if (v && v->npids++ < CULPRIT_PIDS)
		v->pids[v->npids - 1] = pid;
}

/* The same of a thread of the victim's own process. */
static void remember_own(struct culprits *c, uint32_t id, uint32_t thread, uint32_t tid)
{
	/* Apart from processes. */
	struct line_culprit *v = first_met(c, id, (uint64_t)(id | 1u << 31) << 32 | thread);

	if (v && v->ntids++ < CULPRIT_TIDS)
		v->tids[v->ntids - 1] = tid;
}

static struct bytes kworker_name(const struct world_process *p, struct bytes name)
{
	if (p->parent == 2 && name.n > 7 && memcmp(name.p, "kworker", 7) == 0)
		name.n = 7; /* kworker/3:1-events: which worker it was says nothing */
	return name;
}

/* Both execute the same program, whatever their threads call themselves. */
static bool is_same_program(const struct world *w, uint32_t a, uint32_t b)
{
	uint32_t x = world_process_name(w, a, 0, INT64_MAX),
		 y = world_process_name(w, b, 0, INT64_MAX);

	return x == y || bytes_equal(bytes_without_number(world_text(w, x)),
				     bytes_without_number(world_text(w, y)));
}

/* The program that the thread belongs to as the victim sees it: the pid of the process that started
 * all of it; 0: it is none of the victim's. */
static uint32_t family_of(const struct culprits *c, const struct world_thread *t,
			  uint32_t victim_process)
{
	const struct world_process *p = world_get_process(c->w, t->process),
				   *v = world_get_process(c->w, victim_process);

	if (!p || !v || p->node != v->node)
		return 0;
	if (p->parent == v->tgid)
		return v->tgid;
	if (v->parent <= 1)
		return 0;
	return v->parent == p->tgid || (p->parent == v->parent &&
					is_same_program(c->w, t->process, victim_process))
		       ? v->parent
		       : 0;
}

/* What a process of a family was called at first: it is one culprit, whatever its threads call
 * themselves. */
static uint32_t first_name(struct culprits *c, const struct world_thread *t)
{
	uint64_t known = 0;

	if (map_get(&c->first_names, t->process, &known))
		return (uint32_t)known;
	for (uint32_t i = 1; !known && i <= world_count(c->w, WORLD_IMAGE); i++)
		if (world_get_image(c->w, i)->process == t->process)
			known = world_get_image(c->w, i)->comm;
	if (!known)
		return t->comm;
	map_put(&c->first_names, t->process,
		known); /* if there is no room for it, it is looked for again */
	return (uint32_t)known;
}

/* Workers of one program begin under its name: the one it has now says what it does. */
static uint64_t hash_work(const struct culprits *c, const struct world_thread *t, uint64_t key)
{
	uint32_t name = world_process_name(c->w, t->process, 0, INT64_MAX);

	return mix_hash(key, hash_name(bytes_without_number(world_text(c->w, name)), 3));
}

/* named: one of the victim's own that has a name of its own. family: as above, of one of the
 * victim's program. */
static uint32_t task_mint(struct culprits *c, uint32_t thread, bool own, bool named,
			  uint32_t family)
{
	const struct world_thread *t = world_get_thread(c->w, thread);
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;
	struct line_culprit v = { .kind = own ? CULPRIT_OWN : CULPRIT_TASK,
				  .thread = thread,
				  .named = named };
	struct bytes name;
	uint64_t key;
	uint32_t id;

	if (!p)
		return 0;
	v.name = own && !named ? t->comm
		 : family      ? first_name(c, t)
			       : world_thread_name(c->w, thread, INT64_MAX);
	name = kworker_name(p, world_text(c->w, v.name));
	name = named ? bytes_without_number(name) : name;
	v.node = p->node;
	v.process = t->process;
	v.parent = p->parent;
	key = mix_hash(hash_name(name, own), p->node);
	v.young = !own && culprits_young(c, p);
	v.related = family != 0;
	if (family)
		key = hash_work(c, t, mix_hash(key, mix_hash(family, 0x40000)));
	if (v.named)
		key = mix_hash(key, 0x50000);
	if (own || (p->parent == 0 && !v.young && !family))
		key = mix_hash(mix_hash(own && !v.named ? p->node : key, p->tgid), p->start_ns);
	else if (!family)
		key = mix_hash(key, v.young ? UINT64_MAX : p->parent);
	id = get_or_add(c, mix_hash(key, v.kind), &v);
	add_subject(c, id, t->process, p->tgid);
	if (own)
		remember_own(c, id, thread, t->tid);
	if (id && c->v.v[id - 1].parent != p->parent)
		c->v.v[id - 1].parent = 0;
	return id;
}

bool culprits_in_cgroup(struct culprits *c, uint32_t thread, uint32_t cgroup)
{
	if (!cgroup || (thread < c->cgroup_of.n && c->cgroup_of.v[thread] == cgroup) ||
	    !world_get_thread(c->w, thread))
		return true;
	if (!vec_reach(&c->cgroup_of, thread))
		return false;
	c->cgroup_of.v[thread] = cgroup;
	return true;
}

/* "/a" is above "/a/b", and "/" above both; so it is with "cpu:/a" and "cpu:/", as paths of version
 * 1 begin. */
static bool is_above(struct bytes a, struct bytes b)
{
	return a.n <= b.n && memcmp(a.p, b.p, a.n) == 0 &&
	       (a.n == b.n || a.p[a.n - 1] == '/' || b.p[a.n] == '/');
}

/* The neighbour that a task belongs to as this victim sees it, 0 when it is none: what is above or
 * below the victim's own cgroup is the machine, or part of the victim. */
static uint32_t find_neighbour(struct culprits *c, uint32_t cgroup, uint32_t victim_cgroup)
{
	const struct world_cgroup *g = world_get_cgroup(c->w, cgroup),
				  *own = world_get_cgroup(c->w, victim_cgroup);
	struct line_culprit v = { .kind = CULPRIT_NEIGHBOUR, .object = cgroup };
	struct bytes path, own_path;

	if (!g || !own || cgroup == victim_cgroup || g->node != own->node)
		return 0;
	path = world_text(c->w, g->path);
	own_path = world_text(c->w, own->path);
	if (!path.n || !own_path.n || is_above(path, own_path) || is_above(own_path, path))
		return 0;
	v.node = g->node;
	return get_or_add(c, mix_hash(mix_hash(g->id, v.node), 0x10000 + v.kind), &v);
}

/* The task, which is of this process, as one of its neighbour's. */
static uint32_t in_neighbour(struct culprits *c, uint32_t task, uint32_t process, uint32_t cgroup,
			     uint32_t victim_cgroup)
{
	const struct world_process *p = world_get_process(c->w, process);
	uint32_t of = task ? find_neighbour(c, cgroup, victim_cgroup) : 0, id;
	struct line_culprit v;

	if (!of || !p)
		return task;
	v = c->v.v[task - 1];
	v.base = of;
	v.npids = 0;
	id = get_or_add(c, mix_hash(mix_hash(of, task), 0x30000), &v);
	add_subject(c, id, process, p->tgid);
	add_subject(c, of, process, p->tgid);
	if (!c->v.v[of - 1].process)
		c->v.v[of - 1].process = process;
	return id;
}

/* A process whose start is not known is the one of its number: a program is never told as a
 * stranger to itself. */
static bool is_same_process(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_process *x, *y;

	if (a == b)
		return true;
	x = world_get_process(w, a);
	y = world_get_process(w, b);
	return x && y && x->node == y->node && x->tgid == y->tgid &&
	       (x->start_ns == 0 || y->start_ns == 0);
}

/* A task of another program, by the name it has: a shell is not to blame for what it became. */
static uint32_t foreign_task(struct culprits *c, uint32_t thread)
{
	uint32_t name = world_thread_name(c->w, thread, INT64_MAX);
	struct culprit_named *known;

	if (!vec_reach(&c->by_thread, thread))
		return 0;
	known = &c->by_thread.v[thread];
	if (!known->id || known->name != name)
		*known = (struct culprit_named){ task_mint(c, thread, false, false, 0), name };
	return known->id;
}

uint32_t culprit_task(struct culprits *c, uint32_t thread, uint32_t victim_process,
		      uint32_t victim_cgroup)
{
	const struct world_thread *t = world_get_thread(c->w, thread);
	uint32_t family, task;

	if (!t)
		return 0;
	if (is_same_process(c->w, t->process, victim_process))
		return task_mint(c, thread, true, who_has_own_name(c->w, thread), 0);
	family = family_of(c, t, victim_process);
	if (family)
		return task_mint(c, thread, false, false, family);
	task = foreign_task(c, thread);
	return thread < c->cgroup_of.n
		       ? in_neighbour(c, task, t->process, c->cgroup_of.v[thread], victim_cgroup)
		       : task;
}

uint32_t culprit_own(struct culprits *c, uint32_t thread)
{
	return task_mint(c, thread, true, false, 0);
}

uint32_t culprit_holder(struct culprits *c, uint32_t thread, enum lock_type lock)
{
	const struct world_thread *t = world_get_thread(c->w, thread);
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;
	struct line_culprit v = { .kind = CULPRIT_HOLDER, .thread = thread, .lock = lock };
	struct bytes name;
	uint64_t key;
	uint32_t id;

	if (!p)
		return 0;
	v.name = world_thread_name(c->w, thread, INT64_MAX);
	name = bytes_without_number(world_text(c->w, v.name));
	v.node = p->node;
	v.process = t->process;
	v.parent = p->parent;
	key = mix_hash(mix_hash(hash_name(name, 2), p->tgid), mix_hash(p->start_ns, p->node));
	v.first = t->tid == p->tgid;
	id = get_or_add(c, mix_hash(key, v.kind + ((uint64_t)lock << 8) + (v.first ? 0x400 : 0)),
			&v);
	add_subject(c, id, thread, t->tid);
	return id;
}

void culprit_held_at(struct culprits *c, uint32_t holder, enum part part, uint32_t stack,
		     uint64_t ns)
{
	struct line_culprit *h = holder && holder <= c->v.n ? &c->v.v[holder - 1] : NULL;
	struct culprit_place *least;

	if (!h || ns == 0 || (part == PART_SELF && !stack))
		return;
	least = &h->at[0];
	for (unsigned i = 0; i < CULPRIT_PLACES; i++) {
		if (h->at[i].ns && h->at[i].part == part && h->at[i].stack == stack) {
			h->at[i].ns += ns;
			return;
		}
		if (h->at[i].ns < least->ns)
			least = &h->at[i];
	}
	if (least->ns >= ns) {
		least->ns -= ns;
	} else {
		*least = (struct culprit_place){ stack, part, ns - least->ns };
	}
}

uint32_t culprit_device(struct culprits *c, uint32_t node, uint64_t device)
{
	struct line_culprit v = { .kind = CULPRIT_DEVICE, .node = node, .object = device };

	return get_or_add(c, mix_hash(mix_hash(device, node), 0x10000 + v.kind), &v);
}

uint32_t culprit_cgroup(struct culprits *c, uint32_t cgroup)
{
	const struct world_cgroup *g = world_get_cgroup(c->w, cgroup);
	struct line_culprit v = { .kind = CULPRIT_CGROUP, .object = cgroup };

	v.node = g ? g->node : 0;
	return get_or_add(c, mix_hash(mix_hash(g ? g->id : 0, v.node), 0x10000 + v.kind), &v);
}

uint32_t culprit_via(struct culprits *c, uint32_t culprit, uint32_t via)
{
	const struct line_culprit *base = culprit_get(c, culprit);
	struct line_culprit v;

	if (!base || via == 0)
		return culprit;
	v = *base;
	v.base = base->base;
	v.via = via;
	return get_or_add(c, mix_hash(mix_hash(culprit, via), 0x20000), &v);
}
