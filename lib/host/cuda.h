/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CUDA is on this machine: libraries in the loader's cache and the usual folders, and those
 * that processes have mapped.
 */
#ifndef INGERO_HOST_CUDA_H
#define INGERO_HOST_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/host/proc.h"

enum host_cuda {
	HOST_CUDA_NONE,
	HOST_CUDA_RUNTIME,
	HOST_CUDA_DRIVER,
	HOST_CUDA_NCCL,
	HOST_CUDA_NVML
};

/* Which library a path is, by its file name: "libcudart.so.13", "libcudart-d0da41ae.so.11.0". */
enum host_cuda host_cuda_of(struct bytes path);

struct host_cuda_file {
	enum host_cuda kind;
	char *path;    /* as found; for processes, as the first of them sees it */
	char *open_as; /* a path under which we can read it */
	uint64_t device, inode;
	uint32_t pid; /* the first process that has it mapped; 0: found on disk only */
};

/* A vec; each file is there once, by device and inode. */
struct host_cuda_files {
	struct host_cuda_file *v;
	size_t n, cap;
};

/* Added to *out; what cannot be read is passed by. Only running out of memory is an error. */
int host_cuda_on_disk(struct host_cuda_files *out, struct err *e);
/* Libraries in a folder, or matching a glob(7) pattern of folders. */
int host_cuda_in(struct host_cuda_files *out, const char *folders, struct err *e);
int host_cuda_in_process(struct host_cuda_files *out, uint32_t pid, struct err *e);
void host_cuda_files_free(struct host_cuda_files *files);

/* Every process with a CUDA library, of one user or (uid HOST_ANYONE) of all. unseen: processes we
 * may not look into. */
#define HOST_ANYONE UINT32_MAX
int host_cuda_processes(struct host_pids *out, uint32_t uid, size_t *unseen, struct err *e);

/* The names of libraries in the loader's cache, each with its path, from the bytes of
 * /etc/ld.so.cache. False: not in a form we know. Texts are borrowed from the bytes. */
typedef bool host_cache_fn(void *ctx, struct bytes path);
bool host_cache_parse(struct bytes cache, host_cache_fn *fn, void *ctx);

/* One process: whose it is, what it is called, and the CUDA libraries (NVML among them) it has
 * mapped. */
struct host_cuda_process {
	uint32_t pid, uid;
	char name[HOST_TITLE_MAX + 1];
	struct host_cuda_files libraries;
};
/* ERR_CANNOT: there is no such process, or we may not look into it. */
int host_cuda_process_read(struct host_cuda_process *out, uint32_t pid, struct err *e);
void host_cuda_process_free(struct host_cuda_process *p);

#endif
