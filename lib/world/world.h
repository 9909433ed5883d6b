/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who and what exists: every subject that events and records refer to, interned by content so
 * that equal things have equal ids, whatever file or segment they came from. Ids are dense, start
 * at 1 and live as long as the world; 0 is "unknown" everywhere. Definitions never change; a name
 * that arrives late is added to a frame once (world_symbol), and to a thread from then on
 * (world_rename). Pointers returned are borrowed and stay valid until world_free. Interning returns
 * 0 only when memory is exhausted, and then world_failed() stays true: callers check once per
 * block, not per id. Memory grows with distinct things, never with events.
 */
#ifndef INGERO_WORLD_WORLD_H
#define INGERO_WORLD_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/event/op.h"

struct world;

struct world *world_new(void); /* NULL: out of memory */
void world_free(struct world *w);
bool world_failed(const struct world *w);

/* Strings: any bytes. id 0 is the absent string; the empty string has an id like any other. */
uint32_t world_string(struct world *w, struct bytes text);
struct bytes world_text(const struct world *w,
			uint32_t id); /* {NULL,0} for 0; otherwise NUL-terminated after n */

/* A machine between two boots. Key: uuid + boot. */
struct world_node {
	uint8_t uuid[16]; /* derived from machine-id */
	uint64_t boot;	  /* hash of boot_id */
	uint32_t name;	  /* string: hostname or -n */
};
/* Key: node + tgid + start_ns. tgid of the initial pid namespace. */
struct world_process {
	uint32_t node;
	uint32_t tgid;
	uint64_t start_ns; /* CLOCK_BOOTTIME at fork, as the kernel's start_boottime; 0 unknown */
	uint32_t parent;   /* tgid, 0 unknown */
	uint32_t ns_tgid;  /* pid inside its own namespace, 0 same or unknown */
	uint32_t uid;
};
/* What a process executes: changes at exec. Key: process + exec. */
struct world_image {
	uint32_t process;
	uint32_t exec;	  /* how many execs came before, 0 = first known */
	uint32_t exe;	  /* string */
	uint32_t cmdline; /* string, arguments blank separated */
	uint32_t comm;	  /* string */
};
/* Key: process + tid + start_ns. */
struct world_thread {
	uint32_t process;
	uint32_t tid;
	uint64_t start_ns;
	uint32_t comm; /* string; later changes are NAME records */
};
/* Key: node + id. */
struct world_cgroup {
	uint32_t node;
	uint64_t id; /* kernel cgroup id */
	uint32_t path;
};
/* Key: uuid string. */
struct world_gpu {
	uint32_t node;
	uint32_t uuid;
	uint32_t name;
	uint32_t index;
};
/* A file with code. Key: path + build_id. */
struct world_module {
	uint32_t path;
	uint32_t build_id; /* string of hex digits, 0 unknown */
	bool shared;	   /* by programs (module_owner.h), as the world finds out */
};
enum world_frame_kind {
	FRAME_NATIVE = 1,
	FRAME_KERNEL = 2,
	FRAME_PYTHON = 3,
	FRAME_UNKNOWN = 4,
	FRAME_GAP = 5
};
/* One place in code. Key: all of it but code. NATIVE: module + file offset; UNKNOWN: raw address in
 * offset; PYTHON: module = 0, offset = line (0 unknown), name and file given at once; GAP: frames
 * are missing here, name says why. */
struct world_frame {
	uint8_t kind;
	uint8_t code; /* PYTHON: enum python_code_kind, as the world finds out */
	uint32_t module;
	uint64_t offset;
	uint32_t name; /* string; PYTHON and GAP only */
	uint32_t file; /* string; PYTHON only */
};
/* What a native frame is called, when known. Added once, never changed. */
struct world_symbol {
	uint32_t name;	/* string, demangled */
	uint32_t file;	/* string, 0 unknown */
	uint32_t line;	/* 0 unknown */
	uint64_t delta; /* bytes from the start of the function */
};
/* Where and as whom an event happened. Key: all of it. */
struct world_ctx {
	uint32_t node;
	uint32_t image;
	uint32_t thread; /* 0: an event of a CPU or a device */
	uint32_t cgroup;
	uint32_t gpu;
};

uint32_t world_node(struct world *w, const struct world_node *v);
uint32_t world_process(struct world *w, const struct world_process *v);
uint32_t world_image(struct world *w, const struct world_image *v);
uint32_t world_thread(struct world *w, const struct world_thread *v);
uint32_t world_cgroup(struct world *w, const struct world_cgroup *v);
uint32_t world_gpu(struct world *w, const struct world_gpu *v);
uint32_t world_module(struct world *w, const struct world_module *v);
uint32_t world_frame(struct world *w, const struct world_frame *v);
uint32_t world_ctx(struct world *w, const struct world_ctx *v);
/* frames innermost first; n <= WORLD_STACK_MAX: the caller cuts deeper stacks. n == 0 gives 0. */
#define WORLD_STACK_MAX 512
uint32_t world_stack(struct world *w, const uint32_t *frames, unsigned n);

/* How the walk of the native frames of a stack went: a mask, part of its key. 0: not known. The
 * numbers are part of the file format and never change. */
enum world_stack_end {
	STACK_AT_START = 1 << 0, /* it reached the start of a thread or of the program */
	STACK_CUT = 1 << 1,	 /* it is deeper than is recorded */
	STACK_GUESSED = 1 << 2,	 /* a frame was found by the frame pointer alone, in code that no
				    table covers */
	STACK_NO_TABLE = 1 << 3, /* it ended in a file without an unwind table */
	STACK_NO_RULE =
		1 << 4, /* it ended at an instruction that no rule covers, or at no known code */
	STACK_UNREADABLE = 1 << 5, /* its memory could not be read */
	STACK_STUCK = 1 << 6,	   /* the next frame would not be further out */
	STACK_CHANGING = 1 << 7,   /* what was mapped was changing: any frame may be wrong */
	STACK_FRAME_POINTERS =
		1 << 8, /* it went by frame pointers alone: frames may be left out unmarked */
};
uint32_t world_stack_with_end(struct world *w, const uint32_t *frames, unsigned n, uint32_t end);
uint32_t world_stack_end(const struct world *w, uint32_t id);

/* NULL for id 0 and ids never minted. */
const struct world_node *world_get_node(const struct world *w, uint32_t id);
const struct world_process *world_get_process(const struct world *w, uint32_t id);
const struct world_image *world_get_image(const struct world *w, uint32_t id);
const struct world_thread *world_get_thread(const struct world *w, uint32_t id);
/* The process of a thread, and its id; NULL, 0: it is not known. */
static inline const struct world_process *world_thread_process(const struct world *w, uint32_t id)
{
	const struct world_thread *t = world_get_thread(w, id);

	return t ? world_get_process(w, t->process) : NULL;
}
static inline uint32_t world_thread_process_id(const struct world *w, uint32_t id)
{
	const struct world_thread *t = world_get_thread(w, id);

	return t ? t->process : 0;
}
/* The process's pid, and its node; 0: not known. */
static inline uint32_t world_process_pid(const struct world *w, uint32_t id)
{
	const struct world_process *p = world_get_process(w, id);

	return p ? p->tgid : 0;
}
static inline uint32_t world_process_node(const struct world *w, uint32_t id)
{
	const struct world_process *p = world_get_process(w, id);

	return p ? p->node : 0;
}
const struct world_cgroup *world_get_cgroup(const struct world *w, uint32_t id);
/* Names of a node and of a cgroup; none: not known. */
static inline struct bytes world_node_name(const struct world *w, uint32_t id)
{
	const struct world_node *n = world_get_node(w, id);

	return n ? world_text(w, n->name) : (struct bytes){ 0 };
}
static inline struct bytes world_cgroup_path(const struct world *w, uint32_t id)
{
	const struct world_cgroup *g = world_get_cgroup(w, id);

	return g ? world_text(w, g->path) : (struct bytes){ 0 };
}
const struct world_gpu *world_get_gpu(const struct world *w, uint32_t id);
const struct world_module *world_get_module(const struct world *w, uint32_t id);
const struct world_frame *world_get_frame(const struct world *w, uint32_t id);
const struct world_ctx *world_get_ctx(const struct world *w, uint32_t id);
const uint32_t *world_get_stack(const struct world *w, uint32_t id, unsigned *n);
/* The process of a context, by its image or by its thread; 0: it is not known. */
static inline uint32_t world_ctx_process_id(const struct world *w, uint32_t id)
{
	const struct world_ctx *c = world_get_ctx(w, id);
	const struct world_image *image = c ? world_get_image(w, c->image) : NULL;

	if (image)
		return image->process;
	return c ? world_thread_process_id(w, c->thread) : 0;
}

/* First call for a frame holds; later ones are ignored. */
void world_symbol(struct world *w, uint32_t frame, const struct world_symbol *v);
const struct world_symbol *world_get_symbol(const struct world *w,
					    uint32_t frame); /* NULL: no name yet */

/* A thread calls itself something else since then: a world string. In any order of time, and as
 * often as it is met. */
void world_rename(struct world *w, uint32_t thread, int64_t since_ns, uint32_t name);

/* What a thread called itself then (INT64_MAX: what it does now), of its last RENAMES_MAX names; 0
 * unknown. */
uint32_t world_thread_name(const struct world *w, uint32_t thread, int64_t at_ns);

/* What people call a process then: the name its main thread had, whole where the kernel cuts it,
 * with the script where that is an interpreter's (lib/world/program_name.h); else its image's, else
 * that of a thread of it. image 0: the newest one known of it. A world string, 0 unknown. */
uint32_t world_process_name(const struct world *w, uint32_t process, uint32_t image, int64_t at_ns);

/* What it was called when the image was first met, where it calls itself something else now; 0: it
 * does not. */
uint32_t world_process_was(const struct world *w, uint32_t process, uint32_t image);

/* Where names come from that no definition brought, as symbol tables that travelled with a
 * recording: asked by world_get_symbol, once for each frame that has no name then, the namer added
 * first before the others. True: *out holds. Owned by the world from here on, and freed with it; 0,
 * or ERR_NOMEM with ctx freed. */
struct world_namer {
	bool (*name)(void *ctx, struct world *w, uint32_t frame, struct world_symbol *out);
	void (*free)(void *ctx);
	void *ctx;
};
int world_add_namer(struct world *w, const struct world_namer *namer, struct err *e);

/* Names in the order they became known: i runs 1..world_symbols(); the frame i belongs to. */
uint32_t world_symbols(const struct world *w);
uint32_t world_symbol_frame(const struct world *w, uint32_t i);

/* Ops: built-in ones are always there; others are defined by the file that holds them. A definition
 * that contradicts an existing one of the same number is refused (returns false). */
bool world_op_define(struct world *w, const struct op_def *def);
const struct op_def *world_op(const struct world *w, uint16_t op);
bool world_column_define(struct world *w, const struct column_def *def);
const struct column_def *world_column(const struct world *w, uint16_t column);
/* How many ops and columns files have defined so far that are not built in. */
uint32_t world_foreign(const struct world *w);

/* Kinds of subjects, for code that walks them all (the file writer). */
enum world_kind {
	WORLD_STRING,
	WORLD_NODE,
	WORLD_PROCESS,
	WORLD_IMAGE,
	WORLD_THREAD,
	WORLD_CGROUP,
	WORLD_GPU,
	WORLD_MODULE,
	WORLD_FRAME,
	WORLD_STACK,
	WORLD_CTX,
	WORLD_KINDS
};

/* What values of a column with that role are ids of; -1: of nothing. */
static inline int world_kind_of_role(enum column_role role)
{
	switch (role) {
	case ROLE_THREAD:
		return WORLD_THREAD;
	case ROLE_PROCESS:
		return WORLD_PROCESS;
	case ROLE_CGROUP:
		return WORLD_CGROUP;
	case ROLE_GPU:
		return WORLD_GPU;
	case ROLE_STACK:
		return WORLD_STACK;
	default:
		return -1;
	}
}
uint32_t world_count(const struct world *w, enum world_kind kind); /* ids run 1..count */

#endif
