# SPDX-License-Identifier: Apache-2.0
#
# What leaves the house as a package. The time of every file in them is the commit's, so that the same tree gives the same
# bytes; SOURCE_DATE_EPOCH says another.

commit_time := $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)
export SOURCE_DATE_EPOCH ?= $(commit_time)
dist := $(BUILD)/dist
STRIP ?= $(tools)strip
OBJCOPY ?= $(tools)objcopy
READELF ?= $(tools)readelf

.PHONY: dist tarball deb image changelog check-packaging
# What is new, from the tags of releases and the commits since.
changelog:
	@formats/packaging/changelog.sh $(VERSION)

# The sources of a commit; of a tree without git, what is in it.
dist:
	@mkdir -p $(dist)
	$(Q)if git rev-parse -q --verify HEAD >/dev/null 2>&1; then \
		git archive --format=tar --prefix=ingero-$(VERSION)/ --mtime=@$(SOURCE_DATE_EPOCH) HEAD 2>/dev/null || \
			git archive --format=tar --prefix=ingero-$(VERSION)/ HEAD; \
	else \
		tar --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner --format=gnu \
			--exclude='./build*' --transform='s,^\.,ingero-$(VERSION),' -c .; \
	fi | gzip -9n >$(dist)/ingero-$(VERSION).tar.gz.new
	$(Q)mv $(dist)/ingero-$(VERSION).tar.gz.new $(dist)/ingero-$(VERSION).tar.gz
	@cd $(dist) && sha256sum ingero-$(VERSION).tar.gz | tee ingero-$(VERSION).tar.gz.sha256

# In the tarball the programs are three files: the front door and the recorder, linked statically, and the others as one, so
# that what they share is there once (the recorder by itself, since a person may give its file capabilities). Those that speak
# HTTP are another one: its libraries take four times as long to load.
multi_net := $(filter $(net_programs),$(notdir $(programs)))
multi_local := $(filter-out ingero ingero-record $(net_programs),$(notdir $(programs)))
multi := $(addprefix $(BUILD)/multi/,local net)
$(BUILD)/multi/%.o: $(BUILD)/cmd/ingero-%.o
	@mkdir -p $(@D)
	$(Q)$(OBJCOPY) --redefine-sym main=main_$* $< $@
$(multi): $(BUILD)/multi/%: formats/packaging/multi.c $(BUILD)/libingero.a $(BUILD)/link-flags
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) '-DPROGRAMS=$(patsubst ingero-%,X(%),$(multi_$*))' $(filter %.c %.o,$^) $(BUILD)/libingero.a $(ALL_LDFLAGS) \
		$(if $(filter net,$*),$(net_libs)) $(LIBS) -s -o $@
$(BUILD)/multi/local: $(multi_local:ingero-%=$(BUILD)/multi/%.o)
$(BUILD)/multi/net: $(multi_net:ingero-%=$(BUILD)/multi/%.o)

# Starts them with the libraries beside them.
$(BUILD)/multi/launch: formats/packaging/launch.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) STATIC $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Os $(WARN) -fPIE -static-pie -Wl,-z,relro,-z,now -s $< -o $@

tarball: all $(multi) $(BUILD)/multi/launch $(if $(STATIC_LIBS),$(addprefix $(BUILD)/static/,ingero ingero-record),static)
	$(Q)$(if $(HAVE_BPF),:,echo "ingero: no recorder for the tarball: this build has no BPF (it lacks $(bpf_lacks))" >&2; exit 1)
	$(Q)CC=$(call quote,$(CC)) READELF=$(READELF) SYSROOT=$(SYSROOT) LIBBPF=$(if $(filter -I%,$(STATIC_LIBS)),$(LIBBPF)) formats/packaging/tarball.sh $(BUILD) $(VERSION) $(machine) $(dist) \
		$(patsubst %,local:%,$(multi_local)) $(patsubst %,net:%,$(multi_net))

deb: all
	$(Q)STRIP=$(STRIP) formats/packaging/deb.sh $(BUILD) $(VERSION) $(dist)

# An image of nothing but the programs; ENGINE builds it.
ENGINE ?= $(firstword $(notdir $(wildcard /usr/bin/podman /usr/bin/buildah /usr/bin/docker)))
image:
	$(Q)[ -n "$(ENGINE)" ] || { echo "ingero: no podman, buildah or docker here" >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory tarball >/dev/null
	$(Q)formats/packaging/image.sh $(ENGINE) $(dist)/ingero-$(VERSION)-linux-$(machine).tar.gz ingero:$(VERSION)

# One at a time: each of them runs make here.
check-packaging: all double
	$(Q)$(call run_tests,-- $(call suite,packaging))
