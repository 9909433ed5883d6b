/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables of libraries: how long building one takes, how large it is, what a look-up costs. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include "lib/symbols/unwind_table.h"
#include "tests/bench/bench.h"

#define ROUNDS	5
#define LOOKUPS 2000000

static void say_of(const char *path, const char *what, double value, const char *unit)
{
	const char *slash = strrchr(path, '/');
	char name[NAME_MAX + 64];

	snprintf(name, sizeof(name), "unwind.%s.%s", slash ? slash + 1 : path, what);
	bench_say(name, value, unit);
}

static double time_lookups(const struct unwind_table *t)
{
	uint64_t reach = (uint64_t)t->npages << UNWIND_PAGE_BITS, x = 1, sum = 0;
	double from = bench_cpu_s();

	for (unsigned i = 0; i < LOOKUPS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		sum += unwind_table_find(t, t->base + (x >> 20) % reach);
	}
	return (bench_cpu_s() - from) * 1e9 / LOOKUPS + (sum == 1 ? 1e-9 : 0);
}

static void measure_module(const char *path)
{
	struct unwind_rules *rules = unwind_rules_new();
	struct unwind_table *t = NULL;
	struct sym_elf *f = NULL;
	struct err e = { 0 };
	double best = 1e9;
	unsigned nrules;

	for (unsigned i = 0; rules && i < ROUNDS; i++) {
		double from = bench_cpu_s(), took;

		unwind_table_free(t);
		sym_elf_free(f);
		t = NULL;
		f = NULL;
		if (sym_elf_open(&f, path, &e) || unwind_table_build(&t, f, rules, &e))
			break;
		took = (bench_cpu_s() - from) * 1e3;
		best = took < best ? took : best;
	}
	if (t) {
		unwind_rules_all(rules, &nrules);
		say_of(path, "build", best, "ms");
		say_of(path, "table", (double)unwind_table_bytes(t) / 1024, "KB");
		say_of(path, "rows", t->nrows, "rows");
		say_of(path, "rules", nrules, "rules");
		say_of(path, "row", best * 1e6 / (t->nrows ? t->nrows : 1), "ns");
		if (t->npages)
			say_of(path, "lookup", time_lookups(t), "ns");
	} else {
		bench_skip(path, e.text);
	}
	unwind_table_free(t);
	sym_elf_free(f);
	unwind_rules_free(rules);
}

static void measure_library(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY);
	struct link_map *map;
	char path[PATH_MAX];

	if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path))
		measure_module(path);
	if (library)
		dlclose(library);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "libc.so.6", "libstdc++.so.6", "libpython3.11.so.1.0",
					     "/usr/local/cuda/lib64/libcudart.so.13",
					     "/usr/local/cuda-13.0/lib/libcudart.so.13" };

	for (int i = 1; i < argc; i++)
		measure_module(argv[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		measure_library(names[i]);
	return 0;
}
