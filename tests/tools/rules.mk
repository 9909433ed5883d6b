# SPDX-License-Identifier: Apache-2.0
#
# Programs that show what a room of the library makes of a recording, for tests and for people who work on it.

tool_programs := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/tools/*.c))
test_programs += $(tool_programs)

$(tool_programs): $(BUILD)/tests/tools/%: $(BUILD)/tests/tools/%.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(LIBS) -o $@

-include $(wildcard $(tool_programs:=.d))
