/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container says of itself in its own files. They are its own words, and its folders its own
 * work: a link in them leads to where it does in the container and never out of it (in images of
 * Debian and Ubuntu /var/run is a link to /run), and a FIFO in the place of a file does not hold
 * us. The call is Linux 5.6's; its number and its flags are those of the kernel's
 * include/uapi/linux/openat2.h, which older systems lack.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"
#include "lib/host/process_placement.h"

#define SYS_OPENAT2   437
#define NO_MAGICLINKS 0x02
#define IN_ROOT	      0x10
#define TEXT_MAX      1024

struct how {
	uint64_t flags, mode, resolve;
};

/* The first line of a regular file, as far as it fits. */
static void read_word(int root, const char *path, char *to, size_t size)
{
	const struct how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				 .resolve = IN_ROOT | NO_MAGICLINKS };
	int fd = root < 0 || *to ? -1 : (int)syscall(SYS_OPENAT2, root, path, &how, sizeof(how));
	struct buf text = { 0 };
	struct stat st;
	size_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    read_fd(fd, path, &text, TEXT_MAX, NULL) == 0) {
		for (; n < text.n && n + 1 < size && text.p[n] && text.p[n] != '\n'; n++)
			to[n] = (unsigned char)text.p[n] < ' ' ? '?' : text.p[n];
		to[n] = '\0';
	}
	if (fd >= 0)
		close(fd);
	buf_free(&text);
}

void host_place_inside(struct host_place *p, const char *root)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	/* A pod knows its own namespace from the token that every pod is given. */
	read_word(fd, "var/run/secrets/kubernetes.io/serviceaccount/namespace", p->namespace,
		  sizeof(p->namespace));
	read_word(fd, "etc/podinfo/name", p->pod, sizeof(p->pod));
	read_word(fd, "etc/podinfo/namespace", p->namespace, sizeof(p->namespace));
	if (fd >= 0)
		close(fd);
}
