/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target mcp over mutations of messages of every method, in every revision. */
#include "tests/fuzz/mcp.c"

#include "tests/fuzz/bytes.h"
#include "tests/tap.h"

#define META                                                          \
	"\"_meta\":{\"io.modelcontextprotocol/"                       \
	"protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/" \
	"clientCapabilities\":{},\"io.modelcontextprotocol/"          \
	"logLevel\":\"debug\",\"progressToken\":1}"
#define ASK(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL "\"name\":\"t\",\"arguments\":{\"op\":\"x\",\"n\":3,\"l\":[1,{}],\"o\":{\"k\":1.5}}"

/* The header's number, then the message. */
static const char *const seeds[] = {
	"0" ASK("1", "initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}"),
	"1" ASK("\"a\"", "tools/call", CALL "," META),
	"0" ASK("2", "tools/call", CALL ",\"_meta\":{\"progressToken\":\"p\"}"),
	"1" ASK("3", "server/discover", META),
	"2" ASK("4", "tools/list", "\"cursor\":\"1\""),
	"0" ASK("5", "prompts/get", "\"name\":\"p\",\"arguments\":{\"a\":\"b\"}"),
	"1" ASK("6", "resources/read", "\"uri\":\"x://1/b/2\"," META),
	"0" ASK("7", "completion/complete",
		"\"ref\":{\"type\":\"ref/resource\",\"uri\":\"x://{a}/b/{c}\"},\"argument\":{"
		"\"name\":\"c\",\"value\":\"v\"},\"context\":{\"arguments\":{\"a\":\"1\"}}"),
	"0" ASK("8", "logging/setLevel", "\"level\":\"debug\""),
	"2[" ASK("9", "ping", "") "," ASK("10", "tools/call", CALL) ",1]",
	"0{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
	"cancelled\",\"params\":{\"requestId\":1}}",
	"3" ASK("11", "resources/templates/list", ""),
};
#define SEEDS (sizeof(seeds) / sizeof(seeds[0]))

int main(int argc, char **argv)
{
	unsigned round;

	for (size_t i = 0; i < SEEDS; i++) {
		struct buf b = { 0 };

		buf_puts(&b, seeds[i]);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	for (round = 0; round < REPLAY_ROUNDS; round++) {
		struct buf b = { 0 };

		buf_puts(&b, seeds[replay_below(SEEDS)]);
		for (unsigned m = replay_below(6); m > 0 && b.n; m--)
			replay_mutate(&b);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, REPLAY_ROUNDS, "mutated messages, beginning with %zu", SEEDS);
	return tap_done();
}
