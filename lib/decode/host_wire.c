/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are set by name: these events are rare beside calls. What the kernel did not say is
 * absent, never zero.
 */
#include "lib/decode/host_wire.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/base/hash.h"
#include "lib/event/record.h"

static struct bytes fixed_text(const char *p, size_t room)
{
	return (struct bytes){ p, strnlen(p, room) };
}

/* Appends the path from the outermost name down to the one at index last. */
static void append_names(const struct wire_file *f, unsigned last, struct buf *out)
{
	if (f->cut)
		buf_puts(out, "...");
	for (unsigned i = f->names; i-- > last;) {
		struct bytes name = fixed_text(f->name[i], WIRE_FILE_NAME);

		buf_putc(out, '/');
		buf_add(out, name.p, name.n);
		if (name.n == WIRE_FILE_NAME - 1)
			buf_puts(out, "..."); /* that is where the kernel side cuts */
	}
	if (last == f->names && !f->cut)
		buf_putc(out, '/');
}

void decode_file_path(const struct wire_file *f, struct buf *path, struct buf *mount)
{
	append_names(f, 0, path);
	append_names(f, f->mounted < f->names ? f->mounted : f->names, mount);
}

void decode_socket_end(uint16_t family, const uint8_t address[16], uint16_t port, struct buf *out)
{
	char host[INET6_ADDRSTRLEN];

	if ((family != AF_INET && family != AF_INET6) ||
	    !inet_ntop(family, address, host, sizeof(host)))
		return;
	buf_printf(out, family == AF_INET ? "%s:%u" : "[%s]:%u", host, port);
}

static uint64_t id_of(const struct bytes *said, unsigned n)
{
	uint64_t id = 1;

	for (unsigned i = 0; i < n; i++)
		id = hash_bytes(said[i].p ? said[i].p : "", said[i].n, id);
	return id;
}

#define SET_TEXT(r, KIND, field, value)                     \
	do {                                                \
		if ((value).n)                              \
			REC_SET((r), KIND, field, (value)); \
	} while (0)

static bool decode_file(struct wire_decoder *wire, const struct wire_file *f, size_t n)
{
	struct buf path = { 0 }, mount = { 0 }, type = { 0 };
	struct record r = { .kind = RECORD_FILE };
	struct bytes said[4];

	if (n < WIRE_FILE_HEAD || f->names > WIRE_FILE_NAMES ||
	    n < WIRE_FILE_HEAD + (size_t)f->names * WIRE_FILE_NAME)
		return false;
	decode_file_path(f, &path, &mount);
	said[0] = fixed_text(f->fstype, sizeof(f->fstype));
	buf_add(&type, said[0].p, said[0].n);
	if (f->subtype[0]) {
		said[0] = fixed_text(f->subtype, sizeof(f->subtype));
		buf_putc(&type, '.');
		buf_add(&type, said[0].p, said[0].n);
	}
	said[0] = buf_bytes(&path);
	said[1] = buf_bytes(&type);
	said[2] = buf_bytes(&mount);
	said[3] = fixed_text(f->origin, sizeof(f->origin));
	if (!path.failed && !type.failed && !mount.failed) {
		REC_SET(&r, FILE, id, id_of(said, 4));
		SET_TEXT(&r, FILE, path, said[0]);
		SET_TEXT(&r, FILE, fstype, said[1]);
		SET_TEXT(&r, FILE, mount, said[2]);
		SET_TEXT(&r, FILE, origin, said[3]);
		if (f->device >> 20)
			REC_SET(&r, FILE, device, f->device);
		kernel_id_names_put(wire_decoder_numbers(wire), f->number, r.u.FILE.id, &r);
	}
	buf_free(&path);
	buf_free(&mount);
	buf_free(&type);
	return true;
}

static const char *protocol_name(const struct wire_socket *s, char *room, size_t size)
{
	if (s->family == AF_UNIX)
		return "unix";
	if (s->family == AF_NETLINK)
		return "netlink";
	if (s->family != AF_INET && s->family != AF_INET6)
		snprintf(room, size, "family %u", s->family);
	else if (s->protocol == IPPROTO_TCP)
		return "tcp";
	else if (s->protocol == IPPROTO_UDP)
		return "udp";
	else if (s->protocol == IPPROTO_SCTP)
		return "sctp";
	else if (s->protocol == 262) /* IPPROTO_MPTCP */
		return "mptcp";
	else
		snprintf(room, size, "ip %u", s->protocol);
	return room;
}

static const char *const roles[] = {
	[SOCKET_ROLE_UNKNOWN] = "",	[SOCKET_LISTENING] = "listening",
	[SOCKET_ACCEPTED] = "accepted", [SOCKET_CONNECTED] = "connected",
	[SOCKET_PAIR] = "pair",
};

/* As ss(8) writes it: an abstract name with @ for its zero. */
static void unix_name(const char *name, struct buf *out)
{
	if (name[0] || !name[1])
		buf_add(out, name, strnlen(name, WIRE_UNIX_NAME));
	else
		buf_printf(out, "@%.*s", WIRE_UNIX_NAME - 1, name + 1);
}

static bool decode_socket(struct wire_decoder *wire, const struct wire_socket *s, size_t n)
{
	const struct wire_unix *names =
		s->family == AF_UNIX && n >= sizeof(*names) ? (void *)s : NULL;
	struct record r = { .kind = RECORD_SOCKET };
	struct buf local = { 0 }, remote = { 0 };
	struct bytes said[4], role = { 0 };
	char room[24];

	decode_socket_end(s->family, s->local, s->local_port, &local);
	if (s->remote_port)
		decode_socket_end(s->family, s->remote, s->remote_port, &remote);
	if (names) {
		unix_name(names->local, &local);
		unix_name(names->remote, &remote);
	}
	said[0] = bytes_of(protocol_name(s, room, sizeof(room)));
	said[1] = buf_bytes(&local);
	said[2] = buf_bytes(&remote);
	said[3] = (struct bytes){ (const char *)&s->inode, s->inode ? sizeof(s->inode) : 0 };
	if (s->role < sizeof(roles) / sizeof(roles[0]))
		role = bytes_of(roles[s->role]);
	if (!local.failed && !remote.failed) {
		REC_SET(&r, SOCKET, id, id_of(said, s->inode ? 4 : 3));
		SET_TEXT(&r, SOCKET, protocol, said[0]);
		SET_TEXT(&r, SOCKET, local, said[1]);
		SET_TEXT(&r, SOCKET, remote, said[2]);
		SET_TEXT(&r, SOCKET, role, role);
		if (s->inode)
			REC_SET(&r, SOCKET, inode, s->inode);
		kernel_id_names_put(wire_decoder_numbers(wire), s->number, r.u.SOCKET.id, &r);
	}
	buf_free(&local);
	buf_free(&remote);
	return true;
}

static bool decode_peer(struct wire_decoder *wire, const struct wire_peer *p)
{
	struct kernel_id_names *numbers = wire_decoder_numbers(wire);

	if (!p->number) {
		wire_decoder_peers(wire);
		return true;
	}
	return kernel_id_names_holder(numbers, p->number, p->near, p->tgid, p->comm) ||
	       kernel_id_names_forgotten(numbers, p->number);
}

/* What a descriptor is that is no socket. The kernel has a name for those without a file:
 * "[eventfd]", "inotify"; nothing else of regular files can be waited for. */
static struct bytes kind_of(const struct wire_ready_fd *f)
{
	struct bytes name = fixed_text(f->name, sizeof(f->name));

	if (S_ISSOCK(f->mode))
		return bytes_of("socket");
	if (S_ISFIFO(f->mode))
		return bytes_of("pipe");
	if (S_ISCHR(f->mode))
		return bytes_of("device");
	if (name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']')
		name = (struct bytes){ name.p + 1, name.n - 2 };
	return name;
}

static bool decode_ready(struct wire_decoder *wire, const struct wire_ready *w, size_t n)
{
	const struct decode_thread *t =
		n >= WIRE_READY_HEAD ? wire_decoder_thread(wire, w->tid) : NULL;

	if (!t || !t->ctx || w->n > WIRE_READY_MAX || n < WIRE_READY_HEAD + w->n * sizeof(w->fd[0]))
		return false;
	for (unsigned i = 0; i < w->n; i++) {
		struct record r = { .kind = RECORD_READY };
		uint64_t id;

		REC_SET(&r, READY, time_ns, (int64_t)w->end_ns);
		REC_SET(&r, READY, thread, t->thread);
		REC_SET(&r, READY, fd, w->fd[i].fd);
		SET_TEXT(&r, READY, kind, kind_of(&w->fd[i]));
		if (w->fd[i].number &&
		    wire_decoder_numbered(wire, w->fd[i].number, (int64_t)w->end_ns, &id))
			REC_SET(&r, READY, socket, id);
		if (w->more)
			REC_SET(&r, READY, more, 1);
		wire_decoder_say(wire, &r);
	}
	return true;
}

/* The value of the write column; HOST_NEITHER: the call moves no data. */
static unsigned syscall_direction(int syscall)
{
	switch (syscall) {
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_getdents64:
#ifdef SYS_getdents
	case SYS_getdents:
#endif
		return 0;
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_ftruncate:
	case SYS_fallocate:
		return 1;
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_sync_file_range:
	case SYS_syncfs:
	case SYS_close: /* for what was written, on file systems that see to it then */
		return 2;
	default:
		return HOST_NEITHER;
	}
}

bool decode_host_wait(struct wire_decoder *wire, const struct wire_offcpu *o, uint32_t ctx)
{
	bool socket = o->flags & OFFCPU_SOCKET;
	struct event ev = { .op = socket ? OP_NET_SOCKET : OP_IO_FILE };
	const struct op_def *def = op_builtin(ev.op);
	unsigned way = syscall_direction(o->syscall);
	uint64_t id;
	bool known = wire_decoder_numbered(wire, o->number, (int64_t)o->end_ns, &id);

	if (!known && !kernel_id_names_forgotten(wire_decoder_numbers(wire), o->number))
		return false;
	ev.end_ns = (int64_t)o->end_ns;
	ev.dur_ns = o->dur_ns;
	ev.depth = o->depth;
	ev.ctx = ctx;
	ev.stack = wire_decoder_stack(wire, o->stack);
	if (known)
		event_set(&ev, def, socket ? COL_SOCKET : COL_FILE, id);
	if (socket && o->flags & OFFCPU_OBJECT)
		event_set(&ev, def, COL_FD, o->object);
	if (o->syscall >= 0)
		event_set(&ev, def, COL_SYSCALL, (uint64_t)o->syscall);
	if (way != HOST_NEITHER)
		event_set(&ev, def, COL_WRITE, way);
	wire_decoder_emit(wire, &ev);
	return true;
}

static const struct {
	uint16_t op;
	uint16_t cols[4]; /* of x */
} shapes[] = {
	[WIRE_BLOCK - WIRE_BLOCK] = { OP_IO_BLOCK,
				      { COL_DEVICE, COL_SECTOR, COL_BYTES, COL_QUEUE_NS } },
	[WIRE_RECLAIM - WIRE_BLOCK] = { OP_MEM_RECLAIM, { COL_PAGES, COL_ORDER } },
	[WIRE_COMPACT - WIRE_BLOCK] = { OP_MEM_COMPACT, { 0 } },
	[WIRE_FAULT - WIRE_BLOCK] = { OP_MEM_FAULT, { COL_ADDRESS } },
	[WIRE_RETRANSMIT - WIRE_BLOCK] = { OP_NET_RETRANSMIT, { COL_SEGMENTS, COL_TCP_STATE } },
};

/* Who got the socket; another thread of that process, where this one's number has a new owner; or
 * who has it open. */
static uint32_t owner_of(struct wire_decoder *wire, const struct wire_host *h,
			 const struct decode_thread *t)
{
	if (!h->tid)
		return wire_decoder_socket_owner(wire, h->inode);
	return t && t->tgid == h->x[2] ? t->ctx : wire_decoder_process(wire, (uint32_t)h->x[2]);
}

static bool decode_host(struct wire_decoder *wire, const struct wire_host *h)
{
	unsigned shape = h->kind - WIRE_BLOCK;
	const struct decode_thread *t = h->tid ? wire_decoder_thread(wire, h->tid) : NULL;
	const struct op_def *def;
	struct event ev = { 0 };
	uint64_t id;

	if (shape >= sizeof(shapes) / sizeof(shapes[0]))
		return false;
	ev.op = shapes[shape].op;
	def = op_builtin(ev.op);
	ev.ctx = ev.op == OP_NET_RETRANSMIT ? owner_of(wire, h, t) : t ? t->ctx : 0;
	if (!ev.ctx && ev.op == OP_NET_RETRANSMIT) {
		wire_decoder_unowned(wire, h->x[0]);
		return true;
	}
	if (!ev.ctx)
		return false;
	wire_decoder_lost(wire, h->lost);
	ev.end_ns = (int64_t)h->end_ns;
	ev.dur_ns = h->dur_ns;
	ev.depth = h->depth;
	if (h->kind == WIRE_RECLAIM || h->kind == WIRE_COMPACT)
		ev.stack = wire_decoder_stack(wire, (uint32_t)h->x[3]);
	for (unsigned i = 0; i < 4; i++)
		if (h->present >> i & 1)
			event_set(&ev, def, shapes[shape].cols[i], h->x[i]);
	if (h->write != HOST_NEITHER)
		event_set(&ev, def, COL_WRITE, h->write);
	if (h->number && wire_decoder_numbered(wire, h->number, ev.end_ns, &id)) {
		event_set(&ev, def, COL_FILE, id);
		event_set(&ev, def, COL_SOCKET, id);
	}
	wire_decoder_emit(wire, &ev);
	return true;
}

bool decode_host_record(struct wire_decoder *wire, const void *p, size_t n)
{
	switch (n ? *(const uint8_t *)p : 0) {
	case WIRE_FILE:
		return decode_file(wire, p, n);
	case WIRE_SOCKET:
		return n >= sizeof(struct wire_socket) && decode_socket(wire, p, n);
	case WIRE_READY:
		return decode_ready(wire, p, n);
	case WIRE_PEER:
		return n >= sizeof(struct wire_peer) && decode_peer(wire, p);
	default:
		return n >= sizeof(struct wire_host) && *(const uint8_t *)p >= WIRE_BLOCK &&
		       decode_host(wire, p);
	}
}

bool decode_host_oom(struct wire_decoder *wire, const struct wire_life *l)
{
	/* An old kernel tells the victim's number only, and the rest is the trigger's. */
	const struct decode_thread *t = l->process ? wire_decoder_born(wire, (uint32_t)l->status,
								       l->who.tgid_start_ns)
						   : wire_decoder_thread(wire, (uint32_t)l->status),
				   *by = wire_decoder_born(wire, l->child, l->child_start_ns);
	struct event ev = { .end_ns = (int64_t)l->time_ns, .op = OP_PROC_OOM };
	const struct op_def *def = op_builtin(ev.op);
	struct world *world = wire_decoder_world(wire);
	struct decode_thread made;
	uint32_t trigger;

	if (t && !t->ctx)
		t = NULL; /* met on a CPU, and no target then */
	if (!t && !l->process)
		return false;
	if (!t) {
		made = wire_decoder_make(wire, &l->who);
		t = &made;
	}
	ev.ctx = t->ctx;
	trigger = by ? by->thread : 0;
	if (!by && l->child_tgid == l->who.tgid)
		trigger = world_thread(world, &(struct world_thread){ .process = t->process,
								      .tid = l->child,
								      .start_ns = decode_start(
									      l->child_start_ns) });
	if (trigger)
		event_set(&ev, def, COL_TRIGGER, trigger);
	wire_decoder_emit(wire, &ev);
	return true;
}
