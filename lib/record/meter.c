/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel measures as long as a descriptor is open: the process beside us opens one and closes
 * it, and says which of them it did.
 */
#include "lib/record/meter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/host/helper.h"
#include "lib/host/rights.h"

static int measure(void)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.enable_stats.type = BPF_STATS_RUN_TIME;
	return (int)syscall(__NR_bpf, BPF_ENABLE_STATS, &a, sizeof(a));
}

/* One byte for another: what shall be, what is. Ends when the recorder is gone. */
static void serve(void)
{
	int stats = -1;
	char word;

	(void)host_rights_keep(host_rights_admin());
	while (recv(HOST_HELPER_FD, &word, 1, 0) == 1) {
		if (word && stats < 0)
			stats = measure();
		if (!word && stats >= 0) {
			close(stats);
			stats = -1;
		}
		word = stats >= 0;
		if (send(HOST_HELPER_FD, &word, 1, MSG_NOSIGNAL) != 1)
			break;
	}
}

static bool ask(struct record_meter *m, char word)
{
	ssize_t n = m->fd >= 0 ? send(m->fd, &word, 1, MSG_NOSIGNAL) : -1;

	while (n == 1 && (n = recv(m->fd, &word, 1, 0)) < 0 && errno == EINTR)
		n = 1;
	return n == 1 && word;
}

void record_meter_start(struct record_meter *m)
{
	int ends[2];

	*m = (struct record_meter){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	m->fd = ends[0];
	m->pid = host_helper_start("ingero-meter", ends[1], serve);
	close(ends[1]);
}

bool record_meter_on(struct record_meter *m)
{
	m->on = ask(m, 1);
	if (!m->on)
		record_meter_stop(m);
	return m->on;
}

void record_meter_off(struct record_meter *m)
{
	m->on = ask(m, 0);
}

void record_meter_stop(struct record_meter *m)
{
	if (m->pid)
		close(m->fd);
	if (m->pid > 0)
		host_helper_stop(m->pid);
	*m = (struct record_meter){ .fd = -1 };
}
