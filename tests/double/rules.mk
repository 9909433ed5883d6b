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

double_driver := $(addprefix tests/double/,driver.c device.c memory.c vmm.c graph.c shared.c wait.c truth.c plan.c)
double_runtime := $(addprefix tests/double/,runtime.c registry.c plan.c)

# soname as NVIDIA's, and symbols with a version of that name where NVIDIA's have it; libcuda stays loaded once loaded because it holds the process's truth.
define double_library
$(double_dir)/$(1): $(2) $(double_headers)
	@mkdir -p $$(@D)
	$$(say) DOUBLE $$@
	$$(Q)$$(CC) $$(double_soflags) -shared -Wl,-z,defs -Wl,-soname,$(1) $(3) -o $$@ $(2) -ldl
endef
# Names within a library are its own, but for NCCL's: one exported function calls another there as NVIDIA's does, through the PLT.
double_bound := -Wl,-Bsymbolic
$(eval $(call double_library,libcuda.so.1,$(double_driver),-Wl$(comma)-z$(comma)nodelete $(double_bound)))
double_versioned = -Wl$(comma)--version-script=$(double_dir)/$(1).map
$(double_dir)/%.map: tests/double/rules.mk
	@mkdir -p $(@D)
	$(Q)echo '$* { global: *; };' >$@
$(double_dir)/libcudart.so.12: $(double_dir)/libcudart.so.12.map
$(double_dir)/libcudart.so.13: $(double_dir)/libcudart.so.13.map
$(eval $(call double_library,libcudart.so.12,$(double_runtime),-DRUNTIME_VERSION=12080 $(call double_versioned,libcudart.so.12) $(double_bound)))
$(eval $(call double_library,libcudart.so.13,$(double_runtime),-DRUNTIME_VERSION=13000 $(call double_versioned,libcudart.so.13) $(double_bound)))
$(eval $(call double_library,libnccl.so.2,$(addprefix tests/double/,nccl.c plan.c),-fsemantic-interposition))
$(eval $(call double_library,libnvidia-ml.so.1,tests/double/nvml.c,$(double_bound)))
$(eval $(call double_library,libnvToolsExt.so.1,tests/double/nvtx.c,$(double_bound)))

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

# What real programs load, under the names that NVIDIA's libraries have, in a folder for each generation of CUDA: a device whose
# memory has contents, the same runtimes and NCCL, and stubs of the others.
double_real := $(BUILD)/double-real
double_stubs := $(shell sed -n 's/^\(lib[^ ]*\) .*/\1/p' tests/double/needs.txt)
double_stubs_12 := libcublas.so.12 libcublasLt.so.12
double_real_both := libcuda.so.1 libnvidia-ml.so.1 libnccl.so.2 libnvToolsExt.so.1
double_real_13 := $(double_real_both) libcudart.so.13 $(filter-out $(double_stubs_12),$(double_stubs))
double_real_12 := $(double_real_both) libcudart.so.12 $(double_stubs_12)
double_real_parts := $(double_real)/parts

.PHONY: double-real
double-real: $(addprefix $(double_real)/cuda13/,$(double_real_13)) $(addprefix $(double_real)/cuda12/,$(double_real_12))

$(double_real_parts)/libcuda.so.1: $(double_driver) $(double_headers)
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(CC) $(double_soflags) -DDOUBLE_REAL -shared -Wl,-z,defs -Wl,-soname,$(@F) -Wl,-Bsymbolic -Wl,-z,nodelete -o $@ $(double_driver) -ldl
$(double_real_parts)/libnvidia-ml.so.1: tests/double/nvml.c $(double_headers)
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)$(CC) $(double_soflags) -DDOUBLE_REAL -shared -Wl,-z,defs -Wl,-soname,$(@F) -o $@ $<
$(double_real_parts)/plan.o: tests/double/plan.c $(double_headers)
	@mkdir -p $(@D)
	$(Q)$(CC) $(double_soflags) -c -o $@ $<
$(addprefix $(double_real_parts)/,$(double_stubs)): $(double_real_parts)/%: tests/double/stubs.c tests/double/stubs.py \
		tests/double/needs.txt $(double_real_parts)/plan.o $(double_headers)
	@mkdir -p $(@D)
	$(say) DOUBLE $@
	$(Q)tests/double/stubs.py $(@F) $@.rows
	$(Q)$(CC) $(filter-out -O2 -g,$(double_soflags)) -O1 -fno-builtin -DSTUBS='"$@.rows"' -shared -Wl,-z,defs -Wl,-soname,$(@F) \
		-Wl,--version-script=$@.rows.map -o $@ $< $(double_real_parts)/plan.o -ldl
.PRECIOUS: $(double_real_parts)/lib%
$(double_real_parts)/%: $(double_dir)/%
	@mkdir -p $(@D)
	$(Q)cp -f $< $@
$(double_real)/cuda12/%: $(double_real_parts)/%
	@mkdir -p $(@D)
	$(Q)ln -f $< $@
$(double_real)/cuda13/%: $(double_real_parts)/%
	@mkdir -p $(@D)
	$(Q)ln -f $< $@
