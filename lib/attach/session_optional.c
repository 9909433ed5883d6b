/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a tracepoint is there is asked of the kernel's type information; whether a program is
 * taken is tried.
 */
#include "lib/attach/session_optional.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREFIX "host_"
/* Behind the name of the program that it replaces where that one cannot be attached. */
static const char *const others[] = { "_kprobe", "_traced" };
#define ENOTSUPP  524 /* of the kernel's own, without words in the C library */
#define SECOND_NS 1000000000

/* What another program of the source sees too, where this one's place is missing. */
static const char *const stand_ins[] = { "host_block_start" };

/* Where the one program without a place of its own goes, as far as the kernel has them: whose begin
 * is missing has a program that says so. */
#define ENDS "host_memory_end"
static const char *const ends[] = { "mm_vmscan_direct_reclaim_end", "mm_vmscan_memcg_reclaim_end",
				    "mm_compaction_end" };

/* The bytes of the name that all ways to one place share; *other: it is not the first of these
 * ways. */
static size_t place_length(const char *name, bool *other)
{
	size_t n = strlen(name);

	*other = false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		size_t end = strlen(others[i]);

		if (n <= end || strcmp(name + n - end, others[i]) != 0)
			continue;
		*other = true;
		return n - end;
	}
	return n;
}

/* How the kernel calls it: by its section. */
static const char *form_of(const char *section)
{
	static const struct {
		const char *start, *form;
	} forms[] = {
		{ "tp_btf/", "tracepoint" }, { "raw_tp", "tracepoint" },
		{ "fentry/", "fentry" },     { "fexit/", "fexit" },
		{ "kprobe/", "kprobe" },     { "kretprobe/", "kretprobe" },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strncmp(section, forms[i].start, strlen(forms[i].start)) == 0)
			return forms[i].form;
	return "";
}

struct probe_optional *probe_optional_of(struct probe_optionals *o, const struct bpf_program *p)
{
	const char *name = bpf_program__name(p);

	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return NULL;
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->v[i].name, name) == 0)
			return &o->v[i];
	if (o->n == PROBE_OPTIONAL_MAX)
		return NULL;
	snprintf(o->v[o->n].name, sizeof(o->v[o->n].name), "%s", name);
	place_length(name, &o->v[o->n].stands_in);
	o->v[o->n].form = form_of(bpf_program__section_name(p));
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++)
		o->v[o->n].stands_in |= strcmp(stand_ins[i], name) == 0;
	return &o->v[o->n++];
}

/* *function: the kernel function that it is put at, if there is one. */
static void place_of(struct probe_optional *v, const struct btf *kernel, const char *section,
		     int32_t *function)
{
	const char *slash = strchr(section, '/'), *at = slash ? slash + 1 : section;
	const char *what = "tracepoint";
	bool found = true;
	char name[80];

	if (strncmp(section, "tp_btf/", 7) == 0) {
		snprintf(name, sizeof(name), "btf_trace_%s", at);
		found = btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF) > 0;
	}
	if (strncmp(section, "fentry/", 7) == 0) {
		int32_t id = btf__find_by_name_kind(kernel, at, BTF_KIND_FUNC);

		found = id > 0;
		*function = found ? id : *function;
		what = "function";
	}
	if (found)
		return;
	v->refused = true;
	if (!v->stands_in)
		snprintf(v->reason, sizeof(v->reason), "this kernel has no %s %s", what, at);
}

static bool in_function(const struct probe_optional *v)
{
	return strcmp(v->form, "fentry") == 0 || strcmp(v->form, "fexit") == 0;
}

/* Marks all programs at kernel functions as refused. A kernel that refuses them would do so for
 * each, after a load for each. Tracepoints need the same rights: where those load, no right is
 * missing. */
static void refuse_functions(struct probe_optionals *o)
{
	for (size_t i = 0; i < o->n; i++) {
		struct probe_optional *v = &o->v[i];

		if (!in_function(v))
			continue;
		v->refused = true;
		snprintf(v->reason, sizeof(v->reason),
			 "this kernel refuses all programs at its functions (%s), whatever the "
			 "rights",
			 v->form);
	}
}

/* False: this kernel refuses programs at its functions, as this one that does nothing at that one.
 * Asked once, since loading all programs in vain takes a hundred times as long. */
static bool takes_functions(int32_t function)
{
	const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
					    { .code = BPF_JMP | BPF_EXIT } };
	LIBBPF_OPTS(bpf_prog_load_opts, how, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (uint32_t)function);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "Dual BSD/GPL", nothing, 2, &how);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EPERM;
}

void probe_optional_choose(struct probe_optionals *o, struct bpf_object *obj, bool host,
			   uint32_t cpu_hz)
{
	struct btf *kernel = host && o->n == 0 ? btf__load_vmlinux_btf() : NULL;
	struct bpf_program *p;
	int32_t function = 0;

	o->cpu_hz = cpu_hz;
	bpf_object__for_each_program(p, obj)
	{
		const char *name = bpf_program__name(p);
		bool wanted = strcmp(name, PROBE_OPTIONAL_SAMPLE) == 0 ? cpu_hz > 0 : host;
		size_t n = o->n;
		struct probe_optional *v;

		if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		v = wanted ? probe_optional_of(o, p) : NULL;
		if (v && o->n > n && kernel)
			place_of(v, kernel, bpf_program__section_name(p), &function);
		if (!v)
			bpf_program__set_autoload(p, false);
	}
	btf__free(kernel);
	if (function && !takes_functions(function))
		refuse_functions(o);
	bpf_object__for_each_program(p, obj)
	{
		struct probe_optional *v =
			bpf_program__autoload(p) ? probe_optional_of(o, p) : NULL;

		if (v && v->refused)
			bpf_program__set_autoload(p, false);
	}
}

/* Whether the second is the first way to the place that v is another way to. */
static bool is_first_way(const struct probe_optional *v, const struct probe_optional *first)
{
	bool other, first_other;
	size_t n = place_length(v->name, &other);

	return other && place_length(first->name, &first_other) == n && !first_other &&
	       strncmp(v->name, first->name, n) == 0;
}

/* NULL: v is the first way itself. */
static struct probe_optional *first_way(struct probe_optionals *o, const struct probe_optional *v)
{
	for (size_t i = 0; i < o->n; i++)
		if (is_first_way(v, &o->v[i]))
			return &o->v[i];
	return NULL;
}

static bool has_way(const struct probe_optionals *o, const struct probe_optional *first)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].attached && (&o->v[i] == first || is_first_way(&o->v[i], first)))
			return true;
	return false;
}

void probe_optional_heard(struct probe_optionals *o, const char *words)
{
	const char *at = strstr(words, "prog '" PREFIX), *end = at ? strchr(at + 6, '\'') : NULL;

	if (!end)
		return;
	for (size_t i = 0; i < o->n; i++) {
		struct probe_optional *v = &o->v[i];

		if (strlen(v->name) != (size_t)(end - at - 6) ||
		    strncmp(v->name, at + 6, strlen(v->name)) != 0 || v->refused)
			continue;
		v->refused = true;
		end += strspn(end, "': ");
		snprintf(v->reason, sizeof(v->reason), "%.*s", (int)strcspn(end, "\n"), end);
		if (in_function(v) && strstr(v->reason, strerror(EPERM)))
			refuse_functions(o);
		return;
	}
}

bool probe_optional_again(const struct probe_optionals *o, size_t *refused_before)
{
	size_t refused = 0;
	bool more;

	for (size_t i = 0; i < o->n; i++)
		refused += o->v[i].refused;
	more = refused > *refused_before;
	*refused_before = refused;
	return more;
}

/* Of the kernel's own events: each major fault, or a clock, which every machine has, a guest
 * without counters too. */
static struct perf_event_attr event_of(const struct probe_optionals *o,
				       const struct probe_optional *v)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr) };

	if (strcmp(v->name, PROBE_OPTIONAL_SAMPLE) == 0) {
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.sample_period = SECOND_NS / o->cpu_hz;
		attr.exclude_idle = 1;
	} else {
		attr.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
		attr.sample_period = 1;
	}
	return attr;
}

/* On every CPU, whoever runs there; *failed: on so many that are on it could not be, and errno is
 * why not on the first. */
static size_t attach_event(struct perf_event_attr attr, const struct bpf_program *p,
			   struct bpf_link **links, size_t ncpu, size_t *failed)
{
	int first = ENODEV;
	size_t n = 0;

	for (size_t cpu = 0; cpu < ncpu; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);

		links[n] = fd < 0 ? NULL : bpf_program__attach_perf_event(p, fd);
		if (links[n]) {
			n++;
			continue;
		}
		if (fd >= 0 || errno != ENODEV) { /* else that CPU is off */
			first = *failed ? first : errno;
			++*failed;
		}
		if (fd >= 0)
			close(fd);
	}
	errno = first;
	return n;
}

/* As attach_event, on each of them that is there. */
static size_t attach_ends(const struct bpf_program *p, struct bpf_link **links, size_t *failed)
{
	int first = ENOENT;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		links[n] = bpf_program__attach_raw_tracepoint(p, ends[i]);
		if (links[n]) {
			n++;
		} else if (errno != ENOENT) {
			first = errno;
			++*failed;
		}
	}
	errno = first;
	return n;
}

/* Why the other way is none either. A kernel without kprobes has no kind of event for them. */
static void add_reason(struct probe_optional *first, const struct probe_optional *v, int why)
{
	size_t n = strlen(first->reason);

	if (why == ENOENT && access("/sys/bus/event_source/devices/kprobe/type", F_OK) != 0)
		snprintf(first->reason + n, sizeof(first->reason) - n, ", and has no kprobes");
	else
		snprintf(first->reason + n, sizeof(first->reason) - n, "; %s: %s", v->form,
			 v->reason);
}

size_t probe_optional_attach(struct probe_optionals *o, struct probe_optional *v,
			     const struct bpf_program *p, struct bpf_link **links, size_t ncpu)
{
	struct probe_optional *first = first_way(o, v);
	size_t n = 1, failed = 0;

	if (first && has_way(o, first))
		return 0;
	errno = 0;
	if (bpf_program__type(p) == BPF_PROG_TYPE_PERF_EVENT)
		n = attach_event(event_of(o, v), p, links, ncpu, &failed);
	else if (strcmp(v->name, ENDS) == 0)
		n = attach_ends(p, links, &failed);
	else
		links[0] = bpf_program__attach(p);
	v->attached = n && links[0];
	v->partly = v->attached && failed;
	if (v->partly)
		snprintf(v->reason, sizeof(v->reason), "on %zu of %zu %s only: %s", n, n + failed,
			 strcmp(v->name, ENDS) == 0 ? "tracepoints" : "CPUs", strerror(errno));
	else if (!v->attached)
		snprintf(v->reason, sizeof(v->reason), "%s",
			 errno == ENOTSUPP ? "this kernel has no way to attach to a function"
					   : strerror(errno));
	else if (first)
		first->stands_in = true; /* one of them is counted */
	if (first && !v->attached)
		add_reason(first, v, errno);
	return v->attached ? n : 0;
}

const char *probe_optional_unsampled(const struct probe_optionals *o)
{
	for (size_t i = 0; o->cpu_hz && i < o->n; i++)
		if (strcmp(o->v[i].name, PROBE_OPTIONAL_SAMPLE) == 0 && !o->v[i].attached)
			return o->v[i].reason;
	return NULL;
}

static size_t source_length(const char *name)
{
	return strcspn(name + sizeof(PREFIX) - 1, "_");
}

static bool same_source(const struct probe_optional *a, const struct probe_optional *b)
{
	size_t n = source_length(a->name);

	return n == source_length(b->name) &&
	       memcmp(a->name + sizeof(PREFIX) - 1, b->name + sizeof(PREFIX) - 1, n) == 0;
}

/* Each form once. */
static void add_form(struct probe_optional_source *out, const struct probe_optional *v)
{
	size_t n = strlen(out->forms);

	if (v->attached && *v->form && !strstr(out->forms, v->form))
		snprintf(out->forms + n, sizeof(out->forms) - n, "%s%s", n ? ", " : "", v->form);
}

bool probe_optional_source(const struct probe_optionals *o, size_t i,
			   struct probe_optional_source *out)
{
	size_t first, at = 0;

	for (first = 0; first < o->n; first++) {
		size_t k = 0;

		while (k < first && !same_source(&o->v[k], &o->v[first]))
			k++;
		if (k == first && at++ == i)
			break;
	}
	if (first == o->n)
		return false;
	*out = (struct probe_optional_source){ .reason = "" };
	snprintf(out->name, sizeof(out->name), "%.*s", (int)source_length(o->v[first].name),
		 o->v[first].name + sizeof(PREFIX) - 1);
	for (size_t k = first; k < o->n; k++) {
		const struct probe_optional *v = &o->v[k];

		if (!same_source(v, &o->v[first]) || (v->stands_in && !v->attached))
			continue;
		add_form(out, v);
		out->requested++;
		out->attached += v->attached && !v->partly;
		if ((!v->attached || v->partly) && !*out->reason)
			out->reason = v->reason;
	}
	return true;
}
