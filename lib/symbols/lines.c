/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All three tables are runs of (how much bytecode, how far the line moves). Lines are summed up
 * without overflow: unsigned, and only a sum that is a line is one.
 */
#include "lib/symbols/lines.h"

#include <stdbool.h>

static uint32_t line_of(uint64_t line)
{
	return line <= INT32_MAX ? (uint32_t)line : 0;
}

/* 3.8, 3.9: pairs (bytes since the last pair, signed change of the line there). */
static uint32_t find_lnotab(uint64_t line, const unsigned char *p, size_t n, uint64_t at)
{
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		address += p[i];
		if (address > at)
			break;
		line += (uint64_t)(int64_t)(int8_t)p[i + 1];
	}
	return line_of(line);
}

/* 3.10: pairs (bytes of this range, signed change of the line for it; -128: this range has none,
 * the line stays). */
static uint32_t find_ranges(uint64_t line, const unsigned char *p, size_t n, uint64_t at)
{
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		int8_t change = (int8_t)p[i + 1];

		if (change != INT8_MIN)
			line += (uint64_t)(int64_t)change;
		address += p[i];
		if (at < address)
			return change == INT8_MIN ? 0 : line_of(line);
	}
	return 0;
}

/* Six bits a byte, lowest first, bit 6 says that more follow; the lowest bit of the whole is the
 * sign. */
static int64_t signed_varint(const unsigned char **p, const unsigned char *end)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (*p < end) {
		unsigned char c = *(*p)++;

		if (shift < 42)
			v |= (uint64_t)(c & 63) << shift;
		shift += 6;
		if (!(c & 64))
			break;
	}
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMN = 13, LOCATION_LONG = 14, LOCATION_NONE = 15 };

/* 3.11: entries of a first byte (bit 7, kind, code units less 1) and what the kind has, bit 7
 * clear. */
static uint32_t find_location(uint64_t line, const unsigned char *p, size_t n, uint64_t at)
{
	const unsigned char *end = p + n;
	uint64_t address = 0;

	while (p < end) {
		unsigned first = *p++, kind = first >> 3 & 15;

		if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMN)
			line += kind - LOCATION_ONE_LINE;
		else if (kind == LOCATION_NO_COLUMN || kind == LOCATION_LONG)
			line += (uint64_t)signed_varint(&p, end);
		address += ((first & 7) + 1) * 2;
		if (at < address)
			return kind == LOCATION_NONE ? 0 : line_of(line);
		while (p < end && !(*p & 0x80))
			p++;
	}
	return 0;
}

uint32_t sym_lines_find(unsigned minor, uint32_t first_line, const unsigned char *table, size_t n,
			uint64_t at)
{
	if (minor < 10)
		return find_lnotab(first_line, table, n, at);
	if (minor == 10)
		return find_ranges(first_line, table, n, at);
	return find_location(first_line, table, n, at);
}
