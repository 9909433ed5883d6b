/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python runtimes that targets map: each file is read once, by device and inode. A process with
 * a known one is registered with the kernel side, so that its stacks have Python frames. Unknown
 * ones are kept to be reported.
 */
#ifndef INGERO_ATTACH_PYTHONS_H
#define INGERO_ATTACH_PYTHONS_H

#include "lib/attach/session.h"
#include "lib/attach/stacks.h"
#include "lib/attach/file_users.h"

struct probe_python_file {
	uint32_t major, minor;
	uint64_t inode;
	char *path;	      /* as the first process saw it; NULL: no Python runtime */
	struct sym_elf *file; /* kept open: its segments place it in a process */
	struct sym_python python;
	char build_id[SYM_BUILD_ID];
	bool counted; /* freed code objects are counted, since before its first process was
			 registered */
};

struct probe_pythons;

/* session, stacks: borrowed. What it has put on the files of runtimes stays there until it is
 * freed. */
int probe_pythons_new(struct probe_pythons **out, struct probe_session *session,
		      struct probe_stacks *stacks, struct err *e);
void probe_pythons_free(struct probe_pythons *p);

/* A new picture of a process's maps: begin, every mapping with code, end. exe: it is of what the
 * process executes. mapping: true when its file holds a runtime, false too where it could not be
 * read. end: true when the process has a runtime it did not have before. */
void probe_pythons_begin(struct probe_pythons *p, uint32_t tgid);
bool probe_pythons_mapping(struct probe_pythons *p, const struct host_mapping *m, bool exe);
bool probe_pythons_end(struct probe_pythons *p);
/* A child goes on in its parent's Python: the kernel side knows already. */
void probe_pythons_inherit(struct probe_pythons *p, uint32_t parent, uint32_t child);
/* The process has ended; process: of the world. */
void probe_pythons_ended(struct probe_pythons *p, uint32_t tgid, uint32_t process);
/* Drops the uses of these processes, whose records are written. */
void probe_pythons_forget(struct probe_pythons *p, const struct gone_processes *gone);

/* Whether that address lies in the state that the process's CPython keeps for all its threads. What
 * threads sleep on there is the lock of the main interpreter (its condition, and the mutexes around
 * it): all other locks of the runtime are made in memory of their own, or are parked on the
 * waiter's stack. */
bool probe_pythons_gil(const struct probe_pythons *p, uint32_t tgid, uint64_t address);

/* Files looked at, those without a runtime among them; and who uses one that has. */
struct probe_python_file *const *probe_pythons_files(const struct probe_pythons *p, size_t *n);
const struct file_users *probe_pythons_uses(const struct probe_pythons *p);
/* The first process that the kernel side had no room for; 0: there was none. Why its stacks have no
 * frames of Python. */
uint32_t probe_pythons_roomless(const struct probe_pythons *p);
extern const char probe_pythons_no_room[];

#endif
