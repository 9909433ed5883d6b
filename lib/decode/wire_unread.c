/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that a probe could not read, because their pages were not mapped: read from the address
 * that crossed the ring instead, and counted as late or as lost. Of NVTX texts no more is taken
 * than a probe takes.
 */
#include "lib/decode/wire_internal.h"

#include <string.h>

#include "lib/decode/kernel_handles.h"

void wire_decoder_unread(struct wire_decoder *wire, const struct wire_unread *u)
{
	char text[WIRE_NAME_LONG];
	size_t n, got = wire->owner.bytes
				? wire->owner.bytes(wire->owner.ctx, u->tgid, u->address,
						    (int64_t)u->time_ns, text, sizeof(text))
				: 0;

	n = strnlen(text, got);
	/* One without an end is whole only if it is longer than any that is taken. */
	if (n == 0 || (n == got && got < sizeof(text))) {
		wire->names.lost++;
		kernel_handles_unread(wire->handles, u->tgid, u->handle);
		return;
	}
	wire->names.late++;
	wire_decoder_named(wire, u->tgid, u->handle,
			   (struct bytes){ text, n < sizeof(text) ? n : sizeof(text) - 1 });
}

/* The message of nvtxEventAttributes_t at w->handle: of what kind it is, and where. */
static bool read_attributes(struct wire_decoder *wire, uint32_t tgid, struct wire_nvtx *w)
{
	uint64_t message[2];

	if (wire->owner.bytes(wire->owner.ctx, tgid, w->handle + NVTX_ATTRIBUTES_MESSAGE,
			      (int64_t)w->time_ns, message, sizeof(message)) != sizeof(message))
		return false;
	w->text = (uint32_t)message[0] < NVTX_ATTRIBUTES ? (uint8_t)message[0] : NVTX_NO_TEXT;
	w->handle = message[1];
	return true;
}

/* The text at w->handle, as much of it as a probe takes. */
static bool read_text(struct wire_decoder *wire, uint32_t tgid, struct wire_nvtx *w)
{
	size_t width = w->text == NVTX_WIDE ? 4 : 1, end = 0;
	size_t most = w->text == NVTX_WIDE ? NVTX_LONG : NVTX_SHORT - 1, got;
	char text[NVTX_LONG + 4];
	static const char zero[4];

	got = wire->owner.bytes(wire->owner.ctx, tgid, w->handle, (int64_t)w->time_ns, text,
				most + width);
	while (end + width <= got && memcmp(text + end, zero, width) != 0)
		end += width;
	if (end + width > got && got < most + width)
		return false; /* it has no end */
	w->cut = end > most ? NVTX_CUT : 0;
	memcpy(w->name, text, end > most ? most : end);
	return true;
}

/* What the probe could not read; false: nor can we. */
static bool read_unread(struct wire_decoder *wire, uint32_t tgid, struct wire_nvtx *w)
{
	bool good = wire->owner.bytes != NULL;

	w->cut = 0;
	if (good && w->text == NVTX_ATTRIBUTES)
		good = read_attributes(wire, tgid, w);
	if (good && (w->text == NVTX_NARROW || w->text == NVTX_WIDE))
		good = read_text(wire, tgid, w);
	if (w->text != NVTX_HANDLE || !good)
		w->handle = 0;
	if (!good)
		w->text = NVTX_NO_TEXT;
	return good;
}

bool wire_decoder_nvtx(struct wire_decoder *wire, const struct wire_nvtx *w, size_t n)
{
	const struct decode_thread *t = wire_decoder_thread(wire, w->tid);
	bool has_text = w->what != NVTX_POP && w->what != NVTX_END;
	struct wire_nvtx whole;

	if (!t || !wire->owner.nvtx)
		return false;
	wire_decoder_lost(wire, w->lost);
	wire_decoder_count(wire, t->process, w->copy);
	wire->texts.read += has_text;
	if (has_text && w->cut & NVTX_UNREAD) {
		whole = (struct wire_nvtx){ 0 };
		memcpy(&whole, w, NVTX_HEAD);
		if (read_unread(wire, t->tgid, &whole)) {
			wire->texts.late++;
		} else {
			wire->texts.read--;
			wire->texts.lost++;
		}
		w = &whole;
		n = sizeof(whole);
	}
	return wire->owner.nvtx(wire->owner.ctx, t, w, n);
}
