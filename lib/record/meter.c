/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches the kernel's run-time statistics of BPF programs on and off. The kernel measures while a
 * descriptor is open: a helper process opens and closes it, and reports its state.
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

static int enable_run_stats(void)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.enable_stats.type = BPF_STATS_RUN_TIME;
	return (int)syscall(__NR_bpf, BPF_ENABLE_STATS, &a, sizeof(a));
}

/* Switches the kernel's statistics on or off. Each request is a byte with the wanted state, each
 * answer one with the actual state. Ends when the recorder has ended. */
static void serve_requests(void)
{
	int stats = -1;
	char word;

	(void)host_rights_keep(host_rights_admin());
	while (recv(HOST_HELPER_FD, &word, 1, 0) == 1) {
		if (word && stats < 0)
			stats = enable_run_stats();
		if (!word && stats >= 0) {
			close(stats);
			stats = -1;
		}
		word = stats >= 0;
		if (send(HOST_HELPER_FD, &word, 1, MSG_NOSIGNAL) != 1)
			break;
	}
}

static bool send_request(struct record_meter *m, char word)
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
	m->pid = host_helper_start("ingero-meter", ends[1], serve_requests);
	close(ends[1]);
}

bool record_meter_on(struct record_meter *m)
{
	m->on = send_request(m, 1);
	if (!m->on)
		record_meter_stop(m);
	return m->on;
}

void record_meter_off(struct record_meter *m)
{
	m->on = send_request(m, 0);
}

void record_meter_stop(struct record_meter *m)
{
	if (m->pid)
		close(m->fd);
	if (m->pid > 0)
		host_helper_stop(m->pid);
	*m = (struct record_meter){ .fd = -1 };
}
