/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: made of a library that then goes away, read where it never was; and archives that
 * somebody else made.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/input/bundle.h"
#include "lib/input/input.h"
#include "lib/bundle/library.h"
#include "lib/symbols/slim.h"
#include "lib/symbols/symbols.h"
#include "tests/tap.h"
#include "tests/unit/bundle.h"

static char folder[] = "/tmp/ingero-test.XXXXXX";
static char library[64], recording[64], bundle[64];

static void put_file(const char *path, const struct buf *b)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write_all(fd, b->p, b->n, NULL) || close(fd))
		printf("# cannot write %s\n", path);
}

static void slim(void)
{
	static const struct {
		uint64_t at;
		enum sym_match match;
		const char *name;
	} places[] = { { 0x2010, SYM_INSIDE, "alpha" },	 { 0x202f, SYM_INSIDE, "alpha" },
		       { 0x2030, SYM_NEAREST, "alpha" }, { 0x2045, SYM_INSIDE, "beta::gamma()" },
		       { 0x2090, SYM_INSIDE, "delta" },	 { 0x1fff, SYM_NONE, "" } };
	struct buf whole = { 0 }, small = { 0 };
	int fd[2] = { memfd_create("whole", 0), memfd_create("small", 0) };
	struct sym_elf *f;
	struct err e = { 0 };
	size_t functions = 0;

	bundle_test_elf(&whole);
	write_all(fd[0], whole.p, whole.n, NULL);
	is_int(sym_elf_open_fd(&f, fd[0], "whole", &e), 0, "the whole file is read %s", e.text);
	is_int(sym_slim(f, &small, &functions, &e), 0, "its names are taken %s", e.text);
	is_u64(functions, 3, "all of them");
	ok(small.n < 1024, "in %zu bytes instead of %zu", small.n, whole.n);
	ok(!memmem(small.p, small.n, "secret", 6), "and no byte of its code");
	sym_elf_free(f);
	write_all(fd[1], small.p, small.n, NULL);
	for (unsigned k = 0; k < 2; k++) {
		struct sym_symbols *t = NULL;

		is_int(sym_elf_open_fd(&f, fd[k], "one", &e), 0, "opened");
		is_str(sym_elf_build_id(f), BUNDLE_TEST_ID, "its build-id");
		is_int(sym_symbols_new(&t, f, &e), 0, "its names");
		for (unsigned i = 0; t && i < sizeof(places) / sizeof(places[0]); i++) {
			struct buf name = { 0 };
			uint64_t delta;

			is_int(sym_symbols_find(t, places[i].at, &name, &delta), places[i].match,
			       "%s: %#llx", k ? "slim" : "whole", (unsigned long long)places[i].at);
			is_str(buf_text(&name), places[i].name, "its name");
			buf_free(&name);
		}
		sym_symbols_free(t);
		close(fd[k]);
	}
	buf_free(&whole);
	buf_free(&small);
}

#ifdef INGERO_HAVE_ARCHIVE

/* The names on the first stack with four frames of what is read there, "a b c d". */
static void names_in(const char *path, struct buf *out)
{
	struct world *w = world_new();
	struct input *in = NULL;
	struct stream_item item;
	struct err e = { 0 };
	unsigned n;
	int rc = input_open(&in, w, &path, 1, &e);

	is_int(rc, 0, "%s is opened %s", path, e.text);
	while (rc == 0 && input_stream(in)->next(input_stream(in), &item, &e) > 0)
		;
	for (uint32_t i = 1; i <= world_count(w, WORLD_STACK); i++) {
		const uint32_t *frames = world_get_stack(w, i, &n);

		for (unsigned k = 0; n == 4 && k < n; k++) {
			const struct world_symbol *s = world_get_symbol(w, frames[k]);
			struct bytes name = world_text(w, s ? s->name : 0);

			buf_printf(out, "%s%s+%u", k ? " " : "", name.p ? name.p : "?",
				   s ? (unsigned)s->delta : 0);
		}
	}
	input_free(in);
	world_free(w);
}

static void round_trip(void)
{
	struct input_bundle_told told;
	struct buf elf = { 0 }, run = { 0 }, notes = { 0 }, names = { 0 }, packed = { 0 };
	struct err e = { 0 };
	struct stat st;

	bundle_test_elf(&elf);
	bundle_test_recording(&run, library);
	put_file(library, &elf);
	put_file(recording, &run);
	names_in(recording, &names);
	is_str(buf_text(&names), "?+0 ?+0 ?+0 ?+0", "a recording without names");
	buf_reset(&names);
	is_int(input_bundle_file(recording, NULL, 0, 0, NULL, NULL, &told, &notes, &e), 0,
	       "is packed %s", e.text);
	is_str(told.path, bundle, "beside it");
	is_u64(told.modules, 1, "with one library");
	is_u64(told.functions, 3, "of three functions");
	is_u64(told.missing, 1, "one is not there");
	like(buf_text(&notes), "no symbols of /usr/lib/libcudart.so.13", "which is told");
	ok(stat(bundle, &st) == 0 && (st.st_mode & 0777) == 0600 &&
		   (uint64_t)st.st_size == told.bytes,
	   "for nobody else");
	unlink(library);
	unlink(recording);
	names_in(bundle, &names);
	is_str(buf_text(&names), "alpha+5 beta::gamma()+5 delta+16 alpha+16",
	       "names without the library and the recording");

	/* Another library at its place. */
	buf_reset(&notes);
	elf.p[offsetof(Elf64_Ehdr, e_ehsize) + 200] ^= 1;
	put_file(recording, &run);
	memset(elf.p + sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 16, 7, 20);
	put_file(library, &elf);
	is_int(input_bundle_file(recording, bundle, 0, 0, NULL, NULL, &told, &notes, &e), 0,
	       "another library is there now");
	is_u64(told.modules, 0, "which is not taken");
	like(buf_text(&notes), "another one now", "and why is told");
	is_int(input_bundle_file("/nonexistent.ige", NULL, 0, 0, NULL, NULL, &told, &notes, &e),
	       ERR_CANNOT, "no recording");
	is_int(input_bundle_file(library, bundle, 0, 0, NULL, NULL, &told, &notes, &e), ERR_DAMAGED,
	       "what is no recording");
	is_int(read_file(bundle, &packed, 1 << 20, &e), 0, "leaves what was there");
	buf_free(&packed);
	buf_free(&names);
	buf_free(&notes);
	buf_free(&elf);
	buf_free(&run);
}

static la_ssize_t keep(struct archive *a, void *ctx, const void *p, size_t n)
{
	buf_add(ctx, p, n);
	return (la_ssize_t)n;
}

struct part {
	const char *name;
	mode_t type;
	const char *link, *text;
	uint64_t zeros; /* instead of text */
};

static void archive_of(struct buf *out, const struct part *parts, unsigned n)
{
	static const char zeros[65536];
	const struct pack_library *lib = pack_library(NULL);
	struct archive *a = lib->write_new();

	lib->write_pax(a);
	lib->write_gzip(a);
	lib->write_open(a, out, NULL, keep, NULL);
	for (unsigned i = 0; i < n; i++) {
		struct archive_entry *entry = lib->entry_new();
		size_t size = parts[i].text ? strlen(parts[i].text) : parts[i].zeros;

		lib->entry_set_pathname(entry, parts[i].name);
		lib->entry_set_size(entry, (la_int64_t)size);
		lib->entry_set_filetype(entry, parts[i].type);
		if (parts[i].link)
			lib->entry_set_link(entry, parts[i].link);
		lib->write_header(a, entry);
		if (parts[i].text)
			lib->write_data(a, parts[i].text, size);
		for (size_t at = 0; !parts[i].text && at < size; at += sizeof(zeros))
			lib->write_data(a, zeros, sizeof(zeros));
		lib->entry_free(entry);
	}
	lib->write_close(a);
	lib->write_free(a);
}

#define HEAD                                                     \
	{                                                        \
		"BUNDLE", AE_IFREG, NULL, "ingero bundle 1\n", 0 \
	}

static void foreign(void)
{
	static const struct {
		struct part parts[3];
		unsigned n;
		int rc;
		const char *what;
	} rows[] = {
		{ { { "notes.txt", AE_IFREG, NULL, "hello", 0 } }, 1, ERR_DAMAGED, "some archive" },
		{ { { "BUNDLE", AE_IFREG, NULL, "hello", 0 } }, 1, ERR_DAMAGED, "a wrong head" },
		{ { { "BUNDLE", AE_IFREG, NULL, "ingero bundle 2\n", 0 } },
		  1,
		  ERR_TOO_NEW,
		  "a newer form" },
		{ { HEAD }, 1, ERR_DAMAGED, "no recording" },
		{ { HEAD, { "../../etc/passwd", AE_IFREG, NULL, "x", 0 } },
		  2,
		  ERR_DAMAGED,
		  "a way up" },
		{ { HEAD, { "/etc/passwd", AE_IFREG, NULL, "x", 0 } },
		  2,
		  ERR_DAMAGED,
		  "an absolute path" },
		{ { HEAD, { "symbols/../x", AE_IFREG, NULL, "x", 0 } },
		  2,
		  ERR_DAMAGED,
		  "a way back" },
		{ { HEAD, { "symbols/.x", AE_IFREG, NULL, "x", 0 } },
		  2,
		  ERR_DAMAGED,
		  "a hidden file" },
		{ { HEAD, { "a/b/c", AE_IFREG, NULL, "x", 0 } }, 2, ERR_DAMAGED, "a deep one" },
		{ { HEAD, { "symbols", AE_IFDIR, NULL, "", 0 } }, 2, ERR_DAMAGED, "a folder" },
		{ { HEAD, { "recording.ige", AE_IFLNK, "/etc/passwd", "", 0 } },
		  2,
		  ERR_DAMAGED,
		  "a link" },
		{ { HEAD, { "recording.ige", AE_IFREG, NULL, NULL, 300u << 20 } },
		  2,
		  ERR_LIMIT,
		  "300 MB of zeros" },
		{ { HEAD,
		    { "future.txt", AE_IFREG, NULL, "x", 0 },
		    { "recording.ige", AE_IFREG, NULL, "", 0 } },
		  3,
		  0,
		  "more than is known" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();
		struct buf packed = { 0 };
		struct err e = { 0 };
		int fd = memfd_create("archive", 0), got;

		archive_of(&packed, rows[i].parts, rows[i].n);
		write_all(fd, packed.p, packed.n, NULL);
		is_int(input_bundle_open(&got, w, fd, "x.igb", &e), rows[i].rc, "%s: %s",
		       rows[i].what, e.text);
		ok((got < 0) == (rows[i].rc != 0), "and nothing is left open");
		if (got >= 0)
			close(got);
		close(fd);
		buf_free(&packed);
		world_free(w);
	}
}

static void cut(void)
{
	struct buf packed = { 0 };
	unsigned refused = 0, n = 0;

	read_file(bundle, &packed, 1 << 20, NULL);
	for (size_t at = 0; at + 9 < packed.n;
	     at += 7, n++) { /* the last bytes are the checksum's and padding */
		struct world *w = world_new();
		int fd = memfd_create("archive", 0), got;

		write_all(fd, packed.p, at, NULL);
		refused += input_bundle_open(&got, w, fd, "x.igb", NULL) < 0;
		if (got >= 0)
			close(got);
		close(fd);
		world_free(w);
	}
	ok(n > 50 && refused + 3 >= n, "%u of %u cut bundles are refused", refused, n);
	buf_free(&packed);
}

#endif

int main(void)
{
	slim();
#ifdef INGERO_HAVE_ARCHIVE
	if (!mkdtemp(folder))
		return 1;
	snprintf(library, sizeof(library), "%s/libx.so", folder);
	snprintf(recording, sizeof(recording), "%s/run.ige", folder);
	snprintf(bundle, sizeof(bundle), "%s/run.igb", folder);
	if (pack_library(NULL)) {
		round_trip();
		foreign();
		cut();
	} else {
		skip("no libarchive on this machine");
	}
	unlink(library);
	unlink(recording);
	unlink(bundle);
	rmdir(folder);
#else
	skip("built without libarchive");
#endif
	return tap_done();
}
