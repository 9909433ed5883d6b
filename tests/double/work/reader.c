/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader: a data loader that waits for its disk. Each round reads a chunk past the page cache
 * (O_DIRECT, or dropped pages where the file system has none) or writes and fsyncs one, then gives
 * it to the device. The time blocked is the wall time of the file calls less the CPU time this
 * thread used in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/double/work/work.h"

static struct work_cuda cuda;
static uint64_t rounds = 100, chunk_kb = 1024, file_mb = 64;
static const char *dir = ".", *mode = "read";
static bool direct;
static char *chunk;

static void must(bool ok, const char *what)
{
	if (!ok)
		work_die(what);
}

/* A file of our own with its name already gone: nothing is left behind however this ends. */
static int make_file(bool writing)
{
	char path[4096];
	int fd, plain;

	snprintf(path, sizeof path, "%s/ingero-reader-%d", dir, getpid());
	plain = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	must(plain >= 0, path);
	for (uint64_t done = 0; !writing && done < file_mb << 20; done += chunk_kb << 10) {
		memset(chunk, (int)done, chunk_kb << 10);
		must(write(plain, chunk, chunk_kb << 10) == (ssize_t)(chunk_kb << 10),
		     "cannot write the file");
	}
	must(!fsync(plain), "cannot fsync the file");
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	direct = fd >= 0;
	unlink(path);
	if (direct)
		close(plain);
	else
		fd = plain;
	return fd;
}

__attribute__((noinline)) static void load_chunk(int fd, uint64_t i)
{
	off_t at = (off_t)(i * 7919 % (file_mb * 1024 / chunk_kb) * (chunk_kb << 10));

	if (!direct)
		posix_fadvise(fd, at, (off_t)(chunk_kb << 10), POSIX_FADV_DONTNEED);
	must(pread(fd, chunk, chunk_kb << 10, at) == (ssize_t)(chunk_kb << 10), "cannot read");
}

__attribute__((noinline)) static void save_checkpoint(int fd)
{
	must(pwrite(fd, chunk, chunk_kb << 10, 0) == (ssize_t)(chunk_kb << 10), "cannot write");
	must(!fsync(fd), "cannot fsync");
}

int main(int argc, char **argv)
{
	const struct work_option options[] = {
		{ "mode", WORK_TEXT, &mode, "read, or fsync: write and fsync [read]" },
		{ "rounds", WORK_U64, &rounds, "chunks [100]" },
		{ "chunk-kb", WORK_U64, &chunk_kb, "size of a chunk, KiB [1024]" },
		{ "file-mb", WORK_U64, &file_mb, "size of the file, MiB [64]" },
		{ "dir", WORK_TEXT, &dir, "where the file lies [the current folder]" },
		{ 0 },
	};
	uint64_t wall = 0, cpu = 0, longest = 0, errors = 0;
	struct work_sched before, after;
	void *device = NULL;
	bool writing;
	FILE *f;
	int fd;

	work_options(argc, argv, "Loads chunks of a file and gives them to the device.", options);
	writing = !strcmp(mode, "fsync");
	must(chunk_kb && file_mb * 1024 >= chunk_kb, "wrong sizes");
	chunk = aligned_alloc(4096, ((chunk_kb << 10) + 4095) & ~4095ull);
	must(chunk, "no memory");
	memset(chunk, 1, chunk_kb << 10);
	fd = make_file(writing);
	work_cuda_open(&cuda, NULL);
	work_sched_read(&before);
	errors += cuda.cudaMalloc(&device, chunk_kb << 10) != 0;
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t from = work_now(), from_cpu = work_cpu_now(), took;

		if (writing)
			save_checkpoint(fd);
		else
			load_chunk(fd, i);
		took = work_now() - from;
		cpu += work_cpu_now() - from_cpu;
		wall += took;
		longest = took > longest ? took : longest;
		errors += cuda.cudaMemcpy(device, chunk, chunk_kb << 10, 1) != 0;
	}
	cuda.cudaFree(device);
	work_sched_read(&after);
	f = work_truth_open("reader");
	fprintf(f, ",\"mode\":\"%s\",\"direct\":%s,\"rounds\":%llu,\"bytes\":%llu,\"errors\":%llu",
		mode, direct ? "true" : "false", (unsigned long long)rounds,
		(unsigned long long)(rounds * (chunk_kb << 10)), (unsigned long long)errors);
	fprintf(f, ",\"io_wall_ns\":%llu,\"blocked_ns\":%llu,\"longest_ns\":%llu,\"wall_ns\":%llu",
		(unsigned long long)wall, (unsigned long long)(wall > cpu ? wall - cpu : 0),
		(unsigned long long)longest, (unsigned long long)(after.at_ns - before.at_ns));
	work_truth_sched(f, &before, &after);
	work_truth_close(f);
	close(fd);
	free(chunk);
	return errors != 0;
}
