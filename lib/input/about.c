/* SPDX-License-Identifier: Apache-2.0 */
/* By the references of its fields: every kind that there will be is answered for, without being
 * known here. */
#include "lib/input/about.h"

#include <string.h>

#include "lib/model/body.h"
#include "lib/model/finding_json.h"

uint32_t about_node(const struct world *w, const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);

	for (unsigned i = 0; def && i < def->nfields; i++) {
		const struct world_process *p = NULL;
		const struct world_thread *t;
		const struct world_cgroup *g;
		uint32_t id;

		if (def->fields[i].type != REC_U32 || !record_has(r, def->fields[i].number))
			continue;
		memcpy(&id, (const char *)&r->u + def->fields[i].offset, sizeof(id));
		switch (def->fields[i].role) {
		case RROLE_NODE:
			return id;
		case RROLE_PROCESS:
			p = world_get_process(w, id);
			break;
		case RROLE_THREAD:
			t = world_get_thread(w, id);
			p = t ? world_get_process(w, t->process) : NULL;
			break;
		case RROLE_CGROUP:
			g = world_get_cgroup(w, id);
			if (g)
				return g->node;
			break;
		default:
			break;
		}
		if (p)
			return p->node;
	}
	return 0;
}

bool about_chain_elsewhere(const struct world *w, const struct record *r, uint32_t node)
{
	const struct world_node *machine = world_get_node(w, node);
	struct finding f = { 0 };
	bool elsewhere;

	if (r->kind != RECORD_CHAIN || !machine || !REC_HAS(r, CHAIN, body))
		return false;
	finding_read_json(&f, r->u.CHAIN.body, BODY_SIZE_MAX, NULL);
	elsewhere = f.node.p && !bytes_equal(f.node, world_text(w, machine->name));
	finding_free(&f);
	return elsewhere;
}
