/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the OTLP endpoint and headers from options and environment. The endpoint of all signals is
 * the address below which metrics have their path; that of metrics alone is whole. */
#include "lib/cli/otel.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_header(struct cli_otel *o, char *line, struct err *e)
{
	if (line && vec_push(&o->headers, line))
		return 0;
	free(line);
	return err_nomem(e);
}

int cli_otel_header(struct cli_otel *o, const char *line, struct err *e)
{
	return add_header(o, strdup(line), e);
}

/* "%20" as the character it stands for, in place. */
static void unescape_text(char *text)
{
	char *to = text;

	for (; *text; text++) {
		char digits[3] = { text[0] == '%' ? text[1] : 0,
				   text[0] == '%' && text[1] ? text[2] : 0 };
		bool escaped =
			isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]);

		*to++ = escaped ? (char)strtol(digits, NULL, 16) : *text;
		text += escaped ? 2 : 0;
	}
	*to = 0;
}

static char *trim_blanks(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	for (n = strlen(text); n && strchr(" \t", text[n - 1]);)
		n--;
	text[n] = 0;
	return text;
}

/* "k=v, k2=v2": blanks around either mean nothing. */
static int add_headers(struct cli_otel *o, const char *text, struct err *e)
{
	char *copy = strdup(text), *rest = copy, *line, *value;
	int rc = copy ? 0 : err_nomem(e);

	for (char *pair; !rc && (pair = strsep(&rest, ","));) {
		char *equals = strchr(pair, '=');

		if (!equals)
			continue;
		*equals = 0;
		pair = trim_blanks(pair);
		value = trim_blanks(equals + 1);
		unescape_text(value);
		if (*pair)
			rc = add_header(o, asprintf(&line, "%s: %s", pair, value) < 0 ? NULL : line,
					e);
	}
	free(copy);
	return rc;
}

static int build_url(struct cli_otel *o, const char *url, struct err *e)
{
	size_t n = strlen(url);

	while (n && url[n - 1] == '/')
		n--;
	if (asprintf(&o->built, "%.*s/v1/metrics", (int)n, url) < 0) {
		o->built = NULL;
		return err_nomem(e);
	}
	o->url = o->built;
	return 0;
}

/* As given when that has a path; the environment's for all signals never has. */
static int choose_url(struct cli_otel *o, const char *push, struct err *e)
{
	const char *all = getenv("OTEL_EXPORTER_OTLP_ENDPOINT"),
		   *metrics = getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"), *host, *path;

	if (strcmp(push, "env") != 0) {
		host = strstr(push, "://");
		path = host ? strchr(host + 3, '/') : NULL;
		o->url = push;
		return path && path[1] ? 0 : build_url(o, push, e);
	}
	if (metrics && *metrics) {
		o->url = metrics;
		return 0;
	}
	if (all && *all)
		return build_url(o, all, e);
	return err_set(e, ERR_USAGE, "--push env: OTEL_EXPORTER_OTLP_ENDPOINT is not set");
}

int cli_otel_find(struct cli_otel *o, const char *push, struct err *e)
{
	const char *more = getenv("OTEL_EXPORTER_OTLP_HEADERS"),
		   *timeout = getenv("OTEL_EXPORTER_OTLP_TIMEOUT");
	int rc = choose_url(o, push, e);

	if (!o->ca_file)
		o->ca_file = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");
	if (timeout)
		o->timeout_ns = strtoull(timeout, NULL, 10) * 1000000;
	return !rc && more ? add_headers(o, more, e) : rc;
}

void cli_otel_free(struct cli_otel *o)
{
	for (size_t i = 0; i < o->headers.n; i++)
		free(o->headers.v[i]);
	vec_free(&o->headers);
	free(o->built);
	*o = (struct cli_otel){ 0 };
}
