/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudonyms: what a text says of whom and where is replaced by a word made of it under a key; what
 * everybody has is kept (/usr/lib, libcuda.so.1, python3), because a recording without it cannot be
 * read. The same text gets the same pseudonym wherever it stands, and in every recording with the
 * same key. What is not known to be harmless is replaced.
 */
#ifndef INGERO_INPUT_PSEUDONYM_H
#define INGERO_INPUT_PSEUDONYM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/keyhash.h"

enum pseudonym_kind {
	ALIAS_KEEP, /* says nothing about a site: "slurm", "ext4", a function's name */
	ALIAS_NAME, /* of a container, a job, anything: as a whole */
	ALIAS_HOST,
	ALIAS_POD,
	ALIAS_PATH,	/* of a file or a cgroup, part by part */
	ALIAS_PROGRAM,	/* of a process or thread */
	ALIAS_COMMAND,	/* a command line, word by word */
	ALIAS_ADDRESS,	/* "192.0.2.1:8080", "[2001:db8::1]:443": ports stay */
	ALIAS_ORIGIN,	/* of a mount: "/dev/sda1", "server:/export", "tmpfs" */
	ALIAS_TARGET,	/* "pid 4821", "user bob", "command python3 train.py" */
	ALIAS_GPU,	/* "GPU-1b2c…", or a list of such and of numbers */
	ALIAS_FUNCTION, /* of a program or a GPU: kept, unless it has a path in it, as that of a
			   lambda may */
	ALIAS_SENTENCE, /* of ours, with paths and quoted words in it */
	ALIAS_KINDS,
};

/* The pseudonym of text is appended to out. */
void pseudonym_text(const struct keyhash *key, enum pseudonym_kind kind, struct bytes text,
		    struct buf *out);

/* An id or a number: never 0, and 0 of 0. */
uint64_t pseudonym_u64(const struct keyhash *key, uint64_t id);
/* A user: root stays root. */
uint32_t pseudonym_uid(const struct keyhash *key, uint32_t uid);

#endif
