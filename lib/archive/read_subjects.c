/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads processes, threads, stacks and all else that events refer to, and interns them in the order
 * of their ids; a reference to a missing one becomes none.
 */
#include <stdlib.h>

#include "lib/archive/read_internal.h"

uint32_t read_id(const struct archive_reader *r, enum world_kind kind, int64_t id)
{
	uint64_t is = 0;

	map_get(&r->ids[kind], (uint64_t)id, &is);
	return (uint32_t)is;
}

static uint32_t id_at(const struct archive_reader *r, sqlite3_stmt *s, enum world_kind kind,
		      int column)
{
	return read_id(r, kind, sqlite3_column_int64(s, column));
}

static uint32_t text_at(struct archive_reader *r, sqlite3_stmt *s, int column)
{
	if (sqlite3_column_type(s, column) == SQLITE_NULL)
		return 0;
	return world_string(r->w, archive_database_text(s, column));
}

static uint32_t u32_at(sqlite3_stmt *s, int column)
{
	return (uint32_t)sqlite3_column_int64(s, column);
}

static uint32_t node_of(struct archive_reader *r, sqlite3_stmt *s)
{
	struct world_node v = { .boot = (uint64_t)sqlite3_column_int64(s, 2),
				.name = text_at(r, s, 3) };
	struct bytes uuid = archive_database_text(s, 1);

	for (unsigned i = 0; i < 16 && 2 * i + 1 < uuid.n; i++) {
		char hex[3] = { uuid.p[2 * i], uuid.p[2 * i + 1], '\0' };

		v.uuid[i] = (uint8_t)strtoul(hex, NULL, 16);
	}
	return world_node(r->w, &v);
}

static uint32_t process_of(struct archive_reader *r, sqlite3_stmt *s)
{
	return world_process(
		r->w, &(struct world_process){ .node = id_at(r, s, WORLD_NODE, 1),
					       .tgid = u32_at(s, 2),
					       .start_ns = (uint64_t)sqlite3_column_int64(s, 3),
					       .parent = u32_at(s, 4),
					       .ns_tgid = u32_at(s, 5),
					       .uid = u32_at(s, 6) });
}

static uint32_t image_of(struct archive_reader *r, sqlite3_stmt *s)
{
	return world_image(r->w, &(struct world_image){ .process = id_at(r, s, WORLD_PROCESS, 1),
							.exec = u32_at(s, 2),
							.exe = text_at(r, s, 3),
							.cmdline = text_at(r, s, 4),
							.comm = text_at(r, s, 5) });
}

static uint32_t thread_of(struct archive_reader *r, sqlite3_stmt *s)
{
	return world_thread(
		r->w, &(struct world_thread){ .process = id_at(r, s, WORLD_PROCESS, 1),
					      .tid = u32_at(s, 2),
					      .start_ns = (uint64_t)sqlite3_column_int64(s, 3),
					      .comm = text_at(r, s, 4) });
}

static uint32_t cgroup_of(struct archive_reader *r, sqlite3_stmt *s)
{
	return world_cgroup(r->w,
			    &(struct world_cgroup){ .node = id_at(r, s, WORLD_NODE, 1),
						    .id = (uint64_t)sqlite3_column_int64(s, 2),
						    .path = text_at(r, s, 3) });
}

static uint32_t gpu_of(struct archive_reader *r, sqlite3_stmt *s)
{
	return world_gpu(r->w, &(struct world_gpu){ .node = id_at(r, s, WORLD_NODE, 1),
						    .uuid = text_at(r, s, 2),
						    .name = text_at(r, s, 3),
						    .index = u32_at(s, 4) });
}

static uint32_t module_of(struct archive_reader *r, sqlite3_stmt *s)
{
	return world_module(r->w, &(struct world_module){ .path = text_at(r, s, 1),
							  .build_id = text_at(r, s, 2) });
}

static uint32_t frame_of(struct archive_reader *r, sqlite3_stmt *s)
{
	int64_t kind = sqlite3_column_int64(s, 1);
	struct world_symbol symbol;
	uint32_t frame;

	if (kind < FRAME_NATIVE || kind > FRAME_GAP)
		kind = FRAME_UNKNOWN;
	frame = world_frame(r->w,
			    &(struct world_frame){ .kind = (uint8_t)kind,
						   .module = id_at(r, s, WORLD_MODULE, 2),
						   .offset = (uint64_t)sqlite3_column_int64(s, 3),
						   .name = text_at(r, s, 4),
						   .file = text_at(r, s, 5) });
	if (sqlite3_column_type(s, 6) != SQLITE_NULL) {
		symbol = (struct world_symbol){ .name = text_at(r, s, 6),
						.file = text_at(r, s, 7),
						.line = u32_at(s, 8),
						.delta = (uint64_t)sqlite3_column_int64(s, 9) };
		world_symbol(r->w, frame, &symbol);
	}
	return frame;
}

/* "[12,3]"; what is no number ends it. */
static uint32_t stack_of(struct archive_reader *r, sqlite3_stmt *s)
{
	const char *p = (const char *)sqlite3_column_text(s, 1);
	uint32_t frames[WORLD_STACK_MAX];
	unsigned n = 0;

	for (p = p && *p == '[' ? p + 1 : ""; *p >= '0' && *p <= '9' && n < WORLD_STACK_MAX;) {
		char *end;
		uint32_t frame = read_id(r, WORLD_FRAME, (int64_t)strtoull(p, &end, 10));

		if (frame)
			frames[n++] = frame;
		p = *end == ',' ? end + 1 : "";
	}
	return world_stack_with_end(r->w, frames, n, (uint32_t)sqlite3_column_int64(s, 2));
}

static uint32_t ctx_of(struct archive_reader *r, sqlite3_stmt *s)
{
	return world_ctx(r->w, &(struct world_ctx){ .node = id_at(r, s, WORLD_NODE, 1),
						    .image = id_at(r, s, WORLD_IMAGE, 2),
						    .thread = id_at(r, s, WORLD_THREAD, 3),
						    .cgroup = id_at(r, s, WORLD_CGROUP, 4),
						    .gpu = id_at(r, s, WORLD_GPU, 5) });
}

/* ---- what it brought with it: definitions that cannot be are left out, and their events with them
 * ---- */

static int read_columns(struct archive_reader *r, struct err *e)
{
	static const char *const columns[] = { "id", "name", "role", "unit" };
	sqlite3_stmt *s;
	int rc = archive_database_select(r->db, r->path, &s, "columns", columns, 4, "ORDER BY id",
					 e);

	while (rc == 0 && (rc = archive_database_next(r->db, r->path, s, e)) > 0) {
		int64_t id = sqlite3_column_int64(s, 0), role = sqlite3_column_int64(s, 2);
		const char *name = (const char *)sqlite3_column_text(s, 1),
			   *unit = (const char *)sqlite3_column_text(s, 3);

		rc = 0;
		if (id > 0 && id < 65536 && role >= 0 && role <= ROLE_STACK && name)
			world_column_define(r->w,
					    &(struct column_def){ .id = (uint16_t)id,
								  .name = name,
								  .role = (enum column_role)role,
								  .unit = unit ? unit : "" });
	}
	sqlite3_finalize(s);
	return rc;
}

static int read_ops(struct archive_reader *r, struct err *e)
{
	static const char *const columns[] = { "source", "number", "source_name", "name",
					       "track",	 "flags",  "columns" };
	sqlite3_stmt *s;
	int rc = archive_database_select(r->db, r->path, &s, "op_definitions", columns, 7,
					 "ORDER BY source, number", e);

	while (rc == 0 && (rc = archive_database_next(r->db, r->path, s, e)) > 0) {
		int64_t source = sqlite3_column_int64(s, 0), number = sqlite3_column_int64(s, 1),
			track = sqlite3_column_int64(s, 4);
		const char *source_text = (const char *)sqlite3_column_text(s, 2),
			   *name = (const char *)sqlite3_column_text(s, 3),
			   *p = (const char *)sqlite3_column_text(s, 6);
		struct op_def def = { .name = name,
				      .source_name = source_text,
				      .flags = u32_at(s, 5) };

		rc = 0;
		for (p = p && *p == '[' ? p + 1 : "";
		     *p >= '0' && *p <= '9' && def.ncols < OP_COLUMNS_MAX;) {
			char *end;

			def.cols[def.ncols++] = (uint16_t)strtoul(p, &end, 10);
			p = *end == ',' ? end + 1 : "";
		}
		if (source < 1 || source > 255 || number < 1 || number > 255 || !name ||
		    !source_text || track < TRACK_THREAD || track > TRACK_INSTANT)
			continue;
		def.id = (uint16_t)(source << 8 | number);
		def.source = (uint8_t)source;
		def.track = (enum op_track)track;
		world_op_define(r->w, &def);
	}
	sqlite3_finalize(s);
	return rc;
}

int read_subjects(struct archive_reader *r, struct err *e)
{
	static const struct {
		enum world_kind kind;
		const char *table;
		const char *columns[10];
		uint32_t (*of)(struct archive_reader *, sqlite3_stmt *);
	} kinds[] = {
		{ WORLD_NODE, "nodes", { "id", "uuid", "boot", "name" }, node_of },
		{ WORLD_PROCESS,
		  "processes",
		  { "id", "node", "pid", "start_ns", "parent", "inner_pid", "uid" },
		  process_of },
		{ WORLD_IMAGE,
		  "images",
		  { "id", "process", "exec", "exe", "command", "comm" },
		  image_of },
		{ WORLD_THREAD,
		  "threads",
		  { "id", "process", "tid", "start_ns", "comm" },
		  thread_of },
		{ WORLD_CGROUP, "cgroups", { "id", "node", "cgroup_id", "path" }, cgroup_of },
		{ WORLD_GPU, "gpus", { "id", "node", "uuid", "name", "number" }, gpu_of },
		{ WORLD_MODULE, "modules", { "id", "path", "build_id" }, module_of },
		{ WORLD_FRAME,
		  "frames",
		  { "id", "kind", "module", "offset", "name", "file", "symbol", "symbol_file",
		    "symbol_line", "symbol_delta" },
		  frame_of },
		{ WORLD_STACK, "stacks", { "id", "frames", "ended" }, stack_of },
		{ WORLD_CTX,
		  "contexts",
		  { "id", "node", "image", "thread", "cgroup", "gpu" },
		  ctx_of },
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !rc; i++) {
		sqlite3_stmt *s;
		unsigned n = 0;

		while (n < 10 && kinds[i].columns[n])
			n++;
		rc = archive_database_select(r->db, r->path, &s, kinds[i].table, kinds[i].columns,
					     n, "ORDER BY id", e);
		while (rc == 0 && (rc = archive_database_next(r->db, r->path, s, e)) > 0) {
			uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);

			rc = map_put(&r->ids[kinds[i].kind], id, kinds[i].of(r, s)) &&
					     !world_failed(r->w)
				     ? 0
				     : err_nomem(e);
		}
		sqlite3_finalize(s);
	}
	rc = rc ? rc : read_columns(r, e);
	return rc ? rc : read_ops(r, e);
}
