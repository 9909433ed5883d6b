// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The kernel's structs, cut down to the members we touch: every access is relocated by name when
 * the programs are loaded (CO-RE), so member order and everything left out do not matter. Register
 * frames are the exception: their layout is fixed by the architecture's ABI.
 */
#ifndef INGERO_BPF_KERNEL_H
#define INGERO_BPF_KERNEL_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

typedef _Bool bool;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define TASK_COMM_LEN 16

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
};
#define REGS_IP(r)	  ((r)->ip)
#define REGS_SP(r)	  ((r)->sp)
#define REGS_FP(r)	  ((r)->bp)
#define REGS_LINK(r)	  0
#define REGS_RC(r)	  ((r)->ax)
#define REGS_FIRST(r)	  ((r)->di)
#define REGS_IN_KERNEL(r) (((r)->cs & 3) == 0)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	unsigned long regs[31], sp, pc, pstate;
};
#define REGS_IP(r)	  ((r)->pc)
#define REGS_SP(r)	  ((r)->sp)
#define REGS_FP(r)	  ((r)->regs[29])
#define REGS_LINK(r)	  ((r)->regs[30])
#define REGS_RC(r)	  ((r)->regs[0])
#define REGS_FIRST(r)	  ((r)->regs[0])
#define REGS_IN_KERNEL(r) (((r)->pstate & 15) != 0)
#else
#error "this architecture's registers are not described here"
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct upid {
	int nr;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
typedef struct {
	unsigned int val;
} kuid_t;
struct cred {
	kuid_t uid;
};
struct kernfs_node {
	u64 id;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
typedef struct {
	int counter;
} atomic_t;
struct signal_struct {
	atomic_t live;
};
struct rq;
struct cfs_rq {
	struct rq *rq;
	int throttle_count;
	u64 throttled_clock_self; /* 6.6: throttled since, and before that in all; clock of the run
				     queue */
	u64 throttled_clock_self_time;
	u64 throttled_clock_pelt; /* 5.19 */
	u64 throttled_clock_pelt_time;
	u64 throttled_clock_task; /* before */
	u64 throttled_clock_task_time;
};
struct rq {
	u64 clock;
	u64 clock_task;
	u64 clock_pelt;
	u64 lost_idle_time; /* 5.9 */
	struct task_struct *curr;
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
	u64 sum_exec_runtime;	     /* CPU time of a thread, of whatever scheduling class */
	unsigned char sched_delayed; /* 6.12: asleep, though still on its run queue */
};
struct sched_info {
	unsigned long pcount; /* how often it was given a CPU */
	u64 run_delay; /* waited for a CPU in all, up to the last time it got one; clock of the run
			  queue */
	u64 last_arrival; /* when it got the CPU last */
	u64 last_queued;  /* waits since then; 0 while it runs or sleeps */
};
struct autogroup {
	unsigned long id;
	int nice;
};
struct task_group {
	struct cgroup_subsys_state css; /* of an autogroup: none */
	struct cfs_rq **cfs_rq;
	struct autogroup *autogroup; /* with CONFIG_SCHED_AUTOGROUP */
};
struct thread_info {
	u32 cpu;
	u64 preempt_count; /* arm64 */
};
struct hrtimer;
struct hrtimer_clock_base {
	struct hrtimer *running;
};
struct hrtimer_cpu_base {
	struct hrtimer_clock_base clock_base[8];
};
struct timer_list;
struct timer_base {
	struct timer_list *running_timer;
};
struct hlist_node;
struct hlist_head {
	struct hlist_node *first;
};
struct file_system_type {
	const char *name;
};
struct super_block {
	u32 s_dev;
	struct file_system_type *s_type;
	const char *s_subtype;
};
struct inode {
	u16 i_mode;
	u32 i_rdev;
	unsigned long i_ino;
	u32 i_generation;
	struct super_block *i_sb;
};
struct qstr {
	u64 hash_len;
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	const char *mnt_devname;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct nameidata {	  /* of a path that is being followed */
	struct path path; /* how far it got */
	struct qstr last; /* the name behind that, or its own */
	int last_type;
};
struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct return_instance {
	unsigned long stack;	      /* at entry of a function whose return is probed */
	unsigned long orig_ret_vaddr; /* where it returns to, whatever stands on the user stack
					 meanwhile */
	struct return_instance *next; /* of the call around it */
};
struct arch_uprobe;
struct uprobe_task {
	struct return_instance *return_instances;
	struct arch_uprobe *auprobe; /* 6.12: while programs run at an entry, else NULL */
};
struct timespec64 {
	s64 tv_sec;
};
struct bpf_local_storage;
struct cpumask {
	unsigned long bits[1];
};
struct thread_struct {
	unsigned long fsbase; /* x86 */
};
struct rw_semaphore {
	struct {
		s64 counter;
	} count, owner; /* not where the kernel is PREEMPT_RT */
};
struct mm_struct {
	struct file *exe_file;
	struct rw_semaphore mmap_lock;
};
struct task_struct {
	struct thread_info thread_info;
	void *stack;
	unsigned int cpu; /* before 5.16 */
	unsigned int __state;
	unsigned int flags;
	int on_cpu, on_rq;
	int static_prio;
	unsigned int policy;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct sched_info sched_info;
	bool throttled; /* 6.18 */
	unsigned in_iowait : 1;
	unsigned frozen : 1; /* with CONFIG_CGROUPS */
	unsigned long jobctl;
	struct cpumask cpus_mask; /* 5.3; cpus_ptr is another one while it must not leave its CPU */
	struct nameidata *nameidata;
	struct files_struct *files;
	struct mm_struct *mm;
	struct bpf_local_storage *bpf_storage;
	struct uprobe_task *utask;
	int pid;
	int tgid;
	u64 start_boottime;
	unsigned long min_flt;
	int exit_code;
	char comm[TASK_COMM_LEN];
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	const struct cred *cred;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct thread_struct thread;
};
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
