/* SPDX-License-Identifier: Apache-2.0 */
/* Mcp-Method and Mcp-Name against the body; values that no header can carry come as base64. */
#include "lib/mcp/mcp_internal.h"

#include <string.h>

#define OPEN  "=?base64?"
#define CLOSE "?="

static int decode_sextet(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* Whole groups of four with padding, as RFC 4648 has them. */
static bool decode_base64(struct bytes text, struct buf *out)
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
			int v = k >= 4 - pad ? 0 : decode_sextet(p[k]);

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

struct bytes mcp_get_header(const struct net_call *call, const char *name)
{
	struct bytes value = bytes_of(net_call_header(call, name));

	for (; value.n && strchr(" \t", *value.p); value.n--)
		value.p++;
	while (value.n && strchr(" \t", value.p[value.n - 1]))
		value.n--;
	return value;
}

bool mcp_header_decode(struct bytes value, struct buf *out)
{
	size_t open = strlen(OPEN), close = strlen(CLOSE);

	if (value.n >= open + close && !memcmp(value.p, OPEN, open) &&
	    !memcmp(value.p + value.n - close, CLOSE, close))
		return decode_base64((struct bytes){ value.p + open, value.n - open - close }, out);
	buf_add(out, value.p, value.n);
	return true;
}

/* Part of a message: so much of a text. */
#define SHOWN(text) (int)((text).n < 100 ? (text).n : 100), (text).p ? (text).p : ""

static int check_name(const struct net_call *call, struct bytes name, struct mcp_fault *f)
{
	struct bytes header = mcp_get_header(call, "Mcp-Name");
	struct buf value = { 0 };
	int rc = 0;

	if (!header.p)
		return mcp_fault_set(f, MCP_HEADER_MISMATCH, "the header Mcp-Name is missing");
	if (!mcp_header_decode(header, &value))
		rc = mcp_fault_set(f, MCP_HEADER_MISMATCH, "the header Mcp-Name is no base64");
	else if (!bytes_equal(buf_bytes(&value), name))
		rc = mcp_fault_set(f, MCP_HEADER_MISMATCH,
				   "the header Mcp-Name says '%.*s', the body '%.*s'",
				   SHOWN(header), SHOWN(name));
	buf_free(&value);
	return rc;
}

int mcp_headers_check(const struct net_call *call, const struct mcp_message *m, struct mcp_fault *f)
{
	struct bytes method = mcp_get_header(call, "Mcp-Method");
	struct bytes name = { 0 }, said = json_bytes(m->method);

	if (!mcp_get_header(call, "MCP-Protocol-Version").p)
		return mcp_fault_set(f, MCP_HEADER_MISMATCH,
				     "the header MCP-Protocol-Version is missing");
	if (!method.p)
		return mcp_fault_set(f, MCP_HEADER_MISMATCH, "the header Mcp-Method is missing");
	if (!bytes_equal(method, said))
		return mcp_fault_set(f, MCP_HEADER_MISMATCH,
				     "the header Mcp-Method says '%.*s', the body '%.*s'",
				     SHOWN(method), SHOWN(said));
	if (mcp_message_is(m, "tools/call") || mcp_message_is(m, "prompts/get"))
		name = mcp_get_text(m->params, "name");
	else if (mcp_message_is(m, "resources/read"))
		name = mcp_get_text(m->params, "uri");
	return name.p ? check_name(call, name, f) : 0;
}
