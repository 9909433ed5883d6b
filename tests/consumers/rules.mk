# SPDX-License-Identifier: Apache-2.0
#
# A server of the Model Context Protocol with fixtures, for clients and suites that other people wrote.

test_programs += $(BUILD)/tests/consumers/mcp_server

$(BUILD)/tests/consumers/mcp_server: $(BUILD)/tests/consumers/mcp_server.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(net_libs) $(LIBS) -o $@

-include $(wildcard $(BUILD)/tests/consumers/*.d)
