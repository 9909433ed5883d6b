/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libelf parses, from the descriptor (ELF_C_READ: by pread, never by a mapping). Invariant: what
 * the file says of sizes is held against the file and our limits before libelf is asked for that
 * part, for it allocates what is said. What it has read is given back when the question is
 * answered: a library's symbols take no memory in between.
 */
#include "lib/base/io.h"
#include "lib/symbols/elf_internal.h"

#include <pthread.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX   1024u
#define SECTIONS_MAX   (1u << 20)
#define EVENT_ARGS_MAX 65536u
#define DYNAMIC_MAX    65536u

size_t sym_elf_bytes(const struct sym_elf *f, uint64_t offset, void *out, size_t n)
{
	ssize_t got;

	if (offset >= f->size)
		return 0;
	if (n > f->size - offset)
		n = f->size - offset;
	got = read_at(f->fd, out, n, (off_t)offset);
	return got < 0 ? 0 : (size_t)got;
}

static bool read_exact(const struct sym_elf *f, uint64_t offset, void *out, size_t n)
{
	return sym_elf_inside(f, offset, n) && sym_elf_bytes(f, offset, out, n) == n;
}

static void set_elf_version(void)
{
	elf_version(EV_CURRENT);
}

Elf *sym_elf_begin(const struct sym_elf *f)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	Elf *elf;

	pthread_once(&once, set_elf_version);
	elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		elf = NULL;
	}
	return elf;
}

char *sym_elf_text(const struct sym_elf *f, uint64_t place, char *out, size_t size)
{
	size_t got = sym_elf_bytes(f, place, out, size - 1);

	out[got] = 0;
	return out;
}

bool sym_elf_place(const struct sym_elf *f, uint64_t address, uint64_t *offset)
{
	for (unsigned i = 0; i < f->nsegments; i++) {
		const Elf64_Phdr *s = &f->segments[i];

		if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
		    address - s->p_vaddr < s->p_filesz && s->p_offset < f->reach &&
		    address - s->p_vaddr < f->reach - s->p_offset) {
			*offset = s->p_offset + (address - s->p_vaddr);
			return true;
		}
	}
	return false;
}

bool sym_elf_address(const struct sym_elf *f, uint64_t offset, uint64_t *address)
{
	for (unsigned i = 0; i < f->nsegments; i++) {
		const Elf64_Phdr *s = &f->segments[i];

		if (s->p_type != PT_LOAD || offset < s->p_offset ||
		    offset - s->p_offset >= s->p_filesz)
			continue;
		*address = s->p_vaddr + (offset - s->p_offset);
		return true;
	}
	return false;
}

bool sym_elf_segment(const struct sym_elf *f, unsigned i, struct sym_elf_part *out)
{
	const Elf64_Phdr *s;

	if (i >= f->nsegments)
		return false;
	s = &f->segments[i];
	*out =
		(struct sym_elf_part){ s->p_type,  s->p_flags,	s->p_offset,
				       s->p_vaddr, s->p_filesz, 0 };
	return true;
}

bool sym_elf_section(const struct sym_elf *f, unsigned i, struct sym_elf_part *out)
{
	const Elf64_Shdr *s;

	if (i >= f->nsections)
		return false;
	s = &f->sections[i];
	*out = (struct sym_elf_part){ s->sh_type,   (uint32_t)s->sh_flags,
				      s->sh_offset, s->sh_addr,
				      s->sh_size,   0 };
	if (f->head.e_shstrndx < f->nsections)
		out->name = f->sections[f->head.e_shstrndx].sh_offset + s->sh_name;
	return true;
}

static void format_hex(char *out, size_t room, const unsigned char *p, size_t n)
{
	if (n > (room - 1) / 2)
		n = (room - 1) / 2;
	for (size_t i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", p[i]);
}

static void read_note(struct sym_elf *f, const GElf_Nhdr *note, const char *name,
		      const char *description)
{
	if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !f->build_id[0] &&
	    memcmp(name, "GNU", 4) == 0)
		format_hex(f->build_id, sizeof(f->build_id), (const unsigned char *)description,
			   note->n_descsz);
	if (note->n_type == SYM_NOTE_SIZE && note->n_namesz == sizeof(SYM_NOTE_OWNER) &&
	    note->n_descsz == sizeof(f->reach) && memcmp(name, SYM_NOTE_OWNER, note->n_namesz) == 0)
		memcpy(&f->reach, description, sizeof(f->reach));
}

static void read_notes(struct sym_elf *f, Elf *elf)
{
	for (unsigned i = 0; i < f->nsegments; i++) {
		const Elf64_Phdr *s = &f->segments[i];
		size_t at = 0, next, name, description;
		Elf_Data *d = NULL;
		GElf_Nhdr note;

		if (s->p_type == PT_NOTE && s->p_filesz <= EVENT_ARGS_MAX &&
		    sym_elf_inside(f, s->p_offset, s->p_filesz))
			d = elf_getdata_rawchunk(elf, (int64_t)s->p_offset, s->p_filesz,
						 ELF_T_NHDR);
		while (d && (next = gelf_getnote(d, at, &note, &name, &description)) > at) {
			read_note(f, &note, (char *)d->d_buf + name,
				  (char *)d->d_buf + description);
			at = next;
		}
	}
}

static void read_dynamic(struct sym_elf *f, Elf *elf, const Elf64_Phdr *s)
{
	uint64_t names = 0, soname = 0, place;
	bool has_soname = false;
	Elf_Data *data = NULL;
	GElf_Dyn d;

	if (s->p_filesz <= DYNAMIC_MAX && sym_elf_inside(f, s->p_offset, s->p_filesz))
		data = elf_getdata_rawchunk(elf, (int64_t)s->p_offset, s->p_filesz, ELF_T_DYN);
	for (int i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++) {
		if (d.d_tag == DT_STRTAB)
			names = d.d_un.d_ptr;
		if (d.d_tag == DT_SONAME) {
			soname = d.d_un.d_val;
			has_soname = true;
		}
	}
	if (has_soname && sym_elf_place(f, names, &place) && soname < f->size &&
	    place < f->size - soname)
		sym_elf_text(f, place + soname, f->soname, sizeof(f->soname));
}

static void read_segments(struct sym_elf *f, Elf *elf)
{
	for (unsigned i = 0; i < f->nsegments; i++) {
		const Elf64_Phdr *s = &f->segments[i];

		if (s->p_type == PT_DYNAMIC)
			read_dynamic(f, elf, s);
		if (s->p_type == PT_INTERP && s->p_filesz < sizeof(f->interpreter) &&
		    !read_exact(f, s->p_offset, f->interpreter, s->p_filesz))
			f->interpreter[0] = 0;
	}
}

/* The section headers are in the file, and no more than we take. */
static bool sections_fit(const struct sym_elf *f)
{
	Elf64_Shdr first;
	uint64_t n = f->head.e_shnum;

	if (f->head.e_shoff == 0)
		return true;
	if (f->head.e_shentsize != sizeof(first) ||
	    !read_exact(f, f->head.e_shoff, &first, sizeof(first)))
		return false;
	if (n == 0)
		n = first.sh_size; /* more than fit the header's field */
	return n <= SECTIONS_MAX && sym_elf_inside(f, f->head.e_shoff, n * sizeof(first));
}

/* Section headers are for symbols only: a file whose headers are gone or wrong just has none. */
static void read_sections(struct sym_elf *f, Elf *elf)
{
	size_t n = 0;

	if (!sections_fit(f) || elf_getshdrnum(elf, &n) || n == 0 || n > SECTIONS_MAX)
		return;
	f->sections = calloc(n, sizeof(*f->sections));
	for (size_t i = 0; f->sections && i < n; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);

		if (!scn || !gelf_getshdr(scn, &f->sections[i]))
			return;
		f->nsections = (unsigned)i + 1;
	}
}

static int read_head(struct sym_elf *f, const char *name, struct err *e)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return err_sys(e, "cannot read %s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_DAMAGED, "%s is not a file", name);
	f->size = f->reach = (uint64_t)st.st_size;
	if (!read_exact(f, 0, &f->head, sizeof(f->head)) ||
	    memcmp(f->head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    f->head.e_ident[EI_CLASS] != ELFCLASS64 || f->head.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(e, ERR_DAMAGED, "%s is not a 64-bit little-endian ELF file", name);
	/* Without a number in the header libelf makes room for as many sections as the first one
	 * says. */
	if (f->head.e_phnum > SEGMENTS_MAX || (f->head.e_shnum == 0 && !sections_fit(f)))
		return err_set(e, ERR_DAMAGED, "%s: its headers make no sense", name);
	return 0;
}

static int read_parts(struct sym_elf *f, Elf *elf, const char *name, bool whole, struct err *e)
{
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n) || n > SEGMENTS_MAX)
		return err_set(e, ERR_DAMAGED, "%s: its headers make no sense", name);
	f->segments = calloc(n + 1, sizeof(*f->segments));
	if (!f->segments)
		return err_nomem(e);
	for (; f->nsegments < n; f->nsegments++)
		if (!gelf_getphdr(elf, (int)f->nsegments, &f->segments[f->nsegments]))
			return err_set(e, ERR_DAMAGED, "%s: program headers are not in the file",
				       name);
	read_notes(f, elf);
	if (whole) {
		read_segments(f, elf);
		read_sections(f, elf);
	}
	return 0;
}

static int open_owned(struct sym_elf **out, int fd, const char *name, bool whole, struct err *e)
{
	struct sym_elf *f = calloc(1, sizeof(*f));
	Elf *elf = NULL;
	int rc;

	*out = NULL;
	if (!f) {
		close(fd);
		return err_nomem(e);
	}
	f->fd = fd;
	rc = read_head(f, name, e);
	if (rc == 0) {
		elf = sym_elf_begin(f);
		rc = read_parts(f, elf, name, whole, e);
	}
	elf_end(elf);
	if (rc)
		sym_elf_free(f);
	else
		*out = f;
	return rc;
}

/* Without O_NONBLOCK a FIFO planted under a library's name would hold us for ever. */
static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int sym_elf_open(struct sym_elf **out, const char *path, struct err *e)
{
	int fd = open_file(path);

	*out = NULL;
	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	return open_owned(out, fd, path, true, e);
}

int sym_elf_open_fd(struct sym_elf **out, int fd, const char *name, struct err *e)
{
	int mine = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	*out = NULL;
	if (mine < 0)
		return err_sys(e, "cannot read %s", name);
	return open_owned(out, mine, name, true, e);
}

int sym_elf_build_id_of(const char *path, char out[SYM_BUILD_ID], struct err *e)
{
	struct sym_elf *f;
	int fd = open_file(path), rc;

	out[0] = 0;
	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	rc = open_owned(&f, fd, path, false, e);
	if (rc == 0)
		memcpy(out, f->build_id, SYM_BUILD_ID);
	sym_elf_free(f);
	return rc;
}

void sym_elf_free(struct sym_elf *f)
{
	if (!f)
		return;
	close(f->fd);
	free(f->segments);
	free(f->sections);
	free(f);
}

const char *sym_elf_build_id(const struct sym_elf *f)
{
	return f->build_id;
}

const char *sym_elf_soname(const struct sym_elf *f)
{
	return f->soname;
}

const char *sym_elf_interpreter(const struct sym_elf *f)
{
	return f->interpreter;
}

uint16_t sym_elf_machine(const struct sym_elf *f)
{
	return f->head.e_machine;
}

uint64_t sym_elf_size(const struct sym_elf *f)
{
	return f->size;
}
