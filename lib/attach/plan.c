/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the symbols of a library that are probed and the file offsets to probe. Invariant: every
 * site's offset is there once, whatever aliases and variants point to it, and the bytes decide the
 * distance, never the name.
 */
#include "lib/attach/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/attach/nvtx_rows.h"
#include "lib/symbols/elf.h"
#include "lib/symbols/forward.h"

unsigned probe_plan_ahead(const uint8_t *b, size_t n)
{
#if defined(__x86_64__)
	/* 81 3d disp32 imm32: cmpl $imm,disp(%rip); then 7x rel8 or 0f 8x rel32: jcc. */
	if (n >= 12 && b[0] == 0x81 && b[1] == 0x3d &&
	    ((b[10] & 0xf0) == 0x70 || (b[10] == 0x0f && (b[11] & 0xf0) == 0x80)))
		return 10;
	/* f3 0f 1e fa: endbr64; then push (50-57, 41 50-57) or a jump. */
	if (n >= 6 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa &&
	    ((b[4] & 0xf8) == 0x50 || (b[4] == 0x41 && (b[5] & 0xf8) == 0x50) || b[4] == 0xe9 ||
	     b[4] == 0xeb))
		return 4;
#else
	(void)b;
	(void)n;
#endif
	return 0;
}

/* What the probe is to know of the function; false: it is not wanted. */
static bool cookie_of(const struct probe_plan *plan, const char *name, uint64_t *cookie)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);

	if (plan->library == PROBE_NVTX)
		return probe_nvtx_row(name, cookie);
	for (*cookie = 0; *cookie < n; ++*cookie)
		if (specs[*cookie].library == plan->library && !specs[*cookie].left_out &&
		    probe_spec_matches(&specs[*cookie], name))
			return true;
	return false;
}

bool probe_plan_symbol(struct probe_plan *plan, const char *name, uint64_t offset, uint64_t size,
		       const uint8_t *bytes, size_t n)
{
	struct plan_site site = { .symbol = offset, .size = size };

	if (!cookie_of(plan, name, &site.site.cookie))
		return true;
	for (size_t k = 0; k < plan->n; k++)
		if (plan->v[k].symbol == offset)
			return true;
	site.ahead = (uint8_t)probe_plan_ahead(bytes, n);
	site.site.offset = offset + site.ahead;
	snprintf(site.name, sizeof(site.name), "%s", name);
	return vec_push(plan, site);
}

struct planning {
	struct probe_plan *plan;
	const struct sym_elf *file;
	bool failed;
};

static bool on_symbol(void *ctx, const struct sym_elf_symbol *s)
{
	struct planning *p = ctx;
	uint8_t code[16];

	if (!probe_plan_symbol(p->plan, s->name, s->offset, s->size, code,
			       sym_elf_bytes(p->file, s->offset, code, sizeof(code))))
		p->failed = true;
	return !p->failed;
}

static uint16_t op_of(const struct plan_site *s)
{
	size_t n;

	return probe_specs(&n)[s->site.cookie].op.op;
}

/* Whether this function only jumps to another one that is in the plan and has the same op. */
static bool only_enters_another(const struct probe_plan *plan, const struct sym_elf *file,
				const struct plan_site *site)
{
	struct sym_forward to;

	if (!sym_forward_of(file, site->symbol, site->size, &to))
		return false;
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_site *other = &plan->v[i];

		if (other != site && op_of(other) == op_of(site) &&
		    (to.name[0] ? strcmp(other->name, to.name) == 0 : other->symbol == to.offset))
			return true;
	}
	return false;
}

/* Drops forwarding functions: a call through one is recorded in its target, at half the cost. */
static void drop_forwarding(struct probe_plan *plan, const struct sym_elf *file)
{
	bool drop[SPECS_MAX * 2];
	size_t n = plan->n < SPECS_MAX * 2 ? plan->n : SPECS_MAX * 2, all = plan->n;

	for (size_t i = 0; i < n; i++)
		drop[i] = only_enters_another(plan, file, &plan->v[i]);
	for (size_t i = n; i-- > 0;) {
		struct plan_site site = plan->v[i];

		if (!drop[i])
			continue;
		memmove(&plan->v[i], &plan->v[i + 1], (all - i - 1) * sizeof(site));
		plan->v[all - 1] = site;
		plan->nforwarding++;
		plan->n--;
	}
}

int probe_plan_file(struct probe_plan *plan, const char *path, enum probe_library library,
		    bool is_static, struct err *e)
{
	struct planning p = { .plan = plan };
	struct sym_elf *file;
	int rc;

	*plan = (struct probe_plan){ .library = library, .is_static = is_static };
	rc = sym_elf_open(&file, path, e);
	if (rc)
		return rc;
	p.file = file;
	snprintf(plan->build_id, sizeof(plan->build_id), "%s", sym_elf_build_id(file));
	rc = sym_elf_symbols(file, SYM_NAMES | SYM_FUNCTIONS | (is_static ? SYM_FULL : 0),
			     on_symbol, &p, e);
	if (rc == 0 && library != PROBE_NVTX)
		drop_forwarding(plan, file);
	sym_elf_free(file);
	if (rc == 0 && p.failed)
		rc = err_nomem(e);
	if (rc)
		probe_plan_free(plan);
	return rc;
}

void probe_plan_free(struct probe_plan *plan)
{
	vec_free(plan);
}

char *probe_plan_sites(const struct probe_plan *plan, char *out, size_t size)
{
	static const unsigned known[] = { 0, 4, 10 };
	size_t at = 0;

	out[0] = 0;
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		for (size_t i = 0; i < plan->n; i++)
			if (plan->v[i].ahead == known[k]) {
				at += (size_t)snprintf(out + at, at < size ? size - at : 0, "%s+%u",
						       at ? "/" : "", known[k]);
				break;
			}
	return out;
}
