/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder says about the host's side: which sources of it this kernel lets us see, once,
 * and the block I/O of everybody else on each device, once a second.
 */
#ifndef INGERO_RECORD_HOST_RECORDS_H
#define INGERO_RECORD_HOST_RECORDS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/ige/writer.h"
#include "lib/attach/session_optional.h"
#include "lib/attach/session.h"
#include "lib/record/deadband_filter.h"
#include "lib/decode/wire_known.h"

/* COVERAGE, one record per source, of the whole recording; nothing where none was wanted. */
int metadata_write_optional(struct ige_writer *wr, const struct probe_optionals *o, int64_t now_ns,
			    struct err *e);

/* SAMPLEs of what others did: of devices where something happened since the last time, and of
 * segments sent again. seen: the caller's, of both; cleared, each is said again where anything
 * happened at all. *bytes: read and written by others on all devices so far. */
int metadata_write_others(struct ige_writer *wr, const struct probe_session *s,
			  const struct wire_decoder *wire, struct map *seen, struct deadband *thin,
			  int64_t now_ns, uint64_t *bytes, struct err *e);

#endif
