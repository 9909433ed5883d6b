/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the two reports of a GPU error (XID) into one record: the kernel log reports it at once,
 * with the process, and NVIDIA's management library up to a second later. Each report of one source
 * is matched with one of the other.
 */
#ifndef INGERO_RECORD_XIDS_H
#define INGERO_RECORD_XIDS_H

#include <stdbool.h>
#include <stdint.h>

enum record_xid_source { XID_KERNEL_LOG, XID_LIBRARY, XID_SOURCES };

/* What one told and the other did not yet, for so long. */
#define RECORD_XIDS_MAX	     64
#define RECORD_XIDS_MATCH_NS 10000000000ll

/* Zero-initialised knows none. */
struct record_xids {
	struct record_xid {
		uint32_t gpu; /* world id */
		uint32_t number;
		enum record_xid_source source;
		int64_t time_ns;
	} waiting[RECORD_XIDS_MAX];
	unsigned n;
	uint64_t told[XID_SOURCES]; /* also those that the other had told before */
};

/* False: the other has told of it. */
bool record_xids_new(struct record_xids *x, enum record_xid_source source, uint32_t gpu,
		     uint32_t number, int64_t time_ns);

#endif
