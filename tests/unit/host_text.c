/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel writes, read: each parser on texts as they occur, on texts as they are feared,
 * and on every beginning of them in memory that ends where the text does.
 */
#include "lib/host/caps.h"
#include "lib/host/cgroup.h"
#include "lib/host/cuda.h"
#include "lib/host/digest.h"
#include "lib/host/maps.h"
#include "lib/host/node.h"
#include "lib/host/proc.h"
#include "lib/host/system.h"
#include "lib/host/text.h"
#include "tests/tap.h"

/* ---- numbers ---- */

static void numbers(void)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "  42 7", true, 42 },
		{ "\t18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999999", false, 0 },
		{ "-5", true, 0 },
		{ "-", false, 0 },
		{ "", false, 0 },
		{ "x1", false, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *p = rows[i].text;
		uint64_t v = 0;

		is_int(host_text_number(&p, p + strlen(p), &v), rows[i].good, "\"%s\"",
		       rows[i].text);
		is_u64(v, rows[i].value, "\"%s\": value", rows[i].text);
	}
}

/* ---- /proc/PID ---- */

#define STAT_REST                                                                         \
	"S 1 4821 4821 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 7 0 6789012 1000000 2222 " \
	"18446744073709551615 "                                                           \
	"1 1 0 0 0 0 0 4096 0 0 0 0 17 3 0 0 0 0 0\n"

static void stats(void)
{
	static const struct {
		const char *text, *comm;
	} rows[] = {
		{ "4822 (python3) " STAT_REST, "python3" },
		{ "4822 (a) b) S 9 (c) " STAT_REST, "a) b) S 9 (c" },
		{ "4822 ((sd-pam)) " STAT_REST, "(sd-pam)" },
		{ "4822 () " STAT_REST, "" },
		{ "4822 (new\nline) " STAT_REST, "new\nline" },
		{ "4822 (kworker/0:1H-kblockd and a name that is too long for the room there is "
		  "here) " STAT_REST,
		  "kworker/0:1H-kblockd and a name that is too long for the room t" },
	};
	static const char *const bad[] = { "",
					   "4822",
					   "4822 (x",
					   "4822 x) S 1 2 3",
					   "4822 (x) S",
					   "4822 (x) S 1 2 3\n",
					   ")(",
					   "4822 )(",
					   "(x) " STAT_REST };
	struct host_stat s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ok(host_stat_parse(bytes_of(rows[i].text), &s), "stat %zu", i);
		is_str(s.comm, rows[i].comm, "its command");
		is_u64(s.pid, 4822, "pid");
		is_u64(s.ppid, 1, "parent");
		is_int(s.state, 'S', "state");
		is_u64(s.threads, 7, "threads");
		is_u64(s.start_tick, 6789012, "start");
		is_u64(s.user_ticks * 1000 + s.system_ticks, 250150, "CPU time");
		is_u64(s.rss_pages, 2222, "memory");
		is_u64(s.cpu, 3, "CPU");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!host_stat_parse(bytes_of(bad[i]), &s), "not a stat line: %zu", i);
	ok(!host_stat_parse((struct bytes){ NULL, 0 }, &s), "nor is nothing");
	is_u64(host_start_tick(67890129999999), 6789012,
	       "a kernel start time is found by its tick");
}

static const char status_text[] =
	"Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4821\nNgid:\t0\nPid:\t4822\n"
	"PPid:\t77\nTracerPid:\t0\nUid:\t1000\t1001\t1000\t1000\nGid:\t100\t101\t100\t100\n"
	"NStgid:\t4821\t300\t12\nNSpid:\t4822\t301\t13\nVmRSS:\t    1024 kB\n"
	"CapEff:\t000001ffffffffff\n";

static void statuses(void)
{
	struct host_status s;
	uint64_t caps = 0;

	ok(host_status_parse(bytes_of(status_text), &s), "a status");
	is_u64(s.tgid, 4821, "process of a thread");
	is_u64(s.ppid, 77, "parent");
	is_u64(s.uid * 1000 + s.gid, 1001101, "effective user and group");
	is_u64(s.ns_tgid, 12, "pid in the innermost namespace");
	is_u64(s.rss_bytes, 1 << 20, "memory");
	ok(host_status_parse(
		   bytes_of("Tgid:\t5\nPPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nNStgid:\t5\n"),
		   &s),
	   "a kernel thread");
	is_u64(s.ns_tgid + s.rss_bytes, 0, "is in no namespace and has no memory");
	ok(!host_status_parse(bytes_of("Tgid:\t5\nPPid:\t0\nUid:\t0\n"), &s), "a cut status");
	ok(host_capabilities_parse(bytes_of(status_text), &caps) && caps == 0x1ffffffffff,
	   "capabilities");
	ok(!host_capabilities_parse(bytes_of("CapEff:\txyz\n"), &caps), "no hexadecimal");
	ok(!host_capabilities_parse(bytes_of("CapEff:\t00000000000000000001\n"), &caps),
	   "too many digits");
}

static void schedstats(void)
{
	struct host_schedstat s;

	ok(host_schedstat_parse(bytes_of("123456789 987654321 42\n"), &s), "a schedstat");
	is_u64(s.run_ns, 123456789, "on CPU");
	is_u64(s.wait_ns, 987654321, "waiting");
	is_u64(s.slices, 42, "slices");
	ok(!host_schedstat_parse(bytes_of("123 456\n"), &s), "one value short");
}

/* ---- maps ---- */

struct maps_seen {
	struct host_mapping m[16];
	char path[16][64];
	unsigned n, stop_at;
};

static bool take_mapping(void *ctx, const struct host_mapping *m)
{
	struct maps_seen *s = ctx;

	if (s->n < 16) {
		s->m[s->n] = *m;
		snprintf(s->path[s->n], 64, "%.*s", (int)m->path.n, m->path.p);
	}
	return ++s->n != s->stop_at;
}

static unsigned parse_maps(const char *text, size_t n, struct maps_seen *s)
{
	struct buf b = { 0 };
	unsigned refused;

	buf_add(&b, text, n);
	refused = host_maps_parse(&b, take_mapping, s);
	buf_free(&b);
	return refused;
}

static const char maps_text[] =
	"558b5cee1000-558b5cee6000 r-xp 00002000 fe:00 247134                     /usr/bin/cat\n"
	"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
	"7f0000002000-7f0000003000 r-xp 00001000 103:02 18446744073709551      /home/a user/lib "
	"with  blanks.so\n"
	"7f0000004000-7f0000005000 r-xp 00000000 00:2f 99                         /tmp/gone.so "
	"(deleted)\n"
	"7f0000006000-7f0000007000 r-xp 00000000 00:2f 98                         "
	"/tmp/two\\012lines.so (deleted)\n"
	"7f0000008000-7f0000009000 rwxs 00000000 00:01 7                          /memfd:jit cache "
	"(deleted)\n"
	"7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void maps(void)
{
	static const struct {
		uint64_t start, offset, inode;
		uint32_t major, minor;
		bool executable, deleted;
		const char *path;
	} rows[] = {
		{ 0x558b5cee1000, 0x2000, 247134, 0xfe, 0, true, false, "/usr/bin/cat" },
		{ 0x7f0000000000, 0, 0, 0, 0, false, false, "" },
		{ 0x7f0000002000, 0x1000, 18446744073709551, 0x103, 2, true, false,
		  "/home/a user/lib with  blanks.so" },
		{ 0x7f0000004000, 0, 99, 0, 0x2f, true, true, "/tmp/gone.so" },
		{ 0x7f0000006000, 0, 98, 0, 0x2f, true, true, "/tmp/two\nlines.so" },
		{ 0x7f0000008000, 0, 7, 0, 1, true, true, "/memfd:jit cache" },
		{ 0x7ffc00000000, 0, 0, 0, 0, true, false, "[vdso]" },
		{ 0xffffffffff600000, 0, 0, 0, 0, true, false, "[vsyscall]" },
	};
	static const char *const bad[] = {
		"x\n",
		"7f00-7e00 r-xp 0 0:0 0\n",
		"7f00-7f01 r-xp 0 0:0\n",
		"7f00-7f01 r-x\n",
		"7f00-7f01 r-xp 00000000 00:00 12x /lib\n",
		"11112222333344445-11112222333344446 r-xp 0 0:0 0 /lib\n",
		"7f00-7f01 r-xp 0 100000000:0 0 /lib\n",
	};
	struct maps_seen s = { 0 }, some = { .stop_at = 2 };
	size_t n = sizeof(rows) / sizeof(rows[0]);

	is_u64(parse_maps(maps_text, strlen(maps_text), &s), 0, "every line makes sense");
	is_u64(s.n, n, "and is told");
	for (size_t i = 0; i < n; i++) {
		const struct host_mapping *m = &s.m[i];

		ok(m->start == rows[i].start && m->offset == rows[i].offset &&
			   m->inode == rows[i].inode && m->major == rows[i].major &&
			   m->minor == rows[i].minor,
		   "mapping %zu: numbers", i);
		ok(m->executable == rows[i].executable && m->deleted == rows[i].deleted,
		   "mapping %zu: kind", i);
		is_str(s.path[i], rows[i].path, "path");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct maps_seen none = { 0 };

		is_u64(parse_maps(bad[i], strlen(bad[i]), &none), 1, "refused: line %zu", i);
		is_u64(none.n, 0, "and not told");
	}
	parse_maps(maps_text, strlen(maps_text), &some);
	is_u64(some.n, 2, "the walk ends when told to");
	s.n = 0;
	parse_maps(maps_text, strlen(maps_text) - 1, &s);
	is_u64(s.n, n, "the last newline may be missing");
}

/* ---- the machine ---- */

struct cpus_seen {
	struct host_cpu cpu[8];
	unsigned n;
};

static void take_cpu(void *ctx, const struct host_cpu *c)
{
	struct cpus_seen *s = ctx;

	if (s->n < 8)
		s->cpu[s->n++] = *c;
}

static const char stat_text[] =
	"cpu  100 20 30 4000 50 6 7 80 9 0\ncpu0 60 10 20 2000 30 6 7 70 9 0\n"
	"cpu7 40 10 10 2000 20 0 0 10 0 0\nintr 12345 0 0\nctxt 99\nprocs_running 3\nprocs_blocked "
	"1\n";
static const char meminfo_text[] =
	"MemTotal:       24684096 kB\nMemFree:        20000000 kB\nMemAvailable:   23000000 kB\n"
	"SwapTotal:        100 kB\nSwapFree:          40 kB\n";

static void machine(void)
{
	struct cpus_seen s = { 0 };
	struct host_pressure p;
	struct host_memory m;
	uint64_t running;
	double load = 0;

	ok(host_cpus_parse(bytes_of(stat_text), take_cpu, &s, &running), "a stat of the machine");
	is_u64(s.n, 3, "the sum and two CPUs");
	is_u64(running, 3, "tasks that run");
	ok(s.cpu[0].cpu == HOST_ALL_CPUS && s.cpu[1].cpu == 0 && s.cpu[2].cpu == 7,
	   "by number: one is offline in between");
	ok(s.cpu[0].user == 120 && s.cpu[0].system == 43 && s.cpu[0].idle == 4000 &&
		   s.cpu[0].iowait == 50 && s.cpu[0].steal == 80,
	   "interrupts are system time, nice is user time");
	s.n = 0;
	ok(host_cpus_parse(bytes_of("cpu  1 2 3 4\n"), take_cpu, &s, &running) &&
		   s.cpu[0].steal == 0,
	   "an old kernel's");
	ok(!host_cpus_parse(bytes_of("intr 5\n"), take_cpu, &s, &running), "not a stat");
	ok(host_memory_parse(bytes_of(meminfo_text), &m), "meminfo");
	ok(m.total_bytes == 24684096ull * 1024 && m.available_bytes == 23000000ull * 1024 &&
		   m.swap_total_bytes == 102400 && m.swap_free_bytes == 40960,
	   "in bytes");
	ok(!host_memory_parse(bytes_of("MemTotal: 5 kB\n"), &m), "what is available is needed");
	ok(host_load_parse(bytes_of("12.34 0.50 0.25 3/700 9999\n"), &load) && load > 12.339 &&
		   load < 12.341,
	   "load");
	ok(!host_load_parse(bytes_of("12\n"), &load), "no load");
	ok(host_pressure_parse(bytes_of("some avg10=1.00 avg60=0.50 avg300=0.10 total=142946463\n"
					"full avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"),
			       &p),
	   "pressure");
	ok(p.some_us == 142946463 && p.has_full && p.full_us == 77, "both lines");
	ok(host_pressure_parse(bytes_of("some avg10=1.00 avg60=0.50 avg300=0.10 total=5\n"), &p) &&
		   !p.has_full,
	   "the CPU file of older kernels has one line");
	ok(!host_pressure_parse(bytes_of("some avg10=1.00\n"), &p), "no total");
}

/* ---- cgroups ---- */

static const char mountinfo_hybrid[] =
	"25 30 0:23 / /proc rw,nosuid shared:14 - proc proc rw\n"
	"33 30 0:28 / /sys/fs/cgroup\\040dir/cpu,cpuacct rw shared:9 - cgroup cgroup "
	"rw,cpu,cpuacct\n"
	"34 30 0:29 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
	"35 30 0:30 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char mountinfo_container[] =
	"601 599 0:30 /kubepods/pod1/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";

static void cgroups(void)
{
	struct host_cgroup_trees trees;
	struct host_cgroup_places places;
	struct host_throttle t;
	char folder[HOST_CGROUP_PATH * 2];

	host_cgroup_mounts_parse(bytes_of(mountinfo_hybrid), &trees);
	is_str(trees.cpu_v1.mount, "/sys/fs/cgroup dir/cpu,cpuacct",
	       "the cpu controller of version 1, with a blank");
	is_str(trees.unified.mount, "/sys/fs/cgroup/unified", "the unified tree");
	host_cgroup_places_parse(bytes_of("12:cpuset:/a\n3:cpu,cpuacct:/user.slice/"
					  "x:y\n1:name=systemd:/s\n0::/init.scope\n"),
				 &places);
	ok(bytes_equal(places.cpu_v1, bytes_of("/user.slice/x:y")), "a place with a colon");
	ok(bytes_equal(places.unified, bytes_of("/init.scope")), "the unified place");
	ok(host_cgroup_folder(&trees.cpu_v1, places.cpu_v1, folder), "its folder");
	is_str(folder, "/sys/fs/cgroup dir/cpu,cpuacct/user.slice/x:y", "below the mount");
	host_cgroup_places_parse(bytes_of("5:cpuset:/a\n"), &places);
	ok(!places.cpu_v1.p && !places.unified.p, "no place at all");
	ok(!host_cgroup_folder(&trees.unified, places.unified, folder), "has no folder");
	host_cgroup_mounts_parse(bytes_of(mountinfo_container), &trees);
	is_str(trees.cpu_v1.mount, "", "no version 1");
	ok(host_cgroup_folder(&trees.unified, bytes_of("/kubepods/pod1/abc/sub"), folder),
	   "inside of what a container sees");
	is_str(folder, "/sys/fs/cgroup/sub", "the part it sees is cut off");
	ok(!host_cgroup_folder(&trees.unified, bytes_of("/kubepods/pod1/abcd"), folder),
	   "a neighbour with a longer name");
	ok(!host_cgroup_folder(&trees.unified, bytes_of("/kubepods/pod1"), folder),
	   "above what it sees");
	ok(!host_cgroup_folder(&trees.unified, bytes_of("/kubepods/pod1/abc/../../x"), folder),
	   "outside");
	ok(host_throttle_parse(
		   bytes_of("usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500\n"),
		   &t),
	   "version 2");
	ok(t.periods == 10 && t.throttled == 4 && t.throttled_ns == 2500000, "microseconds there");
	ok(host_throttle_parse(bytes_of("nr_periods 10\nnr_throttled 4\nthrottled_time 2500\n"),
			       &t) &&
		   t.throttled_ns == 2500,
	   "nanoseconds in version 1");
	ok(!host_throttle_parse(bytes_of("usage_usec 5\nuser_usec 3\n"), &t),
	   "a root counts no throttling");
}

/* ---- what is permitted ---- */

static void permissions(void)
{
	unsigned major = 0, minor = 0;

	ok(host_kernel_parse(bytes_of("6.1.0-28-amd64"), &major, &minor) && major == 6 &&
		   minor == 1,
	   "6.1.0-28-amd64");
	ok(host_kernel_parse(bytes_of("5.15-rc1"), &major, &minor) && major == 5 && minor == 15,
	   "5.15-rc1");
	ok(!host_kernel_parse(bytes_of("six"), &major, &minor), "no release");
	is_int(host_lockdown_parse(bytes_of("[none] integrity confidentiality\n")),
	       HOST_LOCKDOWN_NONE, "no lockdown");
	is_int(host_lockdown_parse(bytes_of("none [integrity] confidentiality\n")),
	       HOST_LOCKDOWN_INTEGRITY, "integrity");
	is_int(host_lockdown_parse(bytes_of("none integrity [confidentiality]\n")),
	       HOST_LOCKDOWN_CONFIDENTIALITY, "confidentiality");
	is_int(host_lockdown_parse(bytes_of("")), HOST_LOCKDOWN_UNKNOWN, "nothing known");
}

/* ---- identities ---- */

static void identities(void)
{
	/* From another implementation of SHA-256: "" and 200 times "a". */
	static const char *const want[] = {
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"c2a908d98f5df987ade41b5fce213067efbcc21ef2240212a41e54b5e7c28ae5"
	};
	char text[200], hex[65], again[65];
	uint8_t digest[HOST_DIGEST], uuid[16], same[16];

	memset(text, 'a', sizeof(text));
	for (unsigned k = 0; k < 2; k++) {
		host_digest(text, k * sizeof(text), digest);
		for (unsigned i = 0; i < HOST_DIGEST; i++)
			snprintf(hex + 2 * i, 3, "%02x", digest[i]);
		is_str(hex, want[k], "a digest of %zu bytes", k * sizeof(text));
	}
	host_node_uuid("0123456789abcdef0123456789abcdef\n", 33, uuid);
	host_node_uuid("0123456789abcdef0123456789abcdef", 32, same);
	ok(memcmp(uuid, same, 16) == 0, "a newline is not part of a machine id");
	for (unsigned i = 0; i < 16; i++)
		snprintf(again + 2 * i, 3, "%02x", uuid[i]);
	/* sha256("ingero node\n" + id), version and variant set: never to change, recordings are
	 * joined by it. */
	is_str(again, "4a6b24c40ac08ba295012dd4e2f5ed52", "the identity of a node is for ever");
	is_u64(host_node_boot("6a8b\n", 5), 0xd90adcc763938952ull, "and so is that of a boot");
}

/* ---- libraries ---- */

static void libraries(void)
{
	static const struct {
		const char *path;
		enum host_cuda kind;
	} rows[] = {
		{ "/usr/local/cuda/lib64/libcudart.so.12.4.127", HOST_CUDA_RUNTIME },
		{ "libcudart-d0da41ae.so.11.0", HOST_CUDA_RUNTIME },
		{ "/usr/lib/x86_64-linux-gnu/libcuda.so.1", HOST_CUDA_DRIVER },
		{ "/usr/lib/libcuda.so", HOST_CUDA_DRIVER },
		{ "libnccl.so.2", HOST_CUDA_NCCL },
		{ "/usr/lib/libnvidia-ml.so.550.54.14", HOST_CUDA_NVML },
		{ "/usr/lib/libcudadebugger.so.1", HOST_CUDA_NONE },
		{ "/usr/lib/libcudnn.so.9", HOST_CUDA_NONE },
		{ "/usr/lib/libcudart_static.a", HOST_CUDA_NONE },
		{ "/usr/lib/libcudart.a", HOST_CUDA_NONE },
		{ "/libcuda.so/readme", HOST_CUDA_NONE },
		{ "libcuda", HOST_CUDA_NONE },
		{ "", HOST_CUDA_NONE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_int(host_cuda_of(bytes_of(rows[i].path)), rows[i].kind, "\"%s\"", rows[i].path);
}

static void put32(struct buf *b, uint32_t v)
{
	unsigned char le[4] = { (unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
				(unsigned char)(v >> 24) };

	buf_add(b, le, 4);
}

static bool take_path(void *ctx, struct bytes path)
{
	struct buf *out = ctx;

	buf_add(out, path.p, path.n);
	buf_putc(out, ' ');
	return true;
}

/* n entries of which each names two texts. */
static void make_cache(struct buf *b, uint32_t n, uint32_t claimed)
{
	static const char texts[] = "libcuda.so.1\0/usr/lib/libcuda.so.1";
	uint32_t at = 48 + 24 * n;

	buf_add(b, "glibc-ld.so.cache1.1", 20);
	put32(b, claimed);
	put32(b, sizeof(texts));
	for (unsigned i = 0; i < 5; i++)
		put32(b, 0);
	for (uint32_t i = 0; i < n; i++) {
		put32(b, 0x303);
		put32(b, at);
		put32(b, i == 1 ? 0xfffffff0 : at + 13);
		for (unsigned k = 0; k < 3; k++)
			put32(b, 0);
	}
	buf_add(b, texts, sizeof(texts));
}

static void caches(void)
{
	struct buf cache = { 0 }, old = { 0 }, lying = { 0 }, out = { 0 };

	make_cache(&cache, 3, 3);
	ok(host_cache_parse(buf_bytes(&cache), take_path, &out), "a loader's cache");
	is_str(buf_text(&out), "/usr/lib/libcuda.so.1 /usr/lib/libcuda.so.1 ",
	       "an entry that points nowhere is passed by");
	buf_reset(&out);
	buf_puts(&old, "ld.so-1.7.0 and its own entries, then ");
	make_cache(&old, 1, 1);
	ok(host_cache_parse(buf_bytes(&old), take_path, &out) && out.n > 0,
	   "the new form behind the old one");
	make_cache(&lying, 1, 1000000000);
	ok(!host_cache_parse(buf_bytes(&lying), take_path, &out), "more entries than bytes");
	ok(!host_cache_parse(bytes_of("something else"), take_path, &out), "another file");
	for (size_t n = 0; n < cache.n; n++) {
		char *copy = malloc(n ? n : 1);

		memcpy(copy, cache.p, n);
		buf_reset(&out);
		host_cache_parse((struct bytes){ copy, n }, take_path, &out);
		free(copy);
	}
	buf_free(&cache);
	buf_free(&old);
	buf_free(&lying);
	buf_free(&out);
}

/* ---- cut texts ---- */

/* Every parser on every beginning of every text, in memory that ends there. */
static void cuts(void)
{
	static const char *const texts[] = {
		"4822 (python3) " STAT_REST,
		status_text,
		maps_text,
		stat_text,
		meminfo_text,
		mountinfo_hybrid,
		mountinfo_container,
		"12.34 0.50 0.25 3/700 9999\n",
		"some avg10=1.00 total=5\nfull avg10=0.00 total=77\n",
		"3:cpu,cpuacct:/user.slice\n0::/init.scope\n",
		"nr_periods 10\nnr_throttled 4\nthrottled_usec 2500\n"
	};
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t end = 0; end <= strlen(texts[i]); end++, n++) {
			char *copy = malloc(end ? end : 1);
			struct bytes text = { copy, end };
			struct host_cgroup_trees trees;
			struct host_cgroup_places places;
			struct host_schedstat schedstat;
			struct host_pressure pressure;
			struct host_throttle throttle;
			struct host_status status;
			struct host_memory memory;
			struct maps_seen mappings = { 0 };
			struct cpus_seen cpus = { 0 };
			struct host_stat stat;
			unsigned a, b;
			uint64_t v;
			double load;

			memcpy(copy, texts[i], end);
			host_stat_parse(text, &stat);
			host_status_parse(text, &status);
			host_schedstat_parse(text, &schedstat);
			host_cpus_parse(text, take_cpu, &cpus, &v);
			host_memory_parse(text, &memory);
			host_load_parse(text, &load);
			host_pressure_parse(text, &pressure);
			host_cgroup_mounts_parse(text, &trees);
			host_cgroup_places_parse(text, &places);
			host_throttle_parse(text, &throttle);
			host_capabilities_parse(text, &v);
			host_kernel_parse(text, &a, &b);
			host_lockdown_parse(text);
			host_cuda_of(text);
			parse_maps(copy, end, &mappings);
			free(copy);
		}
	}
	ok(n > 1500, "%u cut texts, and no crash", n);
}

int main(void)
{
	numbers();
	stats();
	statuses();
	schedstats();
	maps();
	machine();
	cgroups();
	permissions();
	identities();
	libraries();
	caches();
	cuts();
	return tap_done();
}
