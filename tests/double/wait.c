/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a thread of the double waits for its device. The default looks like the real driver's
 * blocking wait: the thread polls a descriptor and is woken from interrupt context (a timer's).
 * $DOUBLE_SYNC chooses another: block (default), spin, yield, sleep (clock_nanosleep), thread (a
 * device thread of this process wakes it by futex).
 */
#include "device.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "truth.h"

enum mode { BLOCK, SPIN, YIELD, SLEEP, THREAD };

static enum mode mode;

/* One waiting thread, on its own stack, in the device thread's list. */
struct waiter {
	struct waiter *next;
	uint64_t until_ns;
	_Atomic uint32_t woken;
};

static struct {
	pthread_mutex_t lock;
	struct waiter *list;
	_Atomic uint32_t changed;
	bool running;
} device = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
	struct timespec t = timespec_of(until_ns);

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
		until_ns == UINT64_MAX ? NULL : &t, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Wakes each waiter when its time has come. */
static void *device_thread(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "double-device");
	for (;;) {
		uint32_t changed = atomic_load(&device.changed);
		uint64_t next = UINT64_MAX, now = truth_now();

		pthread_mutex_lock(&device.lock);
		for (struct waiter **p = &device.list, *w; (w = *p);) {
			if (w->until_ns <= now) {
				*p = w->next;
				atomic_store(&w->woken, 1);
				/* w may be gone: the kernel only looks the address up. */
				futex_wake(&w->woken);
				continue;
			}
			if (w->until_ns < next)
				next = w->until_ns;
			p = &w->next;
		}
		pthread_mutex_unlock(&device.lock);
		futex_wait(&device.changed, changed, next);
	}
	return NULL;
}

static void wait_thread(uint64_t until_ns)
{
	struct waiter w = { .until_ns = until_ns };
	pthread_t thread;

	pthread_mutex_lock(&device.lock);
	if (!device.running && !pthread_create(&thread, NULL, device_thread, NULL)) {
		pthread_detach(thread);
		device.running = true;
	}
	w.next = device.list;
	device.list = &w;
	pthread_mutex_unlock(&device.lock);
	atomic_fetch_add(&device.changed, 1);
	futex_wake(&device.changed);
	while (!atomic_load(&w.woken))
		futex_wait(&w.woken, 0, UINT64_MAX);
}

static void wait_block(uint64_t until_ns)
{
	struct itimerspec t = { .it_value = timespec_of(until_ns) };
	struct pollfd p = { .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), .events = POLLIN };

	if (p.fd < 0)
		abort();
	if (until_ns != UINT64_MAX)
		timerfd_settime(p.fd, TFD_TIMER_ABSTIME, &t, NULL);
	while (truth_now() < until_ns)
		poll(&p, 1, -1);
	close(p.fd);
}

static void wait_sleep(uint64_t until_ns)
{
	struct timespec t = timespec_of(until_ns < INT64_MAX ? until_ns : INT64_MAX);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

void device_wait_until(uint64_t ns)
{
	if (truth_now() >= ns)
		return;
	switch (mode) {
	case BLOCK:
		wait_block(ns);
		break;
	case SLEEP:
		wait_sleep(ns);
		break;
	case THREAD:
		wait_thread(ns);
		break;
	case SPIN:
	case YIELD:
		while (truth_now() < ns)
			if (mode == YIELD)
				sched_yield();
		break;
	}
}

/* A forked child has no device thread and no waiters but itself. */
static void after_fork(void)
{
	pthread_mutex_init(&device.lock, NULL);
	device.list = NULL;
	device.running = false;
}

void device_wait_start(void)
{
	static const char *const names[] = { "block", "spin", "yield", "sleep", "thread" };
	const char *s = getenv("DOUBLE_SYNC");

	for (size_t i = 0; s && i < sizeof names / sizeof *names; i++)
		if (!strcmp(s, names[i]))
			mode = (enum mode)i;
	pthread_atfork(NULL, NULL, after_fork);
}
