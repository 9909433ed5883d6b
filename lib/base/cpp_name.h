/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of C++ functions as people say them. A demangled name has the types of all parameters and
 * template arguments, hundreds of characters of it, where the file and line beside it tell
 * overloads apart.
 */
#ifndef INGERO_BASE_CPP_NAME_H
#define INGERO_BASE_CPP_NAME_H

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

/* Appends it without return type, parameters and template arguments: "Ring::pop_wait" of
 * "float Ring<float>::pop_wait<int>(long) const". Names that are not of that form, of C and of
 * Rust, stay as they are. */
void cpp_name_print(struct buf *out, struct bytes name);

#endif
