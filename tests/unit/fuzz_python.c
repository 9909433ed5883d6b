/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target python over mutations of line tables, of records, and of the head of a file with
 * a runtime. */
#include "tests/fuzz/python.c"

#include "lib/base/io.h"
#include "tests/fuzz/bytes.h"
#include "tests/tap.h"

static void seed_lines(struct buf *b)
{
	buf_putc(b, (char)(replay_below(8) << 2));
	for (unsigned i = replay_below(60); i > 0; i--)
		buf_putc(b, (char)(replay_below(3) ? 0x80 | replay_below(128) : replay_below(256)));
}

static void seed_code(struct buf *b)
{
	static struct wire_code code;
	uint32_t here = replay_below(WIRE_LINES_MAX);

	code.kind = WIRE_CODE;
	code.minor = (uint8_t)(8 + replay_below(8));
	code.id = 1;
	code.first_line = replay_below(1000);
	code.file_width = code.name_width = (uint8_t)replay_below(5);
	code.file_bytes = (uint16_t)replay_below(WIRE_FILE_MAX);
	code.name_bytes = (uint16_t)replay_below(WIRE_NAME_MAX);
	code.lines_bytes = replay_below(4) ? here : WIRE_LINES_MAX + here;
	buf_putc(b, 1);
	buf_add(b, &code, sizeof(code));
	if (code.lines_bytes > WIRE_LINES_MAX) {
		struct wire_lines more = { .kind = WIRE_LINES,
					   .offset = WIRE_LINES_MAX,
					   .n = here };

		buf_add(b, &more, sizeof(more));
	}
}

/* Our own executable's beginning: program headers, dynamic section and hash table are there. */
static void seed_file(struct buf *b, const struct buf *self)
{
	buf_putc(b, 2);
	buf_add(b, self->p, self->n);
}

int main(void)
{
	struct buf self = { 0 };
	unsigned round;

	if (read_file("/proc/self/exe", &self, 64 << 20, NULL) || self.n == 0)
		return 1;
	if (self.n > 65536)
		self.n = 65536;
	for (round = 0; round < REPLAY_ROUNDS; round++) {
		struct buf b = { 0 };

		if (round % 20 == 0)
			seed_file(&b, &self);
		else if (round % 2)
			seed_lines(&b);
		else
			seed_code(&b);
		for (unsigned m = replay_below(8); m > 0 && b.n; m--)
			replay_mutate(&b);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, REPLAY_ROUNDS, "mutated line tables, code objects and files");
	buf_free(&self);
	return tap_done();
}
