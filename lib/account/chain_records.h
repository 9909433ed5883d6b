/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings become CHAIN records: stable id, one sentence, and the evidence as JSON
 * (lib/model/finding_json.h).
 */
#ifndef INGERO_ACCOUNT_CHAIN_RECORDS_H
#define INGERO_ACCOUNT_CHAIN_RECORDS_H

#include "lib/account/loss_detector.h"
#include "lib/account/analysis_state.h"
#include "lib/model/finding.h"

/* Gives the sink the record of a finding. */
int chain_emit(struct cause *c, const struct finding *f, struct err *e);

/* What ids are made of: FNV-1a, 64 bits, part by part. */
#define CHAIN_HASH_START 0xcbf29ce484222325u
uint64_t chain_hash(uint64_t h, const void *p, size_t n);
uint64_t chain_hash_u64(uint64_t h, uint64_t v);
/* Of a process and its machine; of this machine, if node is not 0. */
uint64_t chain_hash_victim(uint64_t h, const struct cause *c, uint32_t process, uint32_t node);

#endif
