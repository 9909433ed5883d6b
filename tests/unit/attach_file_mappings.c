/* SPDX-License-Identifier: Apache-2.0 */
/* A mapping that the kernel's list of a process is without: the file itself says which one it is.
 * The kernel's answers are played. */
#include "lib/attach/file_mappings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

#define REAL                                                                                      \
	424242u /* the inode that probes are keyed by, of a file that everybody else sees another \
		   one of */

static char path[] = "/tmp/ingero-mapped-XXXXXX";
static uint64_t listed; /* the start of the one mapping in the other process's list */
static unsigned asked_of_us;

bool __wrap_probe_session_mapped(struct probe_session *s, uint32_t tgid, file_mappings_fn *fn,
				 void *ctx);

static bool own(void *ctx, const struct host_mapping *m)
{
	uint64_t *start = ctx;

	if (m->path.n == strlen(path) && memcmp(m->path.p, path, m->path.n) == 0)
		*start = m->start;
	return true;
}

bool __wrap_probe_session_mapped(struct probe_session *s, uint32_t tgid, file_mappings_fn *fn,
				 void *ctx)
{
	struct wire_mapped w = {
		.start = listed, .inode = REAL, .device = 8 << 20 | 3, .tgid = tgid
	};
	struct err ignored = { 0 };

	if (tgid == (uint32_t)getpid()) {
		asked_of_us++;
		host_maps_read(tgid, own, &w.start, &ignored);
	}
	return fn(ctx, &w);
}

static struct host_mapping mapping(uint64_t start, uint64_t inode)
{
	struct host_mapping m = { .start = start,
				  .end = start + 4096,
				  .inode = inode,
				  .minor = 77,
				  .path = { path, strlen(path) } };

	return m;
}

int main(void)
{
	struct file_mappings p = { 0 };
	struct host_mapping m;
	struct stat st;
	int fd = mkstemp(path);
	uint32_t other = (uint32_t)getppid();

	ok(fd >= 0 && write(fd, "x", 1) == 1 && fstat(fd, &st) == 0, "a file");
	listed = 0x1000;
	m = mapping(0x1000, 5);
	file_mappings_see(&p, NULL, other, &m);
	is_u64(m.inode, REAL, "what is in the list is told by it");
	is_u64(m.major << 8 | m.minor, 8u << 8 | 3, "with its device");
	is_u64(asked_of_us, 0, "and by nothing else");

	m = mapping(0x7f0000, st.st_ino);
	file_mappings_see(&p, NULL, other, &m);
	is_u64(m.inode, REAL, "what is not in the list is told by the file");
	is_u64(m.major << 8 | m.minor, 8u << 8 | 3, "with its device");
	is_u64(asked_of_us, 1, "mapped here");

	m = mapping(0x7f0000, st.st_ino + 1);
	file_mappings_see(&p, NULL, other, &m);
	is_u64(m.inode, st.st_ino + 1, "but not by another file that has its name now");

	m = mapping(0x7f0000, st.st_ino);
	m.major = 8;
	file_mappings_see(&p, NULL, other, &m);
	is_u64(m.inode, st.st_ino, "a file system with a device of its own is believed");

	unlink(path);
	m = mapping(0x7f0000, st.st_ino);
	file_mappings_see(&p, NULL, other, &m);
	is_u64(m.inode, st.st_ino, "a file that is gone keeps what was shown");
	file_mappings_free(&p);
	close(fd);
	return tap_done();
}
