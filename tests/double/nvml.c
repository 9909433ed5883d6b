/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvidia-ml.so.1 of the double: one device with fixed readings. $DOUBLE_NVML_FAIL=code makes
 * nvmlInit fail with that code, as on a machine whose driver is not loaded (9).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static char the_device;

static int is_device(const void *d)
{
	return d == &the_device;
}

#define API(name, params, ok)                                          \
	__attribute__((visibility("default"))) int name params;        \
	int name params                                                \
	{                                                              \
		return (ok) ? 0 : 2; /* NVML_ERROR_INVALID_ARGUMENT */ \
	}

__attribute__((visibility("default"))) int nvmlInit_v2(void);
__attribute__((visibility("default"))) const char *nvmlErrorString(int code);

int nvmlInit_v2(void)
{
	const char *s = getenv("DOUBLE_NVML_FAIL");

	return s ? (int)strtol(s, NULL, 10) : 0;
}

const char *nvmlErrorString(int code)
{
	return code ? code == 9 ? "Driver Not Loaded" : "Unknown Error" : "Success";
}

API(nvmlShutdown, (void), 1)
API(nvmlSystemGetDriverVersion, (char *text, unsigned n), text &&snprintf(text, n, "580.00") > 0)
API(nvmlDeviceGetCount_v2, (unsigned *n), n && (*n = 1))
API(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **d), !i && d && (*d = &the_device))
API(nvmlDeviceGetName, (void *d, char *text, unsigned n),
    is_device(d) && snprintf(text, n, "CUDA double") > 0)
API(nvmlDeviceGetUUID, (void *d, char *text, unsigned n),
    is_device(d) && snprintf(text, n, "GPU-00000000-0000-0000-0000-000000000000") > 0)
API(nvmlDeviceGetPciInfo_v3, (void *d, struct pci *p),
    is_device(d) && memset(p, 0, sizeof *p) &&
	    snprintf(p->id, sizeof p->id, "00000000:01:00.0") > 0 && (p->bus = 1))
API(nvmlDeviceGetUtilizationRates, (void *d, struct utilization *u),
    is_device(d) && (u->gpu = 50) && (u->memory = 20))
API(nvmlDeviceGetMemoryInfo, (void *d, struct memory *m),
    is_device(d) && (m->total = 80ull << 30) && (m->used = 1ull << 30) && (m->free = 79ull << 30))
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
API(nvmlDeviceGetComputeRunningProcesses_v3, (void *d, unsigned *n, void *p),
    is_device(d) && !(*n = 0))
