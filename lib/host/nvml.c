/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library by dlopen, its GPUs and the slices of them, its functions: one that is not there is
 * not called.
 */
#include "lib/host/nvml_internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *find_function(const struct host_nvml *n, const char *name)
{
	return dlsym(n->library, name);
}

/* dlsym gives data pointers; POSIX lets them be called. */
#define BIND(to, n, name) (*(void **)&(to) = find_function(n, name))

static void read_location(struct host_nvml *n, nvml_device board, struct host_gpu *g)
{
	int (*place)(nvml_device, struct nvml_pci *);
	struct nvml_pci pci = { 0 };

	BIND(place, n, "nvmlDeviceGetPciInfo_v3");
	if (!place || place(board, &pci) != 0)
		return;
	g->located = true;
	g->domain = pci.domain;
	g->bus = pci.bus;
	g->device = pci.device;
}

static void add_device(struct host_nvml *n, nvml_device handle, uint32_t index, uint32_t slice)
{
	int (*uuid)(nvml_device, char *, unsigned), (*name)(nvml_device, char *, unsigned);
	struct host_gpu *g = &n->gpus[n->count];

	if (n->count == HOST_GPUS_MAX)
		return;
	*g = (struct host_gpu){ .index = index, .slice = slice };
	BIND(uuid, n, "nvmlDeviceGetUUID");
	BIND(name, n, "nvmlDeviceGetName");
	/* Without a UUID it cannot be identified. */
	if (!uuid || uuid(handle, g->uuid, sizeof(g->uuid)) != 0)
		return;
	if (!name || name(handle, g->name, sizeof(g->name)) != 0)
		g->name[0] = '\0';
	if (!slice)
		read_location(n, handle, g);
	n->devices[n->count++] = (struct device){ .handle = handle };
}

static void add_slices(struct host_nvml *n, nvml_device board, uint32_t index)
{
	int (*mode)(nvml_device, unsigned *, unsigned *),
		(*slice)(nvml_device, unsigned, nvml_device *);
	unsigned now = 0, later = 0;
	nvml_device handle;

	BIND(mode, n, "nvmlDeviceGetMigMode");
	BIND(slice, n, "nvmlDeviceGetMigDeviceHandleByIndex");
	if (!mode || !slice || mode(board, &now, &later) != 0 || !now)
		return;
	for (unsigned i = 0; i < NVML_SLICES_MAX; i++)
		if (slice(board, i, &handle) == 0)
			add_device(n, handle, index, i + 1);
}

static void watch_xids(struct host_nvml *n)
{
	int (*create)(void **), (*watch)(nvml_device, unsigned long long, void *);

	BIND(create, n, "nvmlEventSetCreate");
	BIND(watch, n, "nvmlDeviceRegisterEvents");
	BIND(n->wait, n, "nvmlEventSetWait_v2");
	BIND(n->forget_events, n, "nvmlEventSetFree");
	if (!create || !watch || !n->wait || !n->forget_events || create(&n->events) != 0) {
		n->events = NULL;
		return;
	}
	for (unsigned i = 0; i < n->count; i++)
		if (!n->gpus[i].slice)
			watch(n->devices[i].handle, NVML_XID, n->events);
}

static int find_gpus(struct host_nvml *n, struct err *e)
{
	int (*count)(unsigned *), (*by_index)(unsigned, nvml_device *),
		(*version)(char *, unsigned);
	unsigned boards = 0;
	nvml_device handle;

	BIND(count, n, "nvmlDeviceGetCount_v2");
	BIND(by_index, n, "nvmlDeviceGetHandleByIndex_v2");
	BIND(version, n, "nvmlSystemGetDriverVersion");
	if (!count || !by_index)
		return err_set(e, ERR_CANNOT, "libnvidia-ml is older than we know");
	if (!version || version(n->driver, sizeof(n->driver)) != 0)
		n->driver[0] = '\0';
	if (count(&boards) != 0)
		boards = 0;
	for (unsigned i = 0; i < boards; i++)
		if (by_index(i, &handle) == 0) {
			add_device(n, handle, i, 0);
			add_slices(n, handle, i);
		}
	return n->count ? 0 : err_set(e, ERR_CANNOT, "the driver shows no GPU");
}

int host_nvml_open(struct host_nvml **out, struct err *e)
{
	struct host_nvml *n = calloc(1, sizeof(*n));
	const char *(*text)(int);
	int (*init)(void);
	int code, rc;

	*out = n;
	if (!n)
		return err_nomem(e);
	n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return err_set(e, ERR_CANNOT, "no libnvidia-ml.so.1");
	BIND(init, n, "nvmlInit_v2");
	BIND(text, n, "nvmlErrorString");
	code = init ? init() : NVML_NO_FUNCTION;
	if (code != 0)
		return err_set(e, ERR_CANNOT, "libnvidia-ml does not start: %s (%d)",
			       text ? text(code) : "error", code);
	rc = find_gpus(n, e);
	if (rc)
		return rc;
	for (unsigned i = 0; host_nvml_reading(i); i++)
		n->functions[i] = find_function(n, host_nvml_reading(i));
	BIND(n->utilization, n, "nvmlDeviceGetUtilizationRates");
	BIND(n->memory, n, "nvmlDeviceGetMemoryInfo");
	BIND(n->violation, n, "nvmlDeviceGetViolationStatus");
	BIND(n->processes, n, "nvmlDeviceGetComputeRunningProcesses_v3");
	BIND(n->graphics, n, "nvmlDeviceGetGraphicsRunningProcesses_v3");
	BIND(n->usage, n, "nvmlDeviceGetProcessUtilization");
	watch_xids(n);
	return 0;
}

void host_nvml_close(struct host_nvml *n)
{
	int (*shutdown)(void);

	if (!n)
		return;
	if (n->events)
		n->forget_events(n->events);
	if (n->library) {
		BIND(shutdown, n, "nvmlShutdown");
		if (n->count && shutdown)
			shutdown();
		dlclose(n->library);
	}
	vec_free(&n->usage_room);
	free(n);
}

const struct host_gpu *host_nvml_gpus(const struct host_nvml *n, unsigned *count)
{
	*count = n->count;
	return n->gpus;
}

const char *host_nvml_driver(const struct host_nvml *n)
{
	return n->driver;
}
