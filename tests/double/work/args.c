/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args: calls every traced entry point once, under each exported name, with values it knows, and
 * prints one JSON line per call: name, return code, and what each recorded column must hold; then
 * what the kernels it launched are called. The lines stand in the order of the calls.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/double/work/work.h"

#define MY_RANK 3

struct unique {
	char bytes[128];
};

/* Offsets as in the libraries' headers; what is not looked at is filler. */
struct memcpy3d_runtime {
	char before[128];
	size_t width, height, depth;
	int kind;
};
struct memcpy3d_peer_runtime {
	char before[64];
	int from;
	char between[68];
	int to;
	size_t width, height, depth;
};
struct memcpy2d_driver {
	size_t x, y;
	int from;
	char between[52];
	int to;
	char rest[36];
	size_t width, height;
};
struct memcpy3d_driver {
	char before[32];
	int from;
	char between[28];
	void *from_context;
	char more[48];
	int to;
	char rest[28];
	void *to_context;
	char pitch[16];
	size_t width, height, depth;
};

/* What the expressions in args.def use. */
struct args {
	void *stream, *event, *comm, *spare[2], *comms[70], *out;
	uint64_t number, sequence, flags, sizes[3];
	int integer;
	struct dim3 grid, block;
	struct unique unique;
	struct launch_config_runtime runtime_config;
	struct launch_config_driver driver_config;
	struct memcpy3d_runtime runtime3d;
	struct memcpy3d_peer_runtime peer3d;
	struct memcpy2d_driver driver2d;
	struct memcpy3d_driver driver3d;
	char text[256], scratch[256];
};

static void *CUDART, *LIBCUDA, *NCCL; /* as the table names them */
static char columns[1024];

#define HANDLE(p) ((uint64_t)(uintptr_t)(p))

static uint64_t shape(struct dim3 d)
{
	return d.x | (uint64_t)d.y << 32 | (uint64_t)d.z << 48;
}

static void nothing(void *data)
{
	(void)data;
}

static void put(const char *column, uint64_t value)
{
	size_t n = strlen(columns);

	snprintf(columns + n, sizeof columns - n, "%s\"%s\":%llu", n ? "," : "", column,
		 (unsigned long long)value);
}

static void say(const char *name, const char *suffix, int rc)
{
	printf("{\"call\":\"%s%s\",\"rc\":%d,\"x\":{%s}}\n", name, suffix, rc, columns);
	columns[0] = 0;
}

static const char *const names[] = {
#define CALL(library, name, ...) #name,
#include "tests/double/work/args.def"
};

/* The address of name with a suffix, unless that is a row of its own. */
static void *twin(void *library, const char *name, const char *suffix)
{
	char full[80];

	snprintf(full, sizeof full, "%s%s", name, suffix);
	for (size_t i = 0; *suffix && i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], full) ||
		    (!strncmp(names[i], full, strlen(names[i])) && strstr(names[i], "_v") &&
		     strlen(names[i]) > strlen(name)))
			return NULL;
	return library ? dlsym(library, full) : NULL;
}

static const char *const suffixes[] = { "", "_v2", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds" };

static void call_all(struct args *a)
{
	int rc;

#define E(column, value) put(#column, (uint64_t)(value));
#define O(column, value) \
	if (!rc)         \
		put(#column, (uint64_t)(value));
#define UNWRAP(...) __VA_ARGS__
#define CALL(library, name, types, args, ...)                                    \
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {        \
		int(*f) types = (int(*) types)twin(library, #name, suffixes[i]); \
                                                                                 \
		if (!f)                                                          \
			continue;                                                \
		rc = f args;                                                     \
		__VA_ARGS__                                                      \
		say(#name, suffixes[i], rc);                                     \
	}
#include "tests/double/work/args.def"
}

static void *find(void *library, const char *name)
{
	void *f = dlsym(library, name);

	if (!f)
		work_die(name);
	return f;
}

static void *comm_new(struct args *a)
{
	int (*init)(void **, int, struct unique, int) =
		(int (*)(void **, int, struct unique, int))find(NCCL, "ncclCommInitRank");
	void *comm = NULL;
	int rc = init(&comm, 8, a->unique, MY_RANK);

	put("comm", HANDLE(comm)), put("rank", MY_RANK), put("ranks", 8);
	put("comm_id", 0x1122334455667788);
	say("ncclCommInitRank", "", rc);
	return comm;
}

static void prepare(struct args *a)
{
	static const uint64_t id = 0x1122334455667788;
	int (*make)(void **) = (int (*)(void **))find(CUDART, "cudaStreamCreate");
	int rc;

	*a = (struct args){ .flags = 0x77,
			    .sizes = { 100, 200, 300 },
			    .grid = { 70000, 17, 5 },
			    .block = { 128, 4, 2 },
			    .runtime3d = { .width = 11, .height = 12, .depth = 13, .kind = 2 },
			    .peer3d = { .from = 5, .to = 6, .width = 11, .height = 12, .depth = 13 },
			    .driver2d = { .from = 1, .to = 2, .width = 21, .height = 22 },
			    .driver3d = { .from = 2,
					  .to = 1,
					  .from_context = (void *)0xc0d0,
					  .to_context = (void *)0xc0de0,
					  .width = 31,
					  .height = 32,
					  .depth = 33 } };
	memcpy(a->unique.bytes, &id, sizeof id);
	rc = make(&a->stream);
	if (!rc)
		put("stream", HANDLE(a->stream));
	say("cudaStreamCreate", "", rc);
	rc = ((int (*)(void **))find(CUDART, "cudaEventCreate"))(&a->event);
	if (!rc)
		put("event", HANDLE(a->event));
	say("cudaEventCreate", "", rc);
	a->runtime_config =
		(struct launch_config_runtime){ a->grid, a->block, 4242, a->stream, NULL, 0 };
	a->driver_config = (struct launch_config_driver){ { a->grid.x, a->grid.y, a->grid.z },
							  { a->block.x, a->block.y, a->block.z },
							  4242,
							  a->stream,
							  NULL,
							  0 };
	a->comm = comm_new(a);
	a->spare[0] = comm_new(a);
	a->spare[1] = comm_new(a);
}

static void launch(void *f, const char *name)
{
	int (*call)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		    void *, void **, void **) =
		(int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			 unsigned, void *, void **, void **))find(LIBCUDA, "cuLaunchKernel");
	struct dim3 one = { 1, 1, 1 };
	int rc = call(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);

	put("func", HANDLE(f)), put("stream", 0), put("grid", shape(one)), put("block", shape(one));
	put("shared", 0);
	say("cuLaunchKernel", "", rc);
	printf("{\"kernel\":\"%s\",\"func\":%llu}\n", name, (unsigned long long)HANDLE(f));
}

static void *got(const char *call, const char *column, void *of, const char *name)
{
	int (*get)(void **, void *, const char *) =
		(int (*)(void **, void *, const char *))find(LIBCUDA, call);
	void *f = NULL;
	int rc = get(&f, of, name);

	if (!rc)
		put("func", HANDLE(f));
	put(column, HANDLE(of));
	say(call, "", rc);
	return f;
}

/* Kernels by each of the ways in which a handle gets its name. */
static void named(void)
{
	int (*runtime)(const void *, struct dim3, struct dim3, void **, size_t, void *) =
		(int (*)(const void *, struct dim3, struct dim3, void **, size_t,
			 void *))find(CUDART, "cudaLaunchKernel");
	int (*enroll)(void **, const void *, char *, const char *, int, void *, void *, void *,
		      void *, int *) =
		(int (*)(void **, const void *, char *, const char *, int, void *, void *, void *,
			 void *, int *))find(CUDART, "__cudaRegisterFunction");
	static char stub, longest[1500];
	struct dim3 one = { 1, 1, 1 };
	void *k;
	int rc;

	launch(got("cuModuleGetFunction", "module", &stub, "_Z6scale2Pf"), "_Z6scale2Pf");
	k = got("cuLibraryGetKernel", "module", &stub, "_Z4reluPKfPf");
	launch(got("cuKernelGetFunction", "kernel", k, NULL), "_Z4reluPKfPf");
	memset(longest, 'k', sizeof longest - 1);
	launch(got("cuModuleGetFunction", "module", &stub, longest), longest);
	enroll(NULL, &stub, NULL, "_Z5saxpyifPKfPf", -1, NULL, NULL, NULL, NULL, NULL);
	rc = runtime(&stub, one, one, NULL, 0, NULL);
	put("func", HANDLE(&stub)), put("stream", 0), put("grid", shape(one)),
		put("block", shape(one));
	put("shared", 0);
	say("cudaLaunchKernel", "", rc);
	printf("{\"kernel\":\"_Z5saxpyifPKfPf\",\"func\":%llu}\n",
	       (unsigned long long)HANDLE(&stub));
	/* The runtime gave the driver its own handle of it. */
	if (((int (*)(void **, const void *))find(CUDART, "cudaGetKernel"))(&k, &stub) == 0)
		printf("{\"kernel\":\"_Z5saxpyifPKfPf\",\"func\":%llu}\n",
		       (unsigned long long)HANDLE(k));
}

int main(int argc, char **argv)
{
	static struct args a;
	const struct work_option options[] = { { 0 } };

	work_options(argc, argv, "Calls every entry point with known values.", options);
	CUDART = dlopen("libcudart.so.13", RTLD_NOW);
	LIBCUDA = dlopen("libcuda.so.1", RTLD_NOW);
	NCCL = dlopen("libnccl.so.2", RTLD_NOW);
	if (!CUDART || !LIBCUDA || !NCCL)
		work_die(dlerror());
	prepare(&a);
	call_all(&a);
	named();
	return 0;
}
