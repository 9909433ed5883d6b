/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine, between two boots: the identity its events carry and the attributes of the NODE
 * record.
 */
#ifndef INGERO_HOST_NODE_H
#define INGERO_HOST_NODE_H

#include <stdint.h>

#include "lib/event/record.h"
#include "lib/world/world.h"

struct host_node {
	uint8_t uuid[16]; /* derived from the machine id, which itself is meant to stay on the
			     machine */
	uint64_t boot;	  /* derived from the boot id */
	uint32_t cpus;	  /* online */
	uint64_t memory_bytes;
	char hostname[256], kernel[256], arch[128];
	char hypervisor[64]; /* "kvm", "xen" …; "" on bare metal, or not known */
};

/* Cannot fail: what cannot be read stays empty. Without a machine id (containers) the identity is
 * made of the boot id and the host name, and so lasts until the next boot. */
void host_node_read(struct host_node *node);

/* The derivations, for tests. machine_id: 32 hexadecimal digits and perhaps a newline. */
void host_node_uuid(const char *machine_id, size_t n, uint8_t out[16]);
uint64_t host_node_boot(const char *boot_id, size_t n);

/* name: instead of the host name; NULL for that one. */
uint32_t host_node_world(const struct host_node *node, struct world *w, const char *name);

/* Texts are borrowed from node. */
void host_node_record(const struct host_node *node, uint32_t id, struct record *r);

#endif
