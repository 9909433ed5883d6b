/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can happen: sources, ops and columns, from formats/ops.def. An op number is global to
 * the format (source << 8 | number) and never reused, so the same number means the same op in
 * every file; ops this program does not know are defined by the file that holds them.
 */
#ifndef INGERO_EVENT_OP_H
#define INGERO_EVENT_OP_H

#include <stdbool.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum event_source {
#define SOURCE(number, id, name, layer) SOURCE_##id = number,
#include "formats/ops.def"
};

/* What a column's values are, so that merge, slice and JSON handle unknown columns, too. */
enum column_role {
	ROLE_OPAQUE,
	ROLE_TIME,     /* ns on the recording's clock */
	ROLE_DURATION, /* ns */
	ROLE_BYTES,
	ROLE_COUNT,
	ROLE_ENUM,   /* small number with names */
	ROLE_HANDLE, /* pointer or handle: hexadecimal text in JSON */
	ROLE_CPU,
	ROLE_THREAD,  /* world thread id (dictionary id in files) */
	ROLE_PROCESS, /* world process id */
	ROLE_CGROUP,
	ROLE_GPU,
	ROLE_STACK,
};

enum column_id {
#define COLUMN(number, id, name, role, unit) COL_##id = number,
#include "formats/ops.def"
};

struct column_def {
	uint16_t id;
	const char *name;
	enum column_role role;
	const char *unit; /* "" when it has none */
};

/* How an event lies in time. */
enum op_track {
	TRACK_THREAD,  /* nests on its thread */
	TRACK_CPU,     /* nests on a CPU; its ctx has no thread */
	TRACK_ASYNC,   /* may overlap anything and outlive its issuer's call */
	TRACK_INSTANT, /* has no duration */
};

enum op_flag {
	OP_CALL = 1 << 0,   /* a traced function call: counted, nested, classed */
	OP_STATE = 1 << 1,  /* what the kernel did to a thread or CPU */
	OP_LIFE = 1 << 2,   /* birth, exec and death */
	OP_SUBMIT = 1 << 3, /* gives the device work */
	OP_SYNC = 1 << 4,   /* may wait for the device */
	OP_LAUNCH = 1 << 5,
	OP_COPY = 1 << 6,
	OP_ALLOC = 1 << 7,
	OP_FREE = 1 << 8,
};

#define OP_COLUMNS_MAX 16 /* extra columns of one op; SCHED_OFFCPU has the most */

struct op_def {
	uint16_t id;
	uint8_t source;
	const char *name;	 /* "cudaMalloc"; unique within its source */
	const char *source_name; /* "cuda" */
	enum op_track track;
	uint32_t flags;
	uint8_t ncols;
	uint16_t cols[OP_COLUMNS_MAX];
};

enum op_id {
#define OP(source, number, id, name, track, flags, columns) \
	OP_##id = SOURCE_##source << 8 | (number),
#include "formats/ops.def"
};

/* object_kind of an off-CPU interval: what the thread slept on. */
enum event_object {
	OBJECT_NONE = 0,
	OBJECT_FUTEX = 1, /* object = address */
	OBJECT_FD = 2,	  /* object = file descriptor */
	OBJECT_TIMER = 3, /* sleep: nanosleep, timeouts of poll with nothing to watch */
	OBJECT_DISK = 4,  /* in_iowait; object = dev_t when known */
	OBJECT_FAULT = 5, /* page fault */
	OBJECT_GPU = 6,	  /* inside an nvidia device file's ioctl or poll */
	OBJECT_CHILD = 7, /* wait4 and friends */
	OBJECT_STOP = 8,  /* stopped or traced (SIGSTOP, ptrace) */
	OBJECT_POLL = 9,  /* poll, select, epoll: several descriptors */
	OBJECT_SOCKET = 10,
	OBJECT_GIL = 11,     /* a futex in the lock of CPython's interpreter; object = address */
	OBJECT_FREEZER = 12, /* frozen by its cgroup, or with the whole system */
	OBJECT_PROBE = 13,   /* at a probe of the recorder, for the process's memory map */
	OBJECT_MAP = 14,     /* the lock of the process's memory map (mmap_lock) */
};

/* What is known of a lock that a thread waits for. */
enum lock_type {
	LOCK_OTHER,
	LOCK_GIL, /* of a CPython interpreter */
	LOCK_MAP, /* of the process's memory map */
};

enum event_waker {
	WAKER_NONE = 0,
	WAKER_TASK = 1, /* the waker column names the thread */
	WAKER_HARDIRQ = 2,
	WAKER_SOFTIRQ = 3, /* the waker column, where there is one, names who may have sent */
	WAKER_TIMER = 4,   /* timeout expired */
	WAKER_SELF = 5,
};

/* Built-in definitions; NULL for numbers this program does not know. Borrowed, static. */
const struct op_def *op_builtin(uint16_t id);
const struct column_def *column_builtin(uint16_t id);

/* All built-in ops in the order of formats/ops.def; *n their count. */
const struct op_def *op_builtin_all(unsigned *n);

/* "cuda" for 1; NULL when unknown. And the layer heading it is shown under ("runtime", "driver",
 * "host"…). */
const char *source_name(uint8_t source);
const char *source_layer(uint8_t source);

/* Index of column col among def's extra columns, or -1. */
static inline int op_column(const struct op_def *def, uint16_t col)
{
#if defined(__SSE2__)
	/* All at once: an off-CPU interval's are asked for many times, and which comes next nobody
	 * can foresee. */
	__m128i of = _mm_set1_epi16((short)col);
	__m128i first =
		_mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)def->cols), of);
	__m128i last = _mm_cmpeq_epi16(
		_mm_loadu_si128((const __m128i *)(const void *)(def->cols + 8)), of);
	unsigned there = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(first, last));

	_Static_assert(OP_COLUMNS_MAX == 16, "eight and eight");
	there &= (1u << def->ncols) - 1;
	return there ? __builtin_ctz(there) : -1;
#else
	for (unsigned i = 0; i < def->ncols; i++)
		if (def->cols[i] == col)
			return (int)i;
	return -1;
#endif
}

#endif
