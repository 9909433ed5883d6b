/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of a fleet for tests: answers as a dashboard does, with numbers that its id gives, or lies
 * in one of several ways. Prints its address; ends with standard input. Durations of node ID: 1000
 * * ID + k * k for k in [0, 100) nanoseconds, ID times each. With a recording it is the machine
 * that made it, by its wrong clock.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/jsonw.h"
#include "lib/ige/block.h"
#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "lib/net/server.h"
#include "lib/store/machine.h"
#include "lib/store/sketch_json.h"

struct node {
	uint64_t id;
	int64_t ahead_ns;
	const char *lie;
	struct buf recording;
	char machine[STORE_MACHINE_TEXT];
};

static bool lies(const struct node *n, const char *how)
{
	return !strcmp(n->lie, how);
}

static void ops(const struct node *n, struct jsonw *j)
{
	struct sketch s = { 0 };

	for (uint64_t k = 0; k < 100; k++)
		for (uint64_t i = 0; i < n->id; i++)
			if (!sketch_add(&s, 1000 * n->id + k * k))
				abort();
	jsonw_key_str(j, "mode", "percentile");
	jsonw_key_array(j, "ops");
	jsonw_object_begin(j);
	jsonw_key_str(j, "operation", lies(n, "escapes") ? "cuda\033[31mMalloc\n" : "cudaMalloc");
	jsonw_key_str(j, "source", lies(n, "plain") ? "CUDA" : "cuda");
	jsonw_key_u64(j, "count", s.count + lies(n, "counts"));
	jsonw_key_u64(j, "errors", n->id);
	jsonw_key_double(j, "p50_us", (double)sketch_quantile(&s, 0.5) / 1e3);
	jsonw_key_double(j, "p95_us", (double)sketch_quantile(&s, 0.95) / 1e3);
	jsonw_key_double(j, "p99_us", (double)sketch_quantile(&s, 0.99) / 1e3);
	jsonw_key_double(j, "max_us", (double)s.max / 1e3);
	if (lies(n, "plain"))
		jsonw_key_double(j, "avg_us", (double)s.sum / (double)s.count / 1e3);
	else
		jsonw_key_u64(j, "total_ns", s.sum);
	if (!lies(n, "plain")) {
		jsonw_key(j, "sketch");
		sketch_json_write(j, &s);
	}
	jsonw_object_end(j);
	for (unsigned i = 0; lies(n, "many") && i < 3000; i++) {
		char name[48];

		snprintf(name, sizeof(name), "%u of %" PRIu64, i, n->id);
		jsonw_object_begin(j);
		jsonw_key_str(j, "operation", name);
		jsonw_key_u64(j, "count", 1);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	sketch_free(&s);
}

static void query(const struct node *n, const struct net_call *call, struct jsonw *j)
{
	bool grouped = memmem(call->body.p, call->body.n, "GROUP BY node", 13);
	char name[32];

	snprintf(name, sizeof(name), "gpu-%" PRIu64, n->id);
	jsonw_key_array(j, "columns");
	if (grouped)
		jsonw_str(j, "node");
	jsonw_str(j, lies(n, "columns") ? "other" : "n");
	jsonw_array_end(j);
	jsonw_key_array(j, "rows");
	jsonw_array_begin(j);
	if (grouped)
		jsonw_str(j, name);
	if (lies(n, "escapes"))
		jsonw_str(j, "\033]0;owned\a");
	else if (!lies(n, "rows"))
		jsonw_u64(j, n->id);
	jsonw_array_end(j);
	jsonw_array_end(j);
}

/* Those of one id have one name. */
static void names(const struct node *n, struct jsonw *j)
{
	char name[32];

	snprintf(name, sizeof(name), "gpu-%" PRIu64 "%s", n->id,
		 lies(n, "escapes") ? "\033[2J" : "");
	jsonw_key_array(j, "nodes");
	jsonw_str(j, name);
	jsonw_array_end(j);
}

static void chains(const struct node *n, struct jsonw *j)
{
	static const char *const severities[] = { "LOW", "MEDIUM", "HIGH" };
	char text[64];

	snprintf(text, sizeof(text), "node %" PRIu64 " stood still%s", n->id,
		 lies(n, "escapes") ? "\033[2J" : "");
	if (lies(n, "named") || lies(n, "healthy"))
		names(n, j);
	jsonw_key_array(j, "chains");
	if (lies(n, "healthy")) {
		jsonw_array_end(j);
		return;
	}
	jsonw_object_begin(j);
	jsonw_key_str(j, "severity", severities[n->id % 3]);
	jsonw_key_str(j, "summary", text);
	jsonw_key_str(j, "root_cause", "somebody else");
	if (lies(n, "named")) {
		jsonw_key_str(j, "cuda_op", "cuLaunchKernel");
		jsonw_key_double(j, "cuda_p99_us", 843);
		jsonw_key_double(j, "tail_ratio", 63.9);
	}
	jsonw_key_u64(j, "lost_ns", n->id * 1000);
	jsonw_key_array(j, "recommendations");
	jsonw_str(j, "move it");
	jsonw_array_end(j);
	jsonw_object_end(j);
	jsonw_array_end(j);
}

static void clock_now(const struct node *n, struct jsonw *j)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	jsonw_key_i64(j, "timestamp_ns", t.tv_sec * INT64_C(1000000000) + t.tv_nsec + n->ahead_ns);
	jsonw_key_str(j, "machine", lies(n, "stranger") ? "somebody" : n->machine);
}

struct put {
	struct ige_sink sink; /* first */
	struct buf *to;
};

static int put(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n, uint32_t events,
	       struct err *e)
{
	buf_add(((struct put *)s)->to, p, n);
	return 0;
}

/* What the machine that made the recording at path would have recorded by a clock that is ahead. */
static void record(struct node *n, const char *path)
{
	struct put to = { { put }, &n->recording };
	struct world *w = world_new();
	struct ige_reader *r = NULL;
	struct ige_writer *wr = NULL;
	unsigned char head[IGE_SEGMENT_BYTES];
	struct ige_writer_options opt = { .clock_id = 1, .index = true };
	struct ige_segment s;
	struct stream_item item;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read_at(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    ige_segment_unpack(&s, head, NULL))
		abort();
	store_machine_text(n->machine, s.node_uuid, s.boot);
	memcpy(opt.node_uuid, s.node_uuid, sizeof(opt.node_uuid));
	opt.boot = s.boot;
	opt.real_minus_mono_ns = s.real_minus_mono_ns + n->ahead_ns;
	if (ige_reader_open(&r, w, fd, true, path, NULL) ||
	    ige_writer_new(&wr, w, &to.sink, &opt, NULL))
		abort();
	while (ige_reader_stream(r)->next(ige_reader_stream(r), &item, NULL) > 0) {
		if (item.kind == STREAM_RECORD) {
			struct record rec = *item.record;

			if (rec.kind == RECORD_CLOCK)
				rec.u.CLOCK.real_ns += n->ahead_ns;
			if (ige_writer_record(wr, &rec, NULL))
				abort();
		}
		for (size_t i = 0; i < item.n; i++)
			if (ige_writer_event(wr, &item.events[i], NULL))
				abort();
		if (ige_writer_flush(wr, item.watermark_ns, item.floor_ns, false, NULL))
			abort();
	}
	if (ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	ige_reader_free(r);
	world_free(w);
}

/* Once it has begun, the reply is the server's. */
static void begin(const struct net_call *call, struct net_reply *reply)
{
	struct err e;

	if (net_stream_begin(call, reply, &e))
		reply->status = 503;
}

/* Answers that are none; false: it tells the truth, or lies in its members. */
static bool nonsense(const struct node *n, const struct net_call *call, struct net_reply *reply)
{
	char flood[4096];
	struct err e;

	if (lies(n, "stall")) {
		net_call_wait(call, UINT64_C(3600000000000));
	} else if (lies(n, "drip")) {
		begin(call, reply);
		while (!net_stream_write(call, "{", 1, &e) && !net_call_wait(call, 50000000))
			;
	} else if (lies(n, "flood")) {
		begin(call, reply);
		memset(flood, '[', sizeof(flood));
		while (!net_stream_write(call, flood, sizeof(flood), &e))
			;
	} else if (lies(n, "wide")) {
		buf_puts(&reply->body, "{\"columns\":[\"n\"],\"rows\":[[1]],\"x\":[{}");
		for (int i = 0; i < 10000000; i++)
			buf_puts(&reply->body, ",{}");
		buf_puts(&reply->body, "]}");
	} else if (lies(n, "fat")) {
		buf_puts(&reply->body, "{\"columns\":[\"n\"],\"rows\":[[1]],\"x\":[{}");
		for (int i = 0; i < 200000; i++)
			buf_puts(&reply->body, ",{}");
		buf_puts(&reply->body, "]}");
	} else if (lies(n, "long") || lies(n, "long error")) {
		reply->status = lies(n, "long") ? 200 : 500;
		buf_puts(&reply->body, "{\"columns\":[\"n\"],\"rows\":[[1]],\"error\":[{}");
		for (int i = 0; i < 10000000; i++)
			buf_puts(&reply->body, lies(n, "long") ? "  " : ",{}");
		buf_puts(&reply->body, "]}");
	} else if (lies(n, "more")) {
		buf_puts(&reply->body,
			 "{\"columns\":[\"n\"],\"rows\":[[1],[2],[3],[4]],\"truncated\":false}");
	} else if (lies(n, "500")) {
		reply->status = 500;
		buf_puts(&reply->body, "{\"error\":\"out of \\u001b[31mluck\"}");
	} else if (lies(n, "away")) {
		reply->status = 302;
		net_reply_header(reply, "Location", "http://127.0.0.1:1/");
	} else if (lies(n, "html")) {
		buf_puts(&reply->body, "<!doctype html>");
	} else if (lies(n, "list")) {
		buf_puts(&reply->body, "[]");
	} else if (lies(n, "empty")) {
		buf_puts(&reply->body, "{}");
	} else if (lies(n, "types")) {
		buf_puts(&reply->body,
			 "{\"ops\":[3,null],\"chains\":[\"x\"],\"columns\":[1],\"rows\":7}");
	} else if (lies(n, "deep")) {
		for (int i = 0; i < 100000; i++)
			buf_puts(&reply->body, "[");
	} else if (lies(n, "numbers")) {
		buf_puts(&reply->body,
			 "{\"ops\":[{\"operation\":\"x\",\"count\":-1e308,\"p50_us\":1e308,"
			 "\"sketch\":{\"sub\":128,\"min\":0,\"max\":9e99,\"sum\":\"-1\","
			 "\"buckets\":[-1,1e99]}}],"
			 "\"chains\":{},\"columns\":[\"n\"],\"rows\":[[1,2,3]]}");
	} else {
		return false;
	}
	return true;
}

static void answer(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	const struct node *n = ctx;
	struct jsonw j;

	if (nonsense(n, call, reply))
		return;
	if (n->recording.n && !strcmp(call->path, "/api/v1/recording")) {
		buf_add(&reply->body, n->recording.p, n->recording.n);
		return;
	}
	jsonw_init(&j, &reply->body, false);
	jsonw_object_begin(&j);
	if (!strcmp(call->path, "/api/v1/ops"))
		ops(n, &j);
	else if (!strcmp(call->path, "/api/v1/query"))
		query(n, call, &j);
	else if (!strcmp(call->path, "/api/v1/chains"))
		chains(n, &j);
	else if (!strcmp(call->path, "/api/v1/time"))
		clock_now(n, &j);
	else if (!strcmp(call->path, "/api/v1/nodes") && !lies(n, "old"))
		names(n, &j);
	else
		reply->status = 404;
	jsonw_object_end(&j);
}

int main(int argc, char **argv)
{
	struct node n = { .id = strtoull(argv[1], NULL, 10),
			  .ahead_ns = strtoll(argv[2], NULL, 10),
			  .lie = argv[3] };
	struct net_access_check guard = { .token = argc > 4 && *argv[4] ? argv[4] : NULL };
	struct net_server_options how = {
		.address = ":0", .body_max = 65536, .threads_max = 2, .guard = &guard
	};
	struct net_server *s = NULL;
	struct err e = { 0 };
	char byte;

	if (argc > 5)
		record(&n, argv[5]);
	if (net_server_start(&s, &how, answer, &n, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	printf("%s\n", net_server_address(s));
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	net_server_stop(s);
	buf_free(&n.recording);
	return 0;
}
