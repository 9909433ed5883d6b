/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges: NVTX ranges and marks of every kind, nested, in several domains and threads. One line for
 * each that was made: what it is called, whose it is, and between which times it began and ended:
 * {"range":NAME,"tid":…, "begin":[FROM,TO],"end":[FROM,TO]} and
 * {"mark":NAME,"tid":…,"at":[FROM,TO]}. The lines are printed at the end.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/double/nvtx.h"
#include "tests/double/work/work.h"

#define MANY 32

static struct {
#define MEMBER(type, name, params) type(*name) params;
	NVTX_FUNCTIONS(MEMBER)
} nvtx;

struct said {
	const char *name;
	long tid;
	uint64_t begin[2], end[2];
	uint64_t id;
};

struct thread {
	pthread_t handle;
	uint64_t rounds;
	struct said *said;
	size_t n;
	struct said last; /* started here, ended by the main thread */
};

static struct nvtx_domain *domain;
static void *registered, *registered_wide;
static char long_name[300];
/* As much as a recorder takes of a name, and a character more: of char, and of wchar_t. */
static char whole[127 + 1], more[128 + 1], wide_whole_said[128 + 1], wide_more_said[129 + 1];
static wchar_t wide_whole[128 + 1], wide_more[129 + 1];

static struct nvtx_attributes attributes(int type, const void *message)
{
	return (struct nvtx_attributes){ .version = 3,
					 .size = sizeof(struct nvtx_attributes),
					 .category = 0x11223344,
					 .color_type = 1,
					 .color = 0xff00ff00,
					 .message_type = type,
					 .message = message };
}

#define BEGIN(s, name_, call)                                                  \
	do {                                                                   \
		*(s) = (struct said){ .name = name_, .begin[0] = work_now() }; \
		call;                                                          \
		(s)->begin[1] = work_now();                                    \
	} while (0)
#define END(s, call)                      \
	do {                              \
		(s)->end[0] = work_now(); \
		call;                     \
		(s)->end[1] = work_now(); \
	} while (0)

static void log_range(struct thread *t, struct said s)
{
	s.tid = work_tid();
	t->said[t->n++] = s;
}

static void pushes(struct thread *t)
{
	struct nvtx_attributes ascii = attributes(NVTX_MESSAGE_ASCII, "forward \xc3\xa9tape"),
			       wide = attributes(NVTX_MESSAGE_UNICODE, L"\u0434\u043e\u043c"),
			       handle = attributes(NVTX_MESSAGE_REGISTERED, registered),
			       none = attributes(NVTX_MESSAGE_NONE, NULL);
	struct said a, b, c, d, e;

	BEGIN(&a, "step", nvtx.nvtxRangePushA("step"));
	BEGIN(&b, "forward \xc3\xa9tape", nvtx.nvtxRangePushEx(&ascii));
	BEGIN(&c,
	      "r\xc3\xbc"
	      "ck \xf0\x9f\x98\x80",
	      nvtx.nvtxRangePushW(L"r\u00fcck \U0001f600"));
	END(&c, nvtx.nvtxRangePop());
	log_range(t, c);
	BEGIN(&c, long_name, nvtx.nvtxRangePushA(long_name));
	END(&c, nvtx.nvtxRangePop());
	log_range(t, c);
	/* Two domains have a nesting each. */
	BEGIN(&d, "kept", nvtx.nvtxDomainRangePushEx(domain, &handle));
	BEGIN(&e, "\xd0\xb4\xd0\xbe\xd0\xbc", nvtx.nvtxDomainRangePushEx(domain, &wide));
	END(&b, nvtx.nvtxRangePop());
	log_range(t, b);
	END(&e, nvtx.nvtxDomainRangePop(domain));
	log_range(t, e);
	BEGIN(&b, "", nvtx.nvtxRangePushEx(&none));
	END(&b, nvtx.nvtxRangePop());
	log_range(t, b);
	END(&d, nvtx.nvtxDomainRangePop(domain));
	log_range(t, d);
	END(&a, nvtx.nvtxRangePop());
	log_range(t, a);
}

/* Overlapping, not nested. */
static void starts(struct thread *t)
{
	struct nvtx_attributes ascii = attributes(NVTX_MESSAGE_ASCII, "batch"),
			       handle = attributes(NVTX_MESSAGE_REGISTERED, registered_wide);
	struct said a, b, c, d;
	uint64_t ia, ib, ic, id;

	BEGIN(&a, "load", ia = nvtx.nvtxRangeStartA("load"));
	BEGIN(&b, "lesen", ib = nvtx.nvtxRangeStartW(L"lesen"));
	END(&a, nvtx.nvtxRangeEnd(ia));
	BEGIN(&c, "batch", ic = nvtx.nvtxRangeStartEx(&ascii));
	BEGIN(&d, "weit", id = nvtx.nvtxDomainRangeStartEx(domain, &handle));
	END(&b, nvtx.nvtxRangeEnd(ib));
	END(&d, nvtx.nvtxDomainRangeEnd(domain, id));
	END(&c, nvtx.nvtxRangeEnd(ic));
	log_range(t, a);
	log_range(t, b);
	log_range(t, c);
	log_range(t, d);
}

static void marks(struct thread *t)
{
	struct nvtx_attributes ascii = attributes(NVTX_MESSAGE_ASCII, "epoch"),
			       handle = attributes(NVTX_MESSAGE_REGISTERED, registered);
	struct said m;

	BEGIN(&m, "loss", nvtx.nvtxMarkA("loss"));
	log_range(t, m);
	BEGIN(&m, "Verlust", nvtx.nvtxMarkW(L"Verlust"));
	log_range(t, m);
	BEGIN(&m, "epoch", nvtx.nvtxMarkEx(&ascii));
	log_range(t, m);
	BEGIN(&m, "kept", nvtx.nvtxDomainMarkEx(domain, &handle));
	log_range(t, m);
	BEGIN(&m, whole, nvtx.nvtxMarkA(whole));
	log_range(t, m);
	BEGIN(&m, more, nvtx.nvtxMarkA(more));
	log_range(t, m);
	BEGIN(&m, wide_whole_said, nvtx.nvtxMarkW(wide_whole));
	log_range(t, m);
	BEGIN(&m, wide_more_said, nvtx.nvtxMarkW(wide_more));
	log_range(t, m);
}

static void *run(void *arg)
{
	struct thread *t = arg;

	t->said = calloc(t->rounds * MANY + 1, sizeof(*t->said));
	if (!t->said)
		work_die("memory");
	for (uint64_t i = 0; i < t->rounds; i++) {
		pushes(t);
		starts(t);
		marks(t);
	}
	BEGIN(&t->last, "handed over", t->last.id = nvtx.nvtxRangeStartA("handed over"));
	t->last.tid = work_tid();
	return NULL;
}

static void print(FILE *f, const struct said *s)
{
	const char *what = s->end[1] ? "range" : "mark";

	fprintf(f, "{\"%s\":\"%s\",\"tid\":%ld,\"%s\":[%llu,%llu]", what, s->name, s->tid,
		s->end[1] ? "begin" : "at", (unsigned long long)s->begin[0],
		(unsigned long long)s->begin[1]);
	if (s->end[1])
		fprintf(f, ",\"end\":[%llu,%llu]", (unsigned long long)s->end[0],
			(unsigned long long)s->end[1]);
	fprintf(f, "}\n");
}

int main(int argc, char **argv)
{
	uint64_t threads = 2, rounds = 10;
	bool unbalanced = false;
	const struct work_option options[] = {
		{ "threads", WORK_U64, &threads, "threads that make ranges, up to 32 [2]" },
		{ "rounds", WORK_U64, &rounds, "of 11 ranges and 8 marks each [10]" },
		{ "unbalanced", WORK_FLAG, &unbalanced,
		  "also one pop and one end too many, and one of each left open" },
		{ 0 },
	};
	struct thread t[MANY] = { 0 };
	void *lib;

	work_options(argc, argv, "Makes NVTX ranges and marks of every kind.", options);
	lib = dlopen("libnvToolsExt.so.1", RTLD_NOW);
	if (!lib)
		work_die("libnvToolsExt.so.1");
#define FIND(type, name, params) *(void **)&nvtx.name = dlsym(lib, #name);
	NVTX_FUNCTIONS(FIND)
	memset(long_name, 'x', sizeof(long_name) - 1);
	memset(whole, 'y', sizeof(whole) - 1);
	memset(more, 'z', sizeof(more) - 1);
	memset(wide_whole_said, 'V', sizeof(wide_whole_said) - 1);
	memset(wide_more_said, 'W', sizeof(wide_more_said) - 1);
	wmemset(wide_whole, L'V', sizeof(wide_whole_said) - 1);
	wmemset(wide_more, L'W', sizeof(wide_more_said) - 1);
	domain = nvtx.nvtxDomainCreateA("work");
	registered = nvtx.nvtxDomainRegisterStringA(domain, "kept");
	registered_wide = nvtx.nvtxDomainRegisterStringW(domain, L"weit");
	if (unbalanced) {
		nvtx.nvtxRangePop();
		nvtx.nvtxRangeEnd(12345678);
	}
	for (uint64_t i = 0; i < threads && i < MANY; i++) {
		t[i].rounds = rounds;
		if (pthread_create(&t[i].handle, NULL, run, &t[i]))
			work_die("thread");
	}
	for (uint64_t i = 0; i < threads && i < MANY; i++) {
		pthread_join(t[i].handle, NULL);
		END(&t[i].last, nvtx.nvtxRangeEnd(t[i].last.id));
	}
	if (unbalanced) {
		nvtx.nvtxRangePushA("open");
		nvtx.nvtxRangeStartA("open");
	}
	for (uint64_t i = 0; i < threads && i < MANY; i++) {
		for (size_t k = 0; k < t[i].n; k++)
			print(stdout, &t[i].said[k]);
		print(stdout, &t[i].last);
	}
	return 0;
}
