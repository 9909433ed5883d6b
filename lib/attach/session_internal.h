/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's inside, shared by session_load.c, which loads programs, session.c, which runs them,
 * and session_ask.c, which reads what they counted. They and session_optional.c are all that knows
 * libbpf. Nobody else includes this.
 */
#ifndef INGERO_ATTACH_SESSION_INTERNAL_H
#define INGERO_ATTACH_SESSION_INTERNAL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/ingero.skel.h"
#include "lib/base/vec.h"
#include "lib/attach/sched_config.h"
#include "lib/attach/session.h"
#include "lib/attach/session_optional.h"

struct probe_session {
	struct ingero_bpf *bpf;
	struct probe_programs calls, hook, freed, nvtx;
	int walker;
	struct probe_ring ring, life;
	struct loss_slot *losses;   /* one per possible CPU, shared with the kernel */
	struct spec_passed *passed; /* by spec, shared with the kernel */
	struct op_spec specs[SPECS_MAX];
	size_t nspecs;
	size_t ncpu;
	VEC(struct bpf_link *) links;
	struct bpf_link *open_link;
	struct bpf_link *adopt_link;		    /* NULL without host tracks */
	struct bpf_link *begin_link, *asleep_link;  /* threads that sleep; the same */
	struct bpf_link *sockets_link, *peers_link; /* of links; NULL: not to be had */
	uint32_t peers_looked;			    /* for so many */
	bool one_task;				    /* an iterator can be limited to one task */
	struct probe_sched_config sched;
	struct probe_optionals optional;
	bool cpu_asked; /* as in probe_options */
	int epoll;
};

/* Loads the programs this kernel takes, configured; ncpu and sched are filled in. */
int probe_session_load(struct probe_session *s, const struct probe_options *opt, struct err *e);

#endif
