# SPDX-License-Identifier: Apache-2.0
#
# The CUDA double: $(BUILD)/double/ holds the libraries and the workloads. Never sanitized: its
# libraries are loaded into programs that are not, such as python3.

double_dir := $(BUILD)/double
double_soflags := -O2 -g -std=gnu11 -D_GNU_SOURCE -fPIC -fno-omit-frame-pointer -fvisibility=hidden \
	$(if $(filter x86_64,$(machine)),-fcf-protection=none) -pthread $(WARN) -I.
double_workflags := -O2 -g -std=gnu11 -D_GNU_SOURCE -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread $(WARN) -I.
double_headers := $(wildcard tests/double/*.h tests/double/*.def tests/double/work/*.h tests/double/work/*.def) \
	tests/double/rules.mk

double_work := $(filter-out work,$(patsubst tests/double/work/%.c,%,$(wildcard tests/double/work/*.c)))
double_libs := libcuda.so.1 libcudart.so.12 libcudart.so.13 libnccl.so.2 libnvidia-ml.so.1 libnvToolsExt.so.1
double_files := $(addprefix $(double_dir)/,$(double_libs) $(double_work) calls-static libthrough-kept.so libthrough-lost.so \
	libmodule-alpha.so libmodule-delta.so libmodule-bare.so)

.PHONY: double
double: $(double_files)

double_driver := $(addprefix tests/double/,driver.c device.c shared.c wait.c truth.c plan.c)
double_runtime := $(addprefix tests/double/,runtime.c plan.c)

# soname as NVIDIA's; libcuda stays loaded once loaded because it holds the process's truth.
define double_library
$(double_dir)/$(1): $(2) $(double_headers)
	@mkdir -p $$(@D)
	$$(say) DOUBLE $$@
	$$(Q)$$(CC) $$(double_soflags) -shared -Wl,-soname,$(1) -Wl,-Bsymbolic $(3) -o $$@ $(2) -ldl
endef
$(eval $(call double_library,libcuda.so.1,$(double_driver),-Wl$(comma)-z$(comma)nodelete))
$(eval $(call double_library,libcudart.so.12,$(double_runtime)))
$(eval $(call double_library,libcudart.so.13,$(double_runtime)))
$(eval $(call double_library,libnccl.so.2,tests/double/nccl.c))
$(eval $(call double_library,libnvidia-ml.so.1,tests/double/nvml.c))
$(eval $(call double_library,libnvToolsExt.so.1,tests/double/nvtx.c))

$(addprefix $(double_dir)/,$(double_work)): $(double_dir)/%: tests/double/work/%.c tests/double/work/work.c $(double_headers)
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(CC) $(double_workflags) -o $@ $< tests/double/work/work.c -ldl

# The runtime linked into the program, as nvcc does unless told otherwise.
$(double_dir)/calls-static: tests/double/work/calls.c tests/double/work/work.c $(double_runtime) $(double_headers)
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(CC) $(double_workflags) -fvisibility=hidden -DWORK_STATIC -o $@ $(filter %.c,$^) -ldl

# One library with frame pointers and without.
$(double_dir)/libthrough-kept.so: tests/double/through.c tests/double/rules.mk
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(CC) $(double_soflags) -shared -o $@ $<
$(double_dir)/libthrough-lost.so: tests/double/through.c tests/double/rules.mk
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(CC) $(double_soflags) -fomit-frame-pointer -DTHROUGH_LOST -shared -o $@ $<

# Libraries with kernels, one layout, and one without symbols.
double_module = $(CC) $(double_soflags) -shared -DMODULE_KERNEL='"$(1)"' -o $@ $<
$(double_dir)/libmodule-alpha.so $(double_dir)/libmodule-delta.so: $(double_dir)/libmodule-%.so: tests/double/module.c $(double_headers)
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(call double_module,$*)
$(double_dir)/libmodule-bare.so: tests/double/module.c $(double_headers)
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(call double_module,stark) -s
