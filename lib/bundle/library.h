/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libarchive's functions, found at run time by their names; types and constants are those of its
 * header.
 */
#ifndef INGERO_BUNDLE_LIBRARY_H
#define INGERO_BUNDLE_LIBRARY_H

#ifdef INGERO_HAVE_ARCHIVE

#include <archive.h>
#include <archive_entry.h>

#include "lib/base/err.h"

/* member, name of the function */
#define PACK_FUNCTIONS(X)                                    \
	X(error_string, archive_error_string)                \
	X(write_new, archive_write_new)                      \
	X(write_pax, archive_write_set_format_pax)           \
	X(write_zstd, archive_write_add_filter_zstd)         \
	X(write_gzip, archive_write_add_filter_gzip)         \
	X(write_open, archive_write_open)                    \
	X(write_last, archive_write_set_bytes_in_last_block) \
	X(write_header, archive_write_header)                \
	X(write_data, archive_write_data)                    \
	X(write_close, archive_write_close)                  \
	X(write_free, archive_write_free)                    \
	X(entry_new, archive_entry_new)                      \
	X(entry_clear, archive_entry_clear)                  \
	X(entry_free, archive_entry_free)                    \
	X(entry_set_pathname, archive_entry_set_pathname)    \
	X(entry_set_size, archive_entry_set_size)            \
	X(entry_set_filetype, archive_entry_set_filetype)    \
	X(entry_set_perm, archive_entry_set_perm)            \
	X(entry_set_link, archive_entry_set_link)            \
	X(entry_pathname, archive_entry_pathname)            \
	X(entry_size, archive_entry_size)                    \
	X(entry_filetype, archive_entry_filetype)            \
	X(entry_hardlink, archive_entry_hardlink)            \
	X(read_new, archive_read_new)                        \
	X(read_tar, archive_read_support_format_tar)         \
	X(read_gzip, archive_read_support_filter_gzip)       \
	X(read_zstd, archive_read_support_filter_zstd)       \
	X(read_open, archive_read_open)                      \
	X(read_next, archive_read_next_header)               \
	X(read_data, archive_read_data)                      \
	X(read_free, archive_read_free)

struct pack_library {
#define X(member, function) __typeof__(function) *member;
	PACK_FUNCTIONS(X)
#undef X
};

/* NULL with ERR_CANNOT: it is not on this machine. Opened once, never closed. */
const struct pack_library *pack_library(struct err *e);

#endif

#endif
