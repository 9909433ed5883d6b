# SPDX-License-Identifier: Apache-2.0
#
# `make analyze`: clang-tidy over every file of the library, the programs and the kernel side, one by one and again only what
# has changed; then cppcheck over all of them. What is asked stands in analyze.checks and analyze.cppcheck.

.PHONY: analyze analyze-tidy analyze-cppcheck
analyze_src := $(lib_src) $(cmd_src)
analyze_marks := $(patsubst %.c,$(BUILD)/analyze/%.tidy,$(analyze_src) $(bpf_src))
analyze_checks := tests/lint/analyze.checks
analyze_flags = -std=gnu11 -D_GNU_SOURCE $(ALL_CPPFLAGS) $(bpf_flags) -DINGERO_VERSION='"$(VERSION)"'

analyze: all
	@lacks=; for t in clang-tidy cppcheck; do command -v $$t >/dev/null || lacks=1; done; [ -z "$$lacks" ] || \
		( $(call install_packages,clang-tidy cppcheck) )
	$(Q)$(MAKE) --no-print-directory -k analyze-tidy analyze-cppcheck && echo "nothing found"

analyze-tidy: $(analyze_marks)

# "-*,+…,-…", of the lines that ask and those that do not.
analyze_ask = $$(sed -n 's/^+//p; s/^\(-[^	]*\)	..*/\1/p' $(analyze_checks) | paste -sd,)

# $(1): how the file is compiled
tidy = clang-tidy --quiet --warnings-as-errors='*' --header-filter='(lib|cmd|bpf)/.*[.]h$$' --checks="-*,$(analyze_ask)" $< -- $(1) \
	>$@.log 2>&1 || { grep -v ' warnings* ' $@.log >&2; rm -f $@; exit 1; }; rm $@.log; touch $@

$(BUILD)/analyze/%.bpf.tidy: %.bpf.c $(BUILD)/%.bpf.o $(analyze_checks) tests/lint/rules.mk
	@mkdir -p $(@D)
	$(say) TIDY $<
	$(Q)$(call tidy,$(BPF_CFLAGS))

# The file that says what an error is, is not told.
$(BUILD)/analyze/%.tidy: %.c $(BUILD)/%.o $(analyze_checks) tests/lint/analyze.h tests/lint/rules.mk
	@mkdir -p $(@D)
	$(say) TIDY $<
	$(Q)$(call tidy,$(analyze_flags) $(if $(filter lib/base/err.c,$<),,-include tests/lint/analyze.h))

# It does not read headers of libbpf.
analyze_libbpf := '-DLIBBPF_OPTS(type,name,...)=struct type name = { __VA_ARGS__ }'
analyze-cppcheck:
	@mkdir -p $(BUILD)/analyze/cppcheck
	$(say) CPPCHECK 'lib cmd'
	$(Q)cppcheck --quiet -j$$(nproc) --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--suppressions-list=tests/lint/analyze.cppcheck --cppcheck-build-dir=$(BUILD)/analyze/cppcheck \
		$(filter -D%,$(analyze_flags)) $(analyze_libbpf) -I. -I$(BUILD) $(analyze_src)
