/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: an allocator that has no memory when NOMEM_AT says so. N: the n-th allocation of main
 * and what comes after it fails, N+: all behind it too. NOMEM_COUNT names a file that is told at
 * the end how many there were.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static atomic_bool counting;
static atomic_ulong count;
static unsigned long at;
static bool on;

static bool refuse(void)
{
	unsigned long n;

	if (!counting)
		return false;
	n = atomic_fetch_add(&count, 1) + 1;
	if (!at || (on ? n < at : n != at))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t n)
{
	return refuse() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
	return refuse() ? NULL : __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
	return refuse() ? NULL : __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t each)
{
	size_t all;

	if (__builtin_mul_overflow(n, each, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, all);
}

void *memalign(size_t align, size_t n);
void *memalign(size_t align, size_t n)
{
	return refuse() ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	void *p = memalign(align, n);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

static void tell(void)
{
	const char *path = getenv("NOMEM_COUNT");
	char text[32];
	int fd;

	counting = false;
	fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (fd >= 0 && write(fd, text, (size_t)snprintf(text, sizeof(text), "%lu\n", count)) < 0)
		abort();
}

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **env)
{
	char *end = NULL;

	at = getenv("NOMEM_AT") ? strtoul(getenv("NOMEM_AT"), &end, 10) : 0;
	on = end && *end == '+';
	/* Of this program only. */
	unsetenv("LD_PRELOAD");
	atexit(tell);
	counting = true;
	return real_main(argc, argv, env);
}

int __libc_start_main(int (*fn)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*fn)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
		    void (*)(void), void *) = dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = fn;
	return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
