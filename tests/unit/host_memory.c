/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says about memory, faults and storage, as text; cgroups of a machine are in tests/live/host.t. */
#include "lib/host/sample_memory.h"

#include "tests/tap.h"

int main(void)
{
	struct host_vm vm;
	uint64_t a = 0, b = 0;

	ok(host_vm_parse(bytes_of(
				 "nr_free_pages 5\npgalloc_dma 1\npgalloc_normal 40\npgfree 30\n"
				 "allocstall_normal 2\nallocstall_movable 3\ncompact_stall 4\n"
				 "pgmajfault 6\npgmajfault_x 9\npswpin 7\npswpout 8\noom_kill 1\n"),
			 &vm),
	   "vmstat");
	is_u64(vm.allocated, 41, "zones are added up");
	is_u64(vm.alloc_stalls, 5, "also their stalls");
	is_u64(vm.major_faults, 6, "a name is a whole one");
	ok(vm.freed == 30 && vm.compact_stalls == 4 && vm.swap_in == 7 && vm.swap_out == 8 &&
		   vm.oom_kills == 1,
	   "the others");
	ok(!host_vm_parse(bytes_of("nothing here\n"), &vm), "no vmstat");
	ok(host_faults_parse(bytes_of("7 (a) b (c 1 2) S 1 2 3 4 5 6 1000 8 12 10 11\n"), &a, &b) &&
		   a == 1000 && b == 12,
	   "faults behind a name with brackets");
	ok(!host_faults_parse(bytes_of("7 (a) S 1 2 3 4 5 6 1000 8"), &a, &b), "cut off");
	ok(!host_faults_parse((struct bytes){ NULL, 0 }, &a, &b), "nothing");
	ok(host_io_parse(bytes_of("rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\n"), &a,
			 &b) &&
		   a == 4096 && b == 8192,
	   "storage");
	ok(!host_io_parse(bytes_of("rchar: 1\n"), &a, &b), "storage that is not counted");
	return done_testing();
}
