/* SPDX-License-Identifier: Apache-2.0 */
/* Names of sections, and of NVML's reasons (nvml.h: nvmlClocksEventReason*). */
#include "lib/event/section_rows.h"

#include <string.h>

static const char *const names[VIEW_COUNT] = {
#define VIEW_NAME(id, name) [VIEW_##id] = (name),
	VIEW_SECTIONS(VIEW_NAME)
#undef VIEW_NAME
};

static const struct {
	const char *text;
	bool bad;
} limits[VIEW_LIMITS] = {
	{ "idle", false },
	{ "application clocks", false },
	{ "power limit", true },
	{ "hardware slowdown", true },
	{ "sync boost", false },
	{ "software thermal slowdown", true },
	{ "hardware thermal slowdown", true },
	{ "power brake", true },
	{ "display clocks", false },
};

bool view_section_find(const char *name, enum view_section *out)
{
	for (unsigned i = 0; i < VIEW_COUNT; i++) {
		if (!strcmp(names[i], name)) {
			*out = (enum view_section)i;
			return true;
		}
	}
	return false;
}

const char *view_section_name(enum view_section s)
{
	return names[s];
}

const char *view_limit_text(unsigned bit)
{
	return bit < VIEW_LIMITS ? limits[bit].text : NULL;
}

bool view_limit_bad(unsigned bit)
{
	return bit < VIEW_LIMITS && limits[bit].bad;
}
