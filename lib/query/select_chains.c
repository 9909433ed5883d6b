/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain is about the call that lost most, the calls among its symptoms, and those of its sites.
 */
#include "lib/query/select_chains.h"

#include <stdlib.h>
#include <string.h>

#include "lib/filter/filter.h"

static bool op_matches(const struct query_chain_selection *by, struct bytes source,
		       struct bytes name)
{
	unsigned n;
	const struct op_def *all = op_builtin_all(&n);

	for (unsigned i = 0; i < n; i++) {
		if (!bytes_equal(name, bytes_of(all[i].name)) ||
		    (source.n && !bytes_equal(source, bytes_of(all[i].source_name))))
			continue;
		for (size_t k = 0; k < by->npatterns; k++) {
			if (filter_name_matches(by->patterns[k], &all[i]))
				return true;
		}
	}
	return false;
}

static bool is_on_node(const struct query_chain_selection *by, struct bytes node)
{
	for (size_t i = 0; i < by->nnodes; i++)
		if (bytes_equal(node, bytes_of(by->nodes[i])))
			return true;
	return by->nnodes == 0;
}

static bool is_about_op(const struct query_chain_selection *by, const struct finding *f)
{
	if (by->npatterns == 0 || op_matches(by, (struct bytes){ 0 }, f->op))
		return true;
	for (size_t i = 0; i < f->symptoms.n; i++)
		if (op_matches(by, f->symptoms.v[i].source, f->symptoms.v[i].op))
			return true;
	for (size_t i = 0; i < f->sites.n; i++)
		if (op_matches(by, f->sites.v[i].source, f->sites.v[i].op))
			return true;
	return false;
}

int query_select_chains(const struct chain_list *list, const struct query_chain_selection *by,
			struct err *e)
{
	struct filter check = { 0 };
	int rc = 0;

	for (size_t i = 0; i < by->npatterns && rc == 0; i++)
		rc = filter_name(&check, by->patterns[i], e);
	filter_free(&check);
	if (rc)
		return rc;
	for (size_t i = 0; i < list->v.n; i++) {
		struct finding *c = &list->v.v[i];

		c->hidden = !is_on_node(by, c->node) || !is_about_op(by, c);
	}
	for (size_t i = 0; i < list->paths.tracks.n; i++)
		list->paths.tracks.v[i].hidden = !is_on_node(by, list->paths.tracks.v[i].node);
	return 0;
}
