# SPDX-License-Identifier: Apache-2.0
#
# Fuzzers, for who has clang: `make fuzz-NAME` builds $(BUILD)/fuzz/NAME of tests/fuzz/NAME.c and says
# how to run it. They are not part of `make check`, which replays a corpus through the same code.

fuzz_lib := $(wildcard lib/base/*.c lib/model/*.c lib/event/*.c lib/world/*.c lib/ige/*.c lib/symbols/*.c lib/bundle/*.c lib/stat/*.c lib/filter/*.c \
	lib/clock/*.c lib/input/*.c lib/decode/*.c) lib/host/xid.c lib/host/pods.c \
	$(addprefix lib/export/,perfetto.c perfetto_packets.c chrome.c timeline.c tracks.c arrows.c event_args.c comm_ids.c step_slices.c) \
	$(wildcard lib/loops/*.c lib/attrib/*.c lib/gpustate/*.c) \
	$(addprefix lib/tracks/,loop_text.c loop_caller.c) \
	$(filter-out lib/mcp/mcp_http.c lib/mcp/mcp_headers.c,$(wildcard lib/mcp/mcp*.c)) \
	$(if $(HAVE_SQLITE),$(filter-out lib/compat/agent_options.c,$(wildcard lib/archive/*.c lib/compat/*.c)))
fuzz_flags := -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all $(ALL_CPPFLAGS)
fuzz_clang = $(if $(ccache),ccache )$(CLANG) $(fuzz_flags)

fuzz_libs := -lelf -lz -ljq -lm -ldl

# Targets that ask or are asked over a socket.
fuzz_net := $(filter-out $(if $(HAVE_CURL),lib/net/client_none.c,$(addprefix lib/net/,client.c curl_handle.c parallel_requests.c)) \
	$(if $(HAVE_MICROHTTPD),lib/net/server_none.c,$(addprefix lib/net/,server.c server_parse.c server_answer.c)) \
	$(if $(HAVE_GNUTLS),lib/net/cert_none.c,lib/net/cert.c),$(wildcard lib/net/*.c)) \
	lib/mcp/mcp_http.c lib/mcp/mcp_headers.c lib/mcp/sanitize_text.c lib/store/sketch_json.c lib/store/machine.c $(wildcard lib/fleet/fleet*.c)

# All of them, one after the other; each says how many inputs it tried, and ends at the first finding, which it keeps.
FUZZ_SECONDS ?= 600
fuzz_len := 20000
fuzz_len_archive := 150000
# Their seeds are made of formats/samples: from nothing, no mutation comes to an archive or to two recordings.
fuzz_seeded := archive merge
fuzz_targets := $(filter-out $(if $(HAVE_SQLITE),,archive),$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
.PHONY: fuzz
fuzz: $(fuzz_targets:%=$(BUILD)/fuzz/%) $(addprefix $(BUILD)/fuzz/seeds-,$(filter $(fuzz_targets),$(fuzz_seeded)))
	$(Q)for t in $(fuzz_targets); do \
		mkdir -p $(BUILD)/fuzz/corpus-$$t; \
		case $$t in archive) len=$(fuzz_len_archive);; *) len=$(fuzz_len);; esac; \
		$(BUILD)/fuzz/$$t -max_len=$$len -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(BUILD)/fuzz/$$t- -print_final_stats=1 \
			$(BUILD)/fuzz/corpus-$$t $$(ls -d tests/fuzz/corpus/$$t $(BUILD)/fuzz/seeds-$$t 2>/dev/null) >$(BUILD)/fuzz/$$t.log 2>&1 || \
			{ tail -30 $(BUILD)/fuzz/$$t.log >&2; exit 1; }; \
		echo "$$t: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(BUILD)/fuzz/$$t.log) inputs, nothing found"; \
	done

$(BUILD)/fuzz/seeds-%: tests/fuzz/seeds.py $(BUILD)/bin/ingero-export $(wildcard formats/samples/v1/*/*.ige)
	$(say) SEEDS $@
	$(Q)rm -rf $@ $@.new
	$(Q)python3 $< $* $@.new $(BUILD)/bin/ingero-export
	@mv $@.new $@

# That these files suffice is seen without clang too: `make check` links each target of the objects that are there in any case.
fuzz_links := $(if $(SAN),,$(fuzz_targets:%=$(BUILD)/tests/fuzz/%))
test_programs += $(fuzz_links)
$(addprefix $(BUILD)/tests/fuzz/,http fleet): fuzz_more = $(fuzz_net:%.c=$(BUILD)/%.o) $(net_libs)
$(addprefix $(BUILD)/tests/fuzz/,http fleet): $(fuzz_net:%.c=$(BUILD)/%.o)
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/once.h $(fuzz_lib:%.c=$(BUILD)/%.o) $(BUILD)/flags | required
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_CPPFLAGS) -include tests/fuzz/once.h $< $(fuzz_lib:%.c=$(BUILD)/%.o) $(fuzz_more) $(ALL_LDFLAGS) \
		$(if $(HAVE_SQLITE),-lsqlite3) $(fuzz_libs) -o $@

.PRECIOUS: $(BUILD)/fuzz/% $(BUILD)/fuzz/objects/%.o
fuzz-%: $(BUILD)/fuzz/%
	@echo "mkdir -p $(BUILD)/fuzz/corpus-$*; $(BUILD)/fuzz/$* -max_len=$(or $(fuzz_len_$*),$(fuzz_len)) -max_total_time=300 $(BUILD)/fuzz/corpus-$*"

# What the targets share is compiled once.
$(BUILD)/fuzz/objects/%.o: %.c $(if $(HAVE_SQLITE),$(BUILD)/formats/archive.sql.h)
	@mkdir -p $(@D)
	$(say) FUZZ $@
	$(Q)$(fuzz_clang) -MMD -MP -c $< -o $@

$(addprefix $(BUILD)/fuzz/,http fleet): fuzz_also = $(net_libs)
$(addprefix $(BUILD)/fuzz/,http fleet): $(fuzz_net:%.c=$(BUILD)/fuzz/objects/%.o)
fuzz_objects := $(fuzz_lib:%.c=$(BUILD)/fuzz/objects/%.o)
-include $(wildcard $(fuzz_objects:.o=.d))
$(BUILD)/fuzz/%: $(BUILD)/fuzz/objects/tests/fuzz/%.o $(fuzz_objects)
	$(say) LINK $@
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined $^ $(fuzz_also) $(if $(HAVE_SQLITE),-lsqlite3) $(fuzz_libs) -o $@
