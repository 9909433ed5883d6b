// SPDX-License-Identifier: Apache-2.0
//
// A library for mappings.cc: functions that call on, built several times with other ROOMs. The code of all builds has the same
// size and the same addresses, their frames have not: by the rules of another build each walk goes wrong.

#define NOINLINE __attribute__((noinline))

typedef long (*leaf_fn)(long);

extern "C" volatile long plugin_sink;
volatile long plugin_sink;

template <int N> NOINLINE static void sized(leaf_fn *leaves, int n, long x)
{
	volatile char room[ROOM * 64 + N * 1024];

	room[0] = (char)x;
	room[ROOM * 64 + N * 1024 - 1] = (char)n;
	if constexpr (N > 1) {
		sized<N - 1>(leaves, n, x + 1);
	} else {
		volatile int i = 0;

		do {
			plugin_sink = plugin_sink + leaves[i](x);
			i = i + 1;
		} while (i < n);
	}
	plugin_sink = plugin_sink + room[0];
}

extern "C" void plugin_call(leaf_fn *leaves, int n, long x)
{
	sized<5>(leaves, n, x);
	plugin_sink = plugin_sink + 1;
}
