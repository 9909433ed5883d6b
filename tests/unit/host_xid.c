/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the kernel log as drivers of the last ten years write them, and damaged ones; and one
 * error told twice. */
#include "lib/host/xid.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/record/xids.h"
#include "tests/tap.h"

static const struct {
	const char *line;
	struct host_xid want; /* number 0: it tells of none */
} lines[] = {
	{ "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python3, GPU has fallen off the bus.",
	  { 0, 1, 0, 79, 1234 } },
	{ "3,1201,48211934,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=4821, name=python3, Ch 00000008, "
	  "intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f9a_e2000000.\n",
	  { 0, 0x3b, 0, 31, 4821 } },
	{ "NVRM: Xid (PCI:0001:C1:1f): 48, pid='<unknown>', name=<unknown>, An uncorrectable "
	  "double "
	  "bit error (DBE) has been detected on GPU in the framebuffer at partition 2.",
	  { 1, 0xc1, 0x1f, 48, 0 } },
	{ "NVRM: Xid (PCI:0000:06:00): 63, pid='99', name=nvidia-persiste, Row Remapper",
	  { 0, 6, 0, 63, 99 } },
	{ "NVRM: Xid (PCI:0000:41:00.0): 119, Timeout after 6s of waiting for RPC response",
	  { 0, 0x41, 0, 119, 0 } },
	{ "NVRM: Xid (0000:03:00): 6, PE0001", { 0, 3, 0, 6, 0 } },
	{ "NVRM: Xid (PCI:00000009:01:00): 94, pid=12, name=a b, Contained: SM (0x1)",
	  { 9, 1, 0, 94, 12 } },
	{ "NVRM: GPU at PCI:0000:01:00: GPU-5c5e9ab0-5d5f-4b7e-9f8b-1a2b3c4d5e6f", { 0 } },
	{ "12,7,1,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=told again by a program", { 0 } },
	{ "NVRM: Xid (PCI:0000:01:00)", { 0 } },
	{ "NVRM: Xid (PCI:0000:01:00): ", { 0 } },
	{ "NVRM: Xid (PCI:0000:01): 79", { 0 } },
	{ "NVRM: Xid (PCI:0000:01:00): 79x", { 0, 1, 0, 79, 0 } },
	{ "NVRM: Xid (PCI:0000:01:00): 123456789012, pid=1", { 0 } },
	{ "NVRM: Xid (", { 0 } },
	{ "", { 0 } },
};

/* Reads of a log that holds this text. */
static void reading(const char *text, unsigned reads, unsigned want)
{
	struct host_xid_log log = { .fd = memfd_create("log", MFD_CLOEXEC) };
	unsigned left = reads, got = 0;
	struct host_xid xid;

	if (log.fd < 0 || write(log.fd, text, strlen(text)) < 0 || lseek(log.fd, 0, SEEK_SET) != 0)
		ok(false, "no file in memory");
	while (host_xid_next(&log, &left, &xid))
		got++;
	is_u64(got, want, "XIDs in a log of %zu bytes, %u reads", strlen(text), reads);
	host_xid_close(&log);
	ok(log.fd < 0 && !host_xid_next(&log, &left, &xid), "none when it is closed");
}

static void logs(void)
{
	static const char entry[] = "3,1,1,-;NVRM: Xid (PCI:0000:01:00): 1234\n"
				    "6,2,1,-;something more\n"; /* 64 bytes */
	static char flood[20 * HOST_XID_TEXT_MAX + 1];
	size_t n = 0;
	struct host_xid_log log;
	struct err e = { 0 };

	reading("", 5, 0);
	reading("6,1,1,-;usb 1-1: new\n SUBSYSTEM=usb\n3,2,1,-;NVRM: Xid (PCI:0000:01:00): 79\n"
		"3,3,1,-;NVRM: Xid (PCI:0000:01:00): 31, pid=1",
		5, 2);
	while (n < sizeof(flood) - 1)
		for (size_t i = 0; i < 64; i++)
			flood[n++] = entry[i];
	reading(flood, 0, 0);
	reading(flood, 1, HOST_XID_TEXT_MAX / 64);
	if (host_xid_open(&log, &e) == 0) {
		struct host_xid xid;
		unsigned left = 1000;

		while (host_xid_next(&log, &left, &xid))
			;
		ok(true, "the kernel's own is read without waiting");
		host_xid_close(&log);
	} else {
		ok(log.fd < 0 && strstr(e.text, "/dev/kmsg"), "where it cannot be read: %s",
		   e.text);
	}
}

int main(void)
{
	struct record_xids x = { 0 };
	struct host_gpu gpu;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct host_xid got;
		bool is = host_xid_parse(bytes_of(lines[i].line), &got);

		ok(is == (lines[i].want.number != 0) &&
			   (!is || memcmp(&got, &lines[i].want, sizeof(got)) == 0),
		   "%.60s", lines[i].line);
	}
	for (size_t n = 0; n < strlen(lines[1].line); n++) {
		struct host_xid got;
		struct bytes cut = { lines[1].line, n };

		if (host_xid_parse(cut, &got) && got.number != 3 && got.number != 31)
			ok(false, "cut after %zu bytes", n);
	}
	logs();
	host_xid_gpu(&(struct host_xid){ .domain = 0xfffe, .bus = 1 }, &gpu);
	is_str(gpu.uuid, "PCI:fffe:01:00",
	       "a GPU that the driver does not know goes by its address");

	ok(record_xids_new(&x, XID_KERNEL_LOG, 1, 79, 0), "the log tells of an error");
	ok(record_xids_new(&x, XID_KERNEL_LOG, 1, 79, 1), "and once more");
	ok(!record_xids_new(&x, XID_LIBRARY, 1, 79, 1000), "the library of the first");
	ok(record_xids_new(&x, XID_LIBRARY, 2, 79, 1000), "of another GPU");
	ok(record_xids_new(&x, XID_LIBRARY, 1, 31, 1000), "of another error");
	ok(!record_xids_new(&x, XID_LIBRARY, 1, 79, 1001), "of the second");
	ok(record_xids_new(&x, XID_LIBRARY, 1, 79, 1002), "a third is new");
	ok(!record_xids_new(&x, XID_KERNEL_LOG, 1, 79, 1003), "also the other way round");
	ok(record_xids_new(&x, XID_KERNEL_LOG, 1, 31, 1001 + RECORD_XIDS_MATCH_NS),
	   "what comes much later is another one");
	for (uint32_t i = 0; i < 3 * RECORD_XIDS_MAX; i++)
		record_xids_new(&x, XID_KERNEL_LOG, 3, i, 2000 + RECORD_XIDS_MATCH_NS);
	ok(x.n == RECORD_XIDS_MAX && !record_xids_new(&x, XID_LIBRARY, 3, 3 * RECORD_XIDS_MAX - 1,
						      2001 + RECORD_XIDS_MATCH_NS),
	   "a storm keeps the newest");
	return done_testing();
}
