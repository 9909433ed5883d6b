/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The incident report: what was found, for people (first line: the verdict) and as one JSON value
 * (formats/explain.schema.json). Both are made from the same chains and analysis record, so they
 * cannot disagree.
 */
#ifndef INGERO_REPORT_REPORT_H
#define INGERO_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/event/chain.h"
#include "lib/event/failure.h"
#include "lib/event/missing.h"
#include "lib/event/oncpu.h"
#include "lib/event/op_totals.h"

struct report {
	const struct chain_list *chains;
	const struct failures *failures;    /* NULL: not asked */
	const struct oncpu *oncpu;	    /* NULL: not asked */
	const struct op_totals *operations; /* NULL: not asked */
	uint64_t events, lost;
	bool asleep;		       /* threads were known to sleep */
	uint64_t open;		       /* calls that were when it ended */
	const struct missing *missing; /* beside events; NULL: not asked */
	int64_t start_ns, end_ns;      /* on the recording's clock */
	int64_t real_minus_mono_ns;
	bool has_start, has_real;
	bool found_analyzed;
	bool growing;	 /* its recorder still writes it */
	bool no_library; /* it was recorded, and no CUDA library was in any process */
	/* The input is damaged, cut or unterminated: the report covers what could be read. */
	bool partial;
	struct bytes partial_text; /* why; empty: unknown */
	unsigned top;		   /* chains shown; 0: all */
	const uint32_t *pids;	   /* only these victims; npids 0: all */
	unsigned npids;
	bool chains_only; /* text: a table of chains and nothing else */
	bool steps;	  /* text: step by step, and nothing else */
	bool per_process; /* text: every process with its chains, however many */
	unsigned columns; /* of the terminal, 0 none: tables fold to it; MARKS_COLUMNS: marks
			     (base/marks.h) */
};

/* Whether this chain is to be shown at all (-p). */
bool report_selects(const struct report *r, const struct finding *c);

void report_text(struct buf *out, const struct report *r, bool color);
void report_json(struct buf *out, const struct report *r);

#endif
