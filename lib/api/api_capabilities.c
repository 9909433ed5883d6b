/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers which kinds of data the recording has; for those that it lacks, with the option that
 * records them, or with the tool that does if ingero never has them.
 */
#include <string.h>

#include "lib/event/record.h"
#include "lib/event/section_rows.h"
#include "lib/api/api_state.h"
#include "lib/world/stack_ends.h"

/* How it is known that something is there. */
enum known_by {
	BY_SOURCE, /* events of it, or its library attached */
	BY_OP,	   /* events whose op begins so */
	BY_METRIC,
	BY_OFFCPU,
	BY_STACKS,
	BY_CPU_SAMPLES,
	BY_MEMORY,
	NEVER, /* not by us */
};

static const struct capability {
	const char *id, *label;
	enum known_by by;
	unsigned number; /* of the source or metric */
	const char *op, *source;
	const char *tool, *tip; /* who has it; what it means or how it comes to be recorded */
} capabilities[] = {
	{ "cuda_runtime", "CUDA runtime calls", BY_SOURCE, SOURCE_CUDA, NULL,
	  "uprobes on libcudart", NULL, "Latency, result and call site of every call" },
	{ "cuda_driver", "CUDA driver calls", BY_SOURCE, SOURCE_DRIVER, NULL, "uprobes on libcuda",
	  NULL, "Also of programs that carry their own runtime" },
	{ "cuda_graphs", "CUDA graphs", BY_OP, 0, "cu*Graph*", "uprobes on libcudart and libcuda",
	  NULL,
	  "Captures, instantiations, launches; there is none when the program makes no graph" },
	{ "nccl", "NCCL collectives", BY_SOURCE, SOURCE_NCCL, NULL, "uprobes on libnccl", NULL,
	  "There is none when the program uses one GPU" },
	{ "marks", "NVTX ranges", BY_SOURCE, SOURCE_MARK, NULL, "libnvToolsExt, header-only NVTX",
	  NULL, "Names the program gives its own phases" },
	{ "device_memory", "Device memory by call site", BY_MEMORY, 0, NULL,
	  "allocations and frees", NULL, "What is held, by whom, and what never was freed" },
	{ "native_stacks", "Stacks of calls", BY_STACKS, 0, NULL,
	  "frame pointers, and CPython's own frames", NULL, "The line of code behind a call" },
	{ "off_cpu", "Where threads wait", BY_OFFCPU, 0, NULL, "the scheduler's tracepoints", NULL,
	  "Preempted by whom, blocked on what" },
	{ "cpu_samples", "Where the CPU is used", BY_CPU_SAMPLES, 0, NULL, "perf_event",
	  "ingero-record without -F 0", NULL },
	{ "block_io", "Disks", BY_OP, 0, "block", "the block layer's tracepoints", NULL,
	  "There is none when nothing was read or written" },
	{ "files", "Files that calls wait for", BY_OP, 0, "file",
	  "system calls that read and write", NULL, "There is none when no call waited" },
	{ "sockets", "Sockets that calls wait for", BY_OP, 0, "socket",
	  "system calls that send and receive", NULL, "There is none when no call waited" },
	{ "tcp", "TCP retransmits", BY_OP, 0, "retransmit", "the tracepoint of TCP", NULL,
	  "There is none when nothing was sent again" },
	{ "system_cpu", "CPU of the machine", BY_METRIC, METRIC_CPU_BUSY, NULL, "/proc/stat", NULL,
	  NULL },
	{ "system_memory", "Memory of the machine", BY_METRIC, METRIC_MEM_USED, NULL,
	  "/proc/meminfo", NULL, NULL },
	{ "pressure", "Pressure (PSI)", BY_METRIC, METRIC_PSI_CPU_SOME, NULL, "/proc/pressure",
	  NULL, "Missing where the kernel was started without psi=1" },
	{ "steal", "Time stolen by a hypervisor", BY_METRIC, METRIC_STEAL_NS, NULL, "/proc/stat",
	  NULL, NULL },
	{ "gpu_utilization", "GPU utilization", BY_METRIC, METRIC_GPU_BUSY, NULL, "NVML",
	  "nvidia-smi dmon", NULL },
	{ "gpu_memory", "GPU memory in use", BY_METRIC, METRIC_GPU_MEM_USED, NULL, "NVML",
	  "nvidia-smi", NULL },
	{ "gpu_power", "GPU power", BY_METRIC, METRIC_GPU_POWER, NULL, "NVML",
	  "nvidia-smi dmon -s p", NULL },
	{ "gpu_temperature", "GPU temperature", BY_METRIC, METRIC_GPU_TEMPERATURE, NULL, "NVML",
	  "nvidia-smi dmon -s p", NULL },
	{ "gpu_clock", "GPU clocks and what limits them", BY_METRIC, METRIC_GPU_SM_CLOCK, NULL,
	  "NVML", "nvidia-smi -q -d PERFORMANCE", NULL },
	{ "pcie", "PCIe throughput", BY_METRIC, METRIC_GPU_PCIE_TX, NULL, "NVML",
	  "nvidia-smi dmon -s t", NULL },
	{ "ecc", "ECC errors", BY_METRIC, METRIC_GPU_ECC_CORRECTED, NULL, "NVML",
	  "nvidia-smi -q -d ECC", NULL },
	{ "xid", "XID errors of the driver", BY_METRIC, METRIC_GPU_XID, NULL,
	  "NVML, the kernel's log", "dmesg", "There is none when the driver had no error" },
	{ "kernel_time", "Time of each kernel on the GPU", NEVER, 0, NULL, NULL,
	  "Nsight Systems (nsys profile)", "Here it is the wait for the device that is measured" },
	{ "sm_occupancy", "SM occupancy", NEVER, 0, NULL, NULL, "Nsight Compute (ncu)", NULL },
	{ "warp_stalls", "Why warps stall", NEVER, 0, NULL, NULL, "Nsight Compute (ncu)", NULL },
	{ "tensor_cores", "Use of tensor cores", NEVER, 0, NULL, NULL, "DCGM (dcgmi dmon -e 1004)",
	  NULL },
	{ "dram_bandwidth", "Bandwidth of GPU memory", NEVER, 0, NULL, NULL,
	  "DCGM (dcgmi dmon -e 1005)", NULL },
	{ "nvlink", "NVLink throughput", NEVER, 0, NULL, NULL, "DCGM (dcgmi dmon -e 1011,1012)",
	  NULL },
	{ "infiniband", "InfiniBand counters", NEVER, 0, NULL, NULL, "perfquery, rdma statistic",
	  NULL },
	{ "framework_ops", "Operators of PyTorch", NEVER, 0, NULL, NULL, "torch.profiler",
	  "The Python line behind a call is here" },
	{ "serving", "Tokens and requests of a server", NEVER, 0, NULL, NULL,
	  "the server's own metrics", NULL },
	{ "gpu_page_faults", "Page faults of managed memory", NEVER, 0, NULL, NULL,
	  "Nsight Systems (--cuda-um-gpu-page-faults)", NULL },
	{ "node_power", "Power of the whole machine", NEVER, 0, NULL, NULL,
	  "ipmitool dcmi power reading", NULL },
};

static bool begins_so(const struct ops_summary *s, const char *pattern)
{
	size_t n = strcspn(pattern, "*");
	const char *inside = pattern[n] ? pattern + n + 1 : "";
	size_t m = strcspn(inside, "*");
	char word[32] = "";

	memcpy(word, inside, m < sizeof(word) ? m : sizeof(word) - 1);
	for (size_t i = 0; i < s->rows.n; i++)
		if (!strncmp(s->rows.v[i].op->name, pattern, n) &&
		    strstr(s->rows.v[i].op->name, word))
			return true;
	return false;
}

static bool source_there(const struct store_stat *st, unsigned source)
{
	const char *layer = source_layer((uint8_t)source);

	for (size_t i = 0; i < st->ops->rows.n; i++)
		if (st->ops->rows.v[i].op->source == source)
			return true;
	for (size_t i = 0; layer && i < st->ops->layers.n; i++) {
		const struct ops_layer *l = &st->ops->layers.v[i];

		if (l->attached && bytes_equal(world_text(st->w, l->layer), bytes_of(layer)))
			return true;
	}
	return false;
}

static bool is_sampled(const struct view *v, unsigned metric)
{
	for (size_t i = 0; v && i < v->metrics.n; i++)
		if (v->metrics.v[i].metric == metric)
			return true;
	return v && metric == METRIC_GPU_XID && v->xids.n;
}

static bool is_available(const struct store_stat *st, const struct capability *c)
{
	switch (c->by) {
	case BY_SOURCE:
		return source_there(st, c->number);
	case BY_OP:
		return begins_so(st->ops, c->op);
	case BY_METRIC:
		return is_sampled(st->ops->view, c->number);
	case BY_OFFCPU:
		return st->ops->view && st->ops->view->off_cpu;
	case BY_STACKS:
		return st->ops->stacks && st->ops->stacks->events;
	case BY_CPU_SAMPLES:
		return st->ops->cpu_hz || st->ops->cpu_hz_differs;
	case BY_MEMORY:
		return st->ops->view && st->ops->view->memory.n;
	case NEVER:
		return false;
	}
	return false;
}

static int write_answer(void *ctx, const struct store_stat *st, struct err *e)
{
	struct api_request *q = ctx;
	struct jsonw *j = &q->j;

	jsonw_array_begin(j);
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
		const struct capability *c = &capabilities[i];
		bool is = is_available(st, c);

		jsonw_object_begin(j);
		jsonw_key_str(j, "id", c->id);
		jsonw_key_str(j, "label", c->label);
		jsonw_key_bool(j, "available", is);
		if (c->source)
			jsonw_key_str(j, "source", c->source);
		if (!is && c->tool)
			jsonw_key_str(j, "required_tool", c->tool);
		if (c->tip)
			jsonw_key_str(j, "tooltip", c->tip);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	return 0;
}

int api_capabilities(struct api_request *q, struct err *e)
{
	return api_query_stat(q, write_answer, e);
}
