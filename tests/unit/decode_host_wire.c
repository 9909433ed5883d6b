/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the host's side to events, without a kernel: files and sockets by what they are, whose
 * a segment sent again is, and what is counted as nobody's.
 */
#include "lib/decode/host_wire.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/decode/wire.h"
#include "tests/tap.h"

static struct event last;
static struct record said;
static char path[200], remote[80];
static unsigned events, records, peers, asked;

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	last = *ev;
	events++;
}

static void copy(char *to, size_t room, struct bytes text)
{
	size_t n = text.n < room - 1 ? text.n : room - 1;

	memcpy(to, text.n ? text.p : "", n);
	to[n] = 0;
}

static char kinds[100];

static void add_kind(const struct record *r)
{
	size_t n = strlen(kinds);

	snprintf(kinds + n, sizeof(kinds) - n, "%u %.*s%s ", r->u.READY.fd, (int)r->u.READY.kind.n,
		 r->u.READY.kind.n ? r->u.READY.kind.p : "", r->u.READY.more ? "+" : "");
}

static char told[64];

static void add_peer(const struct record *r)
{
	size_t n = strlen(told);

	snprintf(told + n, sizeof(told) - n, "%s%u", n ? " " : "", r->u.PEER.pid);
}

static void on_record(void *ctx, struct record *r)
{
	(void)ctx;
	said = *r;
	if (r->kind == RECORD_FILE)
		copy(path, sizeof(path), r->u.FILE.path);
	else if (r->kind == RECORD_SOCKET)
		copy(remote, sizeof(remote), r->u.SOCKET.remote);
	else if (r->kind == RECORD_READY)
		add_kind(r);
	records++;
	if (r->kind == RECORD_PEER)
		add_peer(r);
	peers += r->kind == RECORD_PEER && r->u.PEER.pid == 77 &&
		 bytes_equal(r->u.PEER.comm, bytes_of("server"));
}

static uint32_t on_socket(void *ctx, uint64_t inode)
{
	(void)ctx;
	asked++;
	return inode == 500 ? 10 : 0;
}

static void announce(struct wire_decoder *wire, uint32_t tgid, uint32_t tid)
{
	struct wire_thread t = {
		.kind = WIRE_THREAD, .tid = tid, .tgid = tgid, .start_ns = tid, .comm = "worker"
	};

	wire_decoder_record(wire, &t, sizeof(t));
}

static uint32_t tgid_of_last(struct world *w)
{
	const struct world_ctx *ctx = world_get_ctx(w, last.ctx);

	return world_get_process(w, world_get_thread(w, ctx->thread)->process)->tgid;
}

static void resent(struct wire_decoder *wire, uint32_t tid, uint32_t tgid, uint64_t inode)
{
	struct wire_host h = { .kind = WIRE_RETRANSMIT,
			       .tid = tid,
			       .end_ns = 5000,
			       .present = 3,
			       .write = HOST_NEITHER,
			       .inode = inode,
			       .number = 9,
			       .x = { 3, 1, tgid } };

	wire_decoder_record(wire, &h, sizeof(h));
}

static void owners(struct wire_decoder *wire, struct world *w)
{
	struct wire_socket s = { .kind = WIRE_SOCKET,
				 .family = AF_INET,
				 .protocol = IPPROTO_TCP,
				 .number = 9,
				 .local_port = 40000,
				 .remote_port = 443,
				 .local = { 192, 0, 2, 1 },
				 .remote = { 192, 0, 2, 2 } };

	wire_decoder_record(wire, &s, sizeof(s));
	is_u64(records, 0, "a socket that nothing happens to is not told");
	announce(wire, 10, 10);
	announce(wire, 10, 11);
	announce(wire, 20, 20);
	resent(wire, 11, 10, 0);
	is_str(remote, "192.0.2.2:443", "a socket's other end");
	is_u64(tgid_of_last(w), 10, "of the thread that got the socket");
	is_u64(last.x[1], 3, "segments");
	is_u64(last.x[0], said.u.SOCKET.id, "on that socket");
	announce(wire, 20, 11);
	resent(wire, 11, 10, 0);
	is_u64(tgid_of_last(w), 10, "also when its number is another process's thread by now");
	is_u64(asked, 0, "nobody has to be asked");
	resent(wire, 0, 0, 500);
	ok(asked == 1 && tgid_of_last(w) == 10, "of who has the socket open");
	events = 0;
	resent(wire, 0, 0, 501);
	resent(wire, 0, 0, 0);
	resent(wire, 77, 77, 0);
	is_u64(events, 0, "of nobody who is recorded");
	is_u64(wire_decoder_others(wire)->retransmits, 3, "counted");
	is_u64(wire_decoder_others(wire)->segments, 9, "with their segments");
	is_u64(wire_decoder_refused(wire), 0, "and not refused");
}

/* Who is at the other end is found out once, and said in each file that names the socket. */
static void far_ends(struct wire_decoder *wire)
{
	const struct wire_peer end = { .kind = WIRE_PEER };
	struct wire_peer p = { .kind = WIRE_PEER, .number = 9, .tgid = 77, .comm = "server" };
	uint64_t refused = wire_decoder_refused(wire);

	wire_decoder_record(wire, &p, sizeof(p));
	wire_decoder_record(wire, &p, sizeof(p));
	is_u64(peers, 0, "as long as others are looked for it is not told");
	wire_decoder_record(wire, &end, sizeof(end));
	is_u64(peers, 1, "a process at the other end");
	wire_decoder_again(wire, 9000);
	is_u64(peers, 1, "is not told where the socket is not");
	resent(wire, 11, 10, 0);
	resent(wire, 11, 10, 0);
	is_u64(peers, 2, "and once where it is");
	p.number = 10;
	wire_decoder_record(wire, &p, sizeof(p));
	is_u64(wire_decoder_refused(wire), refused + 1,
	       "of a socket that nobody told of it is refused");
}

/* After a fork several processes have an end. Who has the near one is no peer. */
static void holders(struct wire_decoder *wire)
{
	static const struct {
		const char *name;
		uint32_t far[10], near[10];
		const char *told;
	} cases[] = {
		{ "one at each end", { 20 }, { 10 }, "20" },
		{ "a parent that has both, and its child", { 10, 20 }, { 10 }, "20" },
		{ "both have both", { 10, 20 }, { 10, 20 }, "" },
		{ "two that share the other end", { 20, 21 }, { 10 }, "20 21" },
		{ "one that has it twice", { 20, 20 }, { 10, 10 }, "20" },
		{ "nobody of this machine", { 0 }, { 10 }, "" },
		{ "more than are kept", { 20 }, { 30, 31, 32, 33, 34, 35, 36, 37, 38 }, "" },
	};
	const struct wire_peer end = { .kind = WIRE_PEER };

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const __typeof__(cases[0]) *k = &cases[i / 2];
		bool near_first = i % 2;
		struct wire_socket s = { .kind = WIRE_SOCKET,
					 .family = AF_INET,
					 .protocol = IPPROTO_TCP,
					 .number = 20 + (uint32_t)i,
					 .local_port = (uint16_t)(5000 + i),
					 .remote_port = 80,
					 .local = { 127, 0, 0, 1 },
					 .remote = { 127, 0, 0, 1 } };

		wire_decoder_record(wire, &s, sizeof(s));
		told[0] = 0;
		for (unsigned n = 0; n < 20; n++) {
			bool near = (n >= 10) != near_first;
			struct wire_peer p = { .kind = WIRE_PEER,
					       .near = near,
					       .number = s.number,
					       .tgid = (near ? k->near : k->far)[n % 10] };

			if (p.tgid)
				wire_decoder_record(wire, &p, sizeof(p));
		}
		wire_decoder_record(wire, &end, sizeof(end));
		is_str(told, k->told, "%s%s", k->name, near_first ? ", the other way round" : "");
	}
}

/* So many that the first is forgotten. */
static void numbers_come_and_go(struct wire_decoder *wire, struct wire_file *f,
				struct wire_offcpu *o)
{
	uint64_t refused = wire_decoder_refused(wire);
	struct kernel_id_names *numbers = wire_decoder_numbers(wire);
	unsigned many = 0;

	for (unsigned i = 0; i < KERNEL_ID_NAMES; i++) {
		f->number = 6 + i;
		snprintf(f->name[0], sizeof(f->name[0]), "%u.jpg", i);
		wire_decoder_record(wire, f, WIRE_FILE_HEAD + 3 * WIRE_FILE_NAME);
		many += kernel_id_names_many(numbers);
	}
	is_u64(many, 2, "after each half of the room they are to be numbered anew");
	events = 0;
	last = (struct event){ 0 };
	wire_decoder_record(wire, o, sizeof(*o));
	ok(events == 2 && last.op == OP_IO_FILE,
	   "a wait for a file whose name was forgotten is a wait");
	ok(!event_get(&last, op_builtin(last.op), COL_FILE, NULL), "and says not for which");
	o->number = 6;
	wire_decoder_record(wire, o, sizeof(*o));
	is_str(path, "/mnt/a folder/0.jpg", "the oldest that is known");
	is_u64(wire_decoder_refused(wire), refused, "none of them is refused");
	o->number = 6 + KERNEL_ID_NAMES;
	wire_decoder_record(wire, o, sizeof(*o));
	is_u64(wire_decoder_refused(wire), refused + 1, "a number nobody told of is");
}

static void files(struct wire_decoder *wire)
{
	static struct wire_file f = { .kind = WIRE_FILE,
				      .names = 3,
				      .mounted = 2,
				      .number = 4,
				      .device = 8 << 20 | 1,
				      .fstype = "fuse",
				      .subtype = "slow",
				      .origin = "server:/export",
				      .name = { "model.bin", "a folder", "mnt" } };
	struct wire_offcpu o = { .kind = WIRE_OFFCPU,
				 .tid = 10,
				 .end_ns = 9000,
				 .dur_ns = 100,
				 .syscall = SYS_read,
				 .number = 4 };
	uint64_t refused = wire_decoder_refused(wire);

	wire_decoder_record(wire, &f, WIRE_FILE_HEAD + 3 * WIRE_FILE_NAME - 1);
	is_u64(wire_decoder_refused(wire), refused + 1, "names that did not cross are refused");
	records = 0;
	wire_decoder_record(wire, &f, WIRE_FILE_HEAD + 3 * WIRE_FILE_NAME);
	events = 0;
	wire_decoder_record(wire, &o, sizeof(o));
	is_str(path, "/mnt/a folder/model.bin", "a file by its path");
	is_u64(events, 2, "a wait for it is an interval and a wait");
	ok(last.op == OP_IO_FILE && last.dur_ns == 100, "as long as the interval");
	o.number = f.number = 5;
	wire_decoder_record(wire, &f, WIRE_FILE_HEAD + 3 * WIRE_FILE_NAME);
	wire_decoder_record(wire, &o, sizeof(o));
	o.number = 4;
	wire_decoder_record(wire, &o, sizeof(o));
	is_u64(records, 1, "told once, whatever its number");
	wire_decoder_again(wire, 9001);
	is_u64(records, 1, "in the next file of the recording not before it is used there");
	wire_decoder_record(wire, &o, sizeof(o));
	wire_decoder_record(wire, &o, sizeof(o));
	is_u64(records, 2, "but then, once more");
	wire_decoder_again(wire, 9000);
	is_u64(records, 3, "at once, when what names it may go to that file");
	wire_decoder_record(wire, &o, sizeof(o));
	is_u64(records, 3, "which is enough");
	numbers_come_and_go(wire, &f, &o);
}

static void threads(struct wire_decoder *wire)
{
	struct wire_host h = { .kind = WIRE_BLOCK,
			       .tid = 99,
			       .end_ns = 5000,
			       .dur_ns = 1000,
			       .present = 15,
			       .write = 1,
			       .x = { 8 << 20, 64, 4096, 10 } };
	uint64_t refused = wire_decoder_refused(wire);

	events = 0;
	wire_decoder_record(wire, &h, sizeof(h));
	is_u64(wire_decoder_refused(wire), refused + 1, "of a thread that nobody announced");
	h.tid = 10;
	wire_decoder_record(wire, &h, sizeof(h) - 1);
	is_u64(wire_decoder_refused(wire), refused + 2, "cut off");
	h.kind = WIRE_BLOCK + 20;
	wire_decoder_record(wire, &h, sizeof(h));
	is_u64(wire_decoder_refused(wire), refused + 3, "of no kind");
	h.kind = WIRE_BLOCK;
	wire_decoder_record(wire, &h, sizeof(h));
	ok(events == 1 && last.op == OP_IO_BLOCK && last.dur_ns == 1000, "a request");
}

/* Descriptors that were ready behind a wait for several. */
static void ready(struct wire_decoder *wire)
{
	struct wire_ready w = { .kind = WIRE_READY,
				.n = 4,
				.tid = 10,
				.end_ns = 9000,
				.fd = { { .fd = 3, .mode = S_IFSOCK, .number = 9 },
					{ .fd = 4, .mode = S_IFIFO, .name = "12345" },
					{ .fd = 5, .name = "[eventfd]" },
					{ .fd = 6, .mode = S_IFCHR, .name = "tty1" } } };
	size_t one = sizeof(w.fd[0]);
	uint64_t refused = wire_decoder_refused(wire);

	wire_decoder_record(wire, &w, sizeof(w));
	is_str(kinds, "3 socket 4 pipe 5 eventfd 6 device ", "each of them is a record");
	ok(REC_HAS(&said, READY, thread) && !REC_HAS(&said, READY, socket),
	   "of the thread that waited");
	kinds[0] = 0;
	w.n = 1;
	w.more = 1;
	wire_decoder_record(wire, &w, WIRE_READY_HEAD + one);
	is_str(kinds, "3 socket+ ", "and whether there were more");
	ok(REC_HAS(&said, READY, socket), "a socket that was told of is named");
	kinds[0] = 0;
	memset(w.fd[0].name, 'x', sizeof(w.fd[0].name));
	w.fd[0].mode = 0;
	w.more = 0;
	wire_decoder_record(wire, &w, WIRE_READY_HEAD + one);
	is_str(kinds, "3 xxxxxxxxxxxxxxxxxxxxxx ", "a name without an end ends with its room");
	kinds[0] = 0;
	wire_decoder_record(wire, &w, WIRE_READY_HEAD + one - 1);
	wire_decoder_record(wire, &w, WIRE_READY_HEAD - 1);
	w.n = WIRE_READY_MAX + 1;
	wire_decoder_record(wire, &w, sizeof(w));
	w.n = 1;
	w.tid = 99;
	wire_decoder_record(wire, &w, sizeof(w));
	is_u64(wire_decoder_refused(wire), refused + 4,
	       "cut off, too many and nobody's are refused");
	is_str(kinds, "", "whole");
}

/* Seen on a CPU, and no target then: nothing is its own until it is announced as one. */
static void occupants(struct wire_decoder *wire, struct world *w)
{
	struct wire_thread met = {
		.kind = WIRE_OCCUPANT, .tid = 30, .tgid = 30, .start_ns = 30, .comm = "passer"
	};
	struct wire_host h = { .kind = WIRE_BLOCK, .tid = 30, .end_ns = 5000, .write = 1 };
	struct wire_sample s = { .kind = WIRE_SAMPLE, .tid = 30, .time_ns = 5000 };
	struct wire_life end = { .kind = WIRE_EXIT, .time_ns = 6000, .who = met };
	uint64_t refused = wire_decoder_refused(wire);

	wire_decoder_record(wire, &met, sizeof(met));
	events = 0;
	wire_decoder_record(wire, &h, sizeof(h));
	wire_decoder_record(wire, &s, sizeof(s));
	is_u64(wire_decoder_refused(wire), refused + 2, "of a thread only met on a CPU");
	is_u64(events, 0, "nothing comes of it");
	wire_decoder_life(wire, &end);
	ok(events == 1 && last.op == OP_PROC_EXIT && tgid_of_last(w) == 30,
	   "its end tells whose it is");
}

int main(void)
{
	const struct wire_decoder_owner owner = { .event = on_event,
						  .record = on_record,
						  .socket = on_socket };
	struct world *w = world_new();
	struct wire_decoder *wire;
	struct err e = { 0 };

	if (!w || wire_decoder_new(&wire, w, 0, &owner, &e))
		return 1;
	owners(wire, w);
	far_ends(wire);
	holders(wire);
	files(wire);
	ready(wire);
	threads(wire);
	occupants(wire, w);
	wire_decoder_free(wire);
	world_free(w);
	return done_testing();
}
