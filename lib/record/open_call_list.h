/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that have not returned: they hold back the time before which nothing can start any more,
 * until they have been open so long that a record names them.
 */
#ifndef INGERO_RECORD_OPEN_CALL_LIST_H
#define INGERO_RECORD_OPEN_CALL_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/ige/writer.h"
#include "lib/attach/session.h"
#include "lib/decode/wire.h"

struct open_call_list {
	/* Of a call that an OPEN record has named: the look that saw it last << 32 | the file of
	 * the recording that the record stands in. */
	struct map named;
	uint32_t looks, file;
	uint64_t open;
	/* By op: a call that is open for longer triggers a flight recorder, and is named then;
	 * NULL: there are no such triggers. */
	const uint64_t *slow_ns;
	uint16_t hung_op; /* of the newest of these: what it is, and how long it took to be one */
	uint64_t hung_limit_ns;
	uint64_t hung; /* each counted once, in however many files it is named */
};

/* Look at all open calls. Names those older than hung_ns (all, when at_end). *floor_ns: nothing
 * that ends later started before, but for what records name; never after now_ns - slack. */
int open_call_list_look(struct open_call_list *o, struct probe_session *s,
			struct wire_decoder *wire, struct ige_writer *wr, int64_t now_ns,
			uint64_t hung_ns, bool at_end, int64_t *floor_ns, struct err *e);
/* For a file that ends while the recording goes on: names all that were open at until_ns, as at the
 * end. Nothing is remembered of it. */
int open_call_list_tell(struct probe_session *s, struct wire_decoder *wire, struct ige_writer *wr,
			int64_t until_ns, struct err *e);
/* Another file of the recording begins: what is open still is named in it too. */
void open_call_list_again(struct open_call_list *o);
void open_call_list_free(struct open_call_list *o);

#endif
