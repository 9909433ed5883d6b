/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of our own that the probe self-test attaches to and calls. They are called by nothing
 * else, so that a probe on them disturbs nobody.
 */
#include "lib/attach/selftest_target.h"

#include <stdbool.h>
#include <unistd.h>

#include "lib/host/maps.h"

/* Somewhere to put a probe to see whether the kernel takes it, and at what cost: it begins as the
 * functions of NVIDIA's libraries do, with an instruction that the kernel emulates. */
#if defined(__x86_64__)
#define SITE(name)                                             \
	void name(void) __attribute__((visibility("hidden"))); \
	__asm__(".text\n"                                      \
		".globl " #name "\n"                           \
		".hidden " #name "\n"                          \
		".type " #name ", @function\n" #name ":\n"     \
		"push %rbp\n"                                  \
		"mov %rsp, %rbp\n"                             \
		"xor %eax, %eax\n"                             \
		"pop %rbp\n"                                   \
		"ret\n"                                        \
		".size " #name ", . - " #name "\n");
#else
#define SITE(name)                                       \
	__attribute__((noinline)) static void name(void) \
	{                                                \
		__asm__ volatile("/* " #name " */");     \
	}
#endif
SITE(selftest_target_site)
SITE(selftest_target_other)

struct wanted {
	uint64_t address;
	struct probe_place *place;
	bool found;
};

static bool on_mapping(void *ctx, const struct host_mapping *m)
{
	struct wanted *w = ctx;

	if (w->address < m->start || w->address >= m->end)
		return true;
	w->place->offset = w->address - m->start + m->offset;
	w->found = m->inode != 0;
	host_maps_path((uint32_t)getpid(), m, w->place->path, sizeof(w->place->path));
	return false;
}

int probe_place_of(void (*code)(void), struct probe_place *p)
{
	struct wanted w = { .address = (uintptr_t)code, .place = p };
	struct err ignored;

	return host_maps_read((uint32_t)getpid(), on_mapping, &w, &ignored) == 0 && w.found ? 0
											    : -1;
}

int selftest_target_place(struct probe_place *p)
{
	return probe_place_of(selftest_target_site, p);
}

int selftest_target_uncalled(struct probe_place *p)
{
	return probe_place_of(selftest_target_other, p);
}

void selftest_target_call(void)
{
	selftest_target_site();
}
