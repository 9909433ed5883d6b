# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong on a machine: `make faults` tries it at every place, which takes an hour; `make check` at a few.

fault_tools := $(BUILD)/tests/fault/inject $(BUILD)/tests/fault/nomem.so
test_programs += $(fault_tools)

# Never sanitized: they stand beside programs that are.
$(BUILD)/tests/fault/inject: tests/fault/inject.c tests/fault/rules.mk
	@mkdir -p $(@D)
	$(say) FAULT $@
	$(Q)$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE $(WARN) -o $@ $<

$(BUILD)/tests/fault/nomem.so: tests/fault/nomem.c tests/fault/rules.mk
	@mkdir -p $(@D)
	$(say) FAULT $@
	$(Q)$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -fPIC -shared $(WARN) -o $@ $< -ldl

.PHONY: faults
faults: tests
	$(Q)FAULTS=all $(call run_tests,-- $(call suite,fault))
