/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvToolsExt.so.1 of the double: levels count per thread and domain, ids per process, as with a
 * profiler attached. With DOUBLE_NVTX=none as without one: no levels, and every id and handle is 0.
 */
#include "tests/double/nvtx.h"

#include <stdlib.h>
#include <string.h>

#define NO_TRACKING (-2)
#define DOMAINS	    8

/* Each function has a place of its own, whatever the compiler finds alike. */
#ifdef __clang__
#define PLACE __attribute__((visibility("default"), noinline))
#else
#define PLACE __attribute__((visibility("default"), noipa))
#endif
#define DECLARE(type, name, params) PLACE type name params;
NVTX_FUNCTIONS(DECLARE)

struct nvtx_domain {
	int number;
};

static struct nvtx_domain domains[DOMAINS];
static int ndomains, nobody;
static uint64_t last_id;
static __thread int level[DOMAINS];

__attribute__((constructor)) static void settings(void)
{
	const char *v = getenv("DOUBLE_NVTX");

	nobody = v && !strcmp(v, "none");
}

static int push(const struct nvtx_domain *d)
{
	return nobody ? NO_TRACKING : level[d ? d->number : 0]++;
}

static int pop(const struct nvtx_domain *d)
{
	int *at = &level[d ? d->number : 0];

	return nobody ? NO_TRACKING : *at > 0 ? --*at : -1;
}

static uint64_t start(void)
{
	return nobody ? 0 : __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

int nvtxRangePushA(const char *text)
{
	return push(NULL);
}

int nvtxRangePushW(const wchar_t *text)
{
	return push(NULL);
}

int nvtxRangePushEx(const struct nvtx_attributes *a)
{
	return push(NULL);
}

int nvtxRangePop(void)
{
	return pop(NULL);
}

uint64_t nvtxRangeStartA(const char *text)
{
	return start();
}

uint64_t nvtxRangeStartW(const wchar_t *text)
{
	return start();
}

uint64_t nvtxRangeStartEx(const struct nvtx_attributes *a)
{
	return start();
}

void nvtxRangeEnd(uint64_t id)
{
}

void nvtxMarkA(const char *text)
{
}

void nvtxMarkW(const wchar_t *text)
{
}

void nvtxMarkEx(const struct nvtx_attributes *a)
{
}

struct nvtx_domain *nvtxDomainCreateA(const char *name)
{
	int n = nobody ? DOMAINS : __atomic_add_fetch(&ndomains, 1, __ATOMIC_RELAXED);

	if (n >= DOMAINS)
		return NULL;
	domains[n].number = n;
	return &domains[n];
}

int nvtxDomainRangePushEx(struct nvtx_domain *d, const struct nvtx_attributes *a)
{
	return push(d);
}

int nvtxDomainRangePop(struct nvtx_domain *d)
{
	return pop(d);
}

uint64_t nvtxDomainRangeStartEx(struct nvtx_domain *d, const struct nvtx_attributes *a)
{
	return start();
}

void nvtxDomainRangeEnd(struct nvtx_domain *d, uint64_t id)
{
}

void nvtxDomainMarkEx(struct nvtx_domain *d, const struct nvtx_attributes *a)
{
}

void *nvtxDomainRegisterStringA(struct nvtx_domain *d, const char *text)
{
	return nobody ? NULL : strdup(text);
}

void *nvtxDomainRegisterStringW(struct nvtx_domain *d, const wchar_t *text)
{
	return nobody ? NULL : wcsdup(text);
}
