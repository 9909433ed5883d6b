/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where there is no fuzzer: a program of a fuzz target that hands it nothing once. What is looked
 * at is that it links.
 */
#ifndef INGERO_TESTS_FUZZ_ONCE_H
#define INGERO_TESTS_FUZZ_ONCE_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(void)
{
	return LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
}

#endif
