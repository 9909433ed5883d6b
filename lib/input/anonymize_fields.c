/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the text fields of records say of a site. One that does not stand here is replaced as a
 * whole.
 */
#include "lib/event/record.h"
#include "lib/input/pseudonym.h"
#include "lib/input/anonymize.h"

#define OF(record, field, alias)                                       \
	{                                                              \
		RECORD_##record, REC_##record##_##field, ALIAS_##alias \
	}

static const struct {
	uint16_t record;
	uint8_t number, alias;
} fields[] = {
	OF(CLOCK, source, KEEP),       OF(NODE, hostname, HOST),
	OF(NODE, kernel, KEEP),	       OF(NODE, arch, KEEP),
	OF(NODE, hypervisor, KEEP),    OF(SESSION, tool, KEEP),
	OF(SESSION, command, COMMAND), OF(SESSION, target, TARGET),
	OF(COVERAGE, layer, KEEP),     OF(COVERAGE, path, PATH),
	OF(COVERAGE, build_id, KEEP),  OF(COVERAGE, reason, SENTENCE),
	OF(COVERAGE, link, KEEP),      OF(COVERAGE, site, KEEP),
	OF(NAME, comm, PROGRAM),       OF(TRUTH, kind, KEEP),
	OF(TRUTH, culprit, COMMAND),   OF(PLACE, runtime, KEEP),
	OF(PLACE, container, NAME),    OF(PLACE, container_name, NAME),
	OF(PLACE, pod, POD),	       OF(PLACE, namespace, NAME),
	OF(PLACE, pod_uid, NAME),      OF(PLACE, scheduler, KEEP),
	OF(PLACE, job, NAME),	       OF(PLACE, step, NAME),
	OF(PLACE, launcher, KEEP),     OF(PLACE, run, NAME),
	OF(PLACE, devices, GPU),       OF(PLACE, gpus, GPU),
	OF(PEER, comm, PROGRAM),       OF(KERNEL, name, FUNCTION),
	OF(FILE, path, PATH),	       OF(FILE, fstype, KEEP),
	OF(FILE, mount, PATH),	       OF(FILE, origin, ORIGIN),
	OF(SOCKET, protocol, KEEP),    OF(SOCKET, local, ADDRESS),
	OF(SOCKET, remote, ADDRESS),   OF(WORD, text, COMMAND),
	OF(SAMPLED, reason, KEEP),     OF(UNCOVERED, layer, KEEP),
	OF(UNCOVERED, path, PATH),     OF(UNCOVERED, reason, SENTENCE),
	OF(ALLOWED, cpus, KEEP),       OF(SOCKET, role, KEEP),
	OF(READY, kind, KEEP),	       OF(PIPE, comm, PROGRAM),
	OF(OWNER, lock, KEEP),	       OF(OWNER, comm, PROGRAM),
	OF(PAUSED, reason, SENTENCE),
};

unsigned input_anonymize_field(uint16_t record_kind, unsigned number)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].record == record_kind && fields[i].number == number)
			return fields[i].alias;
	return ALIAS_NAME;
}
