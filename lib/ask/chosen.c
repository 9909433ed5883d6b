/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain is about the call that lost most, the calls among its symptoms, and those of its sites.
 */
#include "lib/ask/chosen.h"

#include <stdlib.h>
#include <string.h>

#include "lib/select/select.h"

static bool op_matches(const struct ask_chosen *by, struct bytes source, struct bytes name)
{
	unsigned n;
	const struct op_def *all = op_builtin_all(&n);

	for (unsigned i = 0; i < n; i++) {
		if (!bytes_equal(name, bytes_of(all[i].name)) ||
		    (source.n && !bytes_equal(source, bytes_of(all[i].source_name))))
			continue;
		for (size_t k = 0; k < by->npatterns; k++) {
			if (select_name_matches(by->patterns[k], &all[i]))
				return true;
		}
	}
	return false;
}

static bool any_op(const struct ask_chosen *by, struct json body, const char *list)
{
	struct json all = json_get(body, list);
	bool is = false;

	for (size_t i = 0; i < json_length(all) && !is; i++) {
		struct json o = json_at(all, i), op = json_get(o, "op"),
			    source = json_get(o, "source");

		is = op_matches(by, json_bytes(source), json_bytes(op));
		json_free(op);
		json_free(source);
		json_free(o);
	}
	json_free(all);
	return is;
}

static bool on_node(const struct ask_chosen *by, struct json body)
{
	struct json node = json_get(body, "node");
	bool is = by->nnodes == 0;

	for (size_t i = 0; i < by->nnodes && !is; i++)
		is = bytes_equal(json_bytes(node), bytes_of(by->nodes[i]));
	json_free(node);
	return is;
}

static bool about(const struct ask_chosen *by, struct json body)
{
	struct json op = json_get(body, "op");
	bool is = by->npatterns == 0 || op_matches(by, (struct bytes){ 0 }, json_bytes(op)) ||
		  any_op(by, body, "symptom") || any_op(by, body, "sites");

	json_free(op);
	return is;
}

int ask_choose(const struct chain_list *list, const struct ask_chosen *by, struct err *e)
{
	struct select check = { 0 };
	int rc = 0;

	for (size_t i = 0; i < by->npatterns && rc == 0; i++)
		rc = select_name(&check, by->patterns[i], e);
	select_free(&check);
	if (rc)
		return rc;
	for (size_t i = 0; i < list->v.n; i++) {
		struct finding *c = &list->v.v[i];

		c->hidden = !on_node(by, c->body) || !about(by, c->body);
	}
	return 0;
}
