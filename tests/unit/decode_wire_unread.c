/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that cross the ring as an address: known at the launch when they can be read, counted when
 * not.
 */
#include <string.h>

#include "lib/decode/wire.h"
#include "tests/tap.h"

static char kernel[WIRE_NAME_LONG + 1];
static struct wire_nvtx said;

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	(void)ev;
}

static void on_kernel(void *ctx, uint32_t process, uint64_t handle, struct bytes name,
		      int64_t since_ns)
{
	(void)ctx;
	(void)since_ns;
	(void)process;
	(void)handle;
	snprintf(kernel, sizeof(kernel), "%.*s", (int)name.n, name.p);
}

static bool on_nvtx(void *ctx, const struct decode_thread *t, const struct wire_nvtx *w, size_t n)
{
	(void)ctx;
	(void)t;
	said = (struct wire_nvtx){ 0 };
	memcpy(&said, w, n);
	return true;
}

/* What lies at an address of a process, if the recorder can read it. */
static size_t on_bytes(void *ctx, uint32_t tgid, uint64_t address, int64_t time_ns, void *out,
		       size_t n)
{
	static const char text[] = "late";

	(void)ctx;
	(void)time_ns;
	if (tgid != 10)
		return 0;
	if (address == 0x2000) {
		memset(out, 'x', n); /* a text without an end */
		return n;
	}
	if (address == 0x4000 + NVTX_ATTRIBUTES_MESSAGE) {
		memcpy(out, (const uint64_t[]){ NVTX_NARROW, 0x1000 }, 16);
		return 16;
	}
	if (address == 0x5000) {
		memcpy(out, L"breit", sizeof(L"breit"));
		return sizeof(L"breit");
	}
	if (address != 0x1000 || n < sizeof(text))
		return 0;
	memcpy(out, text, sizeof(text));
	return sizeof(text);
}

static void unread(struct wire_decoder *wire)
{
	const struct decode_name_counts *names = wire_decoder_names(wire);
	struct wire_unread u = {
		.kind = WIRE_UNREAD, .tgid = 10, .handle = 0x700, .address = 0x1000
	};
	struct wire_call c = {
		.op = OP_CU_LAUNCH, .depth_present = 1 << 4, .tid = 11, .kind = WIRE_CALL
	};
	uint64_t read = names->read, refused = wire_decoder_refused(wire);

	wire_decoder_record(wire, &u, sizeof(u));
	c.x[0] = 0x700;
	wire_decoder_record(wire, &c, sizeof(c));
	is_str(kernel, "late", "a name that the probe could not read is known at the launch");
	u.address = 0x3000;
	wire_decoder_record(wire, &u, sizeof(u));
	u.tgid = 60;
	u.address = 0x1000;
	wire_decoder_record(wire, &u, sizeof(u));
	u.tgid = 10;
	u.address = 0x2000;
	u.handle = 0x800;
	wire_decoder_record(wire, &u, sizeof(u));
	is_u64(names->read, read + 2, "names that were read");
	is_u64(names->late, 2, "late");
	is_u64(names->lost, 2, "and not at all");
	c.x[0] = 0x800;
	wire_decoder_record(wire, &c, sizeof(c));
	is_u64(strlen(kernel), WIRE_NAME_LONG - 1, "one that has no end is cut");
	wire_decoder_record(wire, &u, sizeof(u) - 1);
	is_u64(wire_decoder_refused(wire), refused + 1, "half a record is refused");
}

static void text_is(struct wire_decoder *wire, uint8_t text, uint64_t address, uint8_t become,
		    const char *name, bool cut)
{
	struct wire_nvtx w = { .kind = WIRE_NVTX,
			       .what = NVTX_PUSH,
			       .text = text,
			       .cut = NVTX_UNREAD,
			       .tid = 11,
			       .handle = address };

	wire_decoder_record(wire, &w, NVTX_HEAD + NVTX_SHORT);
	is_u64(said.text, become, "a text at %llx", (unsigned long long)address);
	is_str(said.name, name, "is what it is");
	is_int(said.cut, cut, "and told to be cut where it is");
	is_u64(said.handle, 0, "its address goes no further");
}

static void texts(struct wire_decoder *wire)
{
	const struct decode_name_counts *c = wire_decoder_texts(wire);
	char cut[NVTX_SHORT];

	memset(cut, 'x', sizeof(cut));
	cut[NVTX_SHORT - 1] = 0;
	text_is(wire, NVTX_NARROW, 0x1000, NVTX_NARROW, "late", false);
	text_is(wire, NVTX_NARROW, 0x2000, NVTX_NARROW, cut, true);
	text_is(wire, NVTX_ATTRIBUTES, 0x4000, NVTX_NARROW, "late", false);
	text_is(wire, NVTX_NARROW, 0x3000, NVTX_NO_TEXT, "", false);
	text_is(wire, NVTX_ATTRIBUTES, 0x3000, NVTX_NO_TEXT, "", false);
	text_is(wire, NVTX_WIDE, 0x5000, NVTX_WIDE, "b", false);
	is_u64(memcmp(said.name, L"breit", sizeof(L"breit")), 0, "wide characters");
	is_u64(c->read, 4, "texts that were read");
	is_u64(c->late, 4, "late");
	is_u64(c->lost, 2, "and not at all");
}

int main(void)
{
	struct wire_thread who = { .kind = WIRE_THREAD, .tid = 11, .tgid = 10 };
	struct wire_decoder_owner owner = {
		.event = on_event, .kernel = on_kernel, .nvtx = on_nvtx, .bytes = on_bytes
	};
	struct world *w = world_new();
	struct wire_decoder *wire;
	struct err e = { 0 };
	uint32_t node = world_node(w, &(struct world_node){ .boot = 1 });

	if (wire_decoder_new(&wire, w, node, &owner, &e))
		return 1;
	wire_decoder_record(wire, &who, sizeof(who));
	unread(wire);
	texts(wire);
	wire_decoder_free(wire);
	world_free(w);
	return done_testing();
}
