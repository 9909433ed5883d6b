/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: what other machines answer to the questions of a fleet. The first byte chooses
 * the question, the rest is the answer of each node: JSON, or a recording. Over a socket of this
 * machine, as it comes there.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/input/input.h"
#include "lib/net/server.h"
#include "lib/fleet/fleet_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct net_server *fuzz_server;
static struct fleet *fuzz_nodes;
static struct bytes fuzz_answer; /* changes between questions only */

static void fuzz_handle(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	buf_add(&reply->body, fuzz_answer.p, fuzz_answer.n);
}

static int fuzz_start(struct err *e)
{
	static const struct net_server_options opt = { .address = ":0",
						       .body_max = 100000,
						       .threads_max = 2 };
	static char names[2][64];
	static const char *const nodes[] = { names[0], names[1] };
	struct fleet_options how = { .nodes = nodes,
				     .nnodes = 2,
				     .agent = "fuzz",
				     .answer_max = 1 << 20,
				     .recording_max = 1 << 20 };
	int rc = net_server_start(&fuzz_server, &opt, fuzz_handle, NULL, e);

	if (rc)
		return rc;
	snprintf(names[0], sizeof(names[0]), "http://%s", net_server_address(fuzz_server));
	snprintf(names[1], sizeof(names[1]), "http://localhost%s",
		 strrchr(net_server_address(fuzz_server), ':'));
	return fleet_new(&fuzz_nodes, &how, e);
}

static void fuzz_read(const struct fleet_files *x)
{
	struct world *w = world_new();
	struct input *in = NULL;
	struct stream_item item;
	struct err e;

	if (w && !input_open(&in, w, (const char *const *)x->names, (unsigned)x->n, &e)) {
		struct event_stream *s = input_stream(in);

		while (s->next(s, &item, &e) > 0)
			;
	}
	input_free(in);
	world_free(w);
}

static void fuzz_recordings(void)
{
	static const struct filter_words everything;
	struct fleet_files x;
	struct err e;

	if (!fleet_fetch_recordings(&x, fuzz_nodes, &everything, "/tmp", &e))
		fuzz_read(&x);
	fleet_files_free(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json v = JSON_NONE;
	struct fleet_rows rows = { 0 };
	struct fleet_ops ops = { 0 };
	struct buf text = { 0 };
	struct err e;

	if (!size)
		return 0;
	if (!fuzz_nodes && fuzz_start(&e))
		abort();
	fuzz_answer = (struct bytes){ (const char *)data + 1, size - 1 };
	switch (data[0] % 6) {
	case 0:
		if (!fleet_query_sql(fuzz_nodes, "SELECT 1", 10, &rows, &e)) {
			json_dump(&text, rows.columns, 0);
			json_dump(&text, rows.rows, 0);
		}
		fleet_rows_free(&rows);
		break;
	case 1:
		if (!fleet_query_chains(fuzz_nodes, "5m", &v, &e))
			json_dump(&text, v, 0);
		break;
	case 2:
		/* A count that no sketch holds is none. */
		if (!fleet_query_ops(fuzz_nodes, NULL, &ops, &e))
			for (size_t i = 0; i < ops.v.n; i++)
				if (!(ops.v.v[i].p50_ns >= 0) || !ops.v.v[i].operation)
					abort();
		fleet_ops_free(&ops);
		break;
	case 3:
		if (!fleet_query_overview(fuzz_nodes, NULL, &v, &e))
			json_dump(&text, v, 0);
		break;
	case 4:
		if (!fleet_query_overview(fuzz_nodes, NULL, &v, &e))
			fleet_compare_clocks(fuzz_nodes, &e);
		break;
	default:
		fuzz_recordings();
	}
	json_free(v);
	buf_free(&text);
	return 0;
}
