/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvidia-ml.so.1 of the double: boards with fixed readings. $DOUBLE_NVML_FAIL=code makes
 * nvmlInit fail with that code, as on a machine whose driver is not loaded (9);
 * $DOUBLE_NVML_BOARDS=N [1]; $DOUBLE_NVML_SLICES=N cuts the first board into MIG slices;
 * $DOUBLE_NVML_PIDS=PID:MIB,… are on the first board, each with half of its time;
 * $DOUBLE_NVML_XID=code happened once on the last board; $DOUBLE_NVML_HANG=1 never returns from a
 * reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "defaults.h"

struct utilization {
	unsigned gpu, memory;
};

struct memory {
	unsigned long long total, free, used;
};

struct pci {
	char legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32];
};

struct process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};

struct usage {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder;
};

struct violation {
	unsigned long long reference, time;
};

struct event {
	void *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

enum { BOARDS_MAX = 16, SLICES_MAX = 8 };
static char boards[BOARDS_MAX], slices[SLICES_MAX];
static unsigned energy_mj;

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 10) : otherwise;
}

static int is_board(const void *d)
{
	return (const char *)d >= boards && (const char *)d < boards + BOARDS_MAX;
}

static int is_slice(const void *d)
{
	return (const char *)d >= slices && (const char *)d < slices + SLICES_MAX;
}

static int is_device(const void *d)
{
	while (setting("DOUBLE_NVML_HANG", 0))
		pause();
	return is_board(d) || is_slice(d);
}

static unsigned board_of(const void *d)
{
	return is_board(d) ? (unsigned)((const char *)d - boards) : 0;
}

static unsigned count_boards(void)
{
	unsigned long n = setting("DOUBLE_NVML_BOARDS", 1);

	return n > BOARDS_MAX ? BOARDS_MAX : (unsigned)n;
}

/* Fills at most room of them and counts all. */
static unsigned processes(struct process *p, unsigned room)
{
	const char *s = getenv("DOUBLE_NVML_PIDS");
	unsigned n = 0;

	for (; s && *s; n++) {
		char *end;
		unsigned pid = (unsigned)strtoul(s, &end, 10);
		unsigned long long mib = *end == ':' ? strtoull(end + 1, &end, 10) : 0;

		if (n < room)
			p[n] = (struct process){ .pid = pid, .used = mib << 20 };
		s = *end == ',' ? end + 1 : "";
	}
	return n;
}

/* The board whose number follows prefix. */
static int board_by_text(const char *text, const char *prefix, void **d)
{
	unsigned long n;

	if (strncmp(text, prefix, strlen(prefix)))
		return 0;
	n = strtoul(text + strlen(prefix), NULL, 10);
	if (n >= count_boards())
		return 0;
	*d = &boards[n];
	return 1;
}

#define API(name, params, ok)                                          \
	__attribute__((visibility("default"))) int name params;        \
	int name params                                                \
	{                                                              \
		return (ok) ? 0 : 2; /* NVML_ERROR_INVALID_ARGUMENT */ \
	}

__attribute__((visibility("default"))) int nvmlInit_v2(void);
__attribute__((visibility("default"))) int nvmlInitWithFlags(unsigned flags);
__attribute__((visibility("default"))) const char *nvmlErrorString(int code);

int nvmlInit_v2(void)
{
	const char *s = getenv("DOUBLE_NVML_FAIL");

	return s ? (int)strtol(s, NULL, 10) : 0;
}

int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return nvmlInit_v2();
}

const char *nvmlErrorString(int code)
{
	return code ? code == 9 ? "Driver Not Loaded" : "Unknown Error" : "Success";
}

API(nvmlShutdown, (void), 1)
API(nvmlSystemGetDriverVersion, (char *text, unsigned n), text &&snprintf(text, n, "580.00") > 0)
API(nvmlDeviceGetCount_v2, (unsigned *n), n && (*n = count_boards()))
API(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **d),
    i < count_boards() && d && (*d = &boards[i]))
API(nvmlDeviceGetHandleByUUID, (const char *uuid, void **d),
    uuid &&d &&board_by_text(uuid, "GPU-00000000-0000-0000-0000-", d))
API(nvmlDeviceGetHandleByPciBusId_v2, (const char *id, void **d), id &&d && (*d = &boards[0]))
API(nvmlDeviceGetIndex, (void *d, unsigned *i), is_board(d) && ((*i = board_of(d)), 1))
API(nvmlDeviceGetMinorNumber, (void *d, unsigned *i), is_board(d) && ((*i = board_of(d)), 1))
API(nvmlDeviceGetCudaComputeCapability, (void *d, int *major, int *minor),
    is_device(d) && (*major = 8) && (*minor = 9))
API(nvmlDeviceGetP2PStatus, (void *d, void *peer, int index, int *status),
    is_board(d) && is_board(peer) && ((*status = 0), 1))
API(nvmlDeviceGetTopologyCommonAncestor, (void *d, void *peer, int *level),
    is_board(d) && is_board(peer) && ((*level = 0), 1))
API(nvmlDeviceGetNumaNodeId, (void *d, unsigned *node), is_board(d) && ((*node = 0), 1))
API(nvmlSystemGetCudaDriverVersion, (int *version), version && (*version = 13000))
API(nvmlSystemGetCudaDriverVersion_v2, (int *version), version && (*version = 13000))
API(nvmlDeviceGetMigMode, (void *d, unsigned *now, unsigned *later),
    is_board(d) && ((*now = *later = !board_of(d) && setting("DOUBLE_NVML_SLICES", 0)), 1))
API(nvmlDeviceGetMigDeviceHandleByIndex, (void *d, unsigned i, void **s),
    is_board(d) && !board_of(d) && i < setting("DOUBLE_NVML_SLICES", 0) && i < SLICES_MAX &&
	    (*s = &slices[i]))
API(nvmlDeviceGetName, (void *d, char *text, unsigned n),
    is_device(d) && snprintf(text, n, "CUDA double") > 0)
API(nvmlDeviceGetUUID, (void *d, char *text, unsigned n),
    is_device(d) &&
	    snprintf(text, n, "%s-00000000-0000-0000-0000-%012u", is_board(d) ? "GPU" : "MIG",
		     is_board(d) ? board_of(d) : (unsigned)((char *)d - slices)) > 0)
API(nvmlDeviceGetPciInfo_v3, (void *d, struct pci *p),
    is_device(d) && memset(p, 0, sizeof *p) &&
	    snprintf(p->id, sizeof p->id, "00000000:%02x:00.0", 1 + board_of(d)) > 0 &&
	    snprintf(p->legacy, sizeof p->legacy, "0000:%02x:00.0", 1 + board_of(d)) > 0 &&
	    (p->bus = 1 + board_of(d)))
API(nvmlDeviceGetUtilizationRates, (void *d, struct utilization *u),
    is_device(d) && (u->gpu = 50) && (u->memory = 20))
API(nvmlDeviceGetMemoryInfo, (void *d, struct memory *m),
    is_device(d) && (m->total = setting("DOUBLE_DEVICE_MB", DEFAULT_DEVICE_MB) << 20) &&
	    (m->used = 1ull << 30) && ((m->free = m->total - m->used), 1))
API(nvmlDeviceGetClockInfo, (void *d, int type, unsigned *mhz), is_device(d) && (*mhz = 1500))
API(nvmlDeviceGetMaxClockInfo, (void *d, int type, unsigned *mhz), is_device(d) && (*mhz = 1980))
API(nvmlDeviceGetPowerUsage, (void *d, unsigned *mw), is_device(d) && (*mw = 250000))
API(nvmlDeviceGetEnforcedPowerLimit, (void *d, unsigned *mw), is_device(d) && (*mw = 700000))
API(nvmlDeviceGetTemperature, (void *d, int sensor, unsigned *c), is_device(d) && (*c = 45))
API(nvmlDeviceGetCurrentClocksThrottleReasons, (void *d, unsigned long long *r),
    is_device(d) && !(*r = 0))
API(nvmlDeviceGetPcieThroughput, (void *d, int counter, unsigned *kb), is_device(d) && (*kb = 1000))
API(nvmlDeviceGetTotalEccErrors, (void *d, int type, int counter, unsigned long long *n),
    is_device(d) && !(*n = 0))
API(nvmlDeviceGetTotalEnergyConsumption, (void *d, unsigned long long *mj),
    is_board(d) && (*mj = energy_mj += 250000))
API(nvmlDeviceGetCurrPcieLinkGeneration, (void *d, unsigned *g),
    is_device(d) && (*g = getenv("DOUBLE_PCIE_WORN") ? 4 : 5))
API(nvmlDeviceGetCurrPcieLinkWidth, (void *d, unsigned *w),
    is_device(d) && (*w = getenv("DOUBLE_PCIE_WORN") ? 8 : 16))
API(nvmlDeviceGetMaxPcieLinkGeneration, (void *d, unsigned *g), is_device(d) && (*g = 5))
API(nvmlDeviceGetMaxPcieLinkWidth, (void *d, unsigned *w), is_device(d) && (*w = 16))
API(nvmlDeviceGetEncoderUtilization, (void *d, unsigned *u, unsigned *us),
    is_device(d) && (*us = 167000) && !(*u = 0))
API(nvmlDeviceGetViolationStatus, (void *d, int policy, struct violation *v),
    is_board(d) && (v->reference = 1) && (v->time = policy ? 2000000 : 7000000000))

/* 3: not supported, as consumer boards say. */
__attribute__((visibility("default"))) int nvmlDeviceGetDecoderUtilization(void *d, unsigned *u,
									   unsigned *us);
int nvmlDeviceGetDecoderUtilization(void *d, unsigned *u, unsigned *us)
{
	(void)d;
	*u = *us = 0;
	return 3;
}

API(nvmlDeviceGetComputeRunningProcesses_v3, (void *d, unsigned *n, struct process *p),
    is_device(d) && ((*n = is_board(d) && !board_of(d) ? processes(p, *n) : 0), 1))

__attribute__((visibility("default"))) int nvmlDeviceGetProcessUtilization(
	void *d, struct usage *u, unsigned *n, unsigned long long since_us);
int nvmlDeviceGetProcessUtilization(void *d, struct usage *u, unsigned *n,
				    unsigned long long since_us)
{
	struct process p[64];
	unsigned count = is_board(d) && !board_of(d) ? processes(p, 64) : 0;

	if (count == 0)
		return 6; /* not found: no sample since then */
	if (!u || *n < count) {
		*n = count;
		return 7; /* insufficient size */
	}
	*n = count;
	for (unsigned i = 0; i < count; i++)
		u[i] = (struct usage){ p[i].pid, since_us + 1000000, 100 / count, 10, 0, 200 };
	return 0;
}

API(nvmlEventSetCreate, (void **set), set && (*set = boards))
API(nvmlDeviceRegisterEvents, (void *d, unsigned long long types, void *set),
    is_board(d) && (types & 8) && set == boards)
API(nvmlEventSetFree, (void *set), set == boards)

__attribute__((visibility("default"))) int nvmlEventSetWait_v2(void *set, struct event *ev,
							       unsigned ms);
int nvmlEventSetWait_v2(void *set, struct event *ev, unsigned ms)
{
	static int told;

	(void)ms;
	if (set != boards || told || !setting("DOUBLE_NVML_XID", 0))
		return 10; /* timeout */
	told = 1;
	*ev = (struct event){ &boards[count_boards() - 1], 8, setting("DOUBLE_NVML_XID", 0), 0, 0 };
	return 0;
}
