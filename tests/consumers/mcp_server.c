/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product's own protocol room over a table of things that only tests want: what the official
 * conformance suites call, and tools that wait, fail, stream and are cancelled. mcp_server [--http
 * ADDRESS] [--plain 1] [--page N] [--calls N] [--waiting N]
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/mcp/mcp_http.h"
#include "lib/mcp/mcp_stdio.h"

#define NOTHING "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
/* One red pixel, and a WAV without a sample. */
#define PNG                                                                                        \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5E" \
	"rkJggg=="
#define WAV   "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define RESOURCE                                                                                  \
	"{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":" \
	"\"text/plain\",\"text\":\"This is an embedded resource content.\"}}"

static void wait_ms(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

static struct json parsed(const char *text)
{
	struct json v = JSON_NONE;

	if (json_parse(bytes_of(text), &v, NULL))
		abort();
	return v;
}

/* ---- tools ---- */

static int simple_text(void *ctx, const struct request_ctx *a, struct json args,
		       struct mcp_reply *out, struct err *e)
{
	buf_puts(&out->text, "This is a simple text response for testing.");
	return 0;
}

static int image(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		 struct err *e)
{
	out->content = parsed("[" IMAGE "]");
	return 0;
}

static int audio(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		 struct err *e)
{
	out->content =
		parsed("[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]");
	return 0;
}

static int embedded(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		    struct err *e)
{
	out->content = parsed("[" RESOURCE "]");
	return 0;
}

static int mixed(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		 struct err *e)
{
	buf_puts(&out->text, "Multiple content types test:");
	out->content = parsed("[" IMAGE "," RESOURCE "]");
	return 0;
}

static int failing(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		   struct err *e)
{
	return err_set(e, ERR_CANNOT, "This tool intentionally returns an error for testing");
}

static int logging(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		   struct err *e)
{
	a->log(a, REQUEST_LOG_INFO, "Tool execution started");
	wait_ms(50);
	a->log(a, REQUEST_LOG_INFO, "Tool processing data");
	wait_ms(50);
	a->log(a, REQUEST_LOG_INFO, "Tool execution completed");
	buf_puts(&out->text, "logged");
	return 0;
}

static int progressing(void *ctx, const struct request_ctx *a, struct json args,
		       struct mcp_reply *out, struct err *e)
{
	for (int i = 0; i <= 100; i += 50) {
		a->progress(a, i, 100, i ? "on the way" : NULL);
		if (i < 100)
			wait_ms(50);
	}
	buf_puts(&out->text, "done");
	return 0;
}

/* Until it is cancelled, or for so long. */
static int waiting(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		   struct err *e)
{
	struct json ms = json_get(args, "ms");
	double left = json_double(ms, 0);

	json_free(ms);
	a->progress(a, 1, 0, "waiting");
	for (; left > 0 && !a->should_stop(a); left -= 5)
		wait_ms(5);
	if (left > 0)
		return err_set(e, ERR_INTERRUPTED, "stopped");
	buf_puts(&out->text, "waited");
	return 0;
}

/* What it was given, structured. */
static int echo(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		struct err *e)
{
	struct json key, value;

	out->structured = json_object();
	for (int at = 0; json_each(args, &at, &key, &value);) {
		json_set(&out->structured, json_bytes(key).p, value);
		json_free(key);
	}
	return 0;
}

/* An error that no schema could have said. */
static int misused(void *ctx, const struct request_ctx *a, struct json args, struct mcp_reply *out,
		   struct err *e)
{
	return err_set(e, ERR_USAGE, "no operation 'cudaNothing'");
}

static const char echo_schema[] =
	"{\"type\":\"object\",\"properties\":{\"op\":{\"type\":\"string\",\"minLength\":1,"
	"\"maxLength\":20},"
	"\"top\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100},"
	"\"pids\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":1},\"maxItems\":"
	"4},"
	"\"by\":{\"enum\":[\"op\",\"thread\"]},\"deep\":{\"type\":\"boolean\"},"
	"\"since\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\",\"exclusiveMinimum\":0}]}"
	"},"
	"\"required\":[\"op\"],\"additionalProperties\":false}";

static const char rich_schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/"
	"schema\",\"type\":\"object\",\"$defs\":{"
	"\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{"
	"\"type\":"
	"\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":"
	"\"string\"},"
	"\"address\":{\"$ref\":\"#/$defs/"
	"address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":"
	"[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{"
	"\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]}"
	","
	"\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
	"\"additionalProperties\":false}";

static const char wait_schema[] =
	"{\"type\":\"object\",\"properties\":{\"ms\":{\"type\":\"number\",\"minimum\":0}}}";

static struct mcp_tool tools[] = {
	{ .name = "test_simple_text",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = simple_text },
	{ .name = "test_image_content",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = image },
	{ .name = "test_audio_content",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = audio },
	{ .name = "test_embedded_resource",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = embedded },
	{ .name = "test_multiple_content_types",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = mixed },
	{ .name = "test_tool_with_logging",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = logging },
	{ .name = "test_logging_tool",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = logging },
	{ .name = "test_error_handling",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = failing },
	{ .name = "test_tool_with_progress",
	  .description = "For tests",
	  .input_schema = NOTHING,
	  .call = progressing },
	{ .name = "wait", .description = "For tests", .input_schema = wait_schema, .call = waiting },
	{ .name = "echo",
	  .title = "Echo",
	  .description = "What it was given",
	  .input_schema = echo_schema,
	  .output_schema = "{\"type\":\"object\",\"properties\":{\"op\":{\"type\":\"string\"}},"
			   "\"required\":[\"op\"]}",
	  .call = echo },
	{ .name = "misuse", .description = "For tests", .input_schema = NOTHING, .call = misused },
	/* Its schema has words that strict readers of schemas do not know: left out by --plain. */
	{ .name = "json_schema_2020_12_tool",
	  .description = "For tests",
	  .input_schema = rich_schema,
	  .call = echo },
	{ 0 },
};

/* ---- prompts ---- */

static struct json message(struct json content)
{
	struct json m = json_object();

	json_set(&m, "role", json_text("user"));
	json_set(&m, "content", content);
	return m;
}

static struct json text(const char *words)
{
	struct json c = json_object();

	json_set(&c, "type", json_text("text"));
	json_set(&c, "text", json_text(words));
	return c;
}

static int simple_prompt(void *ctx, struct json args, struct json *messages, struct err *e)
{
	*messages = json_array();
	json_append(messages, message(text("This is a simple prompt for testing.")));
	return 0;
}

static int prompt_with_arguments(void *ctx, struct json args, struct json *messages, struct err *e)
{
	struct json one = json_get(args, "arg1"), two = json_get(args, "arg2");
	struct buf words = { 0 };

	buf_printf(&words, "Prompt with arguments: arg1='%s', arg2='%s'", json_bytes(one).p,
		   json_bytes(two).p);
	*messages = json_array();
	json_append(messages, message(text(buf_text(&words))));
	buf_free(&words);
	json_free(one);
	json_free(two);
	return 0;
}

static int prompt_with_resource(void *ctx, struct json args, struct json *messages, struct err *e)
{
	struct json c = parsed("{\"type\":\"resource\"}"), r = json_object();

	json_set(&r, "uri", json_get(args, "resourceUri"));
	json_set(&r, "mimeType", json_text("text/plain"));
	json_set(&r, "text", json_text("Embedded resource content for testing."));
	json_set(&c, "resource", r);
	*messages = json_array();
	json_append(messages, message(c));
	json_append(messages, message(text("Please process the embedded resource above.")));
	return 0;
}

static int prompt_with_image(void *ctx, struct json args, struct json *messages, struct err *e)
{
	*messages = json_array();
	json_append(messages, message(parsed(IMAGE)));
	json_append(messages, message(text("Please analyze the image above.")));
	return 0;
}

static const struct mcp_argument two_arguments[] = {
	{ "arg1", "First test argument", true },
	{ "arg2", "Second test argument", true },
	{ 0 },
};
static const struct mcp_argument uri_argument[] = {
	{ "resourceUri", "URI of the resource to embed", true },
	{ 0 },
};

static const struct mcp_prompt prompts[] = {
	{ .name = "test_simple_prompt", .description = "Simple", .get = simple_prompt },
	{ .name = "test_prompt_with_arguments",
	  .title = "Two arguments",
	  .description = "With arguments",
	  .arguments = two_arguments,
	  .get = prompt_with_arguments },
	{ .name = "test_prompt_with_embedded_resource",
	  .description = "With a resource",
	  .arguments = uri_argument,
	  .get = prompt_with_resource },
	{ .name = "test_prompt_with_image",
	  .description = "With an image",
	  .get = prompt_with_image },
	{ 0 },
};

/* ---- resources ---- */

static int contents_of(struct json *contents, const char *uri, const char *mime, const char *key,
		       const char *value)
{
	struct json one = json_object();

	json_set(&one, "uri", json_text(uri));
	json_set(&one, "mimeType", json_text(mime));
	json_set(&one, key, json_text(value));
	*contents = json_array();
	json_append(contents, one);
	return 0;
}

static int static_text(void *ctx, const struct request_ctx *a, const char *uri,
		       struct json *contents, struct err *e)
{
	return contents_of(contents, uri, "text/plain", "text",
			   "This is the content of the static text resource.");
}

static int static_binary(void *ctx, const struct request_ctx *a, const char *uri,
			 struct json *contents, struct err *e)
{
	return contents_of(contents, uri, "image/png", "blob", PNG);
}

static int template_data(void *ctx, const struct request_ctx *a, const char *uri,
			 struct json *contents, struct err *e)
{
	const char *id = uri + strlen("test://template/");
	int n = (int)strcspn(id, "/");
	char data[256];

	if (n > 60)
		return err_set(e, ERR_USAGE, "no such id");
	snprintf(data, sizeof(data),
		 "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}", n, id, n,
		 id);
	return contents_of(contents, uri, "application/json", "text", data);
}

static const struct mcp_resource resources[] = {
	{ .uri = "test://static-text",
	  .name = "static-text",
	  .title = "Text",
	  .mime = "text/plain",
	  .read = static_text },
	{ .uri = "test://static-binary",
	  .name = "static-binary",
	  .mime = "image/png",
	  .read = static_binary },
	{ .uri = "test://template/{id}/data",
	  .name = "template",
	  .mime = "application/json",
	  .is_template = true,
	  .read = template_data },
	{ 0 },
};

static int complete(void *ctx, const char *of, const char *argument, const char *value,
		    struct json context, struct json *values, struct err *e)
{
	if (strcmp(value, "many") == 0)
		for (int i = 0; i < 150; i++)
			json_append(values, json_text("many"));
	if (strncmp("testing", value, strlen(value)) == 0)
		json_append(values, json_text("testing"));
	return 0;
}

/* ---- the server ---- */

static int stop_pipe[2];

static void on_signal(int number)
{
	if (write(stop_pipe[1], "", 1) < 0)
		_exit(1);
}

static void handle(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	if (!strcmp(call->path, MCP_PATH))
		mcp_http_answer(ctx, call, reply);
	else
		reply->status = 404;
}

static int serve_http(const struct mcp_catalog *catalog, const char *address, struct err *e)
{
	const struct net_access_check guard = { 0 };
	const struct net_server_options opt = { .address = address,
						.body_max = MCP_HTTP_BODY_MAX,
						.threads_max = 16,
						.guard = &guard };
	struct pollfd end = { .fd = stop_pipe[0], .events = POLLIN };
	struct net_server *s = NULL;
	struct mcp_http *h;
	int rc = mcp_http_new(&h, catalog, 60000000000, e);

	rc = rc ? rc : net_server_start(&s, &opt, handle, h, e);
	if (!rc) {
		printf("http://%s%s\n", net_server_address(s), MCP_PATH);
		fflush(stdout);
		while (poll(&end, 1, -1) < 0)
			;
	}
	net_server_stop(s);
	mcp_http_free(h);
	return rc;
}

int main(int argc, char **argv)
{
	struct mcp_catalog catalog = { .name = "ingero-test",
				       .title = "Fixtures",
				       .version = "1",
				       .instructions = "For tests.",
				       .tools = tools,
				       .prompts = prompts,
				       .resources = resources,
				       .complete = complete };
	struct mcp_stdio io = { .in = 0, .out = 1 };
	const char *http = NULL;
	struct err e = { 0 };
	int rc;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--http"))
			http = argv[i + 1];
		else if (!strcmp(argv[i], "--plain"))
			tools[sizeof(tools) / sizeof(tools[0]) - 2].name = NULL;
		else if (!strcmp(argv[i], "--page"))
			catalog.page = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--calls"))
			io.calls_max = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--waiting"))
			io.waiting_max = (unsigned)strtoul(argv[i + 1], NULL, 10);
	}
	if (pipe(stop_pipe))
		return 1;
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	io.stop = stop_pipe[0];
	rc = http ? serve_http(&catalog, http, &e) : mcp_stdio_serve(&catalog, &io, &e);
	if (rc && rc != ERR_CLOSED)
		fprintf(stderr, "mcp_server: %s\n", e.text);
	return rc && rc != ERR_CLOSED;
}
