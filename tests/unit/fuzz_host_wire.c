/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target host_wire over mutations of records as the kernel side sends them, and of lines
 * of its log. */
#include "tests/fuzz/host_wire.c"

#include "tests/fuzz/bytes.h"
#include "tests/tap.h"

static void put(struct buf *b, const void *record, size_t n)
{
	buf_putc(b, (char)(n & 0xff));
	buf_putc(b, (char)(n >> 8));
	buf_add(b, record, n);
}

static void seed_thread(struct buf *b, uint32_t tgid)
{
	struct wire_thread t = {
		.kind = WIRE_THREAD, .tid = tgid, .tgid = tgid, .cgroup = 7, .comm = "worker"
	};

	put(b, &t, sizeof(t));
}

static void seed_file(struct buf *b)
{
	static struct wire_file f = { .kind = WIRE_FILE,
				      .number = 1,
				      .device = 8 << 20,
				      .fstype = "ext4",
				      .origin = "/dev/sda1" };

	f.names = (uint8_t)replay_below(WIRE_FILE_NAMES + 2);
	f.mounted = (uint8_t)replay_below(WIRE_FILE_NAMES + 2);
	f.cut = replay_below(2) != 0;
	memset(f.name, 'n', sizeof(f.name));
	put(b, &f, WIRE_FILE_HEAD + replay_below(WIRE_FILE_NAMES + 1) * (size_t)WIRE_FILE_NAME);
}

static void seed_socket(struct buf *b)
{
	static const uint16_t families[] = { 1, 2, 10, 16, 40 };
	struct wire_socket s = { .kind = WIRE_SOCKET,
				 .family = families[replay_below(5)],
				 .protocol = (uint16_t)replay_below(300),
				 .number = 2,
				 .local_port = 80,
				 .remote_port = (uint16_t)replay_below(2) };

	put(b, &s, sizeof(s));
}

static void seed_peer(struct buf *b)
{
	struct wire_peer p = { .kind = WIRE_PEER, .number = replay_below(4), .tgid = 77 };

	memset(p.comm, 'c', replay_below(sizeof(p.comm) + 1));
	put(b, &p, sizeof(p));
}

static void seed_host(struct buf *b)
{
	struct wire_host h = { .kind = (uint8_t)(WIRE_BLOCK + replay_below(6)),
			       .write = (uint8_t)replay_below(4),
			       .present = (uint8_t)replay_below(16),
			       .tid = replay_below(4),
			       .end_ns = 1000,
			       .dur_ns = 10,
			       .number = replay_below(4),
			       .inode = replay_below(8),
			       .x = { 1, 2, replay_below(4), 3 } };

	put(b, &h, sizeof(h));
}

static void seed_wait(struct buf *b)
{
	struct wire_offcpu o = { .kind = WIRE_OFFCPU,
				 .flags = (uint8_t)replay_below(32),
				 .object_kind = (uint8_t)replay_below(13),
				 .tid = 1 + replay_below(3),
				 .end_ns = 2000,
				 .dur_ns = 100,
				 .syscall = (int16_t)replay_below(300),
				 .number = replay_below(4) };

	put(b, &o, sizeof(o));
}

int main(void)
{
	static const char line[] =
		"3,1,2,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=4821, name=python3, MMU";
	unsigned round;

	for (round = 0; round < REPLAY_ROUNDS; round++) {
		struct buf b = { 0 };

		buf_putc(&b, round % 8 == 0);
		if (round % 8 == 0) {
			buf_puts(&b, line);
		} else {
			seed_thread(&b, 1);
			seed_thread(&b, 2);
			seed_file(&b);
			seed_socket(&b);
			seed_peer(&b);
			for (unsigned i = 0; i < 6; i++)
				(replay_below(3) ? seed_host : seed_wait)(&b);
		}
		for (unsigned m = replay_below(8); m > 0 && b.n; m--)
			replay_mutate(&b);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, REPLAY_ROUNDS, "mutated records of the ring and lines of the log");
	return tap_done();
}
