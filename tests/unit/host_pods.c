/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubelet's list of pods: which containers have GPUs, in whatever order its fields come, what
 * names it gives to places and what it does not claim; and messages that are none.
 */
#include "lib/host/pods.h"

#include "tests/tap.h"
#include "tests/unit/kubelet_message.h"

static void list(struct buf *b)
{
	struct buf c = { 0 };

	message_container(&c, "train", "nvidia.com/gpu", "GPU-a", "GPU-b");
	message_container(&c, "log", "example.com/nic", "GPU-a", NULL);
	message_pod(b, "ml", "trainer-0", &c);
	buf_reset(&c);
	message_container(&c, "serve", "nvidia.com/mig-1g.10gb", "MIG-c", NULL);
	message_container(&c, "embed", "nvidia.com/mig-1g.10gb", "MIG-d", NULL);
	message_pod(b, "web", "front", &c);
	buf_reset(&c);
	message_pod(b, "web", "idle", &c);
	message_container(&c, "one", "nvidia.com/gpu.shared", "GPU-e::0", "GPU-e::1");
	message_pod(b, "dev", "x", &c);
	message_pod(b, "dev", "y", &c);
	buf_free(&c);
}

static void places(const struct host_pods *pods)
{
	static const struct {
		const char *namespace, *pod, *container, *uid,
			*gpus;		   /* what is known of a process */
		const char *as, *of, *has; /* pod, container and GPUs then */
		bool any;
	} rows[] = {
		{ "ml", "trainer-0", "train", "u", "", "trainer-0", "train", "GPU-a,GPU-b", true },
		{ "ml", "trainer-0", "log", "u", "", "trainer-0", "log", "", false },
		{ "ml", "trainer-0", "", "u", "", "trainer-0", "", "GPU-a,GPU-b", true },
		{ "web", "front", "embed", "u", "", "front", "embed", "MIG-d", true },
		/* One of its containers, and not known which. */
		{ "web", "front", "", "u", "", "front", "", "", true },
		{ "web", "trainer-0", "", "u", "", "trainer-0", "", "", false },
		{ "", "", "", "u", "GPU-b,GPU-a", "trainer-0", "train", "GPU-b,GPU-a", true },
		{ "", "", "", "u", "MIG-c", "front", "serve", "MIG-c", true },
		{ "", "", "", "u", "GPU-a", "", "", "GPU-a", false },
		/* Shared: either of the two. */
		{ "", "", "", "u", "GPU-e", "", "", "GPU-e", false },
		/* Of no pod, whatever its variables say. */
		{ "", "", "", "", "MIG-c", "", "", "MIG-c", false },
		{ "", "", "", "u", "", "", "", "", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_place p;

		host_place_init(&p);
		snprintf(p.namespace, sizeof(p.namespace), "%s", rows[i].namespace);
		snprintf(p.pod, sizeof(p.pod), "%s", rows[i].pod);
		snprintf(p.container_name, sizeof(p.container_name), "%s", rows[i].container);
		snprintf(p.pod_uid, sizeof(p.pod_uid), "%s", rows[i].uid);
		snprintf(p.gpus, sizeof(p.gpus), "%s", rows[i].gpus);
		host_pods_complete(pods, &p);
		is_str(p.pod, rows[i].as, "pod of place %zu", i);
		is_str(p.container_name, rows[i].of, "its container");
		is_str(p.gpus, rows[i].has, "its GPUs");
		ok(host_pods_has(pods, &p) == rows[i].any, "whether it was given any");
	}
}

static void damaged(const struct buf *good)
{
	static const struct {
		const char *p;
		size_t n;
		const char *what;
	} rows[] = {
		{ "\x0a", 1, "a length that is missing" },
		{ "\x0a\x7f", 2, "a length beyond the end" },
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "one beyond all memory" },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 11, "a number without end" },
		{ "\x02\x00", 2, "field 0" },
		{ "\x0b", 1, "a form there is not" },
		{ "\x0d\x00\x00", 3, "four bytes that are three" },
		{ "\x0a\x03\x0a\x01", 4, "a pod cut off" },
		{ "\x0a\x04\x0a\x02\x01\x02", 6, "a name that is no text" },
	};
	struct host_pods pods = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		host_pods_parse(&pods, (struct bytes){ good->p, good->n }, &e);
		is_int(host_pods_parse(&pods, (struct bytes){ rows[i].p, rows[i].n }, &e),
		       ERR_DAMAGED, "%s", rows[i].what);
		is_u64(pods.n, 0, "and nothing is left of what was there");
	}
	host_pods_free(&pods);
}

static void many(void)
{
	struct buf b = { 0 }, c = { 0 };
	struct host_pods pods = { 0 };
	struct err e = { 0 };

	message_container(&c, "train", "nvidia.com/gpu", "GPU-a", NULL);
	for (unsigned i = 0; i < HOST_PODS_MAX; i++)
		message_pod(&b, "ml", "x", &c);
	is_int(host_pods_parse(&pods, buf_bytes(&b), &e), 0, "as many as there may be");
	is_u64(pods.n, HOST_PODS_MAX, "are taken");
	message_pod(&b, "ml", "x", &c);
	is_int(host_pods_parse(&pods, buf_bytes(&b), &e), ERR_DAMAGED, "one more is not");
	like(e.text, "more than 4096 containers", "and it is said");
	/* One container with more GPUs than there is room for has those that fit. */
	buf_reset(&b);
	buf_reset(&c);
	for (unsigned i = 0; i < 200; i++) {
		struct buf id = { 0 };

		buf_printf(&id, "GPU-%032u", i);
		message_container(&c, "train", "nvidia.com/gpu", buf_text(&id), buf_text(&id));
		buf_free(&id);
	}
	message_pod(&b, "ml", "x", &c);
	is_int(host_pods_parse(&pods, buf_bytes(&b), &e), 0, "200 containers");
	is_u64(pods.n, 200, "each by itself");
	is_u64(strlen(pods.v[199].gpus), 36, "an id that comes twice is one");
	buf_free(&b);
	buf_free(&c);
	host_pods_free(&pods);
}

int main(void)
{
	struct buf b = { 0 };
	struct host_pods pods = { 0 }, again = { 0 };
	struct err e = { 0 };

	list(&b);
	is_int(host_pods_parse(&pods, buf_bytes(&b), &e), 0, "a list");
	is_u64(pods.n, 5, "of containers with GPUs");
	is_str(pods.v[0].gpus, "GPU-a,GPU-b", "ids");
	is_str(pods.v[3].gpus, "GPU-e", "of a shared GPU, once");
	places(&pods);
	ok(!host_pods_equal(&pods, &again), "a list is not the empty one");
	is_int(host_pods_parse(&again, buf_bytes(&b), &e), 0, "read again");
	ok(host_pods_equal(&pods, &again), "it is the same");
	is_int(host_pods_parse(&again, (struct bytes){ NULL, 0 }, &e), 0, "nothing at all");
	is_u64(again.n, 0, "is a list of none");
	damaged(&b);
	many();
	host_pods_free(&pods);
	host_pods_free(&again);
	buf_free(&b);
	return tap_done();
}
