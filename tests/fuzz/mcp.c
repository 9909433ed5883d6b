/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: messages of the Model Context Protocol, as any client may send them. The first
 * byte chooses the header that comes with it. Whatever comes, what goes back is JSON-RPC.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fuzz_call(void *ctx, const struct request_ctx *a, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	struct json op = json_get(args, "op");

	if (json_type(op) != JSON_TYPE_STRING) /* its schema says so */
		abort();
	json_free(op);
	a->progress(a, 1, 2, "half");
	a->log(a, REQUEST_LOG_ERROR, "said");
	if (a->should_stop(a))
		return err_set(e, ERR_INTERRUPTED, "stopped");
	buf_puts(&out->text, "called");
	return 0;
}

static int fuzz_get(void *ctx, struct json args, struct json *messages, struct err *e)
{
	*messages = json_array();
	return 0;
}

static int fuzz_read(void *ctx, const struct request_ctx *a, const char *uri, struct json *contents,
		     struct err *e)
{
	*contents = json_array();
	return 0;
}

static int fuzz_complete(void *ctx, const char *of, const char *argument, const char *value,
			 struct json context, struct json *values, struct err *e)
{
	json_append(values, json_text(value));
	return 0;
}

static const struct mcp_tool fuzz_tools[] = {
	{ .name = "t",
	  .input_schema =
		  "{\"type\":\"object\",\"properties\":{\"op\":{\"type\":\"string\",\"maxLength\":"
		  "9},"
		  "\"n\":{\"type\":[\"integer\",\"null\"],\"minimum\":0},\"l\":{\"type\":\"array\","
		  "\"items\":{\"enum\":[1,\"a\",{}]},\"maxItems\":3},\"o\":{\"oneOf\":[{\"type\":"
		  "\"object\",\"additionalProperties\":{\"type\":\"number\"}},{\"const\":false}]}},"
		  "\"required\":[\"op\"],\"additionalProperties\":false}",
	  .call = fuzz_call },
	{ 0 },
};
static const struct mcp_argument fuzz_arguments[] = { { "a", "one", true }, { 0 } };
static const struct mcp_prompt fuzz_prompts[] = {
	{ .name = "p", .arguments = fuzz_arguments, .get = fuzz_get },
	{ 0 },
};
static const struct mcp_resource fuzz_resources[] = {
	{ .uri = "x://y", .name = "y", .read = fuzz_read },
	{ .uri = "x://{a}/b/{c}", .name = "z", .is_template = true, .read = fuzz_read },
	{ 0 },
};

static void fuzz_is_message(struct bytes text)
{
	struct json v = JSON_NONE;

	if (json_parse(text, &v, NULL))
		abort();
	for (size_t i = 0; i < (json_type(v) == JSON_TYPE_ARRAY ? json_length(v) : 1); i++) {
		struct json one = json_type(v) == JSON_TYPE_ARRAY ? json_at(v, i) : v;

		if (!bytes_equal(mcp_get_text(one, "jsonrpc"), bytes_of("2.0")))
			abort();
		if (json_type(v) == JSON_TYPE_ARRAY)
			json_free(one);
	}
	json_free(v);
}

static void fuzz_send(void *ctx, struct bytes message)
{
	fuzz_is_message(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mcp_catalog catalog = { .name = "fuzz",
						    .version = "1",
						    .tools = fuzz_tools,
						    .prompts = fuzz_prompts,
						    .resources = fuzz_resources,
						    .complete = fuzz_complete,
						    .page = 1 };
	static const char *const versions[] = { NULL, "2026-07-28", "2025-03-26", "x" };
	struct mcp_transport transport = { .send = fuzz_send };
	struct mcp_session *s = mcp_session_new();
	struct buf out = { 0 };

	if (size && s) {
		transport.version = bytes_of(versions[data[0] % 4]);
		mcp_answer_text(&catalog, s, &transport,
				(struct bytes){ (const char *)data + 1, size - 1 }, &out);
		if (out.n)
			fuzz_is_message(buf_bytes(&out));
	}
	buf_free(&out);
	mcp_session_unref(s);
	return 0;
}
