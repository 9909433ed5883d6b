/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjq is given to compile. Nothing at all is the identity to jq 1.6 and 1.8, and an error
 * to 1.7 (Debian 13, Ubuntu 24.04).
 */
#ifndef INGERO_FILTER_PROGRAM_H
#define INGERO_FILTER_PROGRAM_H

#include <string.h>

/* words, borrowed, or the identity. */
static inline const char *filter_program(const char *words)
{
	return words[strspn(words, " \t\r\n")] ? words : ".";
}

#endif
