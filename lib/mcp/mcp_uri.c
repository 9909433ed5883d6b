/* SPDX-License-Identifier: Apache-2.0 */
/* Matching takes as much as it can for a variable and gives back from the end: addresses are short.
 */
#include "lib/mcp/mcp_internal.h"

#include <string.h>

static bool match_template(const char *t, const char *uri, size_t n)
{
	const char *close;
	size_t most = 0;

	for (; *t && *t != '{'; t++, uri++, n--)
		if (!n || *t != *uri)
			return false;
	if (!*t)
		return !n;
	close = strchr(t, '}');
	while (most < n && !strchr("/?#", uri[most]) && uri[most])
		most++;
	for (size_t k = most; close && k > 0; k--)
		if (match_template(close + 1, uri + k, n - k))
			return true;
	return false;
}

bool mcp_uri_matches(const char *template, struct bytes uri)
{
	return uri.n < 2048 && match_template(template, uri.p, uri.n);
}

bool mcp_uri_has(const char *template, struct bytes variable)
{
	for (const char *t = template; (t = strchr(t, '{')); t++) {
		const char *close = strchr(t, '}');

		if (close &&
		    bytes_equal((struct bytes){ t + 1, (size_t)(close - t - 1) }, variable))
			return true;
	}
	return false;
}
