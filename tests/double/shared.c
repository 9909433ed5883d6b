/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of it is in one mapped file. Boards are moments up to which they are busy. Collectives are
 * counters that never go back: the n-th of a place is entered by all when it has been entered n
 * times by each.
 */
#include "shared.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

#define BOARDS	 16
#define MEETINGS (2 * SHARED_AHEAD)

static struct machine {
	_Atomic uint64_t busy_until_ns[BOARDS];
	struct meeting {
		_Atomic uint32_t entered;
		_Atomic uint64_t ready_ns; /* of the last one */
	} meetings[MEETINGS];
} * machine;

static unsigned board;
static _Atomic uint64_t put_off_ns;

/* How long work of this process has had to wait for that of others so far: the device's own
 * account. */
__attribute__((visibility("default"))) uint64_t double_put_off(void);
uint64_t double_put_off(void)
{
	return atomic_load(&put_off_ns);
}

void shared_start(void)
{
	const char *path = getenv("DOUBLE_SHARED"), *visible = getenv("CUDA_VISIBLE_DEVICES");
	int fd;

	if (!path)
		return;
	board = visible ? (unsigned)strtoul(visible, NULL, 10) % BOARDS : 0;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*machine)))
		abort();
	machine = mmap(NULL, sizeof(*machine), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (machine == MAP_FAILED)
		abort();
}

bool shared_turn(uint64_t from, uint64_t ns, uint64_t *end)
{
	_Atomic uint64_t *busy;
	uint64_t old, start;

	if (!machine)
		return false;
	busy = &machine->busy_until_ns[board];
	old = atomic_load(busy);
	do
		start = old > from ? old : from;
	while (!atomic_compare_exchange_weak(busy, &old, start + ns));
	atomic_fetch_add(&put_off_ns, start - from);
	*end = start + ns;
	return true;
}

bool shared_meets(void)
{
	return machine != NULL;
}

void shared_enter(uint64_t sequence, uint64_t ready)
{
	struct meeting *m = &machine->meetings[sequence % MEETINGS];
	uint64_t old = atomic_load(&m->ready_ns);

	while (old < ready && !atomic_compare_exchange_weak(&m->ready_ns, &old, ready))
		;
	atomic_fetch_add(&m->entered, 1);
	syscall(SYS_futex, &m->entered, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool shared_met(uint64_t sequence, uint32_t ranks, bool wait, uint64_t *all)
{
	struct meeting *m = &machine->meetings[sequence % MEETINGS];
	uint32_t want = ranks * (uint32_t)(sequence / MEETINGS + 1), seen;

	while ((seen = atomic_load(&m->entered)) < want) {
		if (!wait)
			return false;
		/* Not as a mutex waits. */
		syscall(SYS_futex, &m->entered, FUTEX_WAIT_BITSET, seen, NULL, NULL,
			FUTEX_BITSET_MATCH_ANY);
	}
	*all = atomic_load(&m->ready_ns);
	return true;
}
