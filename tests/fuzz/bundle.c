/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a bundle. Whatever is in it, it is opened or refused; what it says of frames
 * goes into the world.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/input/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), recording;
	struct world *w = world_new();
	struct world_module m = { 0 };

	if (fd < 0 || !w || write(fd, p, n) != (ssize_t)n)
		abort();
	m.path = world_string(w, bytes_of("/lib/x.so"));
	m.build_id = world_string(w, bytes_of("00112233445566778899aabbccddeeff00112233"));
	if (pack_looks_so(fd) && input_bundle_open(&recording, w, fd, "fuzz", NULL) == 0) {
		if (recording < 0 || fcntl(recording, F_GETFD) < 0)
			abort();
		close(recording);
	}
	for (uint64_t at = 0; at < 0x4000; at += 0x111) {
		uint32_t frame =
			world_frame(w, &(struct world_frame){ .kind = FRAME_NATIVE,
							      .module = world_module(w, &m),
							      .offset = at });
		const struct world_symbol *s = world_get_symbol(w, frame);

		if (s && !world_text(w, s->name).p)
			abort();
	}
	world_free(w);
	close(fd);
	return 0;
}
