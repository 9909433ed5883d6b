/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names decide what a library is; device and inode decide whether two names are one file.
 */
#include "lib/host/cuda.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/io.h"
#include "lib/base/vec.h"
#include "lib/base/wirebytes.h"
#include "lib/host/maps.h"

#define CACHE_MAX (64u << 20)
#define FILES_MAX 4096u

static const char *const folders[] = {
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
	"/usr/lib/wsl/lib",
	"/usr/local/lib",
	"/usr/local/cuda*/lib64",
	"/usr/local/cuda*/targets/*/lib",
	"/usr/local/nvidia/lib64",
	"/opt/cuda/lib64",
	"/usr/local/lib/python3*/*-packages/nvidia/*/lib",
	"/usr/local/lib/python3*/*-packages/torch/lib",
	"/usr/lib/python3*/*-packages/nvidia/*/lib",
	"/opt/conda/lib",
	"/opt/conda/lib/python3*/site-packages/nvidia/*/lib",
	"/opt/conda/lib/python3*/site-packages/torch/lib",
};

enum host_cuda host_cuda_of(struct bytes path)
{
	static const struct {
		const char *stem;
		enum host_cuda kind;
	} known[] = { { "libcudart", HOST_CUDA_RUNTIME },
		      { "libcuda", HOST_CUDA_DRIVER },
		      { "libnccl", HOST_CUDA_NCCL },
		      { "libnvidia-ml", HOST_CUDA_NVML } };
	struct bytes name = bytes_file_name(path);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].stem);

		/* The stem ends here, or in the hash that wheel builders put in. */
		if (name.n > n && bytes_begin_with(name, known[i].stem) &&
		    (name.p[n] == '.' || name.p[n] == '-') &&
		    memmem(name.p + n, name.n - n, ".so", 3))
			return known[i].kind;
	}
	return HOST_CUDA_NONE;
}

static int add_file(struct host_cuda_files *out, enum host_cuda kind, const char *path,
		    const char *open_as, uint32_t pid, struct err *e)
{
	struct host_cuda_file f = { .kind = kind, .pid = pid };
	struct stat st;

	if (out->n >= FILES_MAX || stat(open_as, &st) || !S_ISREG(st.st_mode))
		return 0;
	f.device = st.st_dev;
	f.inode = st.st_ino;
	for (size_t i = 0; i < out->n; i++)
		if (out->v[i].device == f.device && out->v[i].inode == f.inode)
			return 0;
	f.path = strdup(path);
	f.open_as = strdup(open_as);
	if (!f.path || !f.open_as || !vec_push(out, f)) {
		free(f.path);
		free(f.open_as);
		return err_nomem(e);
	}
	return 0;
}

void host_cuda_files_free(struct host_cuda_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i].path);
		free(files->v[i].open_as);
	}
	vec_free(files);
}

/* Shared objects only: the linker's text stubs and folders of stubs are not what programs run with.
 */
static int in_folder(struct host_cuda_files *out, const char *folder, struct err *e)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int rc = 0;

	while (rc == 0 && dir && (entry = readdir(dir)) != NULL) {
		enum host_cuda kind = host_cuda_of(bytes_of(entry->d_name));
		char *path = NULL;

		if (kind == HOST_CUDA_NONE)
			continue;
		if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
			return closedir(dir), err_nomem(e);
		rc = add_file(out, kind, path, path, 0, e);
		free(path);
	}
	if (dir)
		closedir(dir);
	return rc;
}

int host_cuda_in(struct host_cuda_files *out, const char *pattern, struct err *e)
{
	glob_t found;
	int rc = 0;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
		rc = in_folder(out, found.gl_pathv[i], e);
	globfree(&found);
	return rc;
}

bool host_cache_parse(struct bytes cache, host_cache_fn *fn, void *ctx)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	const size_t head = 48, entry = 24;
	const char *base = cache.n ? memmem(cache.p, cache.n, magic, sizeof(magic) - 1) : NULL;
	size_t size = base ? cache.n - (size_t)(base - cache.p) : 0;
	uint64_t n;

	/* Behind the magic: number of entries, bytes of text. Places of texts count from the magic.
	 */
	if (size < head)
		return false;
	n = le_get(base + 20, 4);
	if (n > (size - head) / entry)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = le_get(base + head + i * entry + 8, 4);
		const char *end;

		if (at >= size)
			continue;
		end = memchr(base + at, 0, size - at);
		if (end && !fn(ctx, (struct bytes){ base + at, (size_t)(end - base) - at }))
			break;
	}
	return true;
}

struct finding {
	struct host_cuda_files *out;
	uint32_t pid;
	int rc;
	struct err *e;
};

static bool on_cached(void *ctx, struct bytes path)
{
	struct finding *f = ctx;
	enum host_cuda kind = host_cuda_of(path);

	if (kind != HOST_CUDA_NONE)
		f->rc = add_file(f->out, kind, path.p, path.p, 0, f->e);
	return f->rc == 0;
}

int host_cuda_on_disk(struct host_cuda_files *out, struct err *e)
{
	struct finding f = { .out = out, .e = e };
	struct buf cache = { 0 };

	if (read_file("/etc/ld.so.cache", &cache, CACHE_MAX, NULL) == 0)
		host_cache_parse(buf_bytes(&cache), on_cached, &f);
	buf_free(&cache);
	for (size_t i = 0; f.rc == 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		f.rc = host_cuda_in(out, folders[i], e);
	return f.rc;
}

static bool on_mapping(void *ctx, const struct host_mapping *m)
{
	struct finding *f = ctx;
	enum host_cuda kind = m->executable ? host_cuda_of(m->path) : HOST_CUDA_NONE;
	char open_as[4200];

	if (kind != HOST_CUDA_NONE)
		f->rc = add_file(f->out, kind, m->path.p,
				 host_maps_path(f->pid, m, open_as, sizeof(open_as)), f->pid, f->e);
	return f->rc == 0;
}

int host_cuda_in_process(struct host_cuda_files *out, uint32_t pid, struct err *e)
{
	struct finding f = { .out = out, .pid = pid, .e = e };
	int rc = host_maps_read(pid, on_mapping, &f, e);

	return rc ? rc : f.rc;
}

static bool is_cuda(void *ctx, const struct host_mapping *m)
{
	enum host_cuda kind = m->executable ? host_cuda_of(m->path) : HOST_CUDA_NONE;
	bool *found = ctx;

	*found = kind == HOST_CUDA_RUNTIME || kind == HOST_CUDA_DRIVER || kind == HOST_CUDA_NCCL;
	return !*found;
}

int host_cuda_processes(struct host_pids *out, uint32_t uid, size_t *unseen, struct err *e)
{
	struct host_pids all = { 0 };
	int rc = host_proc_all(&all, e);

	*unseen = 0;
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		struct host_process p;
		bool found = false;

		if (uid != HOST_ANYONE && (host_proc_read(all.v[i], &p, NULL) || p.uid != uid))
			continue;
		if (host_maps_read(all.v[i], is_cuda, &found, NULL))
			*unseen += host_proc_sight(all.v[i]) == HOST_DENIED;
		if (found && !vec_push(out, all.v[i]))
			rc = err_nomem(e);
	}
	host_pids_free(&all);
	return rc;
}

/* By kind, then by path: where a loader has put them changes from run to run. */
static int compare_libraries(const void *a, const void *b)
{
	const struct host_cuda_file *x = a, *y = b;

	return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
				  : strcmp(x->path, y->path);
}

int host_cuda_process_read(struct host_cuda_process *out, uint32_t pid, struct err *e)
{
	struct host_process p;
	struct buf name = { 0 };
	int rc;

	*out = (struct host_cuda_process){ .pid = pid };
	rc = host_proc_read(pid, &p, e);
	if (rc)
		return rc;
	out->uid = p.uid;
	host_proc_title(pid, bytes_of(p.comm), &name);
	snprintf(out->name, sizeof(out->name), "%s", buf_text(&name));
	buf_free(&name);
	rc = host_cuda_in_process(&out->libraries, pid, e);
	if (rc)
		host_cuda_process_free(out);
	else if (out->libraries.n)
		qsort(out->libraries.v, out->libraries.n, sizeof(*out->libraries.v),
		      compare_libraries);
	return rc;
}

void host_cuda_process_free(struct host_cuda_process *p)
{
	host_cuda_files_free(&p->libraries);
}
