/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small ELF files with call frame information, made byte by byte: one executable segment, and
 * behind it .eh_frame, found by PT_GNU_EH_FRAME. For tests of the unwind tables.
 */
#ifndef INGERO_TESTS_UNIT_CFI_H
#define INGERO_TESTS_UNIT_CFI_H

#include <elf.h>
#include <stdint.h>

#include "lib/base/buf.h"

#define CFI_CODE       0x100000 /* address of the code, 1 MB */
#define CFI_CODE_BYTES 0x100000
#define CFI_FRAMES     0x10000 /* of .eh_frame_hdr; .eh_frame is 16 bytes behind it */
#define CFI_HEAD       0x1000  /* where .eh_frame_hdr stands in the file */

static inline void cfi_put(struct buf *b, uint64_t value, unsigned n)
{
	buf_add(b, &value, n);
}

/* A CIE with these augmentation letters and data. */
static inline void cfi_put_cie(struct buf *frames, const char *letters, struct bytes data,
			       struct bytes program)
{
	struct buf b = { 0 };

	cfi_put(&b, 0, 4);
	cfi_put(&b, 1, 1);
	buf_add(&b, letters, strlen(letters) + 1);
	cfi_put(&b, 1, 1);    /* code alignment */
	cfi_put(&b, 0x78, 1); /* data alignment -8 */
	cfi_put(&b, 16, 1);
	if (*letters == 'z') {
		cfi_put(&b, data.n, 1);
		buf_add(&b, data.p, data.n);
	}
	buf_add(&b, program.p, program.n);
	cfi_put(frames, b.n, 4);
	buf_add(frames, b.p, b.n);
	buf_free(&b);
}

/* The usual: addresses of 4 bytes relative to where they stand; CFA = rsp + 8, return address at
 * CFA - 8. */
#define CFI_PROGRAM ((struct bytes){ "\x0c\x07\x08\x90\x01", 5 })
static inline void cfi_put_usual_cie(struct buf *frames, bool is_signal)
{
	cfi_put_cie(frames, is_signal ? "zRS" : "zR", (struct bytes){ "\x1b", 1 }, CFI_PROGRAM);
}

/* An FDE of the CIE that stands at cie. */
static inline void cfi_put_fde(struct buf *frames, size_t cie, uint64_t address, uint32_t length,
			       struct bytes program)
{
	size_t id = frames->n + 4;

	cfi_put(frames, 13 + program.n, 4);
	cfi_put(frames, id - cie, 4);
	cfi_put(frames, address - (CFI_FRAMES + 16 + frames->n), 4);
	cfi_put(frames, length, 4);
	cfi_put(frames, 0, 1);
	buf_add(frames, program.p, program.n);
}

/* The file, with a terminator behind the frames. */
static inline void cfi_put_file(struct buf *out, const struct buf *frames)
{
	size_t n = 16 + frames->n + 4;
	Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				      EV_CURRENT },
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(h),
			 .e_ehsize = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 3 };
	Elf64_Phdr s[3] = { { .p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_vaddr = CFI_CODE,
			      .p_filesz = CFI_CODE_BYTES,
			      .p_memsz = CFI_CODE_BYTES },
			    { .p_type = PT_LOAD,
			      .p_flags = PF_R,
			      .p_offset = CFI_HEAD,
			      .p_vaddr = CFI_FRAMES,
			      .p_filesz = n,
			      .p_memsz = n },
			    { .p_type = PT_GNU_EH_FRAME,
			      .p_flags = PF_R,
			      .p_offset = CFI_HEAD,
			      .p_vaddr = CFI_FRAMES,
			      .p_filesz = 16,
			      .p_memsz = 16 } };
	static const char header[16] = { 1, 0x1b, (char)0xff, (char)0xff, 12 };

	buf_add(out, (const char *)&h, sizeof(h));
	buf_add(out, (const char *)s, sizeof(s));
	while (out->n < CFI_HEAD)
		cfi_put(out, 0, 1);
	buf_add(out, header, sizeof(header));
	buf_add(out, frames->p, frames->n);
	cfi_put(out, 0, 4);
}

#endif
