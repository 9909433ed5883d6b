# SPDX-License-Identifier: Apache-2.0
#
# Real GPU programs under the recorder, on the double's libraries (make double-real). `make check` runs those that take seconds,
# `make check-real` all of PyTorch and llama.cpp, `make check-real-all` vLLM, too, which takes minutes and 9 GB to install.

# Where the programs are installed: several builds and checkouts may share one folder.
REAL ?= $(BUILD)/real
export REAL
real_quick := $(addprefix tests/real/,torch_attached.t torch_crash.t torch.t llama.t bad_input.t install.t)
real_long := $(wildcard tests/real/vllm*.t)
run_real = REAL=$(abspath $(REAL)) $(call run_tests,$(1))
install_real = INSTALL=$(INSTALL) tests/real/install $(REAL) $(1)

# Small programs that do what no real one does as much of; the runtime that they are linked to is the double's.
real_work := $(BUILD)/real-work
real_flags = -O2 -g -std=gnu11 -D_GNU_SOURCE -pthread $(WARN) -I.
real_runtime := $(BUILD)/double-real/cuda13/libcudart.so.13
real_clients := $(addprefix $(real_work)/,kernels reopen libplugin-first.so libplugin-second.so)

.PHONY: real-quick check-real check-real-all demo-torch
# A prerequisite that comes first: it waits for a network while others compile. Without BPF nothing of it could be recorded.
real-quick:
	$(Q)$(if $(HAVE_BPF),$(call install_real,torch llama llama12),:)

check-real: real-quick tests double-real $(real_clients)
	$(Q)$(call install_real,triton)
	$(Q)$(call run_real,$(filter-out $(real_long),$(call suite,real)))

check-real-all: real-quick tests double-real $(real_clients)
	$(Q)$(call install_real,triton vllm)
	$(Q)$(call run_real,$(call suite,real))

demo-torch: all double-real
	@BUILD=$(BUILD) REAL=$(REAL) INSTALL=$(INSTALL) tests/real/demo.sh

$(real_work)/kernels: tests/real/work/kernels.c tests/real/work/cudart.h $(real_runtime)
	@mkdir -p $(@D)
	$(say) REAL $@
	$(Q)$(CC) $(real_flags) -o $@ $< $(real_runtime)

$(real_work)/reopen: tests/real/work/reopen.c
	@mkdir -p $(@D)
	$(say) REAL $@
	$(Q)$(CC) $(real_flags) -o $@ $< -ldl

plugin_first := _Z5firstPf
plugin_second := _Z6secondPf
$(real_work)/libplugin-%.so: tests/real/work/plugin.c tests/real/work/cudart.h $(real_runtime)
	@mkdir -p $(@D)
	$(say) REAL $@
	$(Q)$(CC) $(real_flags) -DPLUGIN_KERNEL='"$(plugin_$*)"' -fPIC -shared -o $@ $< $(real_runtime)
