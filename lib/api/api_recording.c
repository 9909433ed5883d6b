/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/recording: the served recordings as one file of events, as ingero-merge writes it,
 * sent while it is made. An error before the first byte is an answer with a status; after it the
 * recording stays without its end mark, which its readers report.
 */
#include "lib/input/merge.h"
#include "lib/input/resolve.h"
#include "lib/api/api_state.h"
#include "lib/store/source_state.h"

struct sent {
	struct ige_sink sink; /* first: send_bytes casts it back */
	struct api_request *q;
};

struct sending {
	struct merge_target target; /* first, too */
	struct sent sent;
};

static int send_bytes(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n,
		      uint32_t events, struct err *e)
{
	struct api_request *q = ((struct sent *)s)->q;
	int rc = q->streamed ? 0 : net_stream_begin(q->call, q->reply, e);

	(void)kind;
	(void)events;
	q->streamed |= !rc;
	return rc ? rc : net_stream_write(q->call, p, n, e);
}

static int sink_of(struct merge_target *t, uint32_t node, struct ige_sink **sink, struct err *e)
{
	(void)node;
	(void)e;
	*sink = &((struct sending *)t)->sent.sink;
	return 0;
}

static bool is_gone(const struct merge_target *t)
{
	return net_call_gone(((const struct sending *)t)->sent.q->call);
}

int api_recording(struct api_request *q, struct err *e)
{
	struct sending out = { .target = { .sink = sink_of, .interrupted = is_gone },
			       .sent = { .sink = { send_bytes }, .q = q } };
	struct merge_options opt = { .growing_ends = true };
	const char *const *names;
	struct merge_result merged;
	struct world *w = world_new();
	struct filter sel = { 0 };
	struct input *in = NULL;
	unsigned n;
	int rc = w ? filter_words(&sel, &q->words, e) : err_nomem(e);

	rc = rc ? rc : source_update_files(q->api->source, e);
	names = store_source_names(q->api->source, &n);
	if (!rc && filter_needs_end(&sel))
		rc = input_resolve(w, names, n, &sel, e);
	rc = rc ? rc : input_open_counted(&in, w, names, n, e);
	if (!rc && sel.resolved) {
		opt.select = &sel;
		rc = input_window(in, sel.since_ns, sel.until_ns, true, e);
	}
	net_reply_header(q->reply, "Content-Disposition", "attachment; filename=\"recording.ige\"");
	rc = rc ? rc : merge_run(w, in, &opt, &out.target, &merged, e);
	if (!rc && !q->streamed)
		rc = err_set(e, ERR_CANNOT, "there is nothing in the recording yet");
	input_free(in);
	filter_free(&sel);
	world_free(w);
	return rc;
}
