/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the older agent's numbers to ops, processes, threads, cgroups and stacks. The agent records
 * no start times: a process id is one process for the whole recording.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/compat/agent_internal.h"
#include "lib/base/demangle.h"
#include "lib/base/hash.h"

#define FRAMES_MAX 128

bool agent_is_call(int64_t source)
{
	return source == 1 || source == 4 || source == 8;
}

uint16_t agent_op(int64_t source, int64_t op)
{
	/* The agent's numbers; those of library calls that both know are ours. */
	static const struct {
		uint8_t source, op;
		uint16_t is;
	} others[] = {
		{ 3, 1, OP_SCHED_OFFCPU },
		{ 3, 4, OP_PROC_OOM },
		{ 3, 5, OP_PROC_EXEC },
		{ 3, 6, OP_PROC_EXIT },
		{ 3, 7, OP_PROC_FORK },
		{ 5, 1, OP_IO_BLOCK },
		{ 5, 2, OP_IO_BLOCK },
		{ 5, 3, OP_IO_BLOCK },
		{ 6, 1, OP_NET_RETRANSMIT },
		{ 7, 1, OP_NET_SOCKET },
		{ 7, 2, OP_NET_SOCKET },
		{ 8, 1, OP_CUDA_STREAM_BEGIN_CAPTURE },
		{ 8, 2, OP_CUDA_STREAM_END_CAPTURE },
		{ 8, 3, OP_CUDA_GRAPH_INSTANTIATE },
		{ 8, 4, OP_CUDA_GRAPH_LAUNCH },
	};

	if (source == SOURCE_CUDA && op >= 1 && op <= 8)
		return (uint16_t)(OP_CUDA_MALLOC - 1 + op);
	if (source == SOURCE_DRIVER && op >= 1 && op <= 6)
		return (uint16_t)(OP_CU_LAUNCH - 1 + op);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (others[i].source == source && others[i].op == op)
			return others[i].is;
	}
	return 0;
}

uint32_t agent_node(struct agent_recording *l, struct bytes name)
{
	struct world_node node = { .boot = 1, .name = world_string(l->w, name) };
	uint64_t h[2] = { hash_bytes(name.p, name.n, 1), hash_bytes(name.p, name.n, 2) };

	memcpy(node.uuid, h, sizeof(h));
	return world_node(l->w, &node);
}

static struct bytes looked_up(sqlite3_stmt *s, int64_t key)
{
	struct bytes text = { NULL, 0 };

	if (!s)
		return text;
	sqlite3_reset(s);
	sqlite3_bind_int64(s, 1, key);
	if (sqlite3_step(s) == SQLITE_ROW)
		text = archive_database_text(s, 0);
	archive_database_asked(sqlite3_db_handle(s));
	return text;
}

static uint32_t process_of(struct agent_recording *l, uint32_t node, uint32_t tgid)
{
	return world_process(l->w, &(struct world_process){ .node = node, .tgid = tgid });
}

/* The machine of a row; the session's, where it does not say. */
static uint32_t node_at(struct agent_recording *l, sqlite3_stmt *row, int column)
{
	struct bytes name = archive_database_text(row, column);

	return name.n ? agent_node(l, name) : l->node;
}

uint32_t agent_thread_id(struct agent_recording *l, uint32_t node, uint32_t tid)
{
	uint64_t owner = tid;

	map_get(&l->owner_by, agent_thread_key(node, tid), &owner);
	return world_thread(l->w,
			    &(struct world_thread){ .process = process_of(l, node, (uint32_t)owner),
						    .tid = tid });
}

uint32_t agent_ctx(struct agent_recording *l, sqlite3_stmt *row, bool with_cgroup)
{
	struct bytes comm = archive_database_text(row, AGENT_COMM);
	uint64_t tid = (uint64_t)sqlite3_column_int64(row, AGENT_TID),
		 pid = (uint64_t)sqlite3_column_int64(row, AGENT_PID),
		 cgroup = (uint64_t)sqlite3_column_int64(row, AGENT_CGROUP);
	struct world_ctx ctx = { .node = node_at(l, row, AGENT_NODE) };
	struct world_image image = { 0 };

	/* The kernel's side of the agent knows threads by their own number only. */
	if (pid == tid)
		map_get(&l->owner_by, agent_thread_key(ctx.node, tid), &pid);
	image.process = process_of(l, ctx.node, (uint32_t)pid);
	if (!comm.n)
		comm = looked_up(l->name_of, (int64_t)pid);
	if (comm.n)
		image.comm = world_string(l->w, comm);
	ctx.image = world_image(l->w, &image);
	ctx.thread =
		world_thread(l->w, &(struct world_thread){ .process = image.process,
							   .tid = (uint32_t)tid,
							   .comm = tid == pid ? image.comm : 0 });
	if (with_cgroup && cgroup > 1) {
		struct bytes path = looked_up(l->cgroup_of, (int64_t)cgroup);

		ctx.cgroup =
			world_cgroup(l->w, &(struct world_cgroup){
						   .node = ctx.node,
						   .id = cgroup,
						   .path = path.n ? world_string(l->w, path) : 0 });
	}
	return world_ctx(l->w, &ctx);
}

int agent_owners(struct agent_recording *l, struct err *e)
{
	static const char *const columns[] = { "pid", "tid", "node" };
	sqlite3_stmt *s;
	int rc = archive_database_select(l->db, l->path, &s, "events", columns, 3,
					 "WHERE pid <> tid GROUP BY 2, 3", e);

	while (rc == 0 && (rc = archive_database_next(l->db, l->path, s, e)) > 0)
		rc = map_put(&l->owner_by,
			     agent_thread_key(node_at(l, s, 2),
					      (uint64_t)sqlite3_column_int64(s, 1)),
			     (uint64_t)sqlite3_column_int64(s, 0))
			     ? 0
			     : err_nomem(e);
	sqlite3_finalize(s);
	return rc;
}

/* ---- stacks ---- */

enum { F_SYMBOL, F_FILE, F_ADDRESS, F_PY_FUNCTION, F_PY_FILE, F_PY_LINE, F_COLUMNS };

int agent_stacks_open(struct agent_recording *l, struct err *e)
{
	static const char sql[] =
		"SELECT json_extract(f.value, '$.s'), json_extract(f.value, '$.f'),"
		" json_extract(f.value, '$.i'), json_extract(f.value, '$.pfn'),"
		" json_extract(f.value, '$.pf'), json_extract(f.value, '$.pl')"
		" FROM main.stack_traces t, json_each(CASE WHEN json_valid(t.frames)"
		" THEN t.frames ELSE '[]' END) f WHERE t.hash = ?1 AND f.type = 'object'";

	if (!archive_database_column(l->db, "stack_traces", "frames"))
		return 0;
	if (sqlite3_prepare_v2(l->db, sql, -1, &l->stack_of, NULL) != SQLITE_OK)
		return archive_database_failed(l->db, l->path, e);
	return 0;
}

static uint32_t text_of(struct agent_recording *l, int column)
{
	struct bytes text = archive_database_text(l->stack_of, column);

	return text.n ? world_string(l->w, text) : 0;
}

static uint32_t python_frame(struct agent_recording *l)
{
	int64_t line = sqlite3_column_int64(l->stack_of, F_PY_LINE);

	return world_frame(l->w, &(struct world_frame){ .kind = FRAME_PYTHON,
							.offset = line > 0 && line < INT32_MAX
									  ? (uint64_t)line
									  : 0,
							.name = text_of(l, F_PY_FUNCTION),
							.file = text_of(l, F_PY_FILE) });
}

/* "name+0x12": the agent recorded no offsets in files, so the text identifies a frame. */
static uint32_t named_frame(struct agent_recording *l, uint32_t module, struct bytes symbol)
{
	struct world_symbol to = { 0 };
	struct buf text = { 0 }, name = { 0 };
	uint64_t key = hash_bytes(symbol.p, symbol.n, 0) >> 16;
	char *plus;
	uint32_t id;

	buf_add(&text, symbol.p, symbol.n);
	plus = text.p ? strrchr(text.p, '+') : NULL;
	if (plus && plus[1] == '0' && plus[2] == 'x') {
		to.delta = strtoull(plus + 1, NULL, 16);
		*plus = '\0';
	}
	demangle_name(&name, buf_text(&text));
	to.name = world_string(l->w, buf_bytes(&name));
	id = world_frame(l->w, &(struct world_frame){
				       .kind = FRAME_NATIVE, .module = module, .offset = key });
	if (id)
		world_symbol(l->w, id, &to);
	buf_free(&text);
	buf_free(&name);
	return id;
}

static uint32_t frame_of(struct agent_recording *l)
{
	struct bytes symbol = archive_database_text(l->stack_of, F_SYMBOL),
		     address = archive_database_text(l->stack_of, F_ADDRESS);
	struct world_frame raw = { .kind = FRAME_UNKNOWN };
	uint32_t path = text_of(l, F_FILE);

	if (archive_database_text(l->stack_of, F_PY_FUNCTION).n)
		return python_frame(l);
	if (path)
		raw.module = world_module(l->w, &(struct world_module){ .path = path });
	if (symbol.n)
		return named_frame(l, raw.module, symbol);
	raw.offset = address.n ? strtoull(address.p, NULL, 16) : 0;
	return world_frame(l->w, &raw);
}

uint32_t agent_stack(struct agent_recording *l, int64_t hash)
{
	uint32_t frames[FRAMES_MAX];
	uint64_t stack = 0;
	unsigned n = 0;

	if (hash == 0 || !l->stack_of || map_get(&l->stack_by, (uint64_t)hash, &stack))
		return (uint32_t)stack;
	sqlite3_reset(l->stack_of);
	sqlite3_bind_int64(l->stack_of, 1, hash);
	while (n < FRAMES_MAX && sqlite3_step(l->stack_of) == SQLITE_ROW)
		frames[n++] = frame_of(l);
	archive_database_asked(l->db);
	stack = world_stack(l->w, frames, n);
	map_put(&l->stack_by, (uint64_t)hash, stack);
	return (uint32_t)stack;
}
