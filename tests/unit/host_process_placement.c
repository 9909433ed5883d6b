/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers, pods, jobs and ranks from cgroup paths and environments as engines and launchers
 * write them, and names from a node's files as the kubelet and Docker lay them out.
 */
#include "lib/host/process_placement.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"
#include "tests/tap.h"

#define ID  "4f1c0f0b9a2d3e4c5b6a79888776655443322110ffeeddccbbaa99887766abcd"
#define UID "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

static void cgroups(void)
{
	static const struct {
		const char *text, *runtime, *container, *pod_uid, *scheduler, *job, *step;
	} rows[] = {
		{ "0::/user.slice/user-1000.slice/session-2.scope\n", "", "", "", "", "", "" },
		{ "0::/\n", "", "", "", "", "", "" },
		{ "0::/system.slice/docker-" ID ".scope\n", "docker", ID, "", "", "", "" },
		{ "12:cpu,cpuacct:/docker/" ID "\n0::/\n", "docker", ID, "", "", "", "" },
		{ "0::/kubepods.slice/kubepods-burstable.slice/"
		  "kubepods-burstable-pod0a1b2c3d_4e5f_6071_8293_"
		  "a4b5c6d7e8f9.slice/cri-containerd-" ID ".scope\n",
		  "containerd", ID, UID, "", "", "" },
		{ "0::/kubepods.slice/kubepods-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/"
		  "crio-" ID ".scope/container\n",
		  "cri-o", ID, UID, "", "", "" },
		{ "0::/kubepods/besteffort/pod" UID "/" ID "\n", "container", ID, UID, "", "", "" },
		{ "3:memory:/kubepods/pod0123456789abcdef0123456789abcdef/" ID "\n", "container",
		  ID, "0123456789abcdef0123456789abcdef", "", "", "" },
		{ "0::/machine.slice/libpod-" ID ".scope/container\n", "podman", ID, "", "", "",
		  "" },
		{ "0::/machine.slice/libpod-conmon-" ID ".scope\n", "", "", "", "", "", "" },
		{ "0::/lxc.payload.web/system.slice\n", "lxc", "web", "", "", "", "" },
		{ "1:name=systemd:/lxc/web\n", "lxc", "web", "", "", "", "" },
		{ "0::/system.slice/slurmstepd.scope/job_1234/step_0/user/task_1\n", "", "", "",
		  "slurm", "1234", "0" },
		{ "8:cpuset:/slurm/uid_1000/job_77/step_batch/task_0\n", "", "", "", "slurm", "77",
		  "batch" },
		{ "0::/ecs/0123456789abcdef0123456789abcdef/"
		  "0123456789abcdef0123456789abcdef-2531612879\n",
		  "ecs", "0123456789abcdef0123456789abcdef-2531612879", "", "ecs",
		  "0123456789abcdef0123456789abcdef", "" },
		/* Words that look alike. */
		{ "0::/user.slice/podium-podbean.slice\n", "", "", "", "", "", "" },
		{ "0::/system.slice/docker-proxy.scope\n", "", "", "", "", "", "" },
		{ "0::/job_fair/step_\n", "", "", "", "", "", "" },
		{ "no colons here\n", "", "", "", "", "", "" },
		{ "0:\n::\n", "", "", "", "", "", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_place p;

		host_place_init(&p);
		host_place_cgroup(&p, bytes_of(rows[i].text));
		is_str(p.runtime, rows[i].runtime, "runtime of cgroup %zu", i);
		is_str(p.container, rows[i].container, "container");
		is_str(p.pod_uid, rows[i].pod_uid, "pod uid");
		is_str(p.scheduler, rows[i].scheduler, "scheduler");
		is_str(p.job, rows[i].job, "job");
		is_str(p.step, rows[i].step, "step");
	}
}

#define NONE HOST_RANK_UNKNOWN
#define ENV(text)                      \
	{                              \
		text, sizeof(text) - 1 \
	}

static void environments(void)
{
	static const struct {
		struct bytes text;
		const char *launcher;
		uint32_t rank, local, size;
		const char *run, *job;
	} rows[] = {
		{ ENV("PATH=/bin\0HOME=/root\0"), "", NONE, NONE, NONE, "", "" },
		{ ENV("RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8\0MASTER_ADDR=node0\0MASTER_PORT=29500\0"
		      "TORCHELASTIC_RUN_ID=none\0"),
		  "torchrun", 3, 1, 8, "node0:29500", "" },
		{ ENV("TORCHELASTIC_RUN_ID=job-7\0MASTER_ADDR=node0\0RANK=0\0WORLD_SIZE=1\0"),
		  "torchrun", 0, NONE, 1, "job-7", "" },
		/* A variable of that name that is no rank. */
		{ ENV("RANK=3\0"), "", NONE, NONE, NONE, "", "" },
		{ ENV("RANK=first\0WORLD_SIZE=2\0"), "", NONE, NONE, NONE, "", "" },
		{ ENV("RANK=9999999999\0WORLD_SIZE=2\0"), "", NONE, NONE, NONE, "", "" },
		{ ENV("OMPI_COMM_WORLD_RANK=5\0OMPI_COMM_WORLD_LOCAL_RANK=1\0OMPI_COMM_WORLD_SIZE="
		      "16\0"),
		  "openmpi", 5, 1, 16, "", "" },
		{ ENV("SLURM_PROCID=2\0SLURM_LOCALID=0\0SLURM_NTASKS=4\0SLURM_STEP_ID=0\0SLURM_JOB_"
		      "ID=9\0"),
		  "slurm", 2, 0, 4, "", "9" },
		/* The batch script is no task. */
		{ ENV("SLURM_PROCID=0\0SLURM_NTASKS=4\0SLURM_JOB_ID=9\0"), "", NONE, NONE, NONE, "",
		  "9" },
		/* Workers started by torchrun inside a Slurm task. */
		{ ENV("SLURM_PROCID=1\0SLURM_STEP_ID=0\0SLURM_JOB_ID=9\0RANK=12\0LOCAL_RANK="
		      "4\0WORLD_SIZE=16\0"),
		  "torchrun", 12, 4, 16, "", "9" },
		{ ENV("PMI_RANK=1\0PMI_SIZE=2\0MPI_LOCALRANKID=1\0"), "pmi", 1, 1, 2, "", "" },
		{ ENV("MV2_COMM_WORLD_RANK=1\0MV2_COMM_WORLD_LOCAL_RANK=0\0MV2_COMM_WORLD_SIZE="
		      "2\0"),
		  "mvapich", 1, 0, 2, "", "" },
		{ ENV("XRANK=1\0WORLD_SIZE=2\0RANKX=4\0"), "", NONE, NONE, NONE, "", "" },
		{ ENV("RANK=1\0WORLD_SIZE=2"), "torchrun", 1, NONE, 2, "", "" },
		{ ENV("\0\0\0=\0RANK\0RANK="), "", NONE, NONE, NONE, "", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_place p;

		host_place_init(&p);
		host_place_environ(&p, rows[i].text);
		is_str(p.launcher, rows[i].launcher, "launcher of environment %zu", i);
		is_u64(p.rank, rows[i].rank, "rank");
		is_u64(p.local_rank, rows[i].local, "local rank");
		is_u64(p.world_size, rows[i].size, "world size");
		is_str(p.run, rows[i].run, "run");
		is_str(p.job, rows[i].job, "job");
	}
}

/* Too long for its field: cut, not overrun. */
static void long_ones(void)
{
	struct buf b = { 0 };
	struct host_place p;

	buf_puts(&b, "CUDA_VISIBLE_DEVICES=");
	for (int i = 0; i < 1000; i++)
		buf_puts(&b, "GPU-1,");
	host_place_init(&p);
	host_place_environ(&p, buf_bytes(&b));
	is_u64(strlen(p.devices), sizeof(p.devices) - 1,
	       "a list of devices that is too long is cut");
	buf_reset(&b);
	buf_puts(&b, "0::/lxc.payload.");
	for (int i = 0; i < 1000; i++)
		buf_puts(&b, "x\033");
	host_place_init(&p);
	host_place_cgroup(&p, buf_bytes(&b));
	ok(strlen(p.container) == sizeof(p.container) - 1 && !strchr(p.container, '\033'),
	   "a container's name too, without control characters");
	buf_free(&b);
}

static void make(const char *root, const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *c = whole + strlen(root) + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(whole, 0700);
		*c = '/';
	}
	f = fopen(whole, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static int gone(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void names(void)
{
	char root[] = "/tmp/ingero-unit.XXXXXX", other[] = "/tmp/ingero-unit.XXXXXX";
	struct host_place p;

	ok(mkdtemp(root) && mkdtemp(other), "two nodes' files");
	make(root, "/var/log/pods/ml_trainer-0_" UID "/train/0.log", "");
	make(root, "/var/log/pods/other_pod_ffffffff-4e5f-6071-8293-a4b5c6d7e8f9/x/0.log", "");
	make(root, "/var/log/containers/trainer-0_ml_train-" ID ".log", "");
	make(root, "/var/log/containers/trainer-0_ml_train-short.log", "");

	host_place_init(&p);
	host_place_cgroup(&p, bytes_of("0::/kubepods/pod" UID "/" ID "\n"));
	host_place_names(&p, root);
	is_str(p.pod, "trainer-0", "pod of a container's log");
	is_str(p.namespace, "ml", "its namespace");
	is_str(p.container_name, "train", "its container's name");

	host_place_init(&p);
	host_place_cgroup(&p, bytes_of("0::/kubepods/pod" UID "/" UID "\n"));
	host_place_names(&p, root);
	is_str(p.pod, "trainer-0", "pod of a log folder");
	is_str(p.namespace, "ml", "its namespace");

	host_place_init(&p);
	host_place_cgroup(&p, bytes_of("0::/docker/" ID "\n"));
	host_place_names(&p, other);
	is_str(p.container_name, "", "no names where there are no files");
	make(other, "/var/lib/docker/containers/" ID "/config.v2.json",
	     "{\"RestartPolicy\":{\"Name\":\"no\"},\"Name\":\"/bench\",\"x\":1}");
	host_place_names(&p, other);
	is_str(p.container_name, "bench", "Docker's name of a container");
	host_place_names(&p, root);
	is_str(p.pod, "trainer-0", "Docker below the kubelet");
	nftw(root, gone, 8, FTW_DEPTH | FTW_PHYS);
	nftw(other, gone, 8, FTW_DEPTH | FTW_PHYS);
}

static void ourselves(void)
{
	struct host_place p;
	struct err e = { 0 };

	is_int(host_place_read(&p, (uint32_t)getpid(), &e), 0, "our own place");
	is_int(host_place_read(&p, 4194305, &e), ERR_CANNOT, "no such process");
	is_str(e.text, "no process 4194305", "and it says so");
}

/* As in images of Debian: /var/run is a link from the root on. And what holds a reader for ever, or
 * leads out. */
static void inside(void)
{
	char root[] = "/tmp/ingero-unit.XXXXXX", path[200], secret[] = "/tmp/ingero-unit.XXXXXX";
	int out = mkstemp(secret);
	struct host_place p;

	ok(mkdtemp(root) && out >= 0 && write(out, "the host's", 10) == 10, "a container's files");
	make(root, "/run/secrets/kubernetes.io/serviceaccount/namespace", "ml\n");
	make(root, "/var/empty", "");
	snprintf(path, sizeof(path), "%s/var/run", root);
	is_int(symlink("/run", path), 0, "with a link from its root on");
	make(root, "/etc/podinfo/labels", "");
	snprintf(path, sizeof(path), "%s/etc/podinfo/name", root);
	is_int(mkfifo(path, 0600), 0, "and a FIFO");
	alarm(60);
	host_place_init(&p);
	host_place_inside(&p, root);
	alarm(0);
	is_str(p.namespace, "ml", "a link leads to where it does in the container");
	is_str(p.pod, "", "a FIFO is not waited for");
	unlink(path);
	is_int(symlink(secret, path), 0, "a link to a file of the host");
	host_place_inside(&p, root);
	is_str(p.pod, "", "leads nowhere");
	unlink(path);
	make(root, "/etc/podinfo/name", "trainer-0");
	host_place_inside(&p, root);
	is_str(p.pod, "trainer-0", "a pod's name");
	host_place_init(&p);
	host_place_inside(&p, "/nowhere");
	is_str(p.namespace, "", "without a folder nothing is known");
	close(out);
	unlink(secret);
	nftw(root, gone, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	cgroups();
	environments();
	long_ones();
	names();
	inside();
	ourselves();
	return done_testing();
}
