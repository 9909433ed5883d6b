/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as in NVIDIA's nvToolsExt.h (NVTX 2). Invariant: a function that begins or ends a range is
 * probed if and only if its counterparts are.
 */
#include "lib/attach/nvtx_rows.h"

#include <string.h>

#include "bpf/wire.h"
#include "lib/event/op.h"

static const struct {
	const char *name;
	uint8_t what, text, domain;
} rows[] = {
	{ "nvtxRangePushA", NVTX_PUSH, NVTX_NARROW, 0 },
	{ "nvtxRangePushW", NVTX_PUSH, NVTX_WIDE, 0 },
	{ "nvtxRangePushEx", NVTX_PUSH, NVTX_ATTRIBUTES, 0 },
	{ "nvtxRangePop", NVTX_POP, NVTX_NO_TEXT, 0 },
	{ "nvtxRangeStartA", NVTX_START, NVTX_NARROW, 0 },
	{ "nvtxRangeStartW", NVTX_START, NVTX_WIDE, 0 },
	{ "nvtxRangeStartEx", NVTX_START, NVTX_ATTRIBUTES, 0 },
	{ "nvtxRangeEnd", NVTX_END, NVTX_NO_TEXT, 0 },
	{ "nvtxMarkA", NVTX_MARK, NVTX_NARROW, 0 },
	{ "nvtxMarkW", NVTX_MARK, NVTX_WIDE, 0 },
	{ "nvtxMarkEx", NVTX_MARK, NVTX_ATTRIBUTES, 0 },
	{ "nvtxDomainRangePushEx", NVTX_PUSH, NVTX_ATTRIBUTES, 1 },
	{ "nvtxDomainRangePop", NVTX_POP, NVTX_NO_TEXT, 1 },
	{ "nvtxDomainRangeStartEx", NVTX_START, NVTX_ATTRIBUTES, 1 },
	{ "nvtxDomainRangeEnd", NVTX_END, NVTX_NO_TEXT, 1 },
	{ "nvtxDomainMarkEx", NVTX_MARK, NVTX_ATTRIBUTES, 1 },
	{ "nvtxDomainRegisterStringA", NVTX_REGISTER, NVTX_NARROW, 1 },
	{ "nvtxDomainRegisterStringW", NVTX_REGISTER, NVTX_WIDE, 1 },
};

static bool no_ranges, no_points;

bool probe_nvtx_library(const char *path)
{
	static const char stem[] = "libnvToolsExt";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !(no_ranges && no_points) && strncmp(name, stem, sizeof(stem) - 1) == 0 &&
	       strchr(".-", name[sizeof(stem) - 1]) && strstr(name, ".so");
}

bool probe_nvtx_row(const char *name, uint64_t *cookie)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		*cookie = NVTX_COOKIE(rows[i].what, rows[i].text, rows[i].domain);
		return rows[i].what == NVTX_REGISTER ||
		       !(rows[i].what == NVTX_MARK ? no_points : no_ranges);
	}
	return false;
}

bool probe_nvtx_returns(uint64_t cookie)
{
	uint8_t what = (uint8_t)cookie;

	return what == NVTX_START || what == NVTX_REGISTER;
}

void probe_nvtx_leave_out(uint16_t op)
{
	no_ranges |= op == OP_MARK_RANGE;
	no_points |= op == OP_MARK_POINT;
}
