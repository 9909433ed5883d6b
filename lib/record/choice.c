/* SPDX-License-Identifier: Apache-2.0 */
/* One kind of target at a time: who wants two wants two recorders. */
#include "lib/record/choice.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/number.h"
#include "lib/host/proc.h"

#define SAMPLES_HZ 99 /* in step with nothing, and a tenth of a second has ten */
#define RING_LEAST 65536
#define RING_MOST  (1u << 30)

int64_t decode_number(const char *text, int64_t max)
{
	uint64_t n;

	return number_parse(bytes_of(text), 10, (uint64_t)max, &n) ? (int64_t)n : -1;
}

bool record_percent(const char *text, double *share)
{
	char *end;

	*share = strtod(text, &end) / 100;
	return end != text && (!*end || strcmp(end, "%") == 0) && *share > 0 && *share <= 1;
}

static int choose_pids(const struct record_choice *c, struct probe_targets_options *t,
		       uint32_t **pids, struct buf *text, struct err *e)
{
	*pids = calloc(c->npids, sizeof(**pids));
	if (!*pids)
		return err_nomem(e);
	for (size_t i = 0; i < c->npids; i++) {
		int64_t pid = decode_number(c->pids[i], INT_MAX);
		struct err ignored = { 0 };
		struct host_process p;

		if (pid <= 0)
			return err_set(e, ERR_USAGE, "%s is not a process number", c->pids[i]);
		/* Many programs show numbers of threads. */
		if (host_proc_read((uint32_t)pid, &p, &ignored) == 0)
			pid = p.tgid;
		(*pids)[i] = (uint32_t)pid;
		buf_printf(text, "%s%u", i ? "," : "pid ", (uint32_t)pid);
	}
	t->pids = *pids;
	t->npids = c->npids;
	return 0;
}

static int choose_user(const char *name, struct probe_targets_options *t, struct buf *text,
		       struct err *e)
{
	struct passwd *pw = getpwnam(name);
	int64_t uid = pw ? pw->pw_uid : decode_number(name, UINT_MAX);

	if (uid < 0)
		return err_set(e, ERR_USAGE, "no user %s", name);
	t->scope = SCOPE_USER;
	t->uid = (uid_t)uid;
	buf_printf(text, "user %s", name);
	return 0;
}

static int choose_pod(const char *pod, struct probe_targets_options *t, struct buf *text,
		      struct err *e)
{
	const char *slash = strchr(pod, '/');

	if (!slash || slash == pod || !slash[1] || strchr(slash + 1, '/'))
		return err_set(e, ERR_USAGE, "%s is not NAMESPACE/NAME", pod);
	t->pod = pod;
	buf_printf(text, "pod %s", pod);
	return 0;
}

int record_choose(const struct record_choice *c, struct probe_targets_options *t, uint32_t **pids,
		  struct buf *text, struct err *e)
{
	int ways = (c->npids > 0) + !!c->user + !!c->pod + c->all + !!c->command;
	uid_t uid = c->invoker ? c->invoker : getuid();
	struct passwd *pw;

	*pids = NULL;
	if (ways > 1)
		return err_set(e, ERR_USAGE,
			       "one kind of target at a time: -p, -u, -a, --pod or a command");
	if (c->npids)
		return choose_pids(c, t, pids, text, e);
	if (c->user)
		return choose_user(c->user, t, text, e);
	if (c->pod)
		return choose_pod(c->pod, t, text, e);
	if (c->command) {
		buf_printf(text, "command %s", c->command);
		return 0;
	}
	if (c->all || (geteuid() == 0 && c->invoker == 0)) {
		t->scope = SCOPE_ALL;
		buf_puts(text, "all CUDA processes");
		return 0;
	}
	pw = getpwuid(uid);
	t->scope = SCOPE_USER;
	t->uid = uid;
	buf_printf(text, "CUDA processes of user %s", pw ? pw->pw_name : "?");
	return 0;
}

void record_choose_owner(const char *uid, const char *gid, struct record_owner *owner)
{
	if (!uid || !gid || decode_number(uid, UINT_MAX) < 0 || decode_number(gid, UINT_MAX) < 0)
		return;
	owner->uid = (uid_t)decode_number(uid, UINT_MAX);
	owner->gid = (gid_t)decode_number(gid, UINT_MAX);
}

void record_choose_way(struct probe_options *p, const char *link, const char *walker, bool stacks)
{
	for (enum probe_link k = PROBE_LINK_SESSION; link && k <= PROBE_LINK_PERF; k++)
		if (strcmp(link, probe_link_name(k)) == 0)
			p->link = k;
	p->walker = !stacks				      ? WALKER_NONE
		    : walker && strcmp(walker, "helper") == 0 ? WALKER_HELPER
							      : WALKER_LOOP;
	p->walker_forced = walker && strcmp(walker, "auto") != 0;
}

int record_choose_ring(struct probe_options *p, uint64_t bytes, struct err *e)
{
	if (bytes && (bytes & (bytes - 1) || bytes < RING_LEAST || bytes > RING_MOST))
		return err_set(e, ERR_USAGE, "--ring must be a power of two from 64k to 1g");
	p->ring_bytes = bytes;
	return 0;
}

int record_choose_samples(struct probe_options *p, int64_t hz, bool asked, bool stacks, bool probes,
			  struct err *e)
{
	if (!asked)
		hz = stacks && probes ? SAMPLES_HZ : 0;
	if (hz && !stacks)
		return err_set(e, ERR_USAGE,
			       "--cpu-samples says where threads are: not with --no-stacks");
	if (hz && !probes)
		return err_set(e, ERR_USAGE,
			       "--no-probes asks the kernel for nothing: not with --cpu-samples");
	p->cpu_hz = (uint32_t)hz;
	p->cpu_asked = asked;
	return 0;
}
