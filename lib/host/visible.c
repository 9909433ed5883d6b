/* SPDX-License-Identifier: Apache-2.0 */
/* The list is as NVIDIA's CUDA Programming Guide has it: numbers or UUIDs, separated by commas. */
#include "lib/host/visible.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/io.h"
#include "lib/host/process_placement.h"

#define ENVIRON_MAX (2u << 20) /* the kernel's own limit, by default */
#define INDEX_MAX   1024

bool host_visible_read(struct host_visible *v, uint32_t pid)
{
	struct err ignored = { 0 };
	struct buf b = { 0 };
	struct bytes list, order;
	char path[64];
	bool good;

	memset(v, 0, sizeof(*v));
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	good = read_file(path, &b, ENVIRON_MAX, &ignored) == 0;
	if (good) {
		list = host_environ_variable(buf_bytes(&b), "CUDA_VISIBLE_DEVICES");
		order = host_environ_variable(buf_bytes(&b), "CUDA_DEVICE_ORDER");
		v->set = list.p != NULL;
		v->by_bus = bytes_equal(order, bytes_of("PCI_BUS_ID"));
		good = list.n < sizeof(v->devices);
		if (good && v->set)
			memcpy(v->devices, list.p, list.n);
	}
	buf_free(&b);
	return good;
}

static enum host_visible_kind parse_entry(struct bytes text, uint32_t *index, struct bytes *uuid)
{
	uint64_t n;

	if (text.n > 4 && (memcmp(text.p, "GPU-", 4) == 0 || memcmp(text.p, "MIG-", 4) == 0)) {
		*uuid = text;
		return HOST_VISIBLE_UUID;
	}
	if (!number_parse(text, 10, INDEX_MAX, &n))
		return HOST_VISIBLE_NONE;
	*index = (uint32_t)n;
	return HOST_VISIBLE_INDEX;
}

enum host_visible_kind host_visible_device(const struct host_visible *v, uint32_t ordinal,
					   uint32_t *index, struct bytes *uuid)
{
	const char *p = v->devices;
	enum host_visible_kind kind;

	*index = ordinal;
	if (!v->set)
		return ordinal <= INDEX_MAX ? HOST_VISIBLE_INDEX : HOST_VISIBLE_NONE;
	for (uint32_t i = 0;; i++) {
		struct bytes text = { p, strcspn(p, ",") };

		while (text.n && *text.p == ' ') {
			text.p++;
			text.n--;
		}
		while (text.n && text.p[text.n - 1] == ' ')
			text.n--;
		kind = parse_entry(text, index, uuid);
		if (kind == HOST_VISIBLE_NONE || i == ordinal)
			return kind;
		p += strcspn(p, ",");
		if (!*p++)
			return HOST_VISIBLE_NONE;
	}
}
