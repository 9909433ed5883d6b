# SPDX-License-Identifier: Apache-2.0
#
# What leaves the house as a package. The time of every file in them is the commit's, so that the same tree gives the same
# bytes; SOURCE_DATE_EPOCH says another.

commit_time := $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)
export SOURCE_DATE_EPOCH ?= $(commit_time)
dist := $(BUILD)/dist
STRIP ?= strip
READELF ?= readelf

.PHONY: dist tarball deb image check-packaging
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

# Starts what could not be linked statically with the libraries beside it.
$(BUILD)/static/launch: formats/packaging/launch.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) STATIC $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Os $(WARN) -static -s $< -o $@

tarball: all static $(BUILD)/static/launch
	$(Q)CC=$(call quote,$(CC)) STRIP=$(STRIP) READELF=$(READELF) formats/packaging/tarball.sh $(BUILD) $(VERSION) $(machine) $(dist) \
		$(notdir $(programs))

deb: all
	$(Q)STRIP=$(STRIP) formats/packaging/deb.sh $(BUILD) $(VERSION) $(dist)

# An image of nothing but the programs; ENGINE builds it.
ENGINE ?= $(firstword $(notdir $(wildcard /usr/bin/podman /usr/bin/buildah /usr/bin/docker)))
image:
	$(Q)[ -n "$(ENGINE)" ] || { echo "ingero: no podman, buildah or docker here" >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory SMALL=1 dist=$(BUILD)/image tarball >/dev/null
	$(Q)formats/packaging/image.sh $(ENGINE) $(BUILD)/image/ingero-$(VERSION)-linux-$(machine).tar.gz ingero:$(VERSION)

check-packaging: all double
	$(Q)$(call run_tests,$(call suite,packaging))
