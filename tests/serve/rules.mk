# SPDX-License-Identifier: Apache-2.0
#
# Servers for tests: listeners of lib/api and a node of a fleet, with handlers that a test knows.

serve_programs := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/serve/*.c))
test_programs += $(if $(HAVE_MICROHTTPD),$(serve_programs))

$(serve_programs): $(BUILD)/tests/serve/%: $(BUILD)/tests/serve/%.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(net_libs) $(LIBS) -o $@

-include $(wildcard $(serve_programs:=.d))

# Both servers under a mixed load for so many seconds, over TLS: no request may fail, and memory has to stay.
SOAK_SECONDS ?= 600
.PHONY: soak-serve
soak-serve: all
	$(Q)BUILD=$(BUILD) tests/soak/serve.sh $(SOAK_SECONDS)
