/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Chrome's Trace Event JSON, for viewers that read nothing else: one object, complete slices
 * ("X") with times in microseconds to the nanosecond, one line of text each. Machines are processes
 * and lanes are threads. An arrow has one number per slice here, and collectives, which may pass
 * through many slices, have none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/jsonw.h"
#include "lib/base/timetext.h"
#include "lib/export/format.h"
#include "lib/export/event_args.h"
#include "lib/export/timeline.h"
#include "lib/model/body.h"
#include "lib/world/frame_parts.h"
#include "lib/world/site_frames.h"

struct chrome {
	struct export_ctx em;
	struct timeline tl;
	struct buf text;
	struct site_frames sites;
	VEC(char *) metrics; /* names of values, by the id of their lines */
	bool begun;
};

/* The next line, up to its last "}". */
static void line_begin(struct chrome *x, struct jsonw *j)
{
	buf_puts(x->em.out, x->begun ? ",\n" : "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	x->begun = true;
	jsonw_init(j, x->em.out, false);
	jsonw_object_begin(j);
}

static void append_micros(struct jsonw *j, const char *key, int64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
	jsonw_key(j, key);
	jsonw_raw(j, bytes_of(text));
}

static void append_track_ids(struct jsonw *j, const struct track *t, const char *phase)
{
	jsonw_key_str(j, "ph", phase);
	jsonw_key_u64(j, "pid", t->pid);
	if (t->kind != LINE_VALUES)
		jsonw_key_u64(j, "tid",
			      t->kind == LINE_THREAD || t->kind == LINE_LANE ? t->tid : t->pid);
}

static void metadata_begin(struct chrome *x, struct jsonw *j, const struct track *t,
			   const char *what)
{
	line_begin(x, j);
	jsonw_key_str(j, "name", what);
	append_track_ids(j, t, "M");
	jsonw_key_u64(j, "ts", 0);
	jsonw_key_object(j, "args");
}

static void append_metadata(struct chrome *x, const struct track *t, const char *what,
			    struct bytes name)
{
	struct jsonw j;

	metadata_begin(x, &j, t, what);
	jsonw_key_bytes(&j, "name", name);
	jsonw_object_end(&j);
	jsonw_object_end(&j);
}

static bool sink_order(void *ctx, const struct track *t, uint32_t position, struct bytes name)
{
	struct jsonw j;

	(void)name;
	metadata_begin(ctx, &j, t, "process_sort_index");
	jsonw_key_u64(&j, "sort_index", position);
	jsonw_object_end(&j);
	jsonw_object_end(&j);
	return true;
}

static bool sink_track(void *ctx, const struct track *t, struct bytes name)
{
	struct chrome *x = ctx;
	char *kept;

	switch (t->kind) {
	case LINE_NODE:
	case LINE_PROCESS:
		append_metadata(x, t, "process_name", name);
		return true;
	case LINE_THREAD:
	case LINE_LANE:
		append_metadata(x, t, "thread_name", name);
		return true;
	default:
		if (!vec_reach(&x->metrics, t->id))
			return false;
		kept = strndup(name.p, name.n);
		free(x->metrics.v[t->id]);
		x->metrics.v[t->id] = kept;
		return kept;
	}
}

/* "train_step (train.py:42)" */
static void append_site(struct chrome *x, struct jsonw *j, uint32_t stack)
{
	uint32_t frame = stack && x->em.opt.stacks ? site_frames_get(&x->sites, x->em.w, stack) : 0;
	struct place p;

	if (!frame)
		return;
	p = place_of(x->em.w, frame);
	buf_reset(&x->text);
	place_name(&x->text, &p);
	if (p.line)
		buf_printf(&x->text, " (%.*s:%" PRIu64 ")", (int)(p.file.n & INT32_MAX), p.file.p,
			   p.line);
	jsonw_key_bytes(j, "site", buf_bytes(&x->text));
}

static void append_arg(struct chrome *x, struct jsonw *j, const struct event_arg *n)
{
	switch (n->kind) {
	case NOTE_NUMBER:
		if (n->id == NOTE_RETURN)
			jsonw_key_i64(j, n->key, (int64_t)n->number);
		else
			jsonw_key_u64(j, n->key, n->number);
		return;
	case NOTE_REAL:
		jsonw_key_double(j, n->key, n->real);
		return;
	default:
		buf_reset(&x->text);
		event_arg_text(&x->text, x->em.w, n);
		jsonw_key_bytes(j, n->key, buf_bytes(&x->text));
	}
}

static void event_args(struct chrome *x, struct jsonw *j, const struct timeline_slice *s)
{
	const struct arrows_of *a = s->arrows;
	struct event_arg notes[EVENT_ARGS_MAX];
	unsigned n =
		s->event ? event_args_of(notes, x->em.w, x->em.told, s->event, s->op, s->process)
			 : 0;

	/* Ends before it begins: a call can be both. */
	if (a && a->nends) {
		jsonw_key(j, "bind_id");
		jsonw_hex(j, a->ends[0]);
		jsonw_key_bool(j, "flow_in", true);
	} else if (a && a->begins) {
		jsonw_key(j, "bind_id");
		jsonw_hex(j, a->begins);
		jsonw_key_bool(j, "flow_out", true);
	}
	jsonw_key_object(j, "args");
	for (unsigned i = 0; i < n; i++)
		append_arg(x, j, &notes[i]);
	append_site(x, j, s->stack);
	jsonw_object_end(j);
}

/* Colours that the viewer has for states of a page, by severity. */
static const char *severity_colour(uint32_t severity)
{
	return severity >= FINDING_HIGH	    ? "terrible"
	       : severity == FINDING_MEDIUM ? "bad"
					    : "yellow";
}

static void chain_args(struct jsonw *j, const struct finding *c)
{
	struct json evidence;

	jsonw_key_str(j, "cname", severity_colour(c->severity));
	jsonw_key_object(j, "args");
	jsonw_key_str(j, "severity", finding_severity_name(c->severity));
	jsonw_key_bytes(j, "kind", c->kind);
	jsonw_key_bytes(j, "id", c->id);
	jsonw_key_u64(j, "count", c->count);
	jsonw_key_u64(j, "lost_ns", c->lost_ns);
	if (body_read(c->json, &evidence, BODY_SIZE_MAX, NULL)) {
		struct buf text = { 0 };

		json_dump(&text, evidence, 0);
		jsonw_key(j, "evidence");
		jsonw_raw(j, buf_bytes(&text));
		j->out->failed |= text.failed;
		buf_free(&text);
	}
	json_free(evidence);
	jsonw_object_end(j);
}

static void append_name(struct chrome *x, struct jsonw *j, const struct timeline_slice *s)
{
	buf_reset(&x->text);
	if (s->chain)
		buf_printf(&x->text, "%s: ", finding_severity_name(s->chain->severity));
	if (s->chain)
		event_args_clean(&x->text, s->chain->summary);
	else if (s->lost || s->step)
		buf_puts(&x->text, s->lost ? s->lost : s->step);
	else if (s->name)
		event_args_clean(&x->text, world_text(x->em.w, s->name));
	else
		buf_puts(&x->text, s->op ? s->op->name : "unknown");
	jsonw_key_bytes(j, "name", buf_bytes(&x->text));
	jsonw_key_str(j, "cat",
		      s->chain	? "causal_chain"
		      : s->lost ? "loss"
		      : s->step ? "step"
		      : s->op	? s->op->source_name
				: "unknown");
}

static bool append_slice(struct chrome *x, const struct track *t, const struct timeline_slice *s,
			 const char *phase)
{
	struct jsonw j;

	line_begin(x, &j);
	append_name(x, &j, s);
	append_track_ids(&j, t, phase);
	append_micros(&j, "ts", s->start_ns);
	if (*phase == 'X')
		append_micros(&j, "dur", s->end_ns - s->start_ns);
	else if (*phase == 'i')
		jsonw_key_str(&j, "s", s->chain ? "g" : t->kind == LINE_PROCESS ? "p" : "t");
	if (s->chain)
		chain_args(&j, s->chain);
	else
		event_args(x, &j, s);
	jsonw_object_end(&j);
	return true;
}

static bool sink_begin(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	return append_slice(ctx, t, s, "X");
}

static bool sink_end(void *ctx, const struct track *t, int64_t ns)
{
	(void)ctx;
	(void)t;
	(void)ns;
	return true;
}

static bool sink_instant(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	return append_slice(ctx, t, s, "i");
}

static bool sink_open(void *ctx, const struct track *t, const struct timeline_slice *s)
{
	return append_slice(ctx, t, s, "B");
}

static bool sink_value(void *ctx, const struct track *t, int64_t ns, double value)
{
	struct chrome *x = ctx;
	struct jsonw j;

	line_begin(x, &j);
	jsonw_key_str(&j, "name", x->metrics.v[t->id]);
	append_track_ids(&j, t, "C");
	append_micros(&j, "ts", ns);
	jsonw_key_object(&j, "args");
	jsonw_key_double(&j, "value", value);
	jsonw_object_end(&j);
	jsonw_object_end(&j);
	return true;
}

static bool sink_clock(void *ctx, const struct rec_CLOCK *r, const struct record *rec)
{
	(void)ctx;
	(void)r;
	(void)rec;
	return true;
}

static const struct timeline_sink sink = { sink_track, sink_begin, sink_end,   sink_instant,
					   sink_open,  sink_value, sink_clock, sink_order };

static void free_trace(void *state)
{
	struct chrome *x = state;

	for (size_t i = 0; i < x->metrics.n; i++)
		free(x->metrics.v[i]);
	vec_free(&x->metrics);
	timeline_free(&x->tl);
	map_free(&x->sites.by);
	buf_free(&x->text);
	free(x);
}

static void *open_trace(const struct export_ctx *em)
{
	struct chrome *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->em = *em;
	timeline_init(&x->tl, &sink, x, em->w, em->told);
	if (!em->opt.chosen && !timeline_show_steps(&x->tl)) {
		free_trace(x);
		return NULL;
	}
	return x;
}

static int on_item(void *state, const struct stream_item *it, struct err *e)
{
	struct chrome *x = state;
	int rc = timeline_item(&x->tl, it, e);

	return rc ? rc : x->em.out->failed || x->text.failed ? err_nomem(e) : 0;
}

static int on_finish(void *state, struct err *e)
{
	struct chrome *x = state;
	int rc = timeline_finish(&x->tl, e);
	struct jsonw j;
	char utc[64];

	if (rc)
		return rc;
	buf_puts(x->em.out,
		 x->begun ? "\n],\"otherData\":"
			  : "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n],\"otherData\":");
	jsonw_init(&j, x->em.out, false);
	jsonw_object_begin(&j);
	if (x->em.told->has_real)
		jsonw_key_str(&j, "zero_utc",
			      time_iso(utc, sizeof(utc), x->em.told->real_minus_mono_ns));
	jsonw_object_end(&j);
	buf_puts(x->em.out, "}\n");
	return x->em.out->failed || x->text.failed ? err_nomem(e) : 0;
}

const struct export_format export_chrome = {
	.name = "chrome",
	.endings = "",
	.help = "a timeline as Chrome's JSON, for older viewers",
	.findings = true,
	.open = open_trace,
	.item = on_item,
	.finish = on_finish,
	.free = free_trace,
};
