/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What OTEL_* says of where metrics go and what is sent along.
 */
#include "lib/cli/otel.h"

#include <stdlib.h>

#include "tests/tap.h"

/* The list is that of W3C baggage: blanks around keys, values and commas mean nothing. */
static void headers(void)
{
	static const char *const want[] = { "api-key: a", "team: b c", "x: 1=2" };
	struct cli_otel o = { 0 };
	struct err e = { 0 };

	setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a, team = b%20c ,,nothing, =x,\tx=1=2\t", 1);
	is_int(cli_otel_find(&o, "http://127.0.0.1:4318", &e), 0, "headers are taken");
	is_u64(o.headers.n, 3, "each that has a name");
	for (size_t i = 0; i < 3 && i < o.headers.n; i++)
		is_str(o.headers.v[i], want[i], "header %zu", i);
	is_str(o.url, "http://127.0.0.1:4318/v1/metrics", "and the path is added");
	cli_otel_free(&o);
}

int main(void)
{
	headers();
	return tap_done();
}
