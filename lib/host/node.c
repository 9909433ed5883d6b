/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identities are digests with a prefix of ours, so that nobody can match them with those other
 * programs derive.
 */
#include "lib/host/node.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "lib/base/io.h"
#include "lib/host/digest.h"

static void derive_id(const char *what, const char *p, size_t n, void *out, size_t size)
{
	uint8_t digest[HOST_DIGEST];
	struct buf text = { 0 };

	while (n && (p[n - 1] == '\n' || p[n - 1] == 0))
		n--;
	buf_printf(&text, "ingero %s\n", what);
	buf_add(&text, p, n);
	host_digest(text.p, text.n, digest);
	memcpy(out, digest, size);
	buf_free(&text);
}

void host_node_uuid(const char *machine_id, size_t n, uint8_t out[16])
{
	derive_id("node", machine_id, n, out, 16);
	/* As RFC 4122 marks what is not random and not a time: version 8, variant 1. */
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80);
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

uint64_t host_node_boot(const char *boot_id, size_t n)
{
	uint8_t bytes[8];
	uint64_t v = 0;

	derive_id("boot", boot_id, n, bytes, sizeof(bytes));
	for (unsigned i = 0; i < 8; i++)
		v = v << 8 | bytes[i];
	return v;
}

static bool read_small(const char *path, struct buf *out)
{
	buf_reset(out);
	return read_file(path, out, 4096, NULL) == 0 && out->n > 0 && out->p[0] != '\n';
}

/* What the processor's own hypervisor leaves say: works without rights and in containers. */
static void find_hypervisor(char out[64])
{
	struct buf type = { 0 };

	out[0] = 0;
	if (read_small("/sys/hypervisor/type", &type)) {
		snprintf(out, 64, "%.*s", (int)strcspn(type.p, "\n"), type.p);
		buf_free(&type);
		return;
	}
	buf_free(&type);
#if defined(__x86_64__)
	static const struct {
		const char *signature, *name;
	} known[] = { { "KVMKVMKVM", "kvm" },	      { "Microsoft Hv", "hyperv" },
		      { "VMwareVMware", "vmware" },   { "XenVMMXenVMM", "xen" },
		      { "TCGTCGTCGTCG", "qemu" },     { "VBoxVBoxVBox", "virtualbox" },
		      { "bhyve bhyve ", "bhyve" },    { "ACRNACRNACRN", "acrn" },
		      { " lrpepyh  vr", "parallels" } };
	unsigned a, b, c, d;
	char signature[13] = "";

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
		return;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	snprintf(out, 64, "%s", signature);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(signature, known[i].signature) == 0)
			snprintf(out, 64, "%s", known[i].name);
#endif
}

void host_node_read(struct host_node *node)
{
	long pages = sysconf(_SC_PHYS_PAGES), cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct buf machine = { 0 }, boot = { 0 };
	struct utsname u = { 0 };

	*node = (struct host_node){ 0 };
	uname(&u);
	snprintf(node->hostname, sizeof(node->hostname), "%s", u.nodename);
	snprintf(node->kernel, sizeof(node->kernel), "%s", u.release);
	snprintf(node->arch, sizeof(node->arch), "%s", u.machine);
	node->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	node->memory_bytes = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	find_hypervisor(node->hypervisor);
	read_small("/proc/sys/kernel/random/boot_id", &boot);
	/* "uninitialized" stands there until the first boot of an image is over. */
	if ((!read_small("/etc/machine-id", &machine) || machine.n < 32) &&
	    (!read_small("/var/lib/dbus/machine-id", &machine) || machine.n < 32)) {
		buf_reset(&machine);
		buf_printf(&machine, "%s %s", buf_text(&boot), u.nodename);
	}
	host_node_uuid(buf_text(&machine), machine.n, node->uuid);
	node->boot = host_node_boot(buf_text(&boot), boot.n);
	buf_free(&machine);
	buf_free(&boot);
}

uint32_t host_node_world(const struct host_node *node, struct world *w, const char *name)
{
	struct world_node v = { .boot = node->boot,
				.name = world_string(w, bytes_of(name ? name : node->hostname)) };

	memcpy(v.uuid, node->uuid, sizeof(v.uuid));
	return world_node(w, &v);
}

void host_node_record(const struct host_node *node, uint32_t id, struct record *r)
{
	*r = (struct record){ .kind = RECORD_NODE };
	REC_SET(r, NODE, node, id);
	REC_SET(r, NODE, hostname, bytes_of(node->hostname));
	REC_SET(r, NODE, kernel, bytes_of(node->kernel));
	REC_SET(r, NODE, arch, bytes_of(node->arch));
	if (node->cpus)
		REC_SET(r, NODE, cpus, node->cpus);
	if (node->memory_bytes)
		REC_SET(r, NODE, memory_bytes, node->memory_bytes);
	if (node->hypervisor[0])
		REC_SET(r, NODE, hypervisor, bytes_of(node->hypervisor));
}
