/* SPDX-License-Identifier: Apache-2.0 */
/* The first row of the table of calls stands for all: any function does for it. */
#include "lib/attach/probe_selftest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/attach/session.h"
#include "lib/attach/session_optional.h"
#include "lib/attach/spec.h"
#include "lib/attach/selftest_target.h"

#define CALLS  16u
#define CPU_HZ 99 /* as recorded */

__attribute__((noinline, noclone, used)) static int probed(int v)
{
	__asm__ volatile("" : "+r"(v));
	return v + 1;
}

static void count_call(void *ctx, const void *p, size_t n)
{
	uint8_t kind = *(const uint8_t *)p;

	*(unsigned *)ctx +=
		n && (kind == WIRE_CALL || kind == WIRE_CALL_LONG || kind == WIRE_CALL_WIDE);
}

static void ignore_record(void *ctx, const void *p, size_t n)
{
}

/* Calls probed() CALLS times; how many of these calls came out of the ring. */
static unsigned fire_probes(struct probe_session *s, struct err *e)
{
	struct probe_place place;
	struct probe_site site = { 0 };
	struct probe_fds fds = { 0 };
	unsigned seen = 0;
	bool failed = false;
	volatile int v = 0;

	if (probe_place_of((void (*)(void))probed, &place) ||
	    probe_session_target(s, (uint32_t)getpid(), 0, e))
		return 0;
	site.offset = place.offset;
	if (probe_link_attach(probe_session_programs(s), place.path, place.path, &site, 1, &failed,
			      &fds, e) == 1) {
		for (unsigned i = 0; i < CALLS; i++)
			v = probed(v);
		probe_session_drain(s, ignore_record, count_call, &seen);
	}
	probe_link_detach(&fds);
	return seen;
}

/* What a recording lacks without a source. */
static const char *lacking_part(const char *source)
{
	static const struct {
		const char *source, *lacks;
	} rows[] = {
		{ "block", "reads and writes of disks" },
		{ "cpu", "samples of what threads run on the CPUs" },
		{ "fault", "major page faults" },
		{ "file", "the file's name in waits for its state (stat) over a network" },
		{ "memory", "direct reclaim and compaction" },
		{ "oom", "kills for want of memory" },
		{ "tcp", "retransmitted segments, or whose they are" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].source, source) == 0)
			return rows[i].lacks;
	return source;
}

/* What not every kernel takes: which of it is there, how it is called, and why the rest is not. */
static void describe_optional(const struct probe_selftest *t, struct verdicts *to)
{
	struct buf there = { 0 }, missing = { 0 }, advice = { 0 };

	for (size_t i = 0; i < t->nsources; i++) {
		const struct probe_selftest_source *v = &t->sources[i];
		bool named = *v->hooks && strcmp(v->hooks, "tracepoint") != 0; /* the usual one */

		if (v->attached)
			buf_printf(&there, "%s%s%s%s%s", there.n ? "; " : "", v->name,
				   named ? " (" : "", named ? v->hooks : "", named ? ")" : "");
		if (v->attached == v->requested)
			continue;
		buf_printf(&missing, "%s%s: %s", missing.n ? "; " : "", v->name, v->reason);
		buf_printf(&advice, "%s%s", advice.n ? "; " : "recordings will lack ",
			   lacking_part(v->name));
	}
	verdict_say(to, "host", missing.n ? VERDICT_WARN : VERDICT_GOOD,
		    advice.n ? buf_text(&advice) : NULL, "%s%s%s", buf_text(&there),
		    missing.n ? "; not all of " : "", buf_text(&missing));
	buf_free(&there);
	buf_free(&missing);
	buf_free(&advice);
}

static void copy_sources(struct probe_selftest *t, const struct probe_session *s)
{
	struct probe_optional_source v;

	for (t->nsources = 0; t->nsources < PROBE_SELFTEST_SOURCES &&
			      probe_optional_source(probe_session_optional(s), t->nsources, &v);
	     t->nsources++) {
		struct probe_selftest_source *to = &t->sources[t->nsources];

		memcpy(to->name, v.name, sizeof(to->name));
		memcpy(to->hooks, v.forms, sizeof(to->hooks));
		snprintf(to->reason, sizeof(to->reason), "%s", v.reason);
		to->requested = v.requested;
		to->attached = v.attached;
	}
}

/* The kind loads, attaches and fires. host: what is recorded of the machine is attached instead. */
static bool is_working(enum probe_link link, struct probe_selftest *host, const char *btf,
		       int *walker, struct err *e)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);
	struct probe_options o = { .link = link,
				   .walker = WALKER_LOOP,
				   .ring_bytes = 1 << 16,
				   .sched = host != NULL,
				   .cpu_hz = host ? CPU_HZ : 0,
				   .btf = btf,
				   .specs = &specs[0].op,
				   .nspecs = n ? 1 : 0 };
	struct probe_session *s;
	unsigned seen = 0;

	if (probe_session_open(&s, &o, e))
		return false;
	*walker = probe_session_walker(s);
	if (!host)
		seen = fire_probes(s, e);
	else if (probe_session_start(s, e) == 0)
		copy_sources(host, s), seen = CALLS;
	probe_session_free(s);
	if (seen != CALLS && !e->code)
		err_set(e, ERR_CANNOT, "%s probes load, but tell of %u of %u calls",
			probe_link_name(link), seen, CALLS);
	return seen == CALLS;
}

void probe_selftest(struct probe_selftest *out, struct verdicts *to, const char *btf)
{
	static const enum probe_link kinds[] = { PROBE_LINK_SESSION, PROBE_LINK_MULTI,
						 PROBE_LINK_PERF };
	struct buf good = { 0 }, bad = { 0 };
	enum probe_link best = PROBE_LINK_AUTO;
	struct err e = { 0 };
	int walker = 0, with = 0;
	unsigned taken = 0;

	*out = (struct probe_selftest){ 0 };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool ok;

		e = (struct err){ 0 };
		ok = is_working(kinds[i], NULL, btf, &with, &e);
		buf_printf(ok ? &good : &bad, "%s%s", (ok ? good.n : bad.n) ? ", " : "",
			   probe_link_name(kinds[i]));
		if (!ok)
			continue;
		out->links[taken++] = probe_link_name(kinds[i]);
		if (best == PROBE_LINK_AUTO) {
			best = kinds[i];
			walker = with;
		}
	}
	if (best == PROBE_LINK_AUTO) {
		verdict_say(to, "probes", VERDICT_FAIL,
			    "the reason is the kernel's own; please report it with the kernel's "
			    "version",
			    "%s", e.text);
		goto out;
	}
	verdict_say(to, "probes", best == PROBE_LINK_PERF ? VERDICT_WARN : VERDICT_GOOD,
		    best == PROBE_LINK_PERF
			    ? "Linux 6.6 and later attach and detach many functions at once"
			    : NULL,
		    "%s links, each attached and fired%s%s%s", buf_text(&good),
		    bad.n ? " (this kernel has no " : "", buf_text(&bad), bad.n ? ")" : "");
	verdict_say(to, "stacks", VERDICT_GOOD, NULL, "walked %s",
		    walker == WALKER_LOOP ? "by our own loop" : "by the kernel's helper");
	e = (struct err){ 0 };
	if (is_working(best, out, btf, &with, &e)) {
		describe_optional(out, to);
		verdict_say(to, "scheduler", VERDICT_GOOD, NULL,
			    "off-CPU intervals, wakers, occupancy");
	} else {
		verdict_say(to, "scheduler", VERDICT_FAIL,
			    "until then, ingero-record --no-sched records calls alone", "%s",
			    e.text);
	}
out:
	buf_free(&good);
	buf_free(&bad);
}
