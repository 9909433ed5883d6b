/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring bytes to events: block I/O, what memory cost a thread, segments sent again; and to FILE and
 * SOCKET records, which come before the first event that names one. Their ids are hashes of what
 * they say, so that they mean the same in every recording. Threads are named by the announcements
 * that wire_known.h keeps.
 */
#ifndef INGERO_DECODE_HOST_WIRE_H
#define INGERO_DECODE_HOST_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/buf.h"
#include "lib/decode/wire_known.h"

/* WIRE_FILE, WIRE_SOCKET, WIRE_PEER, or a kind from WIRE_BLOCK on. False: too short, of an unknown
 * kind, or about a thread that was never announced. */
bool decode_host_record(struct wire_decoder *wire, const void *p, size_t n);

/* The second event of an off-CPU interval: what file or socket was waited for, if that is known
 * still. False: its number was never told. */
bool decode_host_wait(struct wire_decoder *wire, const struct wire_offcpu *o, uint32_t ctx);

/* A process chosen to die. False: it is not known. */
bool decode_host_oom(struct wire_decoder *wire, const struct wire_life *l);

/* Texts of a record, for tests: whole paths from a file's names, and "192.0.2.1:80" or
 * "[2001:db8::1]:443". */
void decode_file_path(const struct wire_file *f, struct buf *path, struct buf *mount);
void decode_socket_end(uint16_t family, const uint8_t address[16], uint16_t port, struct buf *out);

#endif
