# SPDX-License-Identifier: Apache-2.0
#
# Benchmarks that are programs: tests/bench/NAME.c, run by tests/bench/NAME.sh. `make bench
# NAMES='ige.* stat.*'` runs those with figures of such names.

bench_programs := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
NAMES ?=
export NAMES

bench: $(bench_programs)

$(bench_programs): $(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(LIBS) -o $@

-include $(wildcard $(BUILD)/tests/bench/*.d)
