/* SPDX-License-Identifier: Apache-2.0 */
/* libbpf looks for the kernel's own in /sys, then in /boot: nothing is looked for here that it
 * would not find. */
#include "lib/attach/btf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SYS_BTF "/sys/kernel/btf/vmlinux"

const char *probe_btf_release(char out[PROBE_BTF_RELEASE])
{
	struct utsname u;

	snprintf(out, PROBE_BTF_RELEASE, "%s", uname(&u) ? "?" : u.release);
	return out;
}

bool probe_btf_own(void)
{
	char release[PROBE_BTF_RELEASE], path[PROBE_BTF_RELEASE + 16];

	snprintf(path, sizeof(path), "/boot/vmlinux-%s", probe_btf_release(release));
	return access(SYS_BTF, R_OK) == 0 || access(path, R_OK) == 0;
}

int probe_btf_find(struct err *e)
{
	if (probe_btf_own())
		return 0;
	return err_sys(
		e, "cannot open " SYS_BTF " (kernel built without CONFIG_DEBUG_INFO_BTF, or hidden "
		   "here; --btf FILE names another one, --no-probes records samples of machine, "
		   "processes and GPUs without it)");
}

int probe_btf_check(const char *path, struct err *e)
{
	static const unsigned char btf[2][2] = { { 0x9f, 0xeb }, { 0xeb, 0x9f } };
	unsigned char first[4];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	n = read(fd, first, sizeof(first));
	if (n < 0)
		err_sys(e, "cannot read %s", path);
	close(fd);
	if (n < 0)
		return e->code;
	if (n == sizeof(first) && (memcmp(first, btf[0], 2) == 0 || memcmp(first, btf[1], 2) == 0 ||
				   memcmp(first, "\177ELF", 4) == 0))
		return 0;
	return err_set(e, ERR_CANNOT,
		       "%s is no BTF: wanted is a copy of " SYS_BTF
		       " of this kernel, or its vmlinux",
		       path);
}
