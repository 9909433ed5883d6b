/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details that findings of all kinds have, filled in from what the analysis knows: whom it hit,
 * where, when, and what to do.
 */
#ifndef INGERO_ACCOUNT_FINDING_DETAILS_H
#define INGERO_ACCOUNT_FINDING_DETAILS_H

#include "lib/base/buf.h"
#include "lib/account/analysis_state.h"
#include "lib/account/where.h"
#include "lib/model/finding.h"

/* node 0: the process's. */
void details_fill_victim(const struct cause *c, uint32_t process, uint32_t node,
			 struct finding *to);
/* Its times on the recording's clock become such since it began. */
void details_fill_times(const struct cause *c, struct finding *to);
void details_fill_coverage(const struct cause *c, struct finding *to);
void details_add_site(const struct cause *c, const struct where_place *p, struct finding *to);
/* What to do. kind: "shell" where command is for a shell, "code" where it is lines for the program
 * itself. */
void details_add_fix(struct finding *to, const char *action, const char *kind, const char *command,
		     uint64_t gain_low_ns, uint64_t gain_high_ns, const char *basis);
/* What proves it, as a number or as a text. */
void details_add_number(struct finding *to, const char *what, double value, const char *unit);
void details_add_text(struct finding *to, const char *what, const char *text);

/* The text copied for the finding; the buffer is empty afterwards, for the next one. */
struct bytes details_take(struct finding *to, struct buf *text);
/* The same as a string, of a buffer that is freed; and of what is printed. */
const char *details_text(struct finding *to, struct buf *text);
const char *details_print(struct finding *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
