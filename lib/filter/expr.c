/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the user's jq expression on events. The only user of jq programs; base/json.c is the
 * only user of jq values. */
#include "lib/filter/expr.h"

#include <inttypes.h>
#include <jq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/base/oom_flag.h"
#include "lib/filter/program.h"

struct filter_expr {
	jq_state *jq;
	struct buf said; /* what jq said of the program */
	char first[256];
	uint64_t errors;
};

static void on_error(void *arg, jv message)
{
	struct filter_expr *x = arg;
	jv text = jq_format_error(message);

	if (jv_get_kind(text) == JV_KIND_STRING && !x->said.n)
		buf_puts(&x->said, jv_string_value(text));
	jv_free(text);
}

int filter_expr_new(struct filter_expr **out, const char *expression, const char *const *args,
		    size_t nargs, struct err *e)
{
	struct filter_expr *x;
	jv named;
	int rc = 0;

	*out = NULL;
	for (size_t i = 0; i < nargs; i++)
		if (!strchr(args[i], '=') || args[i][0] == '=')
			return err_set(e, ERR_USAGE, "--arg %s: NAME=VALUE is wanted", args[i]);
	x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(e);
	json_ready();
	x->jq = jq_init();
	if (!x->jq) {
		free(x);
		return err_nomem(e);
	}
	jq_set_error_cb(x->jq, on_error, x);
	/* There are no further inputs; some versions of jq need an explicit NULL to report that. */
	jq_set_input_cb(x->jq, NULL, NULL);
	jq_set_debug_cb(x->jq, NULL, NULL);
	/* The first folder where jq itself looks for modules; unset, importing a module would abort
	 * the process. */
	jq_set_attr(x->jq, jv_string("JQ_LIBRARY_PATH"),
		    jv_array_append(jv_array(), jv_string("~/.jq")));
	jq_set_attr(x->jq, jv_string("PROGRAM_ORIGIN"), jv_string("."));
	jq_set_nomem_handler(x->jq, oom_flag_end, NULL);
	named = jv_object();
	for (size_t i = 0; i < nargs; i++) {
		const char *equals = strchr(args[i], '=');

		named = jv_object_set(named, jv_string_sized(args[i], (int)(equals - args[i])),
				      jv_string(equals + 1));
	}
	if (!jq_compile_args(x->jq, filter_program(expression), named)) {
		char *newline = x->said.p ? strchr(x->said.p, '\n') : NULL;

		if (newline)
			*newline = 0;
		rc = err_set(e, ERR_USAGE, "-w %s: %s", expression,
			     x->said.n ? x->said.p : "jq does not understand it");
	}
	buf_free(&x->said);
	if (rc)
		filter_expr_free(x);
	else
		*out = x;
	return rc;
}

void filter_expr_free(struct filter_expr *x)
{
	if (!x)
		return;
	jq_teardown(&x->jq);
	buf_free(&x->said);
	free(x);
}

static void note_error(struct filter_expr *x, jv result)
{
	jv message = jv_invalid_get_msg(result);

	if (jv_get_kind(message) != JV_KIND_NULL && x->errors++ == 0) {
		jv text = jv_get_kind(message) == JV_KIND_STRING
				  ? jv_copy(message)
				  : jv_dump_string(jv_copy(message), 0);

		snprintf(x->first, sizeof(x->first), "%s", jv_string_value(text));
		jv_free(text);
	}
	jv_free(message);
}

int filter_expr_is(struct filter_expr *x, struct bytes object, bool *yes, struct err *e)
{
	jv input = jv_parse_sized(object.p, (int)object.n), result;

	*yes = false;
	if (!jv_is_valid(input)) {
		jv_free(input);
		return err_set(e, ERR_DAMAGED, "an event is no JSON object");
	}
	jq_start(x->jq, input, 0);
	result = jq_next(x->jq);
	if (jv_is_valid(result)) {
		*yes = jv_get_kind(result) != JV_KIND_FALSE && jv_get_kind(result) != JV_KIND_NULL;
		jv_free(result);
	} else {
		note_error(x, result);
	}
	return 0;
}

const char *filter_expr_errors(const struct filter_expr *x, uint64_t *count)
{
	*count = x->errors;
	return x->errors ? x->first : NULL;
}
