/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to probe a file: the defined symbols that match the table, once per address, each at the
 * cheapest instruction that still has the arguments in place; of two exported functions of one op,
 * of which one does nothing but enter the other, the other only. Needs no BPF and no process: a
 * pure function of the file, so it is tested everywhere.
 */
#ifndef INGERO_ATTACH_PLAN_H
#define INGERO_ATTACH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/attach/link.h"
#include "lib/attach/spec.h"
#include "lib/symbols/elf.h"

/* One place, and the exported name that led there first. */
struct plan_site {
	struct probe_site
		site;	 /* file offset of the probe, index of the spec (NVTX: the row's cookie) */
	uint64_t symbol; /* file offset of the symbol itself */
	uint64_t size;	 /* of the function in bytes, 0 unknown */
	uint8_t ahead;	 /* bytes between the two: 0, 4 or 10 */
	char name[64];
};

struct probe_plan {
	enum probe_library library;
	bool is_static; /* the runtime is linked into an executable */
	struct plan_site *v;
	size_t n, cap;
	size_t nforwarding; /* behind those n: functions that only enter one of them, which are not
			       probed */
	char build_id[SYM_BUILD_ID];
};

/* library: whose symbols to look for. is_static: the file is an executable with a runtime inside,
 * found through its full symbol table. A file without matching symbols gives an empty plan. */
int probe_plan_file(struct probe_plan *plan, const char *path, enum probe_library library,
		    bool is_static, struct err *e);
void probe_plan_free(struct probe_plan *plan);

/* The plan's own steps, for tests: add one symbol of so many bytes of code; bytes: what stands at
 * it (at least n). */
bool probe_plan_symbol(struct probe_plan *plan, const char *name, uint64_t offset, uint64_t size,
		       const uint8_t *bytes, size_t n);

/* How far behind the symbol the probe goes. The kernel emulates only a few instructions and
 * single-steps the others, several times dearer: a comparison with memory at the start (NVIDIA's
 * driver: cmp, then a conditional jump that is emulated) and endbr64 are passed over; neither
 * touches stack pointer or arguments. */
unsigned probe_plan_ahead(const uint8_t *bytes, size_t n);

/* "+0", "+10", "+4", or "+0/+10" when mixed. Returns out. */
char *probe_plan_sites(const struct probe_plan *plan, char *out, size_t size);

#endif
