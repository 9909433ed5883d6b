/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a bundle's members, shared by its writer (bundle_write.c) and its reader (bundle.c). */
#ifndef INGERO_INPUT_BUNDLE_FORM_H
#define INGERO_INPUT_BUNDLE_FORM_H

#define BUNDLE_HEAD	 "BUNDLE"
#define BUNDLE_SYMBOLS	 "symbols/"
#define BUNDLE_RECORDING "recording.ige"

/* The first line of BUNDLE; readers refuse other numbers. */
#define BUNDLE_FORM_ANY "ingero bundle "
#define BUNDLE_FORM	BUNDLE_FORM_ANY "1\n"

#define BUNDLE_TABLES_MAX 512u		/* each is an open file */
#define BUNDLE_TABLE_MAX  (1100u << 20) /* what lib/symbols/slim.h writes at most */

#endif
