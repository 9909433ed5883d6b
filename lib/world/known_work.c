/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that begin such work: CPython's Modules/gcmodule.c and, since 3.12, Python/gc.c;
 * Lib/importlib/_bootstrap.py; torch/_dynamo/convert_frame.py and triton/compiler/compiler.py,
 * which are on no stack of code that is compiled; torch/utils/data; torch/fx/traceback.py, which
 * python_anomaly_mode.cpp calls; Lib/copy.py, Lib/json, Lib/logging; torch/serialization.py; ATen's
 * operators behind Tensor.item() and Tensor.to(); what libraries that compress and decode give to
 * others: zlib.h, libdeflate.h, zstd.h, lz4.h, lzma.h, bzlib.h, brotli, snappy.h, jpeglib.h,
 * turbojpeg.h, png.h, webp, libavcodec; Pillow's src/libImaging.
 */
#include "lib/world/known_work.h"

#include <string.h>
#include <strings.h>

#include "lib/world/fault_stack.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
	const char *file; /* a part of it */
	enum known_work work;
	const char *function; /* NULL: any */
} files[] = {
	{ "<frozen importlib._bootstrap>", KNOWN_WORK_IMPORTS, NULL },
	{ "/torch/_dynamo/convert_frame.py", KNOWN_WORK_COMPILES, NULL },
	{ "/triton/compiler/compiler.py", KNOWN_WORK_COMPILES, NULL },
	{ "/torch/utils/data/", KNOWN_WORK_LOADS, NULL },
	{ "/torch/fx/traceback.py", KNOWN_WORK_TRACES, NULL },
	{ "/copy.py", KNOWN_WORK_COPIES, "deepcopy" },
	{ "/json/encoder.py", KNOWN_WORK_JSON, NULL },
	{ "/json/decoder.py", KNOWN_WORK_JSON, NULL },
	{ "/logging/__init__.py", KNOWN_WORK_LOGS, NULL },
	{ "/torch/serialization.py", KNOWN_WORK_SAVES, NULL },
};

/* Names begin so; a compiler may have given them an ending. */
static const char *const collectors[] = { "gc_collect_", "_PyGC_Collect", "PyGC_Collect" };

/* The same: what item() calls for a tensor, on whatever device. */
static const char *const readers[] = { "at::_ops::item::", "at::_ops::_local_scalar_dense::" };

/* The same: to() calls it where the device or the type is another one. */
static const char *const movers[] = { "at::_ops::_to_copy::" };

/* The same. */
static const char *const packers[] = {
	"inflate",
	"deflate",
	"uncompress",
	"compress2",
	"libdeflate_",
	"ZSTD_compress",
	"ZSTD_decompress",
	"LZ4_compress",
	"LZ4_decompress",
	"LZ4F_compress",
	"LZ4F_decompress",
	"lzma_code",
	"BZ2_",
	"BrotliEncoder",
	"BrotliDecoder",
	"snappy::",
	"jpeg_read_",
	"jpeg_write_",
	"tjDecompress",
	"tjCompress",
	"tj3Decompress",
	"tj3Compress",
	"png_read_",
	"png_write_",
	"WebPDecode",
	"WebPEncode",
	"avcodec_send_",
	"avcodec_receive_",
	"ImagingJpegDecode",
	"ImagingZipDecode",
};

const char *known_work_text(enum known_work work)
{
	static const char *const texts[] = { [KNOWN_WORK_COLLECTS] = "collecting garbage",
					     [KNOWN_WORK_IMPORTS] = "importing",
					     [KNOWN_WORK_COMPILES] = "compiling",
					     [KNOWN_WORK_PACKS] = "compression",
					     [KNOWN_WORK_COPIES] = "copying objects",
					     [KNOWN_WORK_JSON] = "JSON",
					     [KNOWN_WORK_LOGS] = "logging",
					     [KNOWN_WORK_SAVES] = "saving or loading objects",
					     [KNOWN_WORK_READS] = "reading single values of tensors",
					     [KNOWN_WORK_TRACES] = "detecting anomalies in autograd",
					     [KNOWN_WORK_MOVES] = "moving tensors one by one",
					     [KNOWN_WORK_FAULTS] = "page faults" };

	return texts[work];
}

static bool begins_with(struct bytes name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes_begin_with(name, names[i]))
			return true;
	return false;
}

static enum known_work work_in_python(const struct world *w, const struct world_frame *f)
{
	struct bytes file = world_text(w, f->file), name = world_text(w, f->name);

	for (size_t i = 0; i < COUNT(files); i++)
		if (bytes_have(file, files[i].file) &&
		    (!files[i].function || bytes_equal(name, bytes_of(files[i].function))))
			return files[i].work;
	return KNOWN_WORK_OTHER;
}

static enum known_work work_in_native(struct bytes name)
{
	if (begins_with(name, collectors, COUNT(collectors)))
		return KNOWN_WORK_COLLECTS;
	if (begins_with(name, packers, COUNT(packers)))
		return KNOWN_WORK_PACKS;
	if (begins_with(name, movers, COUNT(movers)))
		return KNOWN_WORK_MOVES;
	return begins_with(name, readers, COUNT(readers)) ? KNOWN_WORK_READS : KNOWN_WORK_OTHER;
}

enum known_work known_work_of_frame(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_symbol *s = world_get_symbol(w, frame);
	enum known_work work = f && f->kind == FRAME_PYTHON ? work_in_python(w, f)
			       : f && f->kind == FRAME_NATIVE && s
				       ? work_in_native(world_text(w, s->name))
				       : KNOWN_WORK_OTHER;

	return work == KNOWN_WORK_OTHER && world_is_fault(w, frame) ? KNOWN_WORK_FAULTS : work;
}

uint32_t known_work_find(const struct world *w, const uint32_t *frames, unsigned n)
{
	while (n-- > 0)
		if (known_work_of_frame(w, frames[n]) != KNOWN_WORK_OTHER)
			return frames[n];
	return 0;
}

/* Words of a name that say what a function without a sleep waits for; of "lock_free" the first one
 * does not. */
static bool is_waiting_word(struct bytes word, struct bytes rest)
{
	static const char *const words[] = { "spin", "wait", "yield", "backoff",
					     "lock", "busy", "poll",  "acquire" };

	for (size_t i = 0; i < COUNT(words); i++)
		if (word.n == strlen(words[i]) && !strncasecmp(word.p, words[i], word.n))
			return !bytes_begin_with(rest, "_free") && !bytes_begin_with(rest, "Free");
	return false;
}

/* "ns::Ring<int>::pop_wait(long)": pop_wait. */
static struct bytes last_name(struct bytes name)
{
	size_t from = 0, n = 0;
	unsigned within = 0; /* arguments of a template */

	for (; n < name.n && (within || name.p[n] != '('); n++) {
		within += name.p[n] == '<';
		within -= within && name.p[n] == '>';
		if (!within && n && name.p[n] == ':' && name.p[n - 1] == ':')
			from = n + 1;
	}
	return (struct bytes){ name.p + from, n - from };
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool says_wait(struct bytes whole)
{
	struct bytes name = last_name(whole);

	for (size_t i = 0, from = 0; i < name.n; i++) {
		bool last = i + 1 == name.n || name.p[i + 1] == '_' || name.p[i + 1] == '<' ||
			    (is_upper(name.p[i + 1]) && !is_upper(name.p[i]));

		if (name.p[i] == '_')
			from = i + 1;
		else if (last && is_waiting_word((struct bytes){ name.p + from, i + 1 - from },
						 (struct bytes){ name.p + i + 1, name.n - i - 1 }))
			return true;
		else if (last)
			from = i + 1;
	}
	return false;
}

static bool is_spinning(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_symbol *s = world_get_symbol(w, frame);

	return f && f->kind == FRAME_NATIVE && s && says_wait(world_text(w, s->name));
}

enum known_work known_work_of(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	uint32_t frame = frames ? known_work_find(w, frames, n) : 0;

	if (!frame && frames && n && is_spinning(w, frames[0]))
		return KNOWN_WORK_SPINS;
	return frame ? known_work_of_frame(w, frame) : KNOWN_WORK_OTHER;
}
