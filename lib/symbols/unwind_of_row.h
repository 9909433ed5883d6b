/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a row of call frame information to the unwind rule that says the same, where there is one.
 */
#ifndef INGERO_SYMBOLS_UNWIND_OF_ROW_H
#define INGERO_SYMBOLS_UNWIND_OF_ROW_H

#include "bpf/unwind_rule.h"
#include "lib/symbols/cfi_program.h"

uint64_t unwind_of_row(const struct cfi_row *row, const struct cfi_section *s,
		       const struct cfi_machine *machine, bool is_signal);

#endif
