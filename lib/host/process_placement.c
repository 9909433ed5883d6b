/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of cgroups have the forms that container engines and schedulers gave them; the tables name
 * them.
 */
#include "lib/host/process_placement.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/buf.h"
#include "lib/base/io.h"
#include "lib/host/proc.h"

#define CGROUP_TEXT_MAX 65536u
#define ENVIRON_TEXT_MAX \
	(2u << 20)  /* the kernel's own limit of arguments and environment, by default */
#define ID_LEAST 12 /* digits of a shortened container id; Kubernetes' own words are shorter */

void host_place_init(struct host_place *p)
{
	memset(p, 0, sizeof(*p));
	p->rank = p->local_rank = p->world_size = HOST_RANK_UNKNOWN;
}

bool host_place_known(const struct host_place *p)
{
	return *p->runtime || *p->container || *p->pod || *p->pod_uid || *p->job || *p->devices ||
	       *p->namespace || p->rank != HOST_RANK_UNKNOWN;
}

/* What fits, without control characters; a longer text is cut. */
static void copy_text(char *to, size_t size, struct bytes text)
{
	size_t n = 0;

	for (; n < text.n && n + 1 < size && text.p[n]; n++)
		to[n] = (unsigned char)text.p[n] < ' ' ? '?' : text.p[n];
	to[n] = '\0';
}
#define KEEP(to, text) copy_text((to), sizeof(to), (text))

static bool has_prefix(struct bytes text, const char *with)
{
	size_t n = strlen(with);

	return text.n >= n && memcmp(text.p, with, n) == 0;
}

static struct bytes strip_bytes(struct bytes text, size_t front, size_t back)
{
	return front + back > text.n ? (struct bytes){ text.p, 0 }
				     : (struct bytes){ text.p + front, text.n - front - back };
}

/* ---- cgroups
 * --------------------------------------------------------------------------------------- */

/* Leading hexadecimal digits. */
static struct bytes leading_digits(struct bytes text)
{
	size_t n = 0;

	while (n < text.n && isxdigit((unsigned char)text.p[n]))
		n++;
	return (struct bytes){ text.p, n };
}

static void set_container(struct host_place *p, const char *runtime, struct bytes id)
{
	if (runtime)
		KEEP(p->runtime, bytes_of(runtime));
	else if (!*p->runtime)
		KEEP(p->runtime, bytes_of("container"));
	KEEP(p->container, id);
}

/* One folder that is a container: "docker-<id>.scope", "cri-containerd-<id>.scope", "<id>". */
static void container_part(struct host_place *p, struct bytes part, struct bytes before)
{
	static const struct {
		const char *start, *runtime;
	} forms[] = { { "cri-containerd-", "containerd" },
		      { "nerdctl-", "containerd" },
		      { "docker-", "docker" },
		      { "crio-", "cri-o" },
		      { "libpod-", "podman" } };

	if (part.n > 6 && memcmp(part.p + part.n - 6, ".scope", 6) == 0)
		part.n -= 6;
	/* The engine's own watcher beside the container. */
	if (has_prefix(part, "crio-conmon-") || has_prefix(part, "libpod-conmon-"))
		return;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct bytes id = leading_digits(strip_bytes(part, strlen(forms[i].start), 0));

		if (has_prefix(part, forms[i].start) && id.n >= ID_LEAST)
			set_container(p, forms[i].runtime, id);
	}
	if (has_prefix(part, "lxc.payload."))
		set_container(p, "lxc", strip_bytes(part, 12, 0));
	else if (bytes_equal(before, bytes_of("lxc")))
		set_container(p, "lxc", part);
	else if (bytes_equal(before, bytes_of("docker")) && leading_digits(part).n >= ID_LEAST)
		set_container(p, "docker", leading_digits(part));
	else if (leading_digits(part).n == 64 && part.n == 64)
		set_container(p, NULL, part);
}

/* "pod<uid>", "kubepods-burstable-pod<uid with underscores>.slice". */
static void pod_part(struct host_place *p, struct bytes part)
{
	const char *at = NULL;
	char uid[sizeof(p->pod_uid)];
	struct bytes found;

	if (part.n > 6 && memcmp(part.p + part.n - 6, ".slice", 6) == 0)
		part.n -= 6;
	for (size_t i = 0; i + 3 < part.n; i++)
		if (memcmp(part.p + i, "pod", 3) == 0 && isxdigit((unsigned char)part.p[i + 3]) &&
		    (i == 0 || part.p[i - 1] == '-'))
			at = part.p + i + 3;
	if (!at)
		return;
	found = (struct bytes){ at, (size_t)(part.p + part.n - at) };
	/* 32 digits and 4 dashes; a static pod has the 32 digits of a hash. */
	if (found.n != 36 && found.n != 32)
		return;
	KEEP(uid, found);
	for (char *c = uid; *c; c++)
		if (*c == '_')
			*c = '-';
		else if (*c != '-' && !isxdigit((unsigned char)*c))
			return;
	KEEP(p->pod_uid, bytes_of(uid));
}

/* "job_123", "step_0" of Slurm; behind "ecs" a task and a container. */
static void job_part(struct host_place *p, struct bytes part, struct bytes before)
{
	if (has_prefix(part, "job_") && part.n > 4 && isdigit((unsigned char)part.p[4])) {
		KEEP(p->scheduler, bytes_of("slurm"));
		KEEP(p->job, strip_bytes(part, 4, 0));
	} else if (has_prefix(part, "step_") && part.n > 5) {
		KEEP(p->step, strip_bytes(part, 5, 0));
	} else if (bytes_equal(before, bytes_of("ecs")) && leading_digits(part).n == 32) {
		KEEP(p->scheduler, bytes_of("ecs"));
		KEEP(p->runtime, bytes_of("ecs"));
		KEEP(p->job, part);
	} else if (strcmp(p->scheduler, "ecs") == 0 && leading_digits(part).n >= ID_LEAST) {
		KEEP(p->container, part);
	}
}

static void place_path(struct host_place *p, struct bytes path)
{
	struct bytes before = { "", 0 };

	while (path.n) {
		const char *slash = memchr(path.p, '/', path.n);
		struct bytes part = { path.p, slash ? (size_t)(slash - path.p) : path.n };

		if (part.n) {
			pod_part(p, part);
			container_part(p, part, before);
			job_part(p, part, before);
			before = part;
		}
		path = strip_bytes(path, part.n + (slash != NULL), 0);
	}
}

void host_place_cgroup(struct host_place *p, struct bytes text)
{
	while (text.n && !*p->container && !*p->job) {
		const char *end = memchr(text.p, '\n', text.n);
		struct bytes line = { text.p, end ? (size_t)(end - text.p) : text.n };
		const char *colon = memchr(line.p, ':', line.n);

		text = strip_bytes(text, line.n + (end != NULL), 0);
		if (colon)
			colon = memchr(colon + 1, ':', line.n - (size_t)(colon + 1 - line.p));
		if (colon)
			place_path(p, strip_bytes(line, (size_t)(colon + 1 - line.p), 0));
	}
}

/* ---- the environment
 * ------------------------------------------------------------------------------- */

struct bytes host_environ_variable(struct bytes text, const char *name)
{
	size_t n = strlen(name);

	while (text.n) {
		const char *end = memchr(text.p, '\0', text.n);
		struct bytes one = { text.p, end ? (size_t)(end - text.p) : text.n };

		if (one.n > n && one.p[n] == '=' && memcmp(one.p, name, n) == 0)
			return strip_bytes(one, n + 1, 0);
		text = strip_bytes(text, one.n + (end != NULL), 0);
	}
	return (struct bytes){ NULL, 0 };
}

static uint32_t count_of(struct bytes text, const char *name)
{
	struct bytes v = host_environ_variable(text, name);
	uint64_t n;

	return v.n <= 9 && number_parse(v, 10, UINT32_MAX, &n) ? (uint32_t)n : HOST_RANK_UNKNOWN;
}

/* In the order of trust: what a launcher of workers set lies inside what a scheduler set. Size
 * unknown: the rank is taken all the same only where the launcher has no variable for it. */
static const struct {
	const char *launcher, *rank, *local, *size, *needs;
} launchers[] = {
	{ "torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE", "WORLD_SIZE" },
	{ "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
	  "OMPI_COMM_WORLD_SIZE" },
	{ "mvapich", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE",
	  "MV2_COMM_WORLD_SIZE" },
	{ "pals", "PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_SIZE", "PALS_RANKID" },
	{ "pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "PMI_SIZE" },
	/* The batch script has a SLURM_PROCID as well, but is no task of a step. */
	{ "slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_ID" },
	{ "pmix", "PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE", "PMIX_RANK" },
};

static void read_ranks(struct host_place *p, struct bytes env)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		uint32_t rank = count_of(env, launchers[i].rank);

		if (rank == HOST_RANK_UNKNOWN || !host_environ_variable(env, launchers[i].needs).n)
			continue;
		p->rank = rank;
		p->local_rank = count_of(env, launchers[i].local);
		p->world_size = count_of(env, launchers[i].size);
		KEEP(p->launcher, bytes_of(launchers[i].launcher));
		return;
	}
}

static void run_id(struct host_place *p, struct bytes env)
{
	struct bytes id = host_environ_variable(env, "TORCHELASTIC_RUN_ID"),
		     host = host_environ_variable(env, "MASTER_ADDR"),
		     port = host_environ_variable(env, "MASTER_PORT");

	/* "none" is what torchrun says when nobody gave an id. */
	if (id.n && !bytes_equal(id, bytes_of("none")))
		KEEP(p->run, id);
	else if (host.n)
		snprintf(p->run, sizeof(p->run), "%.*s:%.*s", (int)(host.n < 100 ? host.n : 100),
			 host.p, (int)(port.n < 8 ? port.n : 8), port.n ? port.p : "");
}

/* The variable by which NVIDIA's container runtime gets the GPUs of a container: ids, numbers,
 * "all", "none", "void". Outside of containers it means nothing. */
static void read_gpus(struct host_place *p, struct bytes list)
{
	if (!*p->container && !*p->pod_uid)
		return;
	p->all_gpus = bytes_equal(list, bytes_of("all"));
	if ((has_prefix(list, "GPU-") || has_prefix(list, "MIG-")) && list.n < sizeof(p->gpus))
		KEEP(p->gpus, list);
}

void host_place_environ(struct host_place *p, struct bytes env)
{
	struct bytes v;

	read_ranks(p, env);
	run_id(p, env);
	v = host_environ_variable(env, "SLURM_JOB_ID");
	if (v.n && !*p->job) {
		KEEP(p->scheduler, bytes_of("slurm"));
		KEEP(p->job, v);
	}
	v = host_environ_variable(env, "SLURM_STEP_ID");
	if (v.n && !*p->step && strcmp(p->scheduler, "slurm") == 0)
		KEEP(p->step, v);
	v = host_environ_variable(env, "CUDA_VISIBLE_DEVICES");
	KEEP(p->devices, v);
	read_gpus(p, host_environ_variable(env, "NVIDIA_VISIBLE_DEVICES"));
	/* By convention a pod gets its names this way, beside the files that host_place_read looks
	 * at. */
	v = host_environ_variable(env, "POD_NAME");
	if (!*p->pod)
		KEEP(p->pod, v);
	v = host_environ_variable(env, "POD_NAMESPACE");
	if (!*p->namespace)
		KEEP(p->namespace, v);
	if (!*p->runtime && (host_environ_variable(env, "ECS_CONTAINER_METADATA_URI_V4").n ||
			     host_environ_variable(env, "ECS_CONTAINER_METADATA_URI").n))
		KEEP(p->runtime, bytes_of("ecs"));
}

/* ---- one process
 * ------------------------------------------------------------------------------------ */

static bool file_of(uint32_t pid, const char *name, size_t max, struct buf *out)
{
	struct err ignored = { 0 };
	char path[64];

	buf_reset(out);
	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return read_file(path, out, max, &ignored) == 0;
}

bool host_place_in_pod(uint32_t pid)
{
	struct host_place p;
	struct buf b = { 0 };

	host_place_init(&p);
	if (file_of(pid, "cgroup", CGROUP_TEXT_MAX, &b))
		host_place_cgroup(&p, buf_bytes(&b));
	buf_free(&b);
	return *p.pod_uid != '\0';
}

int host_place_read(struct host_place *p, uint32_t pid, struct err *e)
{
	struct buf b = { 0 };
	char root[32];
	int rc = 0;

	host_place_init(p);
	if (file_of(pid, "cgroup", CGROUP_TEXT_MAX, &b))
		host_place_cgroup(p, buf_bytes(&b));
	else if (host_proc_sight(pid) == HOST_GONE)
		rc = err_set(e, ERR_CANNOT, "no process %u", pid);
	if (rc == 0 && file_of(pid, "environ", ENVIRON_TEXT_MAX, &b))
		host_place_environ(p, buf_bytes(&b));
	if (rc == 0 && (*p->container || *p->pod_uid))
		host_place_names(p, "");
	if (rc == 0 && *p->pod_uid) {
		snprintf(root, sizeof(root), "/proc/%u/root", pid);
		host_place_inside(p, root);
	}
	if (rc == 0 && b.failed)
		rc = err_nomem(e);
	buf_free(&b);
	return rc;
}
