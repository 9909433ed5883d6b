/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture and graphs of the double's device. A capture collects how much device time was
 * given to its streams and the copies, sets and host functions among it; a graph that is launched
 * takes that time and does those again.
 */
#ifndef TESTS_DOUBLE_GRAPH_H
#define TESTS_DOUBLE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct work;

/* A capture's id, never 0; into: the graph it adds to, NULL for a new one. 0: too many at once. */
uint64_t capture_begin(void *into);
bool capture_is_active(uint64_t id);
/* Another node that takes ns; w: what it does with memory, may be NULL. */
void capture_add(uint64_t id, uint64_t ns, const struct work *w);
void *capture_graph(uint64_t id);
/* The graph, which is the caller's then; NULL: no such capture. */
void *capture_end(uint64_t id);

/* Handles are graphs (or instantiated ones); made-up handles are accepted as graphs without nodes. */
void *graph_create(void);
void *graph_clone(void *graph);
void graph_destroy(void *graph);
void *graph_instantiate(void *graph);
void graph_update(void *exec, void *graph);
void graph_exec_destroy(void *exec);
/* Writes at most *n of its nodes, unless nodes is NULL, and says how many there are. */
void graph_nodes(void *graph, void **nodes, size_t *n);
/* Does what the graph does with memory and says how much device time it takes. */
uint64_t graph_run(void *exec);

#endif
