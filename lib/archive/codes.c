/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps ops to the Go agent's op codes and back. The table holds only those with different numbers,
 * by the direction of a transfer where the agent has an op for each direction.
 */
#include "lib/archive/codes.h"

#include <stddef.h>

#define ANY (-1) /* whatever the write column says, and when it says nothing */

static const struct {
	uint8_t source, op;
	uint16_t is;
	int8_t write;	  /* the value of that column, ANY, or NONE: it is absent */
	const char *name; /* NULL: the op's own */
} codes[] = {
	{ 1, 5, OP_CUDA_STREAM_SYNC, ANY, "cudaStreamSync" },
	{ 1, 6, OP_CUDA_DEVICE_SYNC, ANY, "cudaDeviceSync" },
	{ 1, 9, OP_CUDA_MEMCPY_2D, ANY, NULL },
	{ 1, 10, OP_CUDA_MEMCPY_2D_ASYNC, ANY, NULL },
	{ 1, 11, OP_CUDA_MEMCPY_PEER, ANY, NULL },
	{ 1, 12, OP_CUDA_MEMCPY_PEER_ASYNC, ANY, NULL },
	{ 3, 1, OP_SCHED_OFFCPU, ANY, "sched_switch" },
	{ 3, 4, OP_PROC_OOM, ANY, "oom_kill" },
	{ 3, 5, OP_PROC_EXEC, ANY, "process_exec" },
	{ 3, 6, OP_PROC_EXIT, ANY, "process_exit" },
	{ 3, 7, OP_PROC_FORK, ANY, "process_fork" },
	{ 3, 36, OP_MEM_RECLAIM, ANY, NULL },
	{ 3, 37, OP_MEM_COMPACT, ANY, NULL },
	{ 3, 38, OP_MEM_FAULT, ANY, NULL },
	{ 5, 2, OP_IO_BLOCK, 1, "block_write" },
	{ 5, 3, OP_IO_BLOCK, 3, "block_discard" },
	{ 5, 4, OP_IO_BLOCK, 2, "block_flush" },
	{ 5, 1, OP_IO_BLOCK, ANY, "block_read" },
	{ 5, 34, OP_IO_FILE, ANY, NULL },
	{ 6, 1, OP_NET_RETRANSMIT, ANY, "tcp_retransmit" },
	{ 7, 1, OP_NET_SOCKET, 1, "net_send" },
	{ 7, 2, OP_NET_SOCKET, 0, "net_recv" },
	{ 7, 34, OP_NET_SOCKET, ANY, NULL },
	{ 8, 1, OP_CUDA_STREAM_BEGIN_CAPTURE, ANY, "graphBeginCapture" },
	{ 8, 2, OP_CUDA_STREAM_END_CAPTURE, ANY, "graphEndCapture" },
	{ 8, 3, OP_CUDA_GRAPH_INSTANTIATE, ANY, "graphInstantiate" },
	{ 8, 4, OP_CUDA_GRAPH_LAUNCH, ANY, "graphLaunch" },
};
#define CODES (sizeof(codes) / sizeof(codes[0]))

/* Ops of the Go agent that nothing here is. */
static const struct {
	uint8_t source, op;
	const char *name;
} theirs[] = {
	{ 3, 2, "sched_wakeup" },	   { 3, 3, "mm_page_alloc" },
	{ 3, 10, "pod_restart" },	   { 3, 11, "pod_eviction" },
	{ 3, 12, "pod_oom_kill" },	   { 3, 20, "mm_page_alloc_summary" },
	{ 3, 21, "sched_switch_summary" },
};
#define THEIRS (sizeof(theirs) / sizeof(theirs[0]))

const struct archive_source_name archive_sources[] = {
	{ 1, "CUDA", "CUDA runtime calls" },
	{ 2, "NVIDIA", "not used" },
	{ 3, "HOST", "scheduler, memory and processes of the host" },
	{ 4, "DRIVER", "CUDA driver calls" },
	{ 5, "IO", "block devices and files" },
	{ 6, "TCP", "retransmitted segments" },
	{ 7, "NET", "sockets" },
	{ 8, "CUDA_GRAPH", "capture and launch of CUDA graphs" },
	{ 9, "NCCL", "collective calls" },
	{ 16, "SCHED", "CPUs that threads waited for" },
	{ 17, "MARK", "what programs say of themselves" },
	{ 18, "CPU", "samples of threads on their CPUs" },
	{ 0, NULL, NULL },
};

static int find_code(uint16_t op)
{
	for (size_t i = 0; i < CODES; i++) {
		if (codes[i].is == op)
			return (int)i;
	}
	return -1;
}

struct archive_code archive_code_of(const struct event *ev, const struct op_def *def)
{
	uint64_t write;

	switch (ev->op >> 8) {
	case SOURCE_CUDA:
	case SOURCE_HOST:
	case SOURCE_IO:
	case SOURCE_NET:
	case SOURCE_SCHED:
		break;
	default:
		goto own;
	}
	for (int i = find_code(ev->op); i >= 0 && i < (int)CODES && codes[i].is == ev->op; i++) {
		if (codes[i].write == ANY ||
		    (event_get(ev, def, COL_WRITE, &write) && write == (uint64_t)codes[i].write))
			return (struct archive_code){ codes[i].source, codes[i].op };
	}
own:
	return (struct archive_code){
		ev->op >> 8, (ev->op & 0xff) + (op_builtin(ev->op) ? 0 : ARCHIVE_FOREIGN_OP)
	};
}

uint16_t archive_op_of(int64_t source, int64_t op)
{
	uint16_t is;

	if (source < 1 || source > 255 || op < 1 || op >= ARCHIVE_FOREIGN_OP + 256)
		return 0;
	for (size_t i = 0; i < CODES; i++) {
		if (codes[i].source == source && codes[i].op == op)
			return codes[i].is;
	}
	is = (uint16_t)(source << 8 | (op & 0xff));
	/* Written as foreign because the writer's version did not know the op; ours may. */
	if (op >= ARCHIVE_FOREIGN_OP)
		return is;
	return op_builtin(is) && find_code(is) < 0 ? is : 0;
}

static uint64_t get_value(const struct event *ev, const struct op_def *def, uint16_t col)
{
	uint64_t value = 0;

	event_get(ev, def, col, &value);
	return value;
}

struct archive_args archive_args_of(const struct event *ev, const struct op_def *def,
				    uint32_t child_tid)
{
	struct archive_args a = { { 0, 0 } };

	switch (ev->op) {
	case OP_IO_BLOCK:
		a.v[0] = get_value(ev, def, COL_BYTES) / 512;
		a.v[1] = get_value(ev, def, COL_SECTOR);
		return a;
	case OP_NET_SOCKET:
		a.v[0] = get_value(ev, def, COL_FD);
		return a;
	case OP_PROC_FORK:
		a.v[1] = child_tid;
		return a;
	default:
		break;
	}
	if (!(def->flags & OP_CALL))
		return a;
	for (unsigned i = 0; i < 2 && i < def->ncols; i++)
		a.v[i] = ev->present >> i & 1 ? ev->x[i] : 0;
	return a;
}

bool archive_arg0_adds(const struct op_def *def)
{
	return def->id == OP_IO_BLOCK || (def->ncols && def->cols[0] == COL_BYTES);
}

bool archive_code_name(unsigned i, struct archive_code_name *out)
{
	unsigned n;
	const struct op_def *all = op_builtin_all(&n);

	if (i < CODES) {
		const struct op_def *def = op_builtin(codes[i].is);

		*out = (struct archive_code_name){ { codes[i].source, codes[i].op },
						   codes[i].name ? codes[i].name : def->name,
						   def };
		return true;
	}
	i -= CODES;
	if (i < THEIRS) {
		*out = (struct archive_code_name){ { theirs[i].source, theirs[i].op },
						   theirs[i].name,
						   NULL };
		return true;
	}
	i -= THEIRS;
	for (unsigned k = 0; k < n; k++) {
		if (find_code(all[k].id) >= 0 || i--)
			continue;
		*out = (struct archive_code_name){ { all[k].source, all[k].id & 0xff },
						   all[k].name,
						   &all[k] };
		return true;
	}
	return false;
}
