/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose device is which, without a kernel: calls that set it, calls that fail, losses, contexts
 * beyond the known, lists of visible devices.
 */
#include <string.h>

#include "lib/host/visible.h"
#include "lib/decode/cuda_devices.h"
#include "tests/tap.h"

static bool all_seen = true;
static unsigned asked;

static bool whole(void *ctx, uint32_t tgid)
{
	(void)ctx;
	(void)tgid;
	return all_seen;
}

/* Devices are GPUs 100, 101 ..., or what the UUID ends with. */
static uint32_t gpu(void *ctx, uint32_t tgid, uint32_t ordinal, const uint8_t *uuid, bool *later)
{
	(void)ctx;
	(void)tgid;
	asked++;
	*later = ordinal == 9 && asked < 3;
	return *later ? 0 : uuid ? uuid[15] : 100 + ordinal;
}

static struct cuda_devices *d;

/* A call with this context and device; what is current behind it. */
static uint32_t call(uint32_t thread, uint16_t op, int32_t ret, uint64_t context, int64_t ordinal)
{
	const struct cuda_device_user user = { .thread = thread, .image = 1, .tgid = 7 };
	const struct op_def *def = op_builtin(op);
	struct event ev = { .op = op, .ret = ret };

	event_set(&ev, def, COL_CONTEXT, context);
	if (ordinal >= 0)
		event_set(&ev, def, COL_ORDINAL, (uint64_t)ordinal);
	return cuda_devices_call(d, &user, &ev, def);
}

static uint32_t work(uint32_t thread)
{
	return call(thread, OP_CUDA_MEMCPY, 0, 0, -1);
}

static void test_runtime(void)
{
	is_u64(call(1, OP_CUDA_SET_DEVICE_FLAGS, 0, 0, -1), 0,
	       "a call that needs no device says nothing");
	is_u64(call(1, OP_CUDA_MEMCPY, 35, 0, -1), 0, "one that failed neither");
	is_u64(work(1), 100, "who has set nothing is on the first");
	is_u64(call(1, OP_CUDA_SET_DEVICE, 0, 0, 2), 102, "cudaSetDevice");
	is_u64(call(1, OP_CUDA_SET_DEVICE, 101, 0, 3), 102, "one that fails changes nothing");
	is_u64(work(2), 100, "of its own thread only");
	is_u64(work(1), 102, "and holds");
}

static void test_contexts(void)
{
	is_u64(call(3, OP_CU_DEVICE_PRIMARY_CTX_RETAIN, 0, 0xa0, 0), 0,
	       "a context is not current yet");
	is_u64(call(3, OP_CU_CTX_CREATE, 0, 0xb1, 1), 101, "a new one is");
	is_u64(call(3, OP_CU_CTX_PUSH_CURRENT, 0, 0xa0, -1), 100, "pushed");
	is_u64(call(3, OP_CU_CTX_POP_CURRENT, 0, 0xa0, -1), 101, "popped");
	is_u64(call(3, OP_CU_CTX_SET_CURRENT, 0, 0xee, -1), 0, "one that nobody saw made");
	is_u64(work(3), 0, "no device is made up for it");
	is_u64(call(3, OP_CU_CTX_SET_CURRENT, 0, 0xb1, -1), 101, "set");
	is_u64(call(3, OP_CU_CTX_DESTROY, 0, 0xb1, -1), 0, "destroyed");
	is_u64(call(3, OP_CU_CTX_SET_CURRENT, 0, 0xb1, -1), 0,
	       "its handle may be another one's now");
	is_u64(call(3, OP_CU_CTX_SET_CURRENT, 0, 0, -1), 0, "no context");
	for (int i = 0; i < 20; i++)
		call(4, OP_CU_CTX_PUSH_CURRENT, 0, 0xa0, -1);
	is_u64(call(4, OP_CU_CTX_PUSH_CURRENT, 0, 0xa0, -1), 100, "twenty deep");
	for (int i = 0; i < 20; i++)
		call(4, OP_CU_CTX_POP_CURRENT, 0, 0, -1);
	is_u64(work(4), 0, "and back: the outermost are forgotten, not guessed");
}

static void test_known(void)
{
	const struct op_def *def = op_builtin(OP_CU_DEVICE_GET_UUID);
	const struct cuda_device_user user = { .thread = 5, .image = 2, .tgid = 7 };
	struct event ev = { .op = OP_CU_DEVICE_GET_UUID };

	is_u64(work(1), 102, "before the loss");
	cuda_devices_lost(d);
	is_u64(work(1), 0, "calls are missing: nothing is known");
	is_u64(call(1, OP_CUDA_SET_DEVICE, 0, 0, 1), 101, "until it is set");
	all_seen = false;
	event_set(&ev, def, COL_ORDINAL, 1);
	event_set(&ev, def, COL_UUID_HEAD, 0);
	event_set(&ev, def, COL_UUID_TAIL, 42ull << 56);
	is_u64(cuda_devices_call(d, &user, &ev, def), 0,
	       "a process that was there before us: no first device");
	ev = (struct event){ .op = OP_CUDA_SET_DEVICE };
	event_set(&ev, op_builtin(OP_CUDA_SET_DEVICE), COL_ORDINAL, 1);
	is_u64(cuda_devices_call(d, &user, &ev, op_builtin(OP_CUDA_SET_DEVICE)), 42,
	       "the driver's word on which GPU it is");
	asked = 0;
	is_u64(call(6, OP_CUDA_SET_DEVICE, 0, 0, 9), 0, "not known yet");
	is_u64(work(6), 0, "asked again");
	is_u64(work(6), 109, "known later");
	work(6);
	is_u64(asked, 3, "and then no more");
	is_u64(call(6, OP_CUDA_SET_DEVICE, 0, 0, 5000), 0, "a device that no machine has");
}

static void test_ended(void)
{
	is_u64(call(7, OP_CUDA_SET_DEVICE, 0, 0, 3), 103, "a thread");
	cuda_devices_ended(d, 7, 0);
	is_u64(work(7), 100, "nothing is kept of one that has ended");
	cuda_devices_ended(d, 0, 1);
	is_u64(work(8), 0, "nor of a program");
}

static void test_visible(void)
{
	static const struct {
		const char *list;
		uint32_t ordinal;
		enum host_visible_kind kind;
		uint32_t index;
		const char *uuid;
	} rows[] = {
		{ NULL, 3, HOST_VISIBLE_INDEX, 3, NULL },
		{ "2,1", 0, HOST_VISIBLE_INDEX, 2, NULL },
		{ "2, 1 ", 1, HOST_VISIBLE_INDEX, 1, NULL },
		{ "2,1", 2, HOST_VISIBLE_NONE, 0, NULL },
		{ "", 0, HOST_VISIBLE_NONE, 0, NULL },
		{ "0,-1,2", 1, HOST_VISIBLE_NONE, 0, NULL },
		{ "0,-1,2", 2, HOST_VISIBLE_NONE, 0, NULL },
		{ "1,x", 1, HOST_VISIBLE_NONE, 0, NULL },
		{ "99999999999", 0, HOST_VISIBLE_NONE, 0, NULL },
		{ "GPU-ab12,MIG-cd", 1, HOST_VISIBLE_UUID, 0, "MIG-cd" },
		{ "GPU-ab12,1", 0, HOST_VISIBLE_UUID, 0, "GPU-ab12" },
		{ "GPU-", 0, HOST_VISIBLE_NONE, 0, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_visible v = { .set = rows[i].list != NULL };
		struct bytes uuid = { NULL, 0 };
		uint32_t index;

		if (rows[i].list)
			snprintf(v.devices, sizeof(v.devices), "%s", rows[i].list);
		ok(host_visible_device(&v, rows[i].ordinal, &index, &uuid) == rows[i].kind &&
			   (rows[i].kind != HOST_VISIBLE_INDEX || index == rows[i].index) &&
			   (!rows[i].uuid || bytes_equal(uuid, bytes_of(rows[i].uuid))),
		   "device %u of %s", rows[i].ordinal, rows[i].list ? rows[i].list : "all");
	}
}

int main(void)
{
	const struct cuda_devices_owner owner = { .whole = whole, .gpu = gpu };

	d = cuda_devices_new(&owner);
	test_runtime();
	test_contexts();
	test_known();
	test_ended();
	test_visible();
	cuda_devices_free(d);
	return done_testing();
}
