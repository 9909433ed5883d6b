/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences of findings with pseudonyms: known names are replaced wherever they stand, words of the
 * analysis and numbers stay, and of anything else nothing comes through.
 */
#include "lib/input/pseudonym_sentence.h"

#include <string.h>

#include "tests/tap.h"

static struct bytes text_of(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

static void known_names_are_replaced(void)
{
	static const char *const cases[][2] = {
		{ "rsync (pid 12) took the CPU from my job (pid 4804) for 1.23 s (24.6% of its "
		  "steps, 313 times)",
		  "n-1 (pid 12) took the CPU from n-2 (pid 4804) for 1.23 s (24.6% of its steps, "
		  "313 times)" },
		{ "rsync's", "n-1's" },
		{ "mostly in /home/zoe b/x y.py:41", "mostly in n-path:41" },
		{ "echo 1 | sudo tee '/sys/fs/cgroup/a b/cpu.weight'",
		  "echo 1 | sudo tee '/sys/fs/cgroupn-cg/cpu.weight'" },
		{ "renice -n 19 -p $(ls /proc/12/task)", "renice -n 19 -p $(ls /proc/12/task)" },
		{ "cudaMalloc called from fwd (n.py:3)",
		  "cudaMalloc called from [left out] ([left out])" },
		{ "in libc.so.6+0x49", "in libc.so.6+0x49" },
		{ "/proc/rsync/task", "/proc/n-1/task" },
		{ "rsyncd", "[left out]" },
		{ "rsync-zoe", "n-1-[left out]" },
	};
	struct known_names names = { 0 };
	struct buf out = { 0 };

	known_names_add(&names, text_of("rsync"), text_of("rsync"));
	known_names_add(&names, text_of("rsync"), text_of("n-1"));
	known_names_add(&names, text_of("rsync"), text_of("n-9"));
	known_names_add(&names, text_of("my job"), text_of("n-2"));
	known_names_add(&names, text_of("my"), text_of("n-3"));
	known_names_add(&names, text_of("/home/zoe b/x y.py"), text_of("n-path"));
	known_names_add(&names, text_of("/home/zoe"), text_of("n-shorter"));
	known_names_add(&names, text_of("/a b"), text_of("n-cg"));
	/* Everybody has these. */
	known_names_add(&names, text_of("proc"), text_of("proc"));
	known_names_add(&names, text_of("libc.so.6"), text_of("libc.so.6"));
	known_names_fix(&names, text_of("cudaMalloc"));
	known_names_add(&names, text_of("cudaMalloc"), text_of("n-4"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&out);
		pseudonym_sentence(&names, text_of(cases[i][0]), &out);
		is_str(buf_text(&out), cases[i][1], "%s", cases[i][0]);
	}
	buf_free(&out);
	known_names_free(&names);
}

static void nothing_else_comes_through(void)
{
	static const char *const cases[][2] = {
		{ "zoe took the CPU", "[left out] took the CPU" },
		{ "waits for zoe vex quux, in the loop", "waits for [left out], in the loop" },
		{ "from 10.77.3.9:81 at 10.5 MiB/s", "from [left out] at 10.5 MiB/s" },
		{ "from 2001:db8::1 and 00:1a:2b:3c:4d:5e", "from [left out] and [left out]" },
		{ "from [fe80::1]:443", "from [[left out]" },
		{ "/home/zoe/data of", "[left out] of" },
		{ "zoe@host", "[left out]" },
		{ "gpu-host-1 and memory_node7", "[left out] and [left out]" },
		{ "host.memory", "[left out]" },
		{ "driver 535.104.05 at +0x1c20", "driver 535.104.05 at +0x1c20" },
		{ "zo\xc3\xab", "[left out]" },
		{ "--token=hf_Zq9", "--[left out]" },
		{ "", "" },
		{ "  ", "  " },
		{ "/* the loop */ +", "/* the loop */ +" },
	};
	struct known_names names = { 0 };
	struct buf out = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&out);
		pseudonym_sentence(&names, text_of(cases[i][0]), &out);
		is_str(buf_text(&out), cases[i][1], "%s", cases[i][0]);
	}
	buf_free(&out);
	known_names_free(&names);
}

int main(void)
{
	known_names_are_replaced();
	nothing_else_comes_through();
	return tap_done();
}
