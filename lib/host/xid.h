/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of NVIDIA GPUs (XIDs) as the driver writes them to the kernel log, with or without its
 * management library: NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python3, GPU has fallen off
 * the bus. The form is that of NVIDIA's public XID documentation
 * (docs.nvidia.com/deploy/xid-errors); pid and name are missing or
 * "<unknown>" where the driver does not know them, and older drivers leave "PCI:" out.
 */
#ifndef INGERO_HOST_XID_H
#define INGERO_HOST_XID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/host/nvml.h"

struct host_xid {
	uint32_t domain, bus, device; /* of the PCI address */
	uint32_t number;
	uint32_t pid; /* 0: not told */
};

/* Parses a line of the kernel log, with or without its prefix. False: it holds no XID. */
bool host_xid_parse(struct bytes line, struct host_xid *out);

/* A record of the kernel log is not longer (CONSOLE_EXT_LOG_MAX of include/linux/printk.h). */
#define HOST_XID_TEXT_MAX 8192

struct host_xid_log {
	int fd; /* -1: cannot be read */
	size_t at, n;
	char text[HOST_XID_TEXT_MAX]; /* of the last read, n bytes, taken up to at */
};

/* The kernel log from now on, to be read without waiting. */
int host_xid_open(struct host_xid_log *log, struct err *e);
void host_xid_close(struct host_xid_log *log);
/* The next XID in it, with at most *left reads, which are counted down; false: none yet. */
bool host_xid_next(struct host_xid_log *log, unsigned *left, struct host_xid *out);

/* A GPU of which the library did not tell: its uuid is the address, "PCI:0000:01:00". Asks the
 * driver for nothing that could wait for a GPU in trouble. */
void host_xid_gpu(const struct host_xid *xid, struct host_gpu *out);

#endif
