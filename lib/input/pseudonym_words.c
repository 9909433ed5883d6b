/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever adds a word: it is kept wherever it stands, with a version behind it too, so it may say
 * nothing about whose machine it is. Sorted as bytes, which tests/unit/input_anonymize.c looks at.
 */
#include "lib/input/pseudonym_words.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char *const words[] = {
	"-.slice", ".venv", "False", "None", "PIL", "True", "__init__.py", "__main__.py",
	"aarch64-linux-gnu", "accelerate", "anaconda3", "anacron", "anon", "anon_inode", "apex",
	"app.slice", "apt", "apt-get", "as", "auditd", "awk", "background.slice", "bash", "batch",
	"batch-size", "beegfs", "besteffort", "bf16", "bin", "bitsandbytes", "block", "boot", "bpf",
	"btrfs-cleaner", "btrfs-transacti", "burstable", "bzip2", "cache", "calico-node", "cat",
	"cc1", "cc1plus", "ceph-mon", "ceph-osd", "cgroup", "cgroup2", "chronyd", "cicc",
	"cilium-agent", "clamd", "clamscan", "class", "compat", "conda", "conmon", "containerd",
	"containerd-shim", "containerd-shim-runc-v2", "coredns", "cp", "cpu", "cpuhp", "crio",
	"cron", "crond", "crun", "cuda", "cuda-EvtHandlr", "cuda00001400006", "cupy", "curl",
	"current", "cv2", "dash", "data", "datasets", "dbus-daemon", "dcgm-exporter", "dd",
	"debugfs", "deepspeed", "deleted", "dev", "device", "devices", "devtmpfs", "diffusers",
	"dill", "dist-packages", "dmcrypt_write", "dnf", "docker", "docker-proxy", "dockerd",
	"dpkg", "einops", "env", "envoy", "envs", "epoch", "epochs", "etc", "etcd", "eventfd",
	"eventpoll", "extras", "fairscale", "falco", "false", "fastapi", "fd", "filelock", "find",
	"fio", "fish", "flanneld", "flash_attn", "flax", "fp16", "fs", "fsspec", "functorch", "g++",
	"gcc", "git", "go", "gpu", "grafana", "grep", "guaranteed", "gzip", "haproxy", "head",
	"heap", "home", "horovod", "htop", "hugetlbfs", "huggingface_hub", "idle_inject", "include",
	"ingero", "ingero-check", "ingero-correlate", "ingero-dashboard", "ingero-demo",
	"ingero-explain", "ingero-export", "ingero-mcp", "ingero-merge", "ingero-query",
	"ingero-record", "ingero-stat", "init.scope", "inotify", "iperf", "iperf3", "irq",
	"irqbalance", "java", "jax", "jaxlib", "jbd", "kauditd", "kblockd", "kcompactd", "kcryptd",
	"kdevtmpfs", "kdmflush", "keras", "kernel", "khugepaged", "kintegrityd", "ksmd",
	"ksoftirqd", "kswapd", "kthreadd", "kube-proxy", "kubectl", "kubelet", "kubepods",
	"kubepods-besteffort.slice", "kubepods-burstable.slice", "kubepods-guaranteed.slice",
	"kubepods.slice", "kworker", "ld", "ld-linux-x86-64", "lib", "lib-dynload", "lib32",
	"lib64", "libblas", "libbz2", "libc", "libc10", "libc10_cuda", "libcaffe2", "libcrypto",
	"libcublas", "libcublasLt", "libcuda", "libcudart", "libcudnn", "libcudnn_adv",
	"libcudnn_cnn", "libcudnn_cnn_infer", "libcudnn_cnn_train", "libcudnn_engines_precompiled",
	"libcudnn_engines_runtime_compiled", "libcudnn_graph", "libcudnn_heuristic", "libcudnn_ops",
	"libcudnn_ops_infer", "libcudnn_ops_train", "libcufft", "libcufile", "libcupti",
	"libcurand", "libcusolver", "libcusparse", "libdl", "libexec", "libexpat", "libffi",
	"libgcc_s", "libgomp", "libibverbs", "libiomp5", "libjaxlib", "libjemalloc", "liblapack",
	"liblzma", "libm", "libmkl_core", "libmkl_rt", "libmlx5", "libmpi", "libnccl",
	"libnccl-net", "libncurses", "libnuma", "libnvJitLink", "libnvToolsExt", "libnvidia-ml",
	"libnvrtc", "libomp", "libonnxruntime", "libopenblas", "libpod_parent", "libpthread",
	"libpython", "libpython3", "librdmacm", "libreadline", "librt", "libshm", "libsqlite3",
	"libssl", "libstdc", "libstdc++", "libtcmalloc", "libtensorflow_cc",
	"libtensorflow_framework", "libtorch", "libtorch_cpu", "libtorch_cuda",
	"libtorch_global_deps", "libtorch_python", "libtriton", "libucm", "libucp", "libucs",
	"libuct", "libz", "lightning", "lightning_fabric", "local", "local-rank", "local_rank",
	"lockd", "log", "logrotate", "lr", "ls", "lustre", "lxc", "machine.slice", "main.py",
	"make", "mapper", "md", "media", "megatron", "memfd", "memory", "migration", "miniconda",
	"miniconda3", "mlflow", "mlocate", "mnt", "module", "modules", "mpi4py", "mpiexec",
	"mpirun", "mqueue", "multiprocess", "mv", "mysqld", "nccl", "nccl-service", "ncu", "net",
	"nfsd", "nginx", "nice", "node", "node_exporter", "nohup", "none", "npm", "nsfs", "nsys",
	"ntpd", "null", "numactl", "numba", "numpy", "nv-fabricmanager", "nv-hostengine",
	"nv_queue", "nvcc", "nvidia", "nvidia-caps", "nvidia-fabricmanager", "nvidia-modeset",
	"nvidia-persistenced", "nvidia-smi", "nvidia-uvm", "nvidiactl", "nvsm", "nvtx", "onnx",
	"onnxruntime", "oom_reaper", "opt", "optax", "orted", "outlines", "overlay", "overlayfs",
	"pandas", "pause", "peft", "perl", "pigz", "pip", "pipe", "podman", "polkitd", "postgres",
	"proc", "prometheus", "prted", "ps", "psutil", "pt_autograd", "pt_data_pin",
	"pt_data_worker", "pt_elastic", "pt_main_thread", "pt_nccl_heartbt", "pt_nccl_watchdg",
	"pts", "ptxas", "pyarrow", "pydantic", "python", "python2", "python3", "pytorch_lightning",
	"random", "rank", "ray", "rcu_gp", "rcu_preempt", "rcu_sched", "rcub", "rcuog", "rcuop",
	"redis-server", "regex", "requests", "rm", "root", "rootfs", "rpciod", "rsync", "rsyslogd",
	"ruby", "run", "run.py", "runc", "safetensors", "salloc", "sbatch", "sbin", "sbsa-linux",
	"scipy", "scp", "screen", "scsi_eh", "sed", "seed", "self", "sentencepiece",
	"session.slice", "setsid", "setup.py", "sglang", "sh", "share", "shm", "signalfd",
	"site-packages", "sklearn", "sleep", "slurm", "slurmctld", "slurmd", "slurmstepd", "snap",
	"snapd", "socket", "sort", "spool", "squashfs", "src", "srun", "srv", "ssh", "sshd",
	"stack", "starlette", "steps", "stress", "stress-ng", "stubs", "su", "sudo", "swapper",
	"sys", "sysfs", "system.slice", "systemd", "systemd-journal", "systemd-journald",
	"systemd-logind", "systemd-network", "systemd-resolve", "systemd-timesyn", "systemd-udevd",
	"tail", "tar", "targets", "task", "taskset", "tensorboard", "tensorflow", "threaded-ml",
	"tiktoken", "time", "timeout", "timerfd", "timm", "tmp", "tmpfs", "tmux", "tokenizers",
	"top", "torch", "torchaudio", "torchgen", "torchrun", "torchvision", "tqdm", "tracefs",
	"train.py", "transformers", "triton", "true", "unattended-upgr", "unzip", "updatedb",
	"urandom", "urllib3", "user.slice", "usr", "uvicorn", "var", "vdso", "venv", "vim", "vllm",
	"vsyscall", "wandb", "watchdog", "watchdogd", "wc", "wget", "world-size", "world_size",
	"writeback", "x86_64-linux", "x86_64-linux-gnu", "xargs", "xformers", "xfsaild", "xprtiod",
	"xz", "yaml", "yum", "zero", "zmq", "zsh", "zstd",
};

/* Of them: what machines, their groups and disks are called at many sites, with a number behind. */
static const char *const naming[] = {
	"batch", "beegfs", "block", "ceph-mon", "ceph-osd", "class", "data", "device", "etcd", "git",
	"gpu", "grafana", "haproxy", "head", "home", "lustre", "media", "memory", "mlflow", "mnt",
	"mysqld", "net", "nginx", "node", "opt", "postgres", "prometheus", "ray", "redis-server", "root",
	"run", "share", "slurm", "slurmctld", "spool", "srv", "ssh", "stack", "task", "tmp", "vllm",
};

static const char *const fronts[] = {
	"cri-containerd-", "crio-", "docker-", "libpod-", "buildkit-", "user-", "session-", "user@",
	"pod", "kubepods-burstable-pod", "kubepods-besteffort-pod", "kubepods-pod",
	"kubepods-guaranteed-pod", "job_", "uid_", "step_", "task_", "job-", "run-", "lxc.payload.",
	"ecs-", "nvidia-container-",
};

static const char *const endings[] = {
	".py", ".pyc", ".pyx", ".so", ".sh", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".cfg",
	".conf", ".ini", ".txt", ".csv", ".tsv", ".parquet", ".arrow", ".h5", ".hdf5", ".tfrecord",
	".npy", ".npz", ".bin", ".pt", ".pth", ".ckpt", ".safetensors", ".gguf", ".onnx", ".engine",
	".plan", ".pkl", ".tar", ".gz", ".zst", ".zip", ".lz4", ".log", ".out", ".err", ".db",
	".sqlite", ".ige", ".slice", ".scope", ".service", ".mount", ".c", ".cc", ".cpp", ".cu",
	".cuh", ".h", ".hpp", ".rs", ".go", ".js", ".ts", ".jpg", ".jpeg", ".png", ".mp4", ".wav",
	".lock", ".sock", ".pid", ".tmp",
};
/* clang-format on */

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define AMONG(table, text) \
	(bsearch(&(text), table, COUNT(table), sizeof((table)[0]), compare_by_bytes) != NULL)

static int compare_by_bytes(const void *key, const void *entry)
{
	const struct bytes *text = key;
	const char *word = *(const char *const *)entry;
	size_t n = strlen(word);
	int c = memcmp(text->p, word, n < text->n ? n : text->n);

	return c ? c : (text->n > n) - (text->n < n);
}

bool pseudonym_word_known(struct bytes text)
{
	return AMONG(words, text);
}

bool pseudonym_word_names(struct bytes text)
{
	return AMONG(naming, text);
}

bool pseudonym_words_sorted(void)
{
	for (size_t i = 1; i < COUNT(words); i++)
		if (strcmp(words[i - 1], words[i]) >= 0)
			return false;
	for (size_t i = 0; i < COUNT(naming); i++)
		if ((i && strcmp(naming[i - 1], naming[i]) >= 0) ||
		    !pseudonym_word_known((struct bytes){ naming[i], strlen(naming[i]) }))
			return false;
	return true;
}

size_t alias_front(struct bytes text)
{
	size_t longest = 0;

	for (size_t i = 0; i < COUNT(fronts); i++) {
		size_t n = strlen(fronts[i]);

		if (n > longest && n < text.n && !memcmp(text.p, fronts[i], n))
			longest = n;
	}
	return longest;
}

size_t alias_ending(struct bytes text)
{
	for (size_t i = 0; i < COUNT(endings); i++) {
		size_t n = strlen(endings[i]);

		if (n < text.n && !memcmp(text.p + text.n - n, endings[i], n))
			return n;
	}
	return 0;
}
