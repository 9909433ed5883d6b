/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files read and named: one made here with every kind of symbol, our own executable, and the
 * kernel's vDSO cut and bent at every byte.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/demangle.h"
#include "lib/symbols/symbols.h"
#include "tests/tap.h"

/* What the made file says: code at 0x1000 in memory, at 0x200 in the file. */
#define MEMORY 0x1000u
#define PLACE  0x200u

static const struct {
	const char *name;
	uint64_t value, size;
	unsigned char info;
	uint16_t section;
} made[] = {
	{ "outer", MEMORY + 0x10, 0x40, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1 },
	{ "inner_label", MEMORY + 0x20, 4, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 1 },
	{ "__libc_thing", MEMORY + 0x60, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1 },
	{ "thing", MEMORY + 0x60, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1 },
	{ "_thing", MEMORY + 0x60, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1 },
	{ "no_size", MEMORY + 0x90, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1 },
	{ "resolver", MEMORY + 0xa0, 8, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 1 },
	{ "datum", MEMORY + 0xb0, 8, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 1 },
	{ "_ZN3foo3barEi", MEMORY + 0xc0, 8, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1 },
	{ "needed", 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SHN_UNDEF },
	{ "nowhere", 0x900000, 8, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1 },
};

/* type: SHT_SYMTAB or SHT_DYNSYM. */
static int make_elf(uint32_t type)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr load;
		char room[PLACE - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr)];
		unsigned char code[0x100];
		Elf64_Sym symbols[1 + sizeof(made) / sizeof(made[0])];
		char names[256];
		Elf64_Shdr sections[3];
	} f = { 0 };
	size_t names = 1;
	int fd = memfd_create("made", MFD_CLOEXEC);

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_ident[EI_VERSION] = EV_CURRENT;
	f.head.e_version = EV_CURRENT;
	f.head.e_machine = EM_X86_64;
	f.head.e_phoff = offsetof(__typeof__(f), load);
	f.head.e_phnum = 1;
	f.head.e_phentsize = sizeof(Elf64_Phdr);
	f.head.e_shoff = offsetof(__typeof__(f), sections);
	f.head.e_shnum = 3;
	f.head.e_shentsize = sizeof(Elf64_Shdr);
	f.load = (Elf64_Phdr){ .p_type = PT_LOAD,
			       .p_offset = PLACE,
			       .p_vaddr = MEMORY,
			       .p_filesz = 0x100,
			       .p_memsz = 0x2000 };
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		f.symbols[i + 1] = (Elf64_Sym){ .st_name = (uint32_t)names,
						.st_value = made[i].value,
						.st_size = made[i].size,
						.st_info = made[i].info,
						.st_shndx = made[i].section };
		memcpy(f.names + names, made[i].name, strlen(made[i].name) + 1);
		names += strlen(made[i].name) + 1;
	}
	f.sections[1] = (Elf64_Shdr){ .sh_type = type,
				      .sh_offset = offsetof(__typeof__(f), symbols),
				      .sh_size = sizeof(f.symbols),
				      .sh_link = 2,
				      .sh_entsize = sizeof(Elf64_Sym) };
	f.sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(__typeof__(f), names),
				      .sh_size = names };
	if (fd < 0 || write(fd, &f, sizeof(f)) != sizeof(f))
		printf("# cannot make a file: %s\n", strerror(errno));
	return fd;
}

static struct sym_symbols *table_of(int fd)
{
	struct sym_symbols *t = NULL;
	struct sym_elf *f;
	struct err e = { 0 };

	if (sym_elf_open_fd(&f, fd, "made", &e) == 0 && sym_symbols_new(&t, f, &e) != 0)
		t = NULL;
	ok(t != NULL, "the file opens: %s", e.text);
	return t;
}

static void names_of_places(void)
{
	static const struct {
		uint64_t at;
		enum sym_match match;
		const char *name;
		uint64_t delta;
		const char *why;
	} rows[] = {
		{ PLACE + 0x05, SYM_NONE, "", 0, "before the first function" },
		{ PLACE + 0x10, SYM_INSIDE, "outer", 0, "its first byte" },
		{ PLACE + 0x22, SYM_INSIDE, "inner_label", 2, "the inner of two" },
		{ PLACE + 0x30, SYM_INSIDE, "outer", 0x20,
		  "the outer one goes on behind the inner" },
		{ PLACE + 0x4f, SYM_INSIDE, "outer", 0x3f, "its last byte" },
		{ PLACE + 0x50, SYM_NEAREST, "inner_label", 0x30,
		  "behind a function is only near it" },
		{ PLACE + 0x65, SYM_INSIDE, "thing", 5, "the plainest of three names" },
		{ PLACE + 0x9f, SYM_INSIDE, "no_size", 0xf,
		  "without a size it reaches to the next" },
		{ PLACE + 0xa1, SYM_INSIDE, "resolver", 1, "indirect functions are functions" },
		{ PLACE + 0xb4, SYM_NEAREST, "resolver", 0x14, "data is no function" },
		{ PLACE + 0x900000, SYM_NONE, "", 0, "far behind everything" },
	};
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };

	for (size_t k = 0; k < 2; k++) {
		int fd = make_elf(types[k]);
		struct sym_symbols *t = table_of(fd);

		close(fd); /* the table has its own */
		is_u64(sym_symbols_count(t), 8, "functions with a place are in the table");
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct buf name = { 0 };
			uint64_t delta = 0;
			enum sym_match match = sym_symbols_find(t, rows[i].at, &name, &delta);

			is_int(match, rows[i].match, "%s", rows[i].why);
			is_str(buf_text(&name), rows[i].name, "%s: name", rows[i].why);
			is_u64(delta, rows[i].delta, "%s: distance", rows[i].why);
			buf_free(&name);
		}
		sym_symbols_free(t);
	}
}

struct seen {
	unsigned n, functions, undefined, placeless;
	unsigned stop_at;
};

static bool see(void *ctx, const struct sym_elf_symbol *s)
{
	struct seen *seen = ctx;

	seen->n++;
	seen->functions += s->is_function;
	seen->undefined += s->name && strcmp(s->name, "needed") == 0;
	seen->placeless += s->offset == UINT64_MAX;
	return seen->n != seen->stop_at;
}

static void walks(void)
{
	int fd = make_elf(SHT_SYMTAB);
	struct seen all = { 0 }, functions = { 0 }, dynamic = { 0 }, some = { .stop_at = 3 };
	struct sym_elf *f;
	struct err e = { 0 };
	char text[8];
	uint64_t at = 0;

	is_int(sym_elf_open_fd(&f, fd, "made", &e), 0, "opened");
	is_int(sym_elf_symbols(f, SYM_FULL | SYM_NAMES, see, &all, &e), 0, "walked");
	is_u64(all.n, 10, "all but the undefined one");
	is_u64(all.undefined, 0, "which is not there");
	is_u64(all.placeless, 1, "one has no place in the file");
	sym_elf_symbols(f, SYM_FULL | SYM_NAMES | SYM_FUNCTIONS, see, &functions, &e);
	is_u64(functions.n, 8, "functions only");
	is_int(sym_elf_symbols(f, SYM_NAMES, see, &dynamic, &e), 0, "a table that is not there");
	is_u64(dynamic.n, 0, "has nothing");
	sym_elf_symbols(f, SYM_FULL, see, &some, &e);
	is_u64(some.n, 3, "the walk ends when told to");
	is_int(sym_elf_machine(f), EM_X86_64, "machine");
	is_str(sym_elf_build_id(f), "", "no build-id is no error");
	is_str(sym_elf_soname(f), "", "no soname");
	ok(sym_elf_place(f, MEMORY + 0xff, &at) && at == PLACE + 0xff,
	   "the last byte of the segment");
	ok(!sym_elf_place(f, MEMORY + 0x100, &at), "bss is not in the file");
	ok(!sym_elf_place(f, MEMORY - 1, &at), "nor what lies before it");
	is_u64(sym_elf_bytes(f, sym_elf_size(f) - 3, text, 8), 3, "bytes end with the file");
	is_u64(sym_elf_bytes(f, UINT64_MAX, text, 8), 0, "and there are none behind it");
	is_str(sym_elf_text(f, UINT64_MAX - 2, text, sizeof(text)), "",
	       "text from nowhere is empty");
	sym_elf_free(f);
	close(fd);
}

static int on_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uintptr_t *)ctx = info->dlpi_addr;
	return 1; /* the first is the program itself */
}

static void ourselves(void)
{
	struct sym_symbols *t = NULL;
	struct buf name = { 0 };
	struct err e = { 0 };
	uintptr_t base = 0;
	uint64_t at = 0, delta = 0;

	dl_iterate_phdr(on_object, &base);
	is_int(sym_symbols_open(&t, "/proc/self/exe", &e), 0, "our own executable %s", e.text);
	if (!t)
		return;
	ok(sym_elf_interpreter(sym_symbols_file(t))[0] == '/', "names its loader");
	ok(sym_elf_place(sym_symbols_file(t), (uintptr_t)walks - base + 1, &at),
	   "a function of this file has a place");
	is_int(sym_symbols_find(t, at, &name, &delta), SYM_INSIDE, "which is inside");
	is_str(buf_text(&name), "walks", "the function");
	is_u64(delta, 1, "at its second byte");
	buf_free(&name);
	sym_symbols_free(t);
}

static void demangling(void)
{
	/* As nvcc names host functions of kernels: plain, static, of a template, in C, with a
	 * file's name. */
	static const char *const stubs[][2] = {
		{ "_Z25__device_stub__Z5saxpyPfiPfi", "saxpy(float*, int)" },
		{ "_ZL25__device_stub__Z5saxpyPfiPfi", "saxpy(float*, int)" },
		{ "__device_stub__Z18flash_attn_ext_f16Pf", "flash_attn_ext_f16(float*)" },
		{ "__device_stub__Z5saxpyPfi", "saxpy(float*, int)" },
		{ "_ZN2at25__device_stub__Z5saxpyPfiEPfi", "saxpy(float*, int)" },
		{ "_ZL26__wrapper__device_stub_addIfEvRPT_", "void add<float>(float*&)" },
		{ "__device_stub_plain", "plain" },
		{ "__nv_static_51__1f_tmpxft_1_cu_2__Z5saxpyPfi", "saxpy(float*, int)" },
		{ "_Z9__device_stub__Z", "_Z9_Z" },
		{ "_Z99999999999999999999__device_stub__Z5saxpyPfi", "saxpy(float*, int)" },
		{ "__nv_static_", "__nv_static_" },
	};
	struct buf out = { 0 };
	char longest[3000] = "_Z";
	bool known;

	demangle_name(&out, "cudaMalloc");
	is_str(buf_text(&out), "cudaMalloc", "C names stay");
	buf_reset(&out);
	demangle_name(&out, "_ZN3foo3barEi");
	ok(strcmp(buf_text(&out), "foo::bar(int)") == 0 ||
		   strcmp(buf_text(&out), "_ZN3foo3barEi") == 0,
	   "C++ names are told as written, or stay: %s", buf_text(&out));
	known = out.n && *buf_text(&out) == 'f';
	for (unsigned i = 0; known && i < sizeof(stubs) / sizeof(stubs[0]); i++) {
		buf_reset(&out);
		demangle_name(&out, stubs[i][0]);
		is_str(buf_text(&out), stubs[i][1], "%s", stubs[i][0]);
	}
	buf_reset(&out);
	demangle_name(&out, "_Znonsense");
	is_str(buf_text(&out), "_Znonsense", "nonsense stays");
	buf_reset(&out);
	memset(longest + 2, 'S', sizeof(longest) - 3);
	demangle_name(&out, longest);
	is_u64(out.n, sizeof(longest) - 1, "what is too long stays");
	buf_free(&out);
}

static void no_elf(void)
{
	struct sym_elf *f;
	struct err e = { 0 };
	char id[SYM_BUILD_ID];
	int fd = memfd_create("text", MFD_CLOEXEC);

	is_int(sym_elf_open(&f, "/nonexistent/lib.so", &e), ERR_CANNOT, "a missing file");
	like(e.text, "No such file", "says so");
	is_int(sym_elf_open(&f, "/tmp", &e), ERR_DAMAGED, "a folder");
	is_int(sym_elf_open(&f, "/dev/null", &e), ERR_DAMAGED, "a device");
	is_int(sym_elf_open_fd(&f, fd, "empty", &e), ERR_DAMAGED, "an empty file");
	if (write(fd, "INPUT(libother.so)\n", 19) != 19)
		printf("# cannot write\n");
	is_int(sym_elf_open_fd(&f, fd, "a script", &e), ERR_DAMAGED, "a linker script");
	like(e.text, "a script is not a 64-bit", "is named");
	ok(!f, "nothing to free");
	is_int(sym_elf_build_id_of("/nonexistent/lib.so", id, &e), ERR_CANNOT,
	       "no build-id of a missing file");
	is_str(id, "", "is empty");
	close(fd);
}

/* Everything that can be asked of a file; the answers do not matter. */
static void ask_all(int fd)
{
	struct seen seen = { 0 };
	struct sym_symbols *t;
	struct sym_elf *f;
	struct buf name = { 0 };
	uint64_t delta;

	if (sym_elf_open_fd(&f, fd, "bent", NULL))
		return;
	sym_elf_symbols(f, SYM_NAMES, see, &seen, NULL);
	sym_elf_symbols(f, SYM_NAMES | SYM_FULL, see, &seen, NULL);
	if (sym_symbols_new(&t, f, NULL) == 0) {
		for (uint64_t at = 0; at < 0x3000; at += 0x123) {
			buf_reset(&name);
			sym_symbols_find(t, at, &name, &delta);
		}
		sym_symbols_free(t);
	}
	buf_free(&name);
}

static void bent_files(void)
{
	const unsigned char *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	size_t size, cuts = 0, bends = 0;
	struct seen seen = { 0 };
	struct sym_elf *f = NULL;
	const Elf64_Ehdr *head = (const void *)vdso;
	int fd;

	if (!vdso) {
		skip("no vDSO here (valgrind hides it)");
		return;
	}
	size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (write(fd, vdso, size) != (ssize_t)size)
		printf("# cannot write\n");
	is_int(sym_elf_open_fd(&f, fd, "vdso", NULL), 0, "the vDSO of %zu bytes", size);
	like(sym_elf_soname(f), "linux-", "its soname is %s", sym_elf_soname(f));
	sym_elf_symbols(f, SYM_NAMES, see, &seen, NULL);
	ok(seen.functions > 3, "it has functions");
	sym_elf_free(f);
	for (size_t n = 0; n < size; n++) {
		/* Headers and tables byte by byte, code in steps. */
		size_t cut = size - 1 - n;

		if (ftruncate(fd, (off_t)cut) == 0 && (n < 2048 || cut < 2048 || n % 13 == 0)) {
			ask_all(fd);
			cuts++;
		}
	}
	if (pwrite(fd, vdso, size, 0) != (ssize_t)size)
		printf("# cannot write\n");
	for (size_t i = 0; i < size; i++) {
		for (size_t k = 0; k < sizeof(flips); k++) {
			unsigned char was = vdso[i], bent = was ^ flips[k];

			if (pwrite(fd, &bent, 1, (off_t)i) != 1)
				break;
			if (i < 4096 || i > size - 2048 || i % 7 == 0) {
				ask_all(fd);
				bends++;
			}
			if (pwrite(fd, &was, 1, (off_t)i) != 1)
				break;
		}
	}
	ok(cuts > 2000 && bends > 8000, "%zu cuts and %zu bent bytes, and no crash", cuts, bends);
	close(fd);
}

int main(void)
{
	names_of_places();
	walks();
	ourselves();
	demangling();
	no_elf();
	bent_files();
	return tap_done();
}
