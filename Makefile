# SPDX-License-Identifier: Apache-2.0
#
# The only build file. Nothing is built in the source tree: objects, programs and tests land in
# build/ (build-asan/, build-ubsan/ … for sanitizers). Sources are found by name: adding a file to a
# room, a program to cmd/ or a test to tests/ needs no edit here. `make help` lists the targets.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
SHELL := /bin/bash
export LC_ALL := C

# The version in one place; a release is its annotated tag, v0.1.0.
VERSION := 0.1.0
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d

comma := ,
SAN ?=
san_suffix := $(if $(SAN),-$(subst $(comma),-,$(subst thread,tsan,$(subst undefined,ubsan,$(subst address,asan,$(SAN))))))
machine_arm64 := aarch64
# Another machine's programs, made here by Debian's cross compiler with that machine's libraries in a folder of the build (or
# in SYSROOT; / where they are installed beside this machine's).
ARCH ?=
BUILD ?= build$(addprefix -,$(ARCH))$(san_suffix)
V ?=
Q := $(if $(V),,@)
silent := $(findstring s,$(firstword -$(filter-out --%,$(MAKEFLAGS))))
say = $(if $(V)$(silent),@:,@printf '  %-8s %s\n')

ccache := $(shell command -v ccache)
machine := $(if $(ARCH),$(or $(machine_$(ARCH)),$(error ARCH=$(ARCH): there is only ARCH=arm64)),$(shell uname -m))
tools := $(addsuffix -linux-gnu-,$(if $(ARCH),$(machine)))
SYSROOT ?= $(if $(ARCH),$(BUILD)/sysroot/root)
own_sysroot := $(if $(ARCH),$(filter $(BUILD)/sysroot/root,$(SYSROOT)))
# Where the system's libbpf is too old, one made here for all builds; clean takes it away like those.
LIBBPF ?= build-libbpf$(addprefix -,$(ARCH))
CC := $(if $(filter undefined default,$(origin CC)),$(if $(ccache),ccache )$(tools)gcc$(if $(SYSROOT), --sysroot=$(SYSROOT)),$(CC))
CLANG ?= clang
AR := $(if $(filter undefined default,$(origin AR)),$(tools)ar,$(AR))
INSTALL_PROGRAM ?= install -m 755
INSTALL_DATA ?= install -m 644

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wno-unused-parameter -Wno-missing-field-initializers -Wno-format-nonliteral \
	$(if $(DEVELOPER),-Werror)
CFLAGS ?= -O2 -g
ifeq ($(SAN),)
hardening := -fstack-protector-strong $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
else
hardening := -fsanitize=$(SAN) -fno-sanitize-recover=all
endif
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(hardening) -fPIE -fno-omit-frame-pointer -pthread $(WARN)
ALL_CPPFLAGS := -I. -I$(BUILD) $(CPPFLAGS)
ALL_LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--as-needed -pthread $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)

# ---- features: what this machine can build, probed by compiling ----------------------------------

no_build_goals := clean distclean help deps format uninstall changelog
building := $(if $(MAKECMDGOALS),$(filter-out $(no_build_goals) check-asan check-ubsan check-tsan check-valgrind,$(MAKECMDGOALS)),all)

ifneq ($(building),)
-include $(BUILD)/features.mk
endif

# What bpftool before 7 (Linux 5.15's) makes no skeleton of: a kernel function that may be absent.
bpf_probe := extern int f(void) __attribute__((weak, section(".ksyms"))); __attribute__((section("uprobe"), used)) int p(void *c) { return f ? f() : 0; }
own_libbpf := -I$(LIBBPF)/include -L$(LIBBPF)/lib
# Sets up what the probes below need; tries one program against one library.
define probe_functions
	have() { printf '%s\n' "$$1" | $(CC) -x c - $(CPPFLAGS) -o $(BUILD)/.probe $$2 >/dev/null 2>&1 && echo 1 || echo; }; \
	find_bpfclang() { \
		for c in $(CLANG) $$(ls /usr/bin/clang-[0-9]* 2>/dev/null | sort -rV); do \
			echo 'int x;' | $$c -target bpf -mcpu=v3 -O2 -c -x c - -o $(BUILD)/.probe 2>/dev/null && { echo "$$c"; return; }; \
		done; }; \
	find_bpftool() { \
		with='gen help'; [ -z "$$1" ] || \
			printf '%s\n' '$(bpf_probe)' | $$1 -g -target bpf -mcpu=v3 -O2 -c -x c - -o $(BUILD)/.probe && with='gen skeleton $(BUILD)/.probe name p'; \
		for b in bpftool /usr/sbin/bpftool /usr/local/sbin/bpftool $$(ls -d /usr/lib/linux-tools*/bpftool \
				/usr/lib/linux-tools/*/bpftool 2>/dev/null | sort -rV); do \
			"$$b" $$with >/dev/null 2>&1 && { command -v "$$b"; return; }; \
		done; }; \
	probe_all() { \
		echo "HAVE_CC := $$(have 'int main(void){return 0;}' '')"; \
		echo "HAVE_ZLIB := $$(have $$'#include <zlib.h>\nint main(void){return !zlibVersion();}' -lz)"; \
		echo "HAVE_ELF := $$(have $$'#include <gelf.h>\nint main(void){return elf_version(EV_CURRENT) == EV_NONE;}' -lelf)"; \
		echo "HAVE_JQ := $$(have $$'#include <stdio.h>\n#include <jv.h>\nint main(void){jv_free(jv_null());return 0;}' -ljq)"; \
		echo "HAVE_SQLITE := $$(have $$'#include <sqlite3.h>\nint main(void){return !sqlite3_libversion();}' -lsqlite3)"; \
		echo "HAVE_ARCHIVE := $$(have $$'#include <archive.h>\nint main(void){return sizeof(archive_version_number()) == 0;}' '')"; \
		echo "HAVE_CURL := $$(have $$'#include <curl/curl.h>\nint main(void){return !curl_version();}' -lcurl)"; \
		echo "HAVE_MICROHTTPD := $$(have $$'#include <microhttpd.h>\nint main(void){return !MHD_get_version();}' -lmicrohttpd)"; \
		echo "HAVE_GNUTLS := $$(have $$'#include <gnutls/gnutls.h>\nint main(void){return !gnutls_check_version("3.6.3");}' -lgnutls)"; \
		echo "HAVE_NGHTTP2 := $$(have $$'#include <nghttp2/nghttp2.h>\nint main(void){return sizeof(nghttp2_nv) == 0;}' '')"; \
		bpf=$$'#include <bpf/libbpf.h>\n#if LIBBPF_MAJOR_VERSION < 1\n#error old\n#endif\nint main(void){return !libbpf_version_string();}'; libbpf=; \
		for l in '-lbpf' '-lbpf -lelf -lz' '$(own_libbpf) -lbpf -lelf -lz'; do \
			[ -n "$$libbpf" ] || [ -z "$$(have "$$bpf" "$$l")" ] || libbpf=$$l; done; \
		echo "HAVE_LIBBPF := $$libbpf"; \
		static=; for l in '-lbpf -lelf -lz' '-lbpf -lelf -lz -lzstd' '$(own_libbpf) -lbpf -lelf -lz' '$(own_libbpf) -lbpf -lelf -lz -lzstd'; do \
			l="-fPIE -static-pie $$l"; \
			[ -n "$$static" ] || [ -z "$$(have "$$bpf" "$$l")" ] || static=$$l; done; \
		echo "STATIC_LIBS := $$static"; \
		echo "STATIC_SQLITE := $$([ -z "$$(have $$'#include <sqlite3.h>\nint main(void){return !sqlite3_libversion();}' '-fPIE -static-pie -lsqlite3 -lm')" ] || echo '-lsqlite3 -lm')"; \
		jq=; for l in '-ljq -lm' '-ljq -lonig -lm'; do \
			[ -n "$$jq" ] || [ -z "$$(have $$'#include <stdio.h>\n#include <jq.h>\nint main(void){return !jq_init();}' "-fPIE -static-pie $$l")" ] || jq=$$l; done; \
		echo "STATIC_JQ := $$jq"; \
		bpfclang=$$(find_bpfclang); echo "BPFCLANG := $$bpfclang"; \
		echo "BPFTOOL := $$(find_bpftool $$bpfclang)"; \
		echo "MULTIARCH := $$($(CC) -print-multiarch 2>/dev/null)"; \
		echo "HAVE_PROVE := $$(command -v prove >/dev/null && echo 1)"; \
		echo "HAVE_PYTHON := $$(command -v python3 >/dev/null && echo 1)"; \
		rm -f $(BUILD)/.probe; }; \
	lacks() { grep -E ':= *$$' "$$1" | grep -vE 'MULTIARCH|STATIC_' | sed 's/ :=.*//; s/HAVE_//' | tr '\n' ' '; }
endef

ALL_CPPFLAGS += $(filter -I%,$(HAVE_LIBBPF))

ifneq ($(building),)
missing_features := $(strip $(if $(HAVE_CC),,CC) $(if $(HAVE_ZLIB),,ZLIB) $(if $(HAVE_ELF),,ELF) $(if $(HAVE_JQ),,JQ) \
	$(if $(HAVE_SQLITE),,SQLITE) $(if $(HAVE_ARCHIVE),,ARCHIVE) $(if $(HAVE_CURL),,CURL) $(if $(HAVE_MICROHTTPD),,MICROHTTPD) $(if $(HAVE_GNUTLS),,GNUTLS) $(if $(HAVE_NGHTTP2),,NGHTTP2) $(if $(HAVE_LIBBPF),,LIBBPF) $(if $(BPFTOOL),,BPFTOOL) \
	$(if $(BPFCLANG),,BPFCLANG) $(if $(HAVE_PROVE),,PROVE) $(if $(HAVE_PYTHON),,PYTHON))

# Probed again as long as something is missing, so that installing a package is noticed; written
# only when something changed, so that make does not start over for nothing. Packages are fetched
# once per build directory: a machine that cannot fetch them is not asked again and again.
$(BUILD)/features.mk: Makefile $(if $(missing_features),FORCE) $(if $(own_sysroot),$(BUILD)/sysroot/files)
	@mkdir -p $(BUILD); $(probe_functions); probe_all >$@.new; \
	if [ -n "$$(lacks $@.new)" ] && [ "$(INSTALL)" != no ] && [ ! -e $(BUILD)/.deps-tried ]; then \
		touch $(BUILD)/.deps-tried; \
		echo "ingero: this build wants what is missing here: $$(lacks $@.new)(INSTALL=no never installs)" >&2; \
		$(MAKE) --no-print-directory deps >&2 || true; \
		probe_all >$@.new; \
	fi; \
	if cmp -s $@.new $@; then rm $@.new; touch -r $@ $@; else mv $@.new $@; fi
endif

$(BUILD)/sysroot/files:
	$(Q)[ "$(INSTALL)" != no ] || { echo "ingero: no libraries of $(ARCH) in $(SYSROOT), and INSTALL=no fetches none" >&2; exit 1; }
	$(say) FETCH $(@D)
	$(Q)formats/packaging/sysroot.sh $(ARCH) $(@D) $(deps_dev_packages) libstdc++6

HAVE_BPF := $(if $(and $(HAVE_LIBBPF),$(BPFTOOL),$(BPFCLANG)),1)
bpf_lacks := $(strip $(if $(HAVE_LIBBPF),,libbpf-1.0) $(if $(BPFTOOL),,bpftool-7) $(if $(BPFCLANG),,clang))
bpf_flags := $(if $(HAVE_BPF),-DINGERO_HAVE_BPF=1,-DINGERO_NO_BPF='"built without BPF: this build had no $(subst $() $(),$(comma) ,$(bpf_lacks)) (make deps, then make)"')

# libarchive is opened when a bundle is met: its header alone is needed to build.
ifdef HAVE_ARCHIVE
ALL_CPPFLAGS += -DINGERO_HAVE_ARCHIVE=1
endif

# Without sqlite3 its recordings are refused.
ifdef HAVE_SQLITE
ALL_CPPFLAGS += -DINGERO_HAVE_SQLITE=1
endif

# A shared libbpf links by itself, a static one with libelf and zlib.
LIBS := $(filter-out -I%,$(HAVE_LIBBPF)) $(if $(HAVE_SQLITE),-lsqlite3) -lelf -ljq -lz -lm -ldl

# ---- sources -------------------------------------------------------------------------------------

lib_src := $(wildcard lib/*/*.c lib/*/*/*.c)
cmd_src := $(wildcard cmd/*.c)
bpf_src := $(wildcard bpf/*.bpf.c)
unit_src := $(wildcard tests/unit/*.c tests/laws/*.c)
ifndef HAVE_SQLITE
lib_src := $(filter-out $(filter-out lib/archive/answer.c lib/compat/agent_options.c,$(wildcard lib/archive/*.c lib/compat/*.c)),$(lib_src))
cmd_src := $(filter-out cmd/ingero-query.c,$(cmd_src))
unit_src := $(filter-out tests/unit/archive_%.c tests/laws/archive_%.c,$(unit_src))
endif
lib_src := $(filter-out $(if $(HAVE_CURL),lib/net/client_none.c,$(addprefix lib/net/,client.c curl_handle.c parallel_requests.c)) \
	$(if $(HAVE_MICROHTTPD),lib/net/server_none.c,$(addprefix lib/net/,server.c server_parse.c server_answer.c)) \
	$(if $(HAVE_GNUTLS),lib/net/cert_none.c,lib/net/cert.c) $(if $(HAVE_NGHTTP2),lib/host/grpc_none.c,lib/host/grpc.c),$(lib_src))
ifdef HAVE_BPF
lib_src := $(filter-out lib/attach/session_none.c,$(lib_src))
else
lib_src := $(filter-out lib/attach/session.c lib/attach/session_%.c,$(lib_src)) lib/attach/session_none.c
bpf_src :=
endif

lib_obj := $(lib_src:%.c=$(BUILD)/%.o)
cmd_obj := $(cmd_src:%.c=$(BUILD)/%.o)
bpf_obj := $(bpf_src:%.c=$(BUILD)/%.o)
programs := $(cmd_src:cmd/%.c=$(BUILD)/bin/%)
unit_tests := $(unit_src:%.c=$(BUILD)/%.t)
skeleton := $(if $(bpf_src),$(BUILD)/bpf/ingero.skel.h)

.PHONY: all FORCE
all: required $(BUILD)/libingero.a $(programs)
	@rm -f $(filter-out $(programs),$(wildcard $(BUILD)/bin/*))

.PHONY: required
required:
	@$(if $(and $(HAVE_CC),$(HAVE_ZLIB),$(HAVE_ELF),$(HAVE_JQ)),:,echo "ingero: cannot build without:$(if $(HAVE_CC),, a C compiler)$(if \
		$(HAVE_ZLIB),, zlib)$(if $(HAVE_ELF),, libelf)$(if $(HAVE_JQ),, libjq) (make deps installs it on Debian and Ubuntu)" >&2; exit 1)

# Everything that changes what the compiler makes of an unchanged file.
flags_now := $(CC) $(ALL_CFLAGS) $(filter-out -I$(BUILD),$(ALL_CPPFLAGS)) $(VERSION)
link_flags_now := $(flags_now) $(bpf_flags) $(ALL_LDFLAGS) $(LIBS) $(BPFCLANG) $(BPFTOOL)
keep = mkdir -p $(@D); printf '%s\n' $(call quote,$(1)) | cmp -s - $@ || printf '%s\n' $(call quote,$(1)) >$@
$(BUILD)/flags: FORCE
	@$(call keep,$(flags_now))
# And what changes only what a few files, the kernel side and the linker make of it.
$(BUILD)/link-flags: FORCE
	@$(call keep,$(link_flags_now))
quote = '$(subst ','\'',$(1))'

# The archive's schema is text of formats/, and travels in the library.
$(BUILD)/formats/archive.sql.h: formats/archive.sql Makefile
	@mkdir -p $(@D); { echo 'static const char archive_sql[] ='; \
		sed -e 's/["\\]/\\&/g' -e 's/.*/"&\\n"/' $<; echo ';'; } >$@
$(BUILD)/lib/archive/schema.o: $(BUILD)/formats/archive.sql.h

# The dashboard's page: its files as bytes, and the table of them.
page_src := $(sort $(wildcard lib/api/page/*))
page_type = $(or $(page_type$(suffix $(1))),$(error $(1): no type is known for it))
page_type.html := text/html; charset=utf-8
page_type.css := text/css; charset=utf-8
page_type.js := text/javascript; charset=utf-8
page_type.svg := image/svg+xml
$(BUILD)/lib/api/page.files.h: $(page_src) Makefile
	@mkdir -p $(@D); { n=0; for f in $(page_src); do \
		echo "static const unsigned char page_bytes_$$n[] = {"; od -An -v -tu1 $$f | sed 's/[0-9][0-9]*/&,/g'; echo '};'; n=$$((n + 1)); done; \
		echo 'static const struct page_file page_files[] = {'; n=0; \
		$(foreach f,$(page_src),echo '{ "/$(notdir $(f))"$(comma) "$(call page_type,$(f))"$(comma) page_bytes_'$$n'$(comma) sizeof(page_bytes_'$$n') }$(comma)'; n=$$((n + 1));) \
		echo '};'; echo 'static const char *const page_paths[] = { "/",$(foreach f,$(page_src), "/$(notdir $(f))",) NULL };'; } >$@
$(BUILD)/lib/api/page_files.o: $(BUILD)/lib/api/page.files.h

$(BUILD)/%.o: %.c $(BUILD)/flags | required
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_CPPFLAGS) -MMD -MP -c $< -o $@

# Loops over columns are what reading costs; -O2 leaves most of them one value at a time.
$(addprefix $(BUILD)/lib/,$(addprefix ige/,column.o forpack.o forpack_put.o rowcheck.o merge_columns_known.o merge_columns_write.o) \
	input/join_rows.o input/kway_merge.o): ALL_CPPFLAGS += $(if $(filter -O2,$(CFLAGS)),-O3)

# Unit tests check what the library does, and take longer to compile than to run; laws compute.
$(patsubst %.c,$(BUILD)/%.o,$(filter tests/unit/%,$(unit_src))): ALL_CPPFLAGS += $(if $(filter -O2,$(CFLAGS)),-O0 -U_FORTIFY_SOURCE)

# Who has to know whether there is a kernel side.
bpf_knowing := $(addprefix $(BUILD)/,lib/attach/session_none.o cmd/ingero-check.o)
$(bpf_knowing): ALL_CPPFLAGS += $(bpf_flags)
$(bpf_knowing): $(BUILD)/link-flags

$(BUILD)/lib/cli/%.o: ALL_CPPFLAGS += -DINGERO_VERSION='"$(VERSION)"'
# "6233f2df8a, 2026-11-26", empty outside of git.
COMMIT := $(shell git log -1 --abbrev=10 --format='%h, %cs' 2>/dev/null)
$(BUILD)/commit: FORCE
	@$(call keep,$(COMMIT))
$(BUILD)/lib/cli/options.o: $(BUILD)/commit
$(BUILD)/lib/cli/options.o: ALL_CPPFLAGS += -DINGERO_COMMIT='"$(COMMIT)"'

# The list of members is part of the archive's state: a removed source must leave it.
$(BUILD)/libingero.list: FORCE
	@mkdir -p $(@D); echo '$(sort $(lib_obj))' | cmp -s - $@ || echo '$(sort $(lib_obj))' >$@

$(BUILD)/libingero.a: $(lib_obj) $(BUILD)/libingero.list
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $(lib_obj)

# Only who speaks HTTP links with what does.
net_libs := $(if $(HAVE_CURL),-lcurl) $(if $(HAVE_MICROHTTPD),-lmicrohttpd) $(if $(HAVE_GNUTLS),-lgnutls)
net_programs := $(addprefix ingero-,export mcp dashboard query explain)
$(addprefix $(BUILD)/bin/,$(net_programs)): NET_LIBS = $(net_libs)

$(BUILD)/bin/%: $(BUILD)/cmd/%.o $(BUILD)/libingero.a $(BUILD)/link-flags
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(NET_LIBS) $(LIBS) -o $@

# Programs that need nothing on the machine they run on, not even a C library: for nodes without a network. Those whose
# libraries come as shared ones only are left out, and said to be. The linker warns that what the C library loads by itself
# (names of users, libnvidia-ml) wants the same C library there; without it numbers stand for names.
static_core := ingero $(if $(HAVE_BPF),ingero-record ingero-check) ingero-demo
static_archive := ingero-correlate
static_json := $(filter-out $(static_core) $(static_archive) ingero-record ingero-check,$(notdir $(programs)))
static_no_archive := $(if $(HAVE_SQLITE),$(if $(STATIC_SQLITE),,libsqlite3.a))
static_no_json := $(static_no_archive) $(if $(STATIC_JQ),,libjq.a)
static_programs := $(addprefix $(BUILD)/static/,$(static_core) $(if $(strip $(static_no_archive)),,$(static_archive)) \
	$(if $(strip $(static_no_json)),,$(static_json)))
.PHONY: static
ifdef STATIC_LIBS
static: $(static_programs)
	$(Q)$(if $(HAVE_BPF),:,echo "ingero: no static ingero-record: this build has no BPF (it lacks $(bpf_lacks))" >&2; exit 1)
	$(Q)$(if $(strip $(static_no_archive)),echo "ingero: not linked statically: $(static_archive)$(comma) for want of $(strip $(static_no_archive))" >&2,:)
	$(Q)$(if $(strip $(static_no_json)),echo "ingero: not linked statically: $(static_json)$(comma) for want of $(strip $(static_no_json))" >&2,:)

$(BUILD)/static/%: $(BUILD)/cmd/%.o $(BUILD)/libingero.a
	@mkdir -p $(@D)
	$(say) STATIC $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(if $(HAVE_SQLITE),$(STATIC_SQLITE)) $(STATIC_JQ) $(STATIC_LIBS) -lm -s \
		-o $@ 2>$@.log || { cat $@.log >&2; exit 1; }
	@rm -f $@.log
test_programs += $(if $(HAVE_BPF),$(if $(SAN),,$(BUILD)/static/ingero-record))
else
# One by one, so that a person knows which package to ask for.
static:
	@lacks() { printf 'int main(void){return 0;}\n' | $(CC) -x c - -fPIE -static-pie $$1 -o $(BUILD)/.static >/dev/null 2>&1 || echo " $$2"; }; \
	missing=$$(lacks '' libc.a; lacks -lz libz.a; lacks -lelf libelf.a; lacks -lbpf libbpf.a); \
	rm -f $(BUILD)/.static; \
	echo "ingero: cannot link statically:" $${missing:-libbpf, libelf and zlib do not fit together} \
		$${missing:+"is missing (Debian and Ubuntu: libc6-dev, zlib1g-dev, libelf-dev, libbpf-dev have them)"} >&2; exit 1
endif

$(BUILD)/tests/unit/net_%.t $(BUILD)/tests/unit/store_%.t $(BUILD)/tests/unit/mcp_%.t $(BUILD)/tests/unit/fuzz_http.t $(BUILD)/tests/unit/fuzz_fleet.t: \
	NET_LIBS = $(net_libs)

$(BUILD)/tests/%.t: $(BUILD)/tests/%.o $(BUILD)/libingero.a
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $< $(BUILD)/libingero.a $(ALL_LDFLAGS) $(NET_LIBS) $(LIBS) -o $@

# This one decides which allocation of the library fails.
$(BUILD)/tests/unit/ige_sink.t: ALL_LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# This one has a clock of its own.
$(BUILD)/tests/unit/net_cert.t: ALL_LDFLAGS += -Wl,--wrap=time

# This one plays the kernel's list of mappings.
$(BUILD)/tests/unit/attach_file_mappings.t: ALL_LDFLAGS += -Wl,--wrap=probe_session_mapped

# These count system calls.
$(BUILD)/tests/unit/input_position.t: ALL_LDFLAGS += -Wl,--wrap=lseek
$(BUILD)/tests/unit/net_request.t: ALL_LDFLAGS += -Wl,--wrap=poll

# And this one stands for a runtime, whose symbols are found by name.
$(BUILD)/tests/unit/python_find.t: ALL_LDFLAGS += -rdynamic

# ---- kernel side -----------------------------------------------------------------------------------

bpf_arch := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(machine)))
# linux/types.h wants asm/types.h, which Debian and Ubuntu keep in the architecture's folder.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(bpf_arch) -Wall -Wno-missing-declarations \
	$(if $(DEVELOPER),-Werror) $(if $(MULTIARCH),$(if $(SYSROOT),-idirafter $(SYSROOT)/usr/include )-idirafter $(filter-out /,$(SYSROOT))/usr/include/$(MULTIARCH)) -I. $(filter -I%,$(HAVE_LIBBPF))

$(BUILD)/%.bpf.o: %.bpf.c $(BUILD)/link-flags
	@mkdir -p $(@D)
	$(say) BPF $<
	$(Q)$(BPFCLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

# Programs are loaded in this order, and all of them again without one that the kernel refuses: those that take it long to
# verify, and what shares a section with them, come last.
bpf_long := $(patsubst %,$(BUILD)/bpf/%.bpf.o,nvtx python loader calls sched)
$(BUILD)/bpf/ingero.linked.o: $(filter-out $(bpf_long),$(bpf_obj)) $(bpf_long)
	$(say) BPFLINK $@
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/bpf/ingero.skel.h: $(BUILD)/bpf/ingero.linked.o Makefile
	$(say) SKEL $@
	$(Q){ echo '/* NOLINTBEGIN: bpftool wrote it, and libbpf frees what it is given */' && $(BPFTOOL) gen skeleton $< name ingero_bpf && \
		echo '/* NOLINTEND */'; } >$@.new && mv $@.new $@

# On the first build no dependency file yet says who includes the skeleton.
$(filter $(BUILD)/lib/attach/% $(BUILD)/lib/record/% $(BUILD)/cmd/% $(BUILD)/tests/%,$(lib_obj) $(cmd_obj) $(unit_src:%.c=$(BUILD)/%.o)): | $(skeleton)

-include $(wildcard $(lib_obj:.o=.d) $(cmd_obj:.o=.d) $(bpf_obj:.o=.d) $(unit_src:%.c=$(BUILD)/%.d))

# ---- tests -----------------------------------------------------------------------------------------

.PHONY: tests check check-all check-kernels check-asan check-ubsan check-tsan check-valgrind lint bench
include $(wildcard tests/*/rules.mk) formats/packaging/rules.mk

tests: all $(unit_tests) $(test_programs) double double-real

# Of the real programs only some are quick. Suites that compute and measure no time run beside the others at a lower priority. Of the live tests those that account for what the whole machine does, or measure, have it to themselves: they say
# so in a line "# Alone: why".
computing_suites := lint laws double bench
suite = $(foreach s,$(1),$(sort $(wildcard tests/$(s)/*.t)))
alone_tests := $(shell grep -l '^\# Alone: ' $(call suite,live))
# Those that take minutes, and have a lighter form among the others, say so in a line "# Heavy: why".
heavy_tests := $(shell grep -l '^\# Heavy: ' $(call suite,live kernels))

# The longest first, so that at the end no core waits for one that began late.
long_tests := $(addprefix $(BUILD)/tests/laws/,bounds.t bad_input.t pauses.t path_leaf.t waits.t) $(addprefix tests/,scenarios/quick.t kernels/oldest.t kernels/debian-6.1.t live/count.t live/record.t live/hangs.t live/modes.t live/seeds.t \
	laws/kinds.t live/hostile.t real/torch_attached.t real/torch_crash.t fault/record.t live/capabilities.t live/python.t live/cpu_samples.t live/attach.t live/args.t live/gpu.t laws/second_reader.t live/rotate.t)
longest_first = $(filter $(1),$(long_tests)) $(filter-out $(long_tests),$(1))

run_tests = BUILD=$(BUILD) INGERO_COMPILE=$(call quote,$(CC) $(ALL_CFLAGS) $(ALL_CPPFLAGS)) PYTHONDONTWRITEBYTECODE=1 \
	tests/run $(if $(V),-v) $(1)

ifdef ARCH
# What needs no kernel of its own, run by an emulator; host_live looks at its own process, which there is the emulator.
check: tests
	$(Q)tests/emulated $(machine) $(SYSROOT) env $(call run_tests,-r $(BUILD)/test-report.json $(filter-out %/host_live.t,$(unit_tests)))
else
# $(1): tests to leave out, $(2): more of them
check_tests = REAL=$(abspath $(REAL)) $(call run_tests,-r $(BUILD)/test-report.json \
	$(filter-out $(1),$(call longest_first,$(call suite,scenarios kernels) $(real_quick) $(filter-out $(alone_tests),$(call suite,live)) \
		$(call suite,fault cli))) $(2) \
	--beside $(call longest_first,$(unit_tests) $(call suite,$(computing_suites))) \
	-- $(alone_tests))
checked := real-quick tests double-real $(real_clients) deps-check
check: $(checked)
	$(Q)$(call check_tests,$(heavy_tests))

# And what takes minutes: every kernel, every dose, and what other programs say of what is written for them. The sanitizers' builds
# (check-asan, check-ubsan, check-tsan, check-valgrind), check-real-all and check-packaging stay by themselves.
check-all: $(checked)
	$(Q)[ "$(INSTALL)" = no ] || ( $(call install_packages,$(deps_kernel_packages)) ) || true
	$(Q)CHECK=all CHECKERS=$(CHECKERS) $(call check_tests,tests/kernels/oldest.t,$(call suite,consumers))
endif

# Every kernel there is a test for, those of another machine too, with programs built for it.
check-kernels: all double
	$(Q)[ "$(INSTALL)" = no ] || ( $(call install_packages,$(deps_kernel_packages)) ) || true
	$(Q)$(call run_tests,$(call suite,kernels))

lint: tests
	$(Q)$(call run_tests,$(call suite,lint))

# What is written for other programs, judged by them: needs the tools in CHECKERS, and says so without.
CHECKERS ?= ../shared/checkers
.PHONY: check-consumers
check-consumers: tests
	$(Q)CHECKERS=$(CHECKERS) $(call run_tests,$(call suite,consumers))

# The suites without the kernel, in a build of their own.
san_check: tests
	$(Q)ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
		$(call run_tests,$(unit_tests) $(call suite,cli laws))
check-asan:
	$(Q)$(MAKE) --no-print-directory SAN=address san_check
check-ubsan:
	$(Q)$(MAKE) --no-print-directory SAN=undefined san_check

# What has threads, only: servers and who asks them, and the recorder, where it may record.
threads_unit = $(filter $(addprefix $(BUILD)/tests/unit/,net_% store_% mcp_% ige_worker_pool.t ige_later.t fuzz_http.t fuzz_fleet.t host_live.t host_confine.t),$(unit_tests))
threads_tests = $(shell grep -lE 'ingero-(mcp|dashboard)|import dashboard|http[.]server|httpd' $(call suite,cli)) \
	$(addprefix tests/live/,record.t rotate.t stack.t attach.t)
threads_check: all double $(threads_unit) $(test_programs)
	$(Q)TSAN_OPTIONS=halt_on_error=1 $(call run_tests,$(threads_unit) $(threads_tests))
check-tsan:
	$(Q)$(MAKE) --no-print-directory SAN=thread threads_check

# Programs and unit tests stand behind wrappers of the same names that run them under valgrind; the
# laws, which generate minutes of recordings, are left to the sanitizers, and so is what gives away rights: valgrind itself
# needs those.
valgrind_tests = $(filter-out %/host_confine.t %/filter_confined.t,$(unit_tests))
valgrind_check: tests
	@command -v valgrind >/dev/null || { echo "ingero: no valgrind here (package valgrind)" >&2; exit 1; }
	@for p in $(programs:$(BUILD)/%=%) $(valgrind_tests:$(BUILD)/%=%); do \
		w=$(BUILD)/valgrind/$$p; mkdir -p $$(dirname $$w); \
		printf '#!/bin/sh\nexec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite %s "$$@"\n' \
			"$(CURDIR)/$(BUILD)/$$p" >$$w; chmod +x $$w; \
	done
	$(Q)$(call run_tests,$(valgrind_tests:$(BUILD)/%=$(BUILD)/valgrind/%) tests/cli/common.t) BUILD=$(BUILD)/valgrind
check-valgrind:
	$(Q)$(MAKE) --no-print-directory BUILD=build-valgrind CFLAGS='-O1 -g' valgrind_check

bench: all
	@for b in $(sort $(wildcard tests/bench/*.sh)); do echo "== $$b"; BUILD=$(BUILD) $$b || exit 1; done; \
	$(if $(wildcard tests/bench/*.sh),:,echo "ingero: no benchmarks in tests/bench yet")

.PHONY: demo
demo: all double
	@BUILD=$(BUILD) tests/scenarios/demo.sh

# ---- installing ------------------------------------------------------------------------------------

man_pages := $(wildcard man/*.[1-8])
# Whatever a build with more or fewer libraries may have put there.
ever_built := $(wildcard cmd/*.c)
installed := $(ever_built:cmd/%.c=$(BINDIR)/%) $(foreach m,$(man_pages),$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
	$(ever_built:cmd/%.c=$(BASHCOMPDIR)/%) $(ZSHCOMPDIR)/_ingero $(ever_built:cmd/%.c=$(FISHCOMPDIR)/%.fish)

.PHONY: install uninstall
install: $(if $(NOBUILD),,all)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR)
	$(if $(programs),$(INSTALL_PROGRAM) $(programs) $(DESTDIR)$(BINDIR))
	@set -e; for m in $(man_pages); do \
		install -d $(DESTDIR)$(MANDIR)/man$${m##*.}; $(INSTALL_DATA) $$m $(DESTDIR)$(MANDIR)/man$${m##*.}/; \
	done; \
	for p in $(notdir $(programs)); do \
		$(INSTALL_DATA) completions/ingero.bash $(DESTDIR)$(BASHCOMPDIR)/$$p; \
		$(INSTALL_DATA) completions/ingero.fish $(DESTDIR)$(FISHCOMPDIR)/$$p.fish; \
	done; \
	$(INSTALL_DATA) completions/_ingero $(DESTDIR)$(ZSHCOMPDIR)/_ingero

uninstall:
	rm -f $(addprefix $(DESTDIR),$(installed))

# ---- packages this build needs ------------------------------------------------------------------------

# What Debian and Ubuntu call what the build and the tests use. bpftool is a package of its own on
# Debian; on Ubuntu it comes with the kernel tools, on 22.04 with those of its later kernel.
deps_dev_packages := libc6-dev zlib1g-dev libelf-dev libjq-dev libsqlite3-dev libarchive-dev libcurl4-gnutls-dev libmicrohttpd-dev libgnutls28-dev libnghttp2-dev libbpf-dev
deps_packages := gcc$(if $(ARCH),-$(machine)-linux-gnu) make $(if $(ARCH),,$(deps_dev_packages)) clang perl python3 mandoc
# What only tests use and the build does without.
deps_check_packages := jq gdb tmux qemu-system-x86 cpio busybox-static xz-utils zstd python3-grpcio
# Kernels in QEMU, and the reader on other CPUs. Apart, so that where they are not to be had the others still are.
deps_kernel_packages := qemu-system-x86 qemu-system-arm gcc-aarch64-linux-gnu cpio busybox-static xz-utils zstd
deps_cpu_packages := qemu-user-static gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross

# $(1): packages
install_packages = \
	if ! command -v apt-get >/dev/null; then \
		echo "ingero: no apt-get here; needed: a C compiler, clang, bpftool, and the development files of" \
			"zlib, libelf, libjq, sqlite3, libarchive, libcurl, libmicrohttpd, GnuTLS, libnghttp2 and libbpf 1.0 or later; for tests perl (prove), python3" >&2; exit 1; \
	fi; \
	missing=; for p in $(1); do \
		case "$$(dpkg-query -W -f '$${Status}' $$p 2>/dev/null)" in *' installed') ;; *) missing="$$missing $$p";; esac; \
	done; \
	[ -n "$$missing" ] || { echo "ingero: nothing to install"; exit 0; }; \
	if [ "$(INSTALL)" = no ]; then echo "ingero: not installed here:$$missing" >&2; exit 1; fi; \
	sudo=; if [ $$(id -u) != 0 ]; then \
		command -v sudo >/dev/null || { echo "ingero: to install, as root: apt-get install$$missing" >&2; exit 1; }; \
		sudo=sudo; [ -t 0 ] || sudo='sudo -n'; \
	fi; \
	echo "ingero: installing$$missing"; \
	get() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $$missing >/dev/null; }; \
	get 2>/dev/null || { $$sudo apt-get -qq update && get; } || \
		{ echo "ingero: apt-get could not install$$missing" >&2; exit 1; }

.PHONY: deps deps-check
deps:
	@case "$$(. /etc/os-release; echo $$ID $$VERSION_ID)" in \
		'ubuntu 22.04') bpftool='linux-tools-common linux-tools-generic-hwe-22.04';; \
		ubuntu*) bpftool='linux-tools-common linux-tools-generic';; \
		*) bpftool=bpftool;; \
	esac; \
	$(call install_packages,$(deps_packages) $$bpftool)
	@[ "$(INSTALL)" = no ] || [ -e $(LIBBPF)/lib/libbpf.a ] || \
		printf '#include <bpf/libbpf.h>\n#if LIBBPF_MAJOR_VERSION < 1\n#error old\n#endif\n' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
		{ echo "ingero: libbpf here is older than 1.0: building one into $(LIBBPF)"; formats/packaging/libbpf.sh $(LIBBPF) $(CC); }

# Once per build directory, and never fatal: a test that misses something says so itself.
deps-check: | $(BUILD)/flags
	@[ -e $(BUILD)/.deps-check-tried ] || [ "$(INSTALL)" = no ] || { touch $(BUILD)/.deps-check-tried; \
		( $(call install_packages,$(deps_check_packages)) ) || true; \
		( $(call install_packages,$(deps_cpu_packages)) ) || true; }

# ---- the rest ----------------------------------------------------------------------------------------

.PHONY: features clean format help
features: $(BUILD)/features.mk
	@cat $(BUILD)/features.mk; echo "HAVE_BPF := $(HAVE_BPF)"

clean:
	rm -rf build build-*

format_files = $(sort $(wildcard lib/*/*.[ch] lib/*/*/*.[ch] cmd/*.[ch] bpf/*.[ch] tests/*.h tests/*/*.[ch] tests/*/*/*.[ch]))
format:
	clang-format -i $(format_files)

.PHONY: completions
completions: all
	completions/generate completions $(programs)

help:
	@printf '%s\n' \
		'make              everything, into build/bin (fetches missing packages; INSTALL=no never does)' \
		'make static       programs without shared libraries, into build/static' \
		'make demo         record a real stall on this machine and explain it' \
		'make demo-torch   the same with real PyTorch, which it installs into REAL=$(REAL): 530 MB of downloads, no GPU' \
		'make check        build everything, run all tests; ends with "N passed, N failed"' \
		'make check-all    this and what takes minutes: every kernel, every dose, check-consumers; after it check-asan, check-ubsan,' \
		'                  check-tsan, check-valgrind, check-real-all and check-packaging are left' \
		'make check-real   PyTorch and llama.cpp under the recorder, installed into REAL; check-real-all: vLLM, too' \
		'make check-kernels' \
		'                  recording on every kernel that QEMU boots here, arm64 too; the oldest of them is in make check' \
		'make lint         only the rules of the house; make format applies .clang-format' \
		'make analyze      clang-tidy and cppcheck over lib, cmd and bpf; what is asked: tests/lint/analyze.checks' \
		'make score        causes planted for real: found? SCORE=quick is what make check runs of it' \
		'make check-asan, check-ubsan, check-valgrind' \
		'                  tests without the kernel, under that checker (SAN=address builds only)' \
		'make check-tsan   tests of what has threads, under the checker of those' \
		'make faults       disks, memory, processes that fail, kill -9: at every place, for an hour' \
		'make fuzz         every parser of outside bytes with libFuzzer, each for FUZZ_SECONDS=600 (clang)' \
		'make soak         the recorder under load, with rotation and readers, for SOAK=$(SOAK): what grew, what was lost' \
		'make check-consumers' \
		'                  what is written for other programs, judged by those (CHECKERS=$(CHECKERS))' \
		'make bench        benchmarks' \
		'make soak-serve   both servers under a mixed load, for SOAK_SECONDS=$(SOAK_SECONDS)' \
		'make tarball, deb, image, dist' \
		'                  packages; make check-packaging tries them' \
		'make tarball ARCH=arm64, make check ARCH=arm64' \
		'                  built here for that machine into build-arm64, and what needs no kernel tried by qemu-user' \
		'make changelog    what is new: notes of tagged versions, commits since' \
		'make install      programs, manual, completions; PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)' \
		'make uninstall    takes the same files away' \
		'make deps         install what the build needs (Debian, Ubuntu)' \
		'make features     what was found on this machine' \
		'make completions  write completions/ from the option tables of the programs' \
		'make clean        remove build/ and build-*/' \
		'Variables: V=1 shows commands, DEVELOPER=1 makes warnings errors, CC, CFLAGS, SAN, BUILD'

FORCE:
