# SPDX-License-Identifier: Apache-2.0
#
# A server of the Model Context Protocol with fixtures, for clients and suites that other people wrote; the current ClickHouse as a
# library (half a gigabyte of npm's), for who has no such server.

test_programs += $(BUILD)/tests/consumers/mcp_server

$(BUILD)/tests/consumers/mcp_server: $(BUILD)/tests/consumers/mcp_server.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(net_libs) $(LIBS) -o $@

.PHONY: chdb
chdb:
	@mkdir -p $(BUILD)/chdb
	$(Q)npm install --silent --no-audit --no-fund --prefix $(BUILD)/chdb chdb@3.4.0

-include $(wildcard $(BUILD)/tests/consumers/*.d)
