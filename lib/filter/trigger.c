/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns are asked once per op, here; what is left is a number per op. */
#include "lib/filter/trigger.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/filter/filter.h"

#define OPS ((size_t)UINT16_MAX + 1)

static int set_slow(struct filter_trigger *t, const char *name, uint64_t ns, struct err *e)
{
	struct filter s = { 0 };
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n);
	int rc = filter_name(&s, name, e);

	if (rc == 0 && !t->slow_ns) {
		t->slow_ns = malloc(OPS * sizeof(*t->slow_ns));
		for (size_t i = 0; t->slow_ns && i < OPS; i++)
			t->slow_ns[i] = UINT64_MAX;
		if (!t->slow_ns)
			rc = err_nomem(e);
	}
	for (unsigned i = 0; rc == 0 && i < n; i++)
		if (filter_name_matches(name, &ops[i]) && ns < t->slow_ns[ops[i].id])
			t->slow_ns[ops[i].id] = ns;
	filter_free(&s);
	return rc;
}

int filter_trigger_add(struct filter_trigger *t, const char *text, struct err *e)
{
	const char *sign = strchr(text, '>');
	char name[128];
	uint64_t ns;
	int rc;

	if (strcmp(text, "error") == 0) {
		t->errors = true;
		return 0;
	}
	if (!sign || sign == text || (size_t)(sign - text) >= sizeof(name))
		return err_set(e, ERR_USAGE, "'%s' is none of OP>TIME, idle>TIME and error", text);
	memcpy(name, text, (size_t)(sign - text));
	name[sign - text] = '\0';
	rc = duration_parse(bytes_of(sign + 1), &ns, e);
	if (rc || strcmp(name, "idle") != 0)
		return rc ? rc : set_slow(t, name, ns, e);
	if (!t->idle_ns || ns < t->idle_ns)
		t->idle_ns = ns;
	return t->idle_ns ? 0 : err_set(e, ERR_USAGE, "idle needs some time");
}

void filter_trigger_free(struct filter_trigger *t)
{
	free(t->slow_ns);
	t->slow_ns = NULL;
}
