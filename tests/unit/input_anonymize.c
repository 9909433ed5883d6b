/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudonyms: the hash under them, what of a text stays and what does not, and that nothing that
 * was planted in a world, its events and every field of every record comes out at the other end.
 */
#include "lib/input/anonymize.h"

#include "lib/input/pseudonym.h"
#include "lib/input/pseudonym_words.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

static void hashing(void)
{
	/* Of the authors' own table: key and message count up from 0. */
	static const struct {
		size_t n;
		uint64_t want;
	} vectors[] = { { 0, 0x726fdb47dd0e0e31 },
			{ 1, 0x74f839c593dc67fd },
			{ 8, 0x93f5f5799a932462 },
			{ 15, 0xa129ca6149be45e5 } };
	struct keyhash key = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 } }, a, b;
	unsigned char message[16];

	for (unsigned char i = 0; i < sizeof(message); i++)
		message[i] = i;
	for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		is_u64(keyhash_bytes(&key, message, vectors[i].n), vectors[i].want, "%zu bytes",
		       vectors[i].n);
	a = keyhash_from("a secret of enough bytes", 24);
	b = keyhash_from("a secret of enough bytez", 24);
	ok(a.key[0] != b.key[0] && a.key[1] != b.key[1] && a.key[0] != a.key[1],
	   "one byte makes another key");
}

/* In `want` every # stands for ten hexadecimal digits. */
static bool matches(const char *got, const char *want)
{
	for (; *want; want++) {
		if (*want != '#') {
			if (*got++ != *want)
				return false;
			continue;
		}
		for (int i = 0; i < 10; i++, got++)
			if (!*got || !strchr("0123456789abcdef", *got))
				return false;
	}
	return !*got;
}

static void texts(void)
{
	static const struct {
		enum pseudonym_kind kind;
		const char *text, *want;
	} rows[] = {
		{ ALIAS_KEEP, "slurm", "slurm" },
		{ ALIAS_HOST, "gpu-7.acme.com", "host-#" },
		{ ALIAS_HOST, "lib", "host-#" },
		{ ALIAS_POD, "acme-train-0", "pod-#" },
		{ ALIAS_NAME, "acme", "n-#" },
		{ ALIAS_PATH, "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05",
		  "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05" },
		{ ALIAS_PATH, "/home/alice/acme/train_llama.py", "/home/n-#/n-#/n-#.py" },
		{ ALIAS_PATH, "/home/alice/lib/libacme.so.3", "/home/n-#/lib/n-#" },
		{ ALIAS_PATH, "/usr/lib/python3.11/threading.py",
		  "/usr/lib/python3.11/threading.py" },
		{ ALIAS_PATH, "/home/bob/lib/python3.11/site-packages/torch/nn/modules/linear.py",
		  "/home/n-#/lib/python3.11/site-packages/torch/nn/modules/linear.py" },
		{ ALIAS_PATH, "/usr/lib/python3/dist-packages/acme/model/layers.py",
		  "/usr/lib/python3/dist-packages/n-#/n-#/n-#.py" },
		{ ALIAS_PATH, "/home/bob/python3.11/secret/x.py",
		  "/home/n-#/python3.11/n-#/n-#.py" },
		{ ALIAS_PATH, "/dev/nvidia0", "/dev/nvidia0" },
		{ ALIAS_PATH, "/dev/nvme0n1p2", "/dev/nvme0n1p2" },
		{ ALIAS_PATH, "/dev/sda1", "/dev/sda1" },
		{ ALIAS_PATH, "/srv/sdacme", "/srv/n-#" },
		{ ALIAS_PATH, "/dev/mapper/vg_acme-root", "/dev/mapper/n-#" },
		{ ALIAS_PATH, "/run/user/1000/x", "/run/n-#/n-#/n-#" },
		{ ALIAS_PATH, "/user.slice/user-1000.slice/session-31.scope",
		  "/user.slice/user-n-#.slice/session-n-#.scope" },
		{ ALIAS_PATH,
		  "/kubepods.slice/kubepods-burstable-pod1a2b.slice/cri-containerd-77ff.scope",
		  "/kubepods.slice/kubepods-burstable-podn-#.slice/cri-containerd-n-#.scope" },
		{ ALIAS_PATH, "/", "/" },
		{ ALIAS_PATH, "//x//", "//n-#//" },
		{ ALIAS_PATH, "train.py", "train.py" },
		{ ALIAS_PATH, "/data2/node-017/lib64/x", "/n-#/n-#/lib64/n-#" },
		{ ALIAS_PATH, "/data/node/gpu", "/data/node/gpu" },
		{ ALIAS_PROGRAM, "python3.11", "python3.11" },
		{ ALIAS_PROGRAM, "kworker/3:1H", "kworker/3:1H" },
		{ ALIAS_PROGRAM, "kworker/alice", "kworker/n-#" },
		{ ALIAS_PROGRAM, "acme-trainer", "n-#" },
		{ ALIAS_PROGRAM, "acme_loader12", "n-#-12" },
		{ ALIAS_PROGRAM, "pt_autograd_0", "pt_autograd_0" },
		{ ALIAS_PROGRAM, "acme.py", "n-#.py" },
		{ ALIAS_COMMAND, "python3 -u /home/alice/train.py --data=/mnt/acme --lr 0.1 s3cret",
		  "python3 -u /home/n-#/train.py --data=/mnt/n-# --lr 0.1 n-#" },
		{ ALIAS_COMMAND, "acme -psecret", "n-# -n-#" },
		{ ALIAS_COMMAND,
		  "torchrun --master_addr=node01 --rdzv gpu-7:29500 --gpu 0 slurm-3.1",
		  "torchrun --n-#=n-# --n-# n-# --gpu 0 n-#" },
		{ ALIAS_ADDRESS, "192.0.2.1:8080", "addr-#:8080" },
		{ ALIAS_ADDRESS, "[2001:db8::1]:443", "addr-#:443" },
		{ ALIAS_ADDRESS, "127.0.0.1:29500", "127.0.0.1:29500" },
		{ ALIAS_ADDRESS, "[::]:22", "[::]:22" },
		{ ALIAS_ADDRESS, "@acme-bus", "@n-#" },
		{ ALIAS_ADDRESS, "/run/acme.sock", "/run/n-#.sock" },
		{ ALIAS_ORIGIN, "filer.acme.com:/export/acme", "host-#:/n-#/n-#" },
		{ ALIAS_ORIGIN, "/dev/sda1", "/dev/sda1" },
		{ ALIAS_ORIGIN, "tmpfs", "tmpfs" },
		{ ALIAS_TARGET, "pid 4821", "pid 4821" },
		{ ALIAS_TARGET, "all", "all" },
		{ ALIAS_TARGET, "user bob", "user user-#" },
		{ ALIAS_TARGET, "user root", "user root" },
		{ ALIAS_TARGET, "command python3 acme.py", "command python3 n-#.py" },
		{ ALIAS_TARGET, "acme", "n-#" },
		{ ALIAS_GPU, "GPU-1b2c-33", "GPU-#" },
		{ ALIAS_GPU, "0,1,7", "0,1,7" },
		{ ALIAS_GPU, "GPU-1b2c,3", "GPU-#,3" },
		{ ALIAS_SENTENCE, "cannot open /opt/acme/libx.so: No such file",
		  "cannot open /opt/n-#/n-#.so: No such file" },
		{ ALIAS_SENTENCE, "cannot open /opt/acme inc/my lib/x y.so: No such file",
		  "cannot open /opt/n-#/n-#/n-#.so: No such file" },
		{ ALIAS_SENTENCE, "not '/opt/acme inc/x', but \"acme y\"",
		  "not n-#/opt/n-#/n-#, but n-#" },
		{ ALIAS_SENTENCE, "in /opt/acme of /opt/mine it is not",
		  "in /opt/n-# of /opt/n-# it is not" },
		{ ALIAS_SENTENCE, "no symbol \"acme_init\" (stripped)",
		  "no symbol n-# (stripped)" },
		{ ALIAS_PATH, "", "" },
	};
	struct keyhash key = keyhash_from("0123456789abcdef", 16),
		       other = keyhash_from("fedcba9876543210", 16);
	struct buf got = { 0 }, again = { 0 };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_reset(&got);
		buf_reset(&again);
		pseudonym_text(&key, rows[i].kind, bytes_of(rows[i].text), &got);
		pseudonym_text(&key, rows[i].kind, bytes_of(rows[i].text), &again);
		if (!ok(matches(buf_text(&got), rows[i].want), "%s: %s", rows[i].text,
			rows[i].want))
			printf("# got %s\n", buf_text(&got));
		is_str(buf_text(&again), buf_text(&got), "the same again");
		buf_reset(&again);
		pseudonym_text(&other, rows[i].kind, bytes_of(rows[i].text), &again);
		is_int(strcmp(buf_text(&again), buf_text(&got)) != 0,
		       strchr(rows[i].want, '#') != NULL, "and another under another key");
	}
	/* Wherever it stands. */
	buf_reset(&got);
	buf_reset(&again);
	pseudonym_text(&key, ALIAS_PATH, bytes_of("/home/acme-job"), &got);
	pseudonym_text(&key, ALIAS_PROGRAM, bytes_of("acme-job"), &again);
	is_str(buf_text(&got) + strlen("/home/"), buf_text(&again),
	       "a program is called as its file");
	buf_reset(&got);
	for (unsigned i = 0; i < 20000; i++)
		buf_puts(&got, "a/");
	buf_reset(&again);
	pseudonym_text(&key, ALIAS_PATH, buf_bytes(&got), &again);
	ok(matches(buf_text(&again), "n-#"), "an endless path has a pseudonym as a whole");
	buf_free(&got);
	buf_free(&again);
	is_u64(pseudonym_u64(&key, 0), 0, "no id");
	ok(pseudonym_u64(&key, 5) != 5 && pseudonym_u64(&key, 5) == pseudonym_u64(&key, 5),
	   "an id");
	is_u64(pseudonym_uid(&key, 0), 0, "root");
	ok(pseudonym_uid(&key, 1000) >= 100000 &&
		   pseudonym_uid(&key, 1000) != pseudonym_uid(&key, 1001),
	   "a user");
}

static void every_word_is_found(void)
{
	ok(pseudonym_word_known(bytes_of("-.slice")) && pseudonym_word_known(bytes_of("zstd")),
	   "first and last");
	ok(pseudonym_words_sorted(), "words are in order");
	ok(!pseudonym_word_known(bytes_of("acme")) && !pseudonym_word_known(bytes_of("")),
	   "no others");
}

/* ---- nothing comes through ---- */

#define SECRET "zyzzyva" /* what is planted */
#define NUMBER 0x5ec4e75ec4e75ec4u

struct planted {
	struct event_stream stream;
	struct fixture f;
	struct event ev;
	struct record r;
	unsigned step, kinds;
};

static uint32_t secret(struct world *w, const char *form)
{
	char text[200];

	snprintf(text, sizeof(text), form, SECRET, SECRET);
	return world_string(w, bytes_of(text));
}

static int planted_next(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct planted *p = (struct planted *)s;
	unsigned all;
	const struct record_def *defs = record_builtin_all(&all);

	(void)e;
	*item = (struct stream_item){ .watermark_ns = INT64_MIN, .floor_ns = INT64_MIN };
	if (p->step == 0) {
		item->kind = STREAM_EVENTS;
		item->events = &p->ev;
		item->n = 1;
	} else if (p->step <= all) {
		const struct record_def *def = &defs[p->step - 1];
		static const char text[] = "/home/" SECRET "/" SECRET "_x.py";
		struct bytes value = bytes_of(text);

		p->r = (struct record){ .kind = def->kind };
		for (unsigned i = 0; i < def->nfields; i++) {
			char *at = (char *)&p->r.u + def->fields[i].offset;
			uint64_t number = NUMBER;
			uint32_t one = 1;

			p->r.present |= 1u << (def->fields[i].number - 1);
			if (def->fields[i].type == REC_TEXT)
				memcpy(at, &value, sizeof(value));
			else if (def->fields[i].type == REC_U32)
				memcpy(at, &one, sizeof(one));
			else
				memcpy(at, &number, sizeof(number));
		}
		item->kind = STREAM_RECORD;
		item->record = &p->r;
	} else {
		return 0;
	}
	p->step++;
	return 1;
}

static void plant(struct planted *p)
{
	static const uint8_t uuid[16] =
		"\x5e\xc4\xe7\x5e\xc4\xe7\x5e\xc4\xe7\x5e\xc4\xe7\x5e\xc4\xe7\x5e";
	struct world *w = world_new();
	struct world_node node = { .boot = NUMBER, .name = secret(w, "%s-1") };
	struct world_process process = { .tgid = 42, .start_ns = 7, .uid = 31337 };
	struct world_image image = { .exe = secret(w, "/home/%s/bin/%s"),
				     .cmdline = secret(w, "python3 /home/%s/x.py --token=%s"),
				     .comm = secret(w, "%s") };
	struct world_thread thread = { .tid = 43, .comm = secret(w, "%s0") };
	struct world_cgroup cgroup = { .id = 9, .path = secret(w, "/user.slice/user-%s.slice") };
	struct world_gpu gpu = { .uuid = secret(w, "GPU-%s") };
	struct world_module module = { .path = secret(w, "/opt/%s/lib%s.so") };
	struct world_frame frame = { .kind = FRAME_NATIVE, .offset = 64 };
	struct world_frame python = { .kind = FRAME_PYTHON,
				      .name = world_string(w, bytes_of("forward")),
				      .file = secret(w, "/home/%s/%s.py") };
	struct world_symbol symbol = { .name = secret(w, "lambda(/home/%s/x.cpp:3)"),
				       .file = secret(w, "/home/%s/x.cpp") };
	struct world_ctx ctx;
	uint32_t frames[2];

	memcpy(node.uuid, uuid, 16);
	process.node = cgroup.node = gpu.node = world_node(w, &node);
	image.process = thread.process = world_process(w, &process);
	frame.module = world_module(w, &module);
	frames[0] = world_frame(w, &frame);
	frames[1] = world_frame(w, &python);
	world_symbol(w, frames[0], &symbol);
	ctx = (struct world_ctx){ .node = process.node,
				  .image = world_image(w, &image),
				  .thread = world_thread(w, &thread),
				  .cgroup = world_cgroup(w, &cgroup),
				  .gpu = world_gpu(w, &gpu) };
	p->ev = (struct event){ .op = OP_CU_DEVICE_GET_UUID,
				.end_ns = 100,
				.dur_ns = 5,
				.ctx = world_ctx(w, &ctx),
				.stack = world_stack_with_end(w, frames, 2, STACK_CUT),
				.present = 7,
				.x = { 1, NUMBER, NUMBER } };
	p->f.w = w;
	p->stream.next = planted_next;
}

static void nothing_comes_through(void)
{
	struct planted p = { .step = 0 };
	struct world *to = world_new();
	struct keyhash key = keyhash_from("0123456789abcdef", 16);
	struct input_anonymize *mask;
	struct event_stream *s;
	struct stream_item item;
	uint64_t records = 0, kept = 0;
	unsigned all, n;

	plant(&p);
	record_builtin_all(&all);
	mask = input_anonymize_new(&p.stream, p.f.w, to, &key);
	s = input_anonymize_stream(mask);
	while (s->next(s, &item, NULL) > 0) {
		const struct record_def *def;

		if (item.kind == STREAM_EVENTS) {
			const struct event *ev = item.events;
			const struct world_ctx *ctx = world_get_ctx(to, ev->ctx);
			const struct world_image *image = world_get_image(to, ctx->image);
			const struct world_process *process = world_get_process(to, image->process);
			const struct world_node *node = world_get_node(to, ctx->node);

			is_u64(ev->x[0], 1, "what says nothing stays");
			ok(ev->x[1] != NUMBER && ev->x[2] != NUMBER, "a GPU's UUID does not");
			ok(process->tgid == 42 && process->start_ns == 7 && process->uid != 31337,
			   "a process, but no user");
			ok(node->boot != NUMBER && node->boot && node->uuid[0] != 0x5e,
			   "no machine");
			world_get_stack(to, ev->stack, &n);
			is_u64(n, 2, "the stack");
			is_u64(world_stack_end(to, ev->stack), STACK_CUT, "how it ended");
			continue;
		}
		records++;
		def = record_builtin(item.record->kind);
		for (unsigned i = 0; i < def->nfields; i++) {
			const char *at = (const char *)&item.record->u + def->fields[i].offset;
			struct bytes text;
			bool clean = true;

			if (def->fields[i].type == REC_TEXT) {
				memcpy(&text, at, sizeof(text));
				clean = !memmem(text.p, text.n, SECRET, strlen(SECRET));
				kept += !clean;
				clean |= input_anonymize_field(def->kind, def->fields[i].number) ==
					 ALIAS_KEEP;
			} else if (def->fields[i].type == REC_U64 &&
				   (!strcmp(def->fields[i].name, "id") ||
				    !strcmp(def->fields[i].name, "socket"))) {
				clean = memcmp(at, &(uint64_t){ NUMBER }, 8) != 0;
			}
			ok(clean, "%s.%s", def->name, def->fields[i].name);
		}
	}
	is_u64(records, all - 2, "every kind but chains and analyses that cannot be read");
	is_u64(input_anonymize_left_out(mask), 2, "which are counted");
	/* The same name has the same pseudonym wherever it stands. */
	is_u64(input_anonymize_field(RECORD_PLACE, REC_PLACE_gpus), ALIAS_GPU,
	       "a container's GPUs");
	is_u64(input_anonymize_field(RECORD_PEER, REC_PEER_comm), ALIAS_PROGRAM,
	       "a peer's program");
	/* What says nothing of a site: kinds, versions, reasons. Whoever adds a text decides. */
	is_u64(kept, 21, "so many texts of records are kept as they are");
	for (uint32_t i = 1; i <= world_count(to, WORLD_STRING); i++) {
		struct bytes text = world_text(to, i);

		ok(!memmem(text.p, text.n, SECRET, strlen(SECRET)), "%s", text.p);
	}
	input_anonymize_free(mask);
	world_free(to);
	world_free(p.f.w);
}

int main(void)
{
	hashing();
	texts();
	every_word_is_found();
	nothing_comes_through();
	return tap_done();
}
