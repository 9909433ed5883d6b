/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel is asked after /proc was: a mapping that is not there any more keeps what was read. */
#include "lib/probe/mapped.h"

#define MAPPED_MAX 65536u /* more than the kernel lets a process have, by default */

static bool take(void *ctx, const struct wire_mapped *m)
{
	struct probe_mapped *p = ctx;

	return p->v.n < MAPPED_MAX && vec_push(&p->v, *m);
}

void probe_mapped_see(struct probe_mapped *p, struct probe_session *s, uint32_t tgid,
		      struct host_mapping *m)
{
	size_t lo = 0, hi;

	if (m->major || !m->inode)
		return;
	if (!p->asked)
		probe_session_mapped(s, tgid, take, p);
	p->asked = true;
	hi = p->v.n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (p->v.v[mid].start < m->start)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == p->v.n || p->v.v[lo].start != m->start)
		return;
	m->inode = p->v.v[lo].inode;
	m->major = p->v.v[lo].device >> 20;
	m->minor = p->v.v[lo].device & 0xfffff;
}

void probe_mapped_free(struct probe_mapped *p)
{
	vec_free(&p->v);
}
