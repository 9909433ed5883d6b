/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for files that are made of recordings and need not stay open: in a folder of this process,
 * which goes with it. Folders of processes that were killed are removed by the next that makes one.
 */
#ifndef INGERO_INPUT_NAMED_H
#define INGERO_INPUT_NAMED_H

/* Zero-initialised has no folder yet. */
struct input_named {
	char *folder;
	int fd; /* of it, locked as long as somebody uses it; where there is a folder */
};

/* The name that the file without a name now has, n being a number of its own, yours to free and to
 * unlink; NULL: it cannot have one. */
char *input_named_give(struct input_named *d, int fd, unsigned n);
void input_named_free(struct input_named *d);

#endif
