/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the metrics of one GPU through NVML, once per round. Most are rows of a table: a new one is
 * a row, and a METRIC in formats/records.def. Invariant: a function that answered "not supported"
 * for a GPU is not called for it again.
 */
#include "lib/host/nvml_internal.h"

#include "lib/event/record.h"

/* How a function is called: what it takes behind the device, and what it fills. */
enum answer_layout {
	U32,	 /* (unsigned *) */
	U32_ARG, /* (int, unsigned *) */
	U32_TWO, /* (unsigned *, unsigned *): the first is meant */
	U64,	 /* (unsigned long long *) */
	U64_ARGS /* (int, int, unsigned long long *) */
};

static const struct reading {
	const char *function;
	enum answer_layout shape;
	int arg[2];
	uint32_t metric;
	double scale;
} readings[] = {
	{ "nvmlDeviceGetClockInfo", U32_ARG, { 1 }, METRIC_GPU_SM_CLOCK, 1e6 },
	{ "nvmlDeviceGetClockInfo", U32_ARG, { 2 }, METRIC_GPU_MEM_CLOCK, 1e6 },
	{ "nvmlDeviceGetMaxClockInfo", U32_ARG, { 1 }, METRIC_GPU_SM_CLOCK_MAX, 1e6 },
	{ "nvmlDeviceGetPowerUsage", U32, { 0 }, METRIC_GPU_POWER, 1e-3 },
	{ "nvmlDeviceGetEnforcedPowerLimit", U32, { 0 }, METRIC_GPU_POWER_LIMIT, 1e-3 },
	{ "nvmlDeviceGetTotalEnergyConsumption", U64, { 0 }, METRIC_GPU_ENERGY, 1e-3 },
	{ "nvmlDeviceGetTemperature", U32_ARG, { 0 }, METRIC_GPU_TEMPERATURE, 1 },
	{ "nvmlDeviceGetCurrentClocksThrottleReasons", U64, { 0 }, METRIC_GPU_CLOCK_LIMITS, 1 },
	{ "nvmlDeviceGetPcieThroughput", U32_ARG, { 0 }, METRIC_GPU_PCIE_TX, 1000 },
	{ "nvmlDeviceGetPcieThroughput", U32_ARG, { 1 }, METRIC_GPU_PCIE_RX, 1000 },
	{ "nvmlDeviceGetCurrPcieLinkGeneration", U32, { 0 }, METRIC_GPU_PCIE_GEN, 1 },
	{ "nvmlDeviceGetCurrPcieLinkWidth", U32, { 0 }, METRIC_GPU_PCIE_WIDTH, 1 },
	{ "nvmlDeviceGetMaxPcieLinkGeneration", U32, { 0 }, METRIC_GPU_PCIE_GEN_MAX, 1 },
	{ "nvmlDeviceGetMaxPcieLinkWidth", U32, { 0 }, METRIC_GPU_PCIE_WIDTH_MAX, 1 },
	{ "nvmlDeviceGetPcieReplayCounter", U32, { 0 }, METRIC_GPU_PCIE_REPLAYS, 1 },
	{ "nvmlDeviceGetTotalEccErrors", U64_ARGS, { 0, 0 }, METRIC_GPU_ECC_CORRECTED, 1 },
	{ "nvmlDeviceGetTotalEccErrors", U64_ARGS, { 1, 0 }, METRIC_GPU_ECC_UNCORRECTED, 1 },
	{ "nvmlDeviceGetEncoderUtilization", U32_TWO, { 0 }, METRIC_GPU_ENCODER_BUSY, 1 },
	{ "nvmlDeviceGetDecoderUtilization", U32_TWO, { 0 }, METRIC_GPU_DECODER_BUSY, 1 },
	{ "nvmlDeviceGetPerformanceState", U32, { 0 }, METRIC_GPU_PSTATE, 1 },
};
#define READINGS (sizeof(readings) / sizeof(readings[0]))

/* What does not fit the table, one bit each behind the readings in device.off. */
enum extra { UTILIZATION, MEMORY, POWER_TIME, HEAT_TIME, PROCESSES, GRAPHICS, USAGE, EXTRAS };
_Static_assert(READINGS + EXTRAS <= 64 && READINGS <= NVML_READINGS_MAX,
	       "a device's switched off readings are bits of one word");

const char *host_nvml_reading(unsigned i)
{
	return i < READINGS ? readings[i].function : NULL;
}

struct round {
	struct host_nvml *n;
	unsigned gpu;
	host_gpu_fn *fn;
	void *ctx;
};

static void emit_value(const struct round *r, uint32_t metric, uint32_t pid, double value)
{
	struct host_gpu_value v = { r->gpu, metric, pid, value };

	r->fn(r->ctx, &v);
}

/* Whether a call succeeded; disables one that the device does not support. */
static bool check_answer(const struct round *r, unsigned bit, int code)
{
	if (code == NVML_NOT_SUPPORTED || code == NVML_NO_PERMISSION || code == NVML_NO_FUNCTION)
		r->n->devices[r->gpu].off |= 1ull << bit;
	return code == 0;
}

static bool is_wanted(const struct round *r, unsigned bit, const void *f)
{
	return f && !(r->n->devices[r->gpu].off >> bit & 1);
}

static int call_reading(const struct reading *of, void *f, nvml_device d, double *value)
{
	union {
		void *p;
		int (*u32)(nvml_device, unsigned *);
		int (*u32_arg)(nvml_device, int, unsigned *);
		int (*u32_two)(nvml_device, unsigned *, unsigned *);
		int (*u64)(nvml_device, unsigned long long *);
		int (*u64_args)(nvml_device, int, int, unsigned long long *);
	} by = { .p = f };
	unsigned long long big = 0;
	unsigned small = 0, other;
	int code = NVML_NO_FUNCTION;

	switch (of->shape) {
	case U32:
		code = by.u32(d, &small);
		break;
	case U32_ARG:
		code = by.u32_arg(d, of->arg[0], &small);
		break;
	case U32_TWO:
		code = by.u32_two(d, &small, &other);
		break;
	case U64:
		code = by.u64(d, &big);
		break;
	case U64_ARGS:
		code = by.u64_args(d, of->arg[0], of->arg[1], &big);
		break;
	}
	*value = of->shape < U64 ? small : (double)big;
	return code;
}

static void read_table(const struct round *r, nvml_device d)
{
	for (unsigned i = 0; i < READINGS; i++) {
		double value;

		if (is_wanted(r, i, r->n->functions[i]) &&
		    check_answer(r, i, call_reading(&readings[i], r->n->functions[i], d, &value)))
			emit_value(r, readings[i].metric, 0, value * readings[i].scale);
	}
}

static void read_extras(const struct round *r, nvml_device d)
{
	struct host_nvml *n = r->n;
	struct nvml_violation limited;
	struct nvml_memory memory;
	struct nvml_pair busy;

	if (is_wanted(r, READINGS + UTILIZATION, (void *)n->utilization) &&
	    check_answer(r, READINGS + UTILIZATION, n->utilization(d, &busy))) {
		emit_value(r, METRIC_GPU_BUSY, 0, busy.gpu);
		emit_value(r, METRIC_GPU_MEM_BUSY, 0, busy.memory);
	}
	if (is_wanted(r, READINGS + MEMORY, (void *)n->memory) &&
	    check_answer(r, READINGS + MEMORY, n->memory(d, &memory))) {
		emit_value(r, METRIC_GPU_MEM_USED, 0, (double)memory.used);
		emit_value(r, METRIC_GPU_MEM_TOTAL, 0, (double)memory.total);
	}
	if (is_wanted(r, READINGS + POWER_TIME, (void *)n->violation) &&
	    check_answer(r, READINGS + POWER_TIME, n->violation(d, NVML_VIOLATION_POWER, &limited)))
		emit_value(r, METRIC_GPU_POWER_LIMITED_NS, 0, (double)limited.violation_ns);
	if (is_wanted(r, READINGS + HEAT_TIME, (void *)n->violation) &&
	    check_answer(r, READINGS + HEAT_TIME, n->violation(d, NVML_VIOLATION_HEAT, &limited)))
		emit_value(r, METRIC_GPU_THERMAL_LIMITED_NS, 0, (double)limited.violation_ns);
}

static void read_processes(const struct round *r, nvml_device d, enum extra which,
			   int (*list)(nvml_device, unsigned *, struct nvml_process *))
{
	struct nvml_process *p = r->n->process_room;
	unsigned count = NVML_PROCESSES_MAX;

	if (!is_wanted(r, READINGS + which, (void *)list) ||
	    !check_answer(r, READINGS + which, list(d, &count, p)))
		return;
	for (unsigned i = 0; i < count && i < NVML_PROCESSES_MAX; i++)
		if (p[i].used != NVML_UNAVAILABLE)
			emit_value(r, METRIC_GPU_MEM_USED, p[i].pid, (double)p[i].used);
}

static void emit_percent(const struct round *r, uint32_t metric, uint32_t pid, unsigned percent)
{
	/* Drivers are known to answer numbers far above 100 for what they did not measure. */
	if (percent <= 100)
		emit_value(r, metric, pid, percent);
}

/* Samples since the last round; the newest of each process counts. */
static void read_usage(const struct round *r, nvml_device d)
{
	struct host_nvml *n = r->n;
	struct device *dev = &n->devices[r->gpu];
	uint64_t newest = dev->usage_since_us;
	unsigned count = 0;
	int code;

	if (!is_wanted(r, READINGS + USAGE, (void *)n->usage))
		return;
	code = n->usage(d, NULL, &count, dev->usage_since_us);
	if (code != NVML_TOO_SMALL) {
		check_answer(r, READINGS + USAGE, code);
		return;
	}
	if (count > NVML_PROCESSES_MAX * 16 || !vec_reserve(&n->usage_room, count) ||
	    n->usage(d, n->usage_room.v, &count, dev->usage_since_us) != 0)
		return;
	for (unsigned i = 0; i < count; i++) {
		const struct nvml_usage *u = &n->usage_room.v[i];
		bool last = u->time_us > dev->usage_since_us && u->pid;

		for (unsigned k = 0; last && k < count; k++)
			last = n->usage_room.v[k].pid != u->pid ||
			       n->usage_room.v[k].time_us <= u->time_us;
		newest = u->time_us > newest ? u->time_us : newest;
		if (!last)
			continue;
		emit_percent(r, METRIC_GPU_BUSY, u->pid, u->sm);
		emit_percent(r, METRIC_GPU_MEM_BUSY, u->pid, u->memory);
		emit_percent(r, METRIC_GPU_ENCODER_BUSY, u->pid, u->encoder);
		emit_percent(r, METRIC_GPU_DECODER_BUSY, u->pid, u->decoder);
	}
	dev->usage_since_us = newest;
}

static void read_xids(struct round *r)
{
	struct host_nvml *n = r->n;
	struct nvml_event ev;

	for (unsigned i = 0; n->events && i < NVML_XIDS_PER_ROUND; i++) {
		if (n->wait(n->events, &ev, 0) != 0)
			return;
		for (r->gpu = 0; r->gpu < n->count; r->gpu++)
			if (n->devices[r->gpu].handle == ev.device && ev.type == NVML_XID)
				emit_value(r, METRIC_GPU_XID, 0, (double)ev.data);
	}
}

void host_nvml_read(struct host_nvml *n, host_gpu_fn *fn, void *ctx)
{
	struct round r = { n, 0, fn, ctx };

	for (; r.gpu < n->count; r.gpu++) {
		nvml_device d = n->devices[r.gpu].handle;

		read_extras(&r, d);
		read_table(&r, d);
		read_processes(&r, d, PROCESSES, n->processes);
		read_processes(&r, d, GRAPHICS, n->graphics);
		read_usage(&r, d);
	}
	read_xids(&r);
}
