/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One boot of one machine as a word: it tells the machine that serves a recording from the one that
 * made it.
 */
#ifndef INGERO_STORE_MACHINE_H
#define INGERO_STORE_MACHINE_H

#include <stdint.h>

#define STORE_MACHINE_TEXT 50 /* bytes, the zero at the end too */

/* As recordings have them in their first block; boot 0, or a uuid of zeros, is nobody: "". */
void store_machine_text(char out[STORE_MACHINE_TEXT], const uint8_t uuid[16], uint64_t boot);

#endif
