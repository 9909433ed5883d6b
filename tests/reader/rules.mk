# SPDX-License-Identifier: Apache-2.0
#
# The product's own reader as lines of JSON, for tests that compare it with another one.

test_programs += $(BUILD)/tests/reader/ige_reader

$(BUILD)/tests/reader/ige_reader: $(BUILD)/tests/reader/ige_reader.o $(BUILD)/tests/reader/make.o \
		$(BUILD)/tests/reader/pack.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(filter %.o,$^) $(BUILD)/libingero.a $(ALL_LDFLAGS) $(LIBS) -o $@

-include $(wildcard $(BUILD)/tests/reader/*.d)
