# SPDX-License-Identifier: Apache-2.0
#
# Benchmarks that are programs: tests/bench/NAME.c, run by tests/bench/NAME.sh. `make bench
# NAMES='ige.* stat.*'` runs those with figures of such names. Real programs (real.*) are those that `make check-real-all` installs.

bench_src := $(filter-out %.bpf.c $(if $(skeleton),,tests/bench/cost_%.c),$(wildcard tests/bench/*.c))
bench_programs := $(bench_src:%.c=$(BUILD)/%)
NAMES ?=
export NAMES

bench: $(bench_programs) $(if $(skeleton),double double-real)

$(BUILD)/tests/bench/cost.bpf.skel.h: $(BUILD)/tests/bench/cost.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name cost_bpf >$@.new && mv $@.new $@

$(patsubst %,$(BUILD)/tests/bench/%.o,cost_calls cost_sched cost_python cost_unwind): $(if $(skeleton),$(BUILD)/tests/bench/cost.bpf.skel.h)

$(bench_programs): $(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(LIBS) -o $@

-include $(wildcard $(BUILD)/tests/bench/*.d)
