/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses what: once each, also of two processes of one number, until nothing more of them can
 * come. */
#include "lib/attach/file_users.h"

#include "tests/tap.h"

static struct file_users u;

static bool add(uint32_t tgid, uint32_t file)
{
	bool is_new;

	return file_users_of(&u, tgid, file, &is_new) && is_new;
}

/* Files that the process of that number uses, as bits. */
static unsigned files(uint32_t tgid, uint32_t process)
{
	unsigned found = 0;

	for (uint32_t i = file_users_newest(&u, tgid); i; i = u.v.v[i - 1].before)
		found |= u.v.v[i - 1].process == process ? 1u << u.v.v[i - 1].file : 1u << 31;
	return found;
}

int main(void)
{
	struct ended_processes all = { 0 };
	const struct gone_processes *gone;
	uint64_t process;

	ok(add(1, 0) && add(2, 0) && add(1, 1) && add(2, 1) && add(3, 2), "five uses");
	ok(!add(1, 0) && !add(2, 1) && u.v.n == 5, "each once");
	file_users_ended(&u, 2, 20);
	is_u64(files(2, 20), 3, "what a process used that has ended");
	ended_processes_add(&all, 2, 20);
	ended_processes_add(&all, 3, 30);
	file_users_ended(&u, 3, 30);
	ok(!ended_processes_next(&all), "it is not gone at once");
	ok(add(2, 1) && u.v.n == 6, "a number that is used again is another process's");
	ended_processes_taken(&all, 2, 21);
	ended_processes_taken(&all, 3, 30);
	is_u64(files(2, 0), 2, "which has uses of its own");
	gone = ended_processes_next(&all);
	ok(gone && gone->processes.n == 2 && map_get(&gone->processes, 20, &process) &&
		   process == 2,
	   "gone at the second look");
	ok(gone && gone->numbers.n == 1 && map_get(&gone->numbers, 3, &process) && process == 30,
	   "with its number, if nobody has that");
	if (gone)
		file_users_forget(&u, gone);
	ok(u.v.n == 3 && files(1, 0) == 3 && files(2, 0) == 2 && files(3, 30) == 0,
	   "and forgotten, nobody else");
	ok(!add(1, 1) && !add(2, 1) && add(2, 0) && files(2, 0) == 3, "the others go on");
	ok(!ended_processes_next(&all), "nobody else is gone");
	ended_processes_free(&all);
	file_users_free(&u);
	return done_testing();
}
