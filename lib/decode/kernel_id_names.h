/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel side's numbers of files and sockets stand for: the records that say so, of the
 * newest KERNEL_ID_NAMES. Each file of a recording says them again, before the first event in it
 * that names one: the files before it may be gone.
 */
#ifndef INGERO_DECODE_KERNEL_ID_NAMES_H
#define INGERO_DECODE_KERNEL_ID_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

/* About 350 bytes each: 6 MB. Twice what is given out before all are numbered anew, which a thread
 * that sleeps the whole time has to outlast to lose the name of what it sleeps on. */
#define KERNEL_ID_NAMES 16384

struct decode_number {
	uint32_t number; /* from 1 on; 0: free */
	uint64_t id;
	int64_t used_ns; /* end of the latest event that names it */
	struct record record;
	char *texts;			/* of the record */
	struct decode_holders *holders; /* of a connection's ends; NULL: none are known */
};

/* Processes that have the ends of a connection open. After a fork they are several, and whoever has
 * both is nobody's peer. */
#define KERNEL_ID_HOLDERS 8
struct decode_holders {
	struct decode_holder {
		uint32_t pid;
		char comm[16];
	} far[KERNEL_ID_HOLDERS];
	uint32_t near[KERNEL_ID_HOLDERS];
	uint8_t nfar, nnear;
	bool more;  /* than have room: who has both is not known */
	bool whole; /* all that were found are here */
};

/* Zero-initialised knows none. */
struct kernel_id_names {
	VEC(struct decode_number) v; /* number % KERNEL_ID_NAMES */
	struct map said;	     /* ids, in this file of the recording */
	VEC(uint32_t) looked;	     /* numbers whose holders are looked for */
	uint32_t newest, renewed;    /* numbers */
};

/* The record is copied. False: out of memory; nothing changed. */
bool kernel_id_names_put(struct kernel_id_names *n, uint32_t number, uint64_t id,
			 const struct record *r);

/* What takes a record, borrowed, to say it. */
typedef void decode_number_fn(void *ctx, struct record *r);

/* The id, for an event that ends at end_ns; its record, and who is at its other end, are said where
 * this file of the recording does not have them yet. False: never told, or long ago. */
bool kernel_id_names_use(struct kernel_id_names *n, uint32_t number, int64_t end_ns, uint64_t *id,
			 decode_number_fn *say, void *ctx);

/* A process of this machine has the socket open (near), or its other end. False: the number was
 * never told, or long ago, or memory is exhausted. */
bool kernel_id_names_holder(struct kernel_id_names *n, uint32_t number, bool near, uint32_t tgid,
			    const char comm[16]);

/* All holders were found that can be: who has the other end alone is said, now and in each file
 * that names the socket. Of several, each. */
void kernel_id_names_peers(struct kernel_id_names *n, decode_number_fn *say, void *ctx);

/* The number was given out, and its record has probably been dropped since. */
static inline bool kernel_id_names_forgotten(const struct kernel_id_names *n, uint32_t number)
{
	return number && number <= n->newest;
}

/* Another file begins: everything is to be said again, by say at once what events name that end at
 * since_ns or later, for they may be written to it. */
void kernel_id_names_again(struct kernel_id_names *n, int64_t since_ns, decode_number_fn *say,
			   void *ctx);

/* So many have come that the oldest will be forgotten soon, and may be in use: all are to be
 * numbered anew. Said once per half of the room. */
bool kernel_id_names_many(struct kernel_id_names *n);

void kernel_id_names_free(struct kernel_id_names *n);

#endif
