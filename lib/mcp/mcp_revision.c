/* SPDX-License-Identifier: Apache-2.0 */
/* Which revision a message is in: what its body claims counts, and a header has to say the same. */
#include "lib/mcp/mcp_revision.h"

#include <string.h>

const struct mcp_revision mcp_revisions[] = {
	{ .name = "2026-07-28",
	  .stateless = true,
	  .annotations = true,
	  .structured = true,
	  .misuse_is_result = true,
	  .no_resource = MCP_INVALID_PARAMS },
	{ .name = "2025-11-25",
	  .annotations = true,
	  .structured = true,
	  .misuse_is_result = true,
	  .no_resource = MCP_NO_RESOURCE },
	{ .name = "2025-06-18",
	  .annotations = true,
	  .structured = true,
	  .no_resource = MCP_NO_RESOURCE },
	{ .name = "2025-03-26",
	  .batches = true,
	  .annotations = true,
	  .no_resource = MCP_NO_RESOURCE },
	{ .name = "2024-11-05", .batches = true, .no_resource = MCP_NO_RESOURCE },
	{ 0 },
};

const struct mcp_revision *mcp_revision_find(struct bytes name)
{
	for (const struct mcp_revision *r = mcp_revisions; r->name; r++)
		if (bytes_equal(name, bytes_of(r->name)))
			return r;
	return NULL;
}

const struct mcp_revision *mcp_revision_negotiate(struct bytes wanted)
{
	const struct mcp_revision *r = mcp_revision_find(wanted);

	return r && !r->stateless ? r : mcp_revision_find(bytes_of("2025-11-25"));
}

const struct mcp_revision *mcp_revision_default(void)
{
	return mcp_revision_find(bytes_of("2025-03-26"));
}

struct json mcp_revision_names(void)
{
	struct json names = json_array();

	for (const struct mcp_revision *r = mcp_revisions; r->name; r++)
		json_append(&names, json_text(r->name));
	return names;
}

static const char *const levels[] = { "debug", "info",	   "notice", "warning",
				      "error", "critical", "alert",  "emergency" };

int mcp_level_parse(struct bytes name)
{
	for (int i = 0; i < 8; i++)
		if (bytes_equal(name, bytes_of(levels[i])))
			return i;
	return -1;
}

const char *mcp_level_name(int level)
{
	return levels[level & 7];
}

static int fail_unsupported(struct bytes wanted, struct mcp_fault *f)
{
	mcp_fault_set(f, MCP_UNSUPPORTED_VERSION, "revision '%.*s' of the protocol is not spoken",
		      (int)(wanted.n < 64 ? wanted.n : 64), wanted.p);
	f->data = json_object();
	json_set(&f->data, "supported", mcp_revision_names());
	json_set(&f->data, "requested", json_string(wanted));
	return f->code;
}

static int fail_envelope(struct mcp_fault *f, const char *key, const char *problem)
{
	struct json issue = json_object();

	mcp_fault_set(f, MCP_INVALID_PARAMS,
		      "_meta, which every request has since 2026-07-28: %s %s", key, problem);
	json_set(&issue, "key", json_text(key));
	json_set(&issue, "problem", json_text(problem));
	f->data = json_object();
	json_set(&f->data, "envelope", issue);
	return f->code;
}

static bool is_client(struct json v)
{
	return json_type(v) == JSON_TYPE_OBJECT && mcp_get_text(v, "name").p &&
	       mcp_get_text(v, "version").p;
}

/* Of a request that claims a revision of its own. */
static int check_meta(struct json meta, struct json claim, struct mcp_fault *f)
{
	struct json capabilities = json_get(meta, MCP_META_CAPABILITIES);
	struct json client = json_get(meta, MCP_META_CLIENT),
		    level = json_get(meta, MCP_META_LEVEL);
	int rc = 0;

	if (json_type(claim) != JSON_TYPE_STRING)
		rc = fail_envelope(f, MCP_META_VERSION, "has to be a text");
	else if (!capabilities.is)
		rc = fail_envelope(f, MCP_META_CAPABILITIES, "is missing");
	else if (json_type(capabilities) != JSON_TYPE_OBJECT)
		rc = fail_envelope(f, MCP_META_CAPABILITIES, "has to be an object");
	else if (client.is && !is_client(client))
		rc = fail_envelope(f, MCP_META_CLIENT,
				   "has to be an object with a name and a version");
	else if (level.is && mcp_level_parse(json_bytes(level)) < 0)
		rc = fail_envelope(f, MCP_META_LEVEL, "has to be a level");
	json_free(capabilities);
	json_free(client);
	json_free(level);
	return rc;
}

static int fail_mismatch(struct mcp_fault *f, struct bytes header, struct bytes body)
{
	return mcp_fault_set(f, MCP_HEADER_MISMATCH,
			     "the header MCP-Protocol-Version says '%.*s', the body '%.*s'",
			     (int)(header.n < 40 ? header.n : 40), header.p,
			     (int)(body.n < 40 ? body.n : 40), body.p);
}

static int choose_by_meta(const struct mcp_message *m, struct json meta, struct json claim,
			  struct bytes header, const struct mcp_revision **out, struct mcp_fault *f)
{
	struct bytes name = json_bytes(claim);
	const struct mcp_revision *r;
	int rc = m->kind == MCP_REQUEST || !name.p ? check_meta(meta, claim, f) : 0;

	if (rc)
		return rc;
	if (header.p && !bytes_equal(header, name))
		return fail_mismatch(f, header, name);
	r = mcp_revision_find(name);
	if (!r || !r->stateless)
		return fail_unsupported(name, f);
	*out = r;
	return 0;
}

static int choose_by_header(const struct mcp_message *m, struct json meta, struct bytes header,
			    const struct mcp_revision *negotiated, const struct mcp_revision **out,
			    struct mcp_fault *f)
{
	const struct mcp_revision *r = header.p ? mcp_revision_find(header) : NULL;

	if (mcp_message_is(m, "initialize")) {
		if (r && r->stateless)
			return fail_mismatch(f, header, bytes_of("initialize"));
		*out = mcp_revision_default(); /* what it settles is in its params */
		return 0;
	}
	if (header.p && !r)
		return fail_unsupported(header, f);
	if (r && r->stateless && m->kind == MCP_REQUEST)
		return fail_envelope(f, meta.is ? MCP_META_VERSION : "_meta", "is missing");
	*out = r && r->stateless ? r : negotiated ? negotiated : r ? r : mcp_revision_default();
	return 0;
}

int mcp_revision_of_message(const struct mcp_message *m, struct bytes header,
			    const struct mcp_revision *negotiated, const struct mcp_revision **out,
			    struct mcp_fault *f)
{
	struct json meta = json_get(m->params, "_meta"), claim = json_get(meta, MCP_META_VERSION);
	int rc;

	if (claim.is)
		rc = choose_by_meta(m, meta, claim, header, out, f);
	else
		rc = choose_by_header(m, meta, header, negotiated, out, f);
	json_free(meta);
	json_free(claim);
	return rc;
}
