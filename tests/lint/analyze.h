/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analyzer that sees one file at a time is told of the functions of other files: what they
 * return. Included in front of each file by tests/lint/analyze, and by nothing else.
 */
#include "lib/base/err.h"
#include "lib/base/vec.h"

/* An error is never 0. */
#define err_nomem(e)	      (err_nomem(e), ERR_NOMEM)
#define err_set(e, code, ...) (err_set(e, code, __VA_ARGS__), (code))
#define err_sys(e, ...)	      (err_sys(e, __VA_ARGS__), ERR_SYS)
#define err_prefix(e, ...)    (err_prefix(e, __VA_ARGS__), ERR_SYS)

/* An array that has room is somewhere. */
#undef vec_reserve
#define vec_reserve(vec, more)                                                                \
	(((vec)->cap - (vec)->n >= (size_t)(more) ||                                          \
	  vec_grow_((void **)&(vec)->v, &(vec)->cap, (vec)->n, (more), sizeof(*(vec)->v))) && \
	 (vec)->v)
