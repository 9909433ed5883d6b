/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file with three functions, and a recording whose stacks go through them: what a bundle is
 * made of.
 */
#ifndef INGERO_TESTS_BUNDLE_H
#define INGERO_TESTS_BUNDLE_H

#include <elf.h>
#include <string.h>

#include "lib/base/buf.h"
#include "tests/unit/fixture.h"

#define BUNDLE_TEST_ID "00112233445566778899aabbccddeeff00112233"

/* Code at 0x1000 in memory, at 0x2000 in a file of 0x4000 bytes: "alpha", "beta::gamma()", and one
 * without size. */
static inline void bundle_test_elf(struct buf *out)
{
	static const char names[] = "\0alpha\0_ZN4beta5gammaEv\0delta",
			  section_names[] = "\0.symtab\0.strtab";
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[2];
		Elf64_Nhdr note;
		char owner[4];
		unsigned char id[20];
		Elf64_Sym s[4];
		char names[32], section_names[24];
		Elf64_Shdr sh[4];
	} f = { .h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT },
		       .e_type = ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 2,
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 4,
		       .e_shstrndx = 3 } };
	const size_t at[] = { 0, 0x10, 0x40, 0x80 }, size[] = { 0, 0x20, 0x10, 0 };
	const unsigned name[] = { 0, 1, 7, 24 };

	f.h.e_phoff = offsetof(__typeof__(f), p);
	f.h.e_shoff = offsetof(__typeof__(f), sh);
	f.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = 0x2000,
			       .p_vaddr = 0x1000,
			       .p_filesz = 0x1000,
			       .p_memsz = 0x1000 };
	f.p[1] = (Elf64_Phdr){ .p_type = PT_NOTE,
			       .p_offset = offsetof(__typeof__(f), note),
			       .p_filesz = 36 };
	f.note = (Elf64_Nhdr){ 4, 20, NT_GNU_BUILD_ID };
	memcpy(f.owner, "GNU", 4);
	for (unsigned i = 0; i < 20; i++)
		f.id[i] = (unsigned char)(i % 16 * 0x11);
	for (unsigned i = 1; i < 4; i++)
		f.s[i] = (Elf64_Sym){ .st_name = name[i],
				      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				      .st_shndx = 1,
				      .st_value = 0x1000 + at[i],
				      .st_size = size[i] };
	memcpy(f.names, names, sizeof(names));
	memcpy(f.section_names, section_names, sizeof(section_names));
	f.sh[1] = (Elf64_Shdr){ .sh_name = 1,
				.sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(__typeof__(f), s),
				.sh_size = sizeof(f.s),
				.sh_link = 2,
				.sh_entsize = sizeof(Elf64_Sym) };
	f.sh[2] = (Elf64_Shdr){ .sh_name = 9,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(__typeof__(f), names),
				.sh_size = sizeof(names) };
	f.sh[3] = (Elf64_Shdr){ .sh_name = 9,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(__typeof__(f), section_names),
				.sh_size = sizeof(section_names) };
	buf_add(out, &f, sizeof(f));
	while (out->n < 0x2000)
		buf_putc(out, 0);
	while (out->n < 0x4000) /* what must not be found in a bundle */
		buf_puts(out, "secret code!!!!!");
}

/* Events whose stack goes through that file under that path, at 0x2015, 0x2045, 0x2090 and 0x2020. */
static inline void bundle_test_recording(struct buf *out, const char *path)
{
	static const uint64_t at[] = { 0x2015, 0x2045, 0x2090, 0x2020 };
	struct fixture_sink s = { .sink = { fixture_put } };
	struct ige_writer_options opt = { .clock_id = 1 };
	struct world_module m = { 0 };
	struct ige_writer *wr;
	struct fixture f;
	uint32_t frames[4];

	fixture_init(&f);
	m.path = world_string(f.w, bytes_of(path));
	m.build_id = world_string(f.w, bytes_of(BUNDLE_TEST_ID));
	for (unsigned i = 0; i < 4; i++)
		frames[i] = world_frame(f.w, &(struct world_frame){ .kind = FRAME_NATIVE,
								    .module = world_module(f.w, &m),
								    .offset = at[i] });
	f.stack[0] = world_stack(f.w, frames, 4);
	if (ige_writer_new(&wr, f.w, &s.sink, &opt, NULL))
		abort();
	for (uint32_t i = 0; i < 50; i++) {
		struct event ev = fixture_event(&f, i);

		if (ige_writer_event(wr, &ev, NULL))
			abort();
	}
	if (ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	world_free(f.w);
	buf_add(out, s.bytes.p, s.bytes.n);
	buf_free(&s.bytes);
}

#endif
