/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many files a process of ours may have open: as many as the system lets it, for probes and
 * samples keep theirs.
 */
#ifndef INGERO_HOST_DESCRIPTORS_H
#define INGERO_HOST_DESCRIPTORS_H

/* Of this process and those it starts from here on. */
void host_descriptors_raise(void);

#endif
