/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a value keep to a JSON Schema? The part of the language that descriptions of arguments and
 * answers use: type, enum, const, required, properties, additionalProperties, items, the bounds of
 * numbers, texts, arrays and objects, anyOf, oneOf, allOf. Other words are not looked at.
 */
#ifndef INGERO_MCP_MCP_SCHEMA_H
#define INGERO_MCP_MCP_SCHEMA_H

#include "lib/base/err.h"
#include "lib/base/json.h"

/* ERR_USAGE: says which part of what (a name for the whole, "arguments") is wrong and what was
 * wanted. */
int mcp_schema_check(struct json schema, struct json value, const char *what, struct err *e);

#endif
