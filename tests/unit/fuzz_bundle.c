/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target bundle: packed ones bent before unpacking, and plain archives whose members are
 * bent, so that mutations reach the symbol tables and the recording behind the checksums of the
 * compression.
 */
#include "tests/fuzz/bundle.c"

#include "lib/bundle/library.h"
#include "tests/fuzz/bytes.h"
#include "tests/tap.h"
#include "tests/unit/bundle.h"

#ifdef INGERO_HAVE_ARCHIVE

#define ROUNDS 3000

static la_ssize_t keep(struct archive *a, void *ctx, const void *p, size_t n)
{
	buf_add(ctx, p, n);
	return (la_ssize_t)n;
}

static void seed(struct buf *out, bool packed)
{
	static const char *const names[] = { "BUNDLE", "symbols/" BUNDLE_TEST_ID, "recording.ige" };
	const struct pack_library *lib = pack_library(NULL);
	struct archive *a = lib->write_new();
	struct buf parts[3] = { { 0 } };

	buf_puts(&parts[0], "ingero bundle 1\n");
	bundle_test_elf(&parts[1]);
	parts[1].n = 0x800;
	bundle_test_recording(&parts[2], "/lib/x.so");
	lib->write_pax(a);
	if (packed)
		lib->write_gzip(a);
	lib->write_open(a, out, NULL, keep, NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct archive_entry *entry = lib->entry_new();

		lib->entry_set_pathname(entry, names[i]);
		lib->entry_set_size(entry, (la_int64_t)parts[i].n);
		lib->entry_set_filetype(entry, AE_IFREG);
		lib->write_header(a, entry);
		lib->write_data(a, parts[i].p, parts[i].n);
		lib->entry_free(entry);
		buf_free(&parts[i]);
	}
	lib->write_close(a);
	lib->write_free(a);
}

int main(int argc, char **argv)
{
	struct buf plain = { 0 }, packed = { 0 };
	unsigned round;

	if (!pack_library(NULL)) {
		skip("no libarchive on this machine");
		return tap_done();
	}
	seed(&plain, false);
	seed(&packed, true);
	for (round = 0; round < ROUNDS; round++) {
		struct buf b = { 0 };
		const struct buf *from = round % 4 ? &plain : &packed;

		buf_add(&b, from->p, from->n);
		for (unsigned m = replay_below(6); m > 0 && b.n; m--)
			replay_mutate(&b);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, ROUNDS, "mutated bundles");
	buf_free(&plain);
	buf_free(&packed);
	return tap_done();
}

#else

int main(void)
{
	skip("built without libarchive");
	return tap_done();
}

#endif
