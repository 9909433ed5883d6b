/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cause whose longest stretch is slow by itself: 250 ms in one launch of a program whose steps
 * take 2 ms; or of which several are, each as long. As a share of all steps that is little, and yet
 * what a person wants to know.
 */
#ifndef INGERO_TRACKS_SINGLE_STALL_H
#define INGERO_TRACKS_SINGLE_STALL_H

#include "lib/base/buf.h"
#include "lib/tracks/causes.h"
#include "lib/tracks/first_calls.h"

/* So long, such a part of the steps (of what lies outside of them: of the program's life), and so
 * many times what is usual there. A load of 250 ms was 8 % of a recording of 3.2 s. */
#define ONCE_NS	   TRACK_LONG_NS
#define ONCE_SHARE 0.05
#define ONCE_TIMES 10

/* From so many stretches at one line on, or from two on that are alike, they are reported by their
 * number, if all of them together and each of them are long enough. */
#define REPEATED_LEAST 4

/* of_ns: what it has to be a part of. usual_ns: of a step or, where there are none, of a piece; 0:
 * not known. */
bool once_is_told(const struct path_cause *c, uint64_t of_ns, uint64_t usual_ns);

/* "on the CPU in cudaLaunchKernel called from launch (run.py:7), the first recorded call". */
void once_print(struct buf *out, const struct track_names *names, const struct first_calls *firsts,
		uint32_t anchor, const struct path_cause *c);

/* Whether stretches that are slow each are so together, and the longest of them is not so by
 * itself. */
bool repeated_is_told(const struct path_cause *c, uint64_t of_ns, uint64_t usual_ns);

/* "16 times 20 ms on the CPU in cuModuleLoadData called from compile (run.py:10), 320 ms in all" */
void repeated_print(struct buf *out, const struct track_names *names, const struct path_cause *c);

#endif
