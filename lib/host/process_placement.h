/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process belongs: container, pod, job and rank, as its cgroup, the variables its launcher
 * set and the files of the node tell. Nothing is asked over a network, and no variable that is not
 * named here is read. Parsers take text, so that they are tested without a cluster. What is not
 * known stays empty.
 */
#ifndef INGERO_HOST_PROCESS_PLACEMENT_H
#define INGERO_HOST_PROCESS_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

#define HOST_RANK_UNKNOWN UINT32_MAX
#define HOST_PLACE_GPUS	  1024 /* bytes of a list: 24 UUIDs of 40 letters */

/* Sizes hold what the parts may be: a container id has 64 digits, a Kubernetes name 253 letters, a
 * namespace 63. */
struct host_place {
	char runtime[16];   /* docker, containerd, cri-o, podman, ecs, lxc; "container": not known
			       which */
	char container[72]; /* id */
	char container_name[256];
	char pod[256], namespace[64], pod_uid[40];
	char scheduler[16]; /* slurm, ecs */
	char job[80], step[40];
	char launcher[16]; /* who set the rank: torchrun, openmpi, mvapich, pmi, slurm */
	char run[128]; /* what ranks of one run have in common: its id, or host:port of its meeting
			  point */
	char devices[256]; /* CUDA_VISIBLE_DEVICES */
	/* What its container was given, by id, separated by commas: NVIDIA_VISIBLE_DEVICES where
	 * that lists ids, or what the kubelet says (lib/host/pods.h). A container was given all of
	 * them where all_gpus. */
	char gpus[HOST_PLACE_GPUS];
	bool all_gpus;
	uint32_t rank, local_rank, world_size; /* HOST_RANK_UNKNOWN */
};

/* Nothing is known. */
void host_place_init(struct host_place *p);
/* Text of /proc/PID/cgroup; of several hierarchies the first that says something. */
void host_place_cgroup(struct host_place *p, struct bytes text);
/* Text of /proc/PID/environ: NAME=VALUE, each ended by a zero byte. */
void host_place_environ(struct host_place *p, struct bytes text);
/* Value of a variable in such a text; p NULL: it is not set. */
struct bytes host_environ_variable(struct bytes text, const char *name);
/* Names from the files of the node below root ("" the real one): folders and links of the kubelet's
 * logs, files of Docker. Needs what the two above found. */
void host_place_names(struct host_place *p, const char *root);

/* Names of a pod from the files of its container, whose root folder that is; what is known already
 * stays. */
void host_place_inside(struct host_place *p, const char *root);

/* All of it for one process. ERR_CANNOT when there is no such process; what we may not read stays
 * unknown. */
int host_place_read(struct host_place *p, uint32_t pid, struct err *e);
/* Only whether its cgroup is one of a pod; false where that cannot be read. */
bool host_place_in_pod(uint32_t pid);
/* Whether there is anything to say. */
bool host_place_known(const struct host_place *p);

#endif
