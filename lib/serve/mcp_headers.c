/* SPDX-License-Identifier: Apache-2.0 */
/* Mcp-Method and Mcp-Name against the body; values that no header can carry come as base64. */
#include "lib/serve/mcp_headers.h"

#include <string.h>

#define OPEN  "=?base64?"
#define CLOSE "?="

static int sextet(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* Whole groups of four with padding, as RFC 4648 has them. */
static bool decode64(struct bytes text, struct buf *out)
{
	if (text.n % 4)
		return false;
	for (size_t i = 0; i < text.n; i += 4) {
		const char *p = text.p + i;
		bool last = i + 4 == text.n;
		unsigned pad = last && p[3] == '=' ? p[2] == '=' ? 2 : 1 : 0;
		unsigned bits = 0;
		char bytes[3];

		for (unsigned k = 0; k < 4; k++) {
			int v = k >= 4 - pad ? 0 : sextet(p[k]);

			if (v < 0)
				return false;
			bits = bits << 6 | (unsigned)v;
		}
		for (unsigned k = 0; k < 3; k++)
			bytes[k] = (char)(bits >> (16 - 8 * k));
		buf_add(out, bytes, 3 - pad);
	}
	return true;
}

bool mcp_header_decode(const char *value, struct buf *out)
{
	size_t n = strlen(value), open = strlen(OPEN), close = strlen(CLOSE);

	if (n >= open + close && !memcmp(value, OPEN, open) &&
	    !memcmp(value + n - close, CLOSE, close))
		return decode64((struct bytes){ value + open, n - open - close }, out);
	buf_add(out, value, n);
	return true;
}

static int check_name(const struct net_call *call, struct bytes name, struct mcp_fault *f)
{
	const char *header = net_call_header(call, "Mcp-Name");
	struct buf value = { 0 };
	int rc = 0;

	if (!header)
		return mcp_fault_set(f, MCP_HEADER_MISMATCH, "the header Mcp-Name is missing");
	if (!mcp_header_decode(header, &value))
		rc = mcp_fault_set(f, MCP_HEADER_MISMATCH, "the header Mcp-Name is no base64");
	else if (!bytes_equal(buf_bytes(&value), name))
		rc = mcp_fault_set(f, MCP_HEADER_MISMATCH,
				   "the header Mcp-Name says '%.100s', the body '%.*s'",
				   buf_text(&value), (int)(name.n < 100 ? name.n : 100), name.p);
	buf_free(&value);
	return rc;
}

int mcp_headers_check(const struct net_call *call, const struct mcp_message *m, struct mcp_fault *f)
{
	const char *method = net_call_header(call, "Mcp-Method");
	struct bytes name = { 0 }, said = json_bytes(m->method);

	if (!net_call_header(call, "MCP-Protocol-Version"))
		return mcp_fault_set(f, MCP_HEADER_MISMATCH,
				     "the header MCP-Protocol-Version is missing");
	if (!method)
		return mcp_fault_set(f, MCP_HEADER_MISMATCH, "the header Mcp-Method is missing");
	if (!bytes_equal(bytes_of(method), said))
		return mcp_fault_set(f, MCP_HEADER_MISMATCH,
				     "the header Mcp-Method says '%.100s', the body '%.*s'", method,
				     (int)(said.n < 100 ? said.n : 100), said.p);
	if (mcp_message_is(m, "tools/call") || mcp_message_is(m, "prompts/get"))
		name = mcp_text(m->params, "name");
	else if (mcp_message_is(m, "resources/read"))
		name = mcp_text(m->params, "uri");
	return name.p ? check_name(call, name, f) : 0;
}
