/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sampled of nodes, GPUs and block devices: figures and their course over time, for how
 * long a GPU was held down and why, and the errors it had. Samples of a process, a cgroup or one
 * CPU are passed over. Memory is bounded by SAMPLES_MAX metrics of subjects and XIDS_MAX errors;
 * what is beyond is not reported.
 */
#ifndef INGERO_QUERY_CPU_SAMPLE_ROWS_H
#define INGERO_QUERY_CPU_SAMPLE_ROWS_H

#include <stdbool.h>

#include "lib/event/record.h"
#include "lib/event/section_rows.h"

struct query_samples;

struct query_samples *query_samples_new(void); /* NULL: out of memory */
void query_samples_free(struct query_samples *s);

/* A SAMPLE record. False: out of memory. */
bool query_samples_record(struct query_samples *s, const struct record *rec);

/* metrics, gpus and xids of the view, emptied before; borrowed series. False: out of memory. */
bool query_samples_rows(const struct query_samples *s, struct view *v);

#endif
