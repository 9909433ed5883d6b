/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings and analyses with pseudonyms: the same numbers, the same ids under the same key, and
 * sentences in which names are replaced (lib/input/pseudonym_sentence.h). Members that are not
 * known to this version are left out.
 */
#ifndef INGERO_INPUT_ANONYMIZE_FINDING_H
#define INGERO_INPUT_ANONYMIZE_FINDING_H

#include "lib/base/err.h"
#include "lib/event/record.h"
#include "lib/input/anonymize_names.h"

/* Memory of the texts of one record; zero-initialised is empty. */
struct anonymize_finding_texts {
	struct buf body, summary, id, match;
};

/* 1: *out is the record with pseudonyms, its texts in *texts. 0: it cannot be read, so that it has
 * to be left out. ERR_NOMEM. */
int anonymize_finding(struct anonymize_names *n, const struct record *chain, struct record *out,
		      struct anonymize_finding_texts *texts, struct err *e);
/* The same of an analysis. */
int anonymize_analysis(struct anonymize_names *n, const struct record *analysis, struct record *out,
		       struct anonymize_finding_texts *texts, struct err *e);

void anonymize_finding_texts_free(struct anonymize_finding_texts *texts);

#endif
