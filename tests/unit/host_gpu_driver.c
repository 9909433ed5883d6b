/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/driver/nvidia/version: which version of NVIDIA's driver, and which of its two
 * kernel modules. */
#include "lib/host/gpu_driver.h"

#include "tests/tap.h"

int main(void)
{
	static const struct {
		const char *text, *version;
		enum host_gpu_module module;
	} rows[] = {
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 "
		  "UTC 2024\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
		  "550.54.14", HOST_MODULE_PROPRIETARY },
		{ "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release "
		  "Build  (root@host)\n",
		  "580.95.05", HOST_MODULE_OPEN },
		{ "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05",
		  "580.95.05", HOST_MODULE_OPEN },
		{ "NVRM version: something else\nOpen Kernel Module 1.2", "", HOST_MODULE_UNKNOWN },
		{ "\n", "", HOST_MODULE_UNKNOWN },
		{ "", "", HOST_MODULE_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_gpu_driver d = { 0 };

		host_gpu_driver_parse(bytes_of(rows[i].text), &d);
		is_str(d.version, rows[i].version, "row %zu: the version", i);
		is_int(d.module, rows[i].module, "row %zu: the module", i);
	}
	return tap_done();
}
