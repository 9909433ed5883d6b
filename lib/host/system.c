/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields that a kernel does not have read as 0; lines it does not have make the parser say so.
 */
#include "lib/host/system.h"

#include "lib/host/text.h"

static bool cpu_line(const char *p, const char *end, struct host_cpu *out)
{
	uint64_t field[8] = { 0 }, cpu;
	unsigned n = 0;

	out->cpu = HOST_ALL_CPUS;
	if (p < end && *p != ' ') {
		if (!host_text_number(&p, end, &cpu) || cpu >= HOST_ALL_CPUS)
			return false;
		out->cpu = (uint32_t)cpu;
	}
	while (n < 8 && host_text_number(&p, end, &field[n]))
		n++;
	if (n < 4)
		return false;
	/* user nice system idle iowait irq softirq steal */
	out->user = field[0] + field[1];
	out->system = field[2] + field[5] + field[6];
	out->idle = field[3];
	out->iowait = field[4];
	out->steal = field[7];
	return true;
}

bool host_cpus_parse(struct bytes text, host_cpu_fn *fn, void *ctx, uint64_t *running)
{
	const char *p = text.p, *end = bytes_end(text);
	bool any = false;

	*running = 0;
	while (p && end - p > 3 && memcmp(p, "cpu", 3) == 0) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)),
			   *stop = newline ? newline : end;
		struct host_cpu cpu;

		if (cpu_line(p + 3, stop, &cpu)) {
			fn(ctx, &cpu);
			any = true;
		}
		p = newline ? newline + 1 : end;
	}
	if (any)
		host_text_value((struct bytes){ p, (size_t)(end - p) }, "procs_running ", running);
	return any;
}

bool host_memory_parse(struct bytes text, struct host_memory *out)
{
	uint64_t total, available, swap_total = 0, swap_free = 0;

	*out = (struct host_memory){ 0 };
	if (!host_text_value(text, "MemTotal:", &total) ||
	    !host_text_value(text, "MemAvailable:", &available))
		return false;
	host_text_value(text, "SwapTotal:", &swap_total);
	host_text_value(text, "SwapFree:", &swap_free);
	*out = (struct host_memory){ total * 1024, available * 1024, swap_total * 1024,
				     swap_free * 1024 };
	return true;
}

bool host_load_parse(struct bytes text, double *one_minute)
{
	const char *p = text.p, *end = bytes_end(text);
	uint64_t whole, hundredths;

	if (!p || !host_text_number(&p, end, &whole) || p >= end || *p != '.')
		return false;
	p++;
	if (!host_text_number(&p, end, &hundredths))
		return false;
	*one_minute = (double)whole + (double)hundredths / 100;
	return true;
}

static bool parse_total(struct bytes text, const char *name, uint64_t *out)
{
	static const char key[] = "total=";
	struct bytes line = host_text_line(text, name);
	const char *p = line.p ? memmem(line.p, line.n, key, sizeof(key) - 1) : NULL;

	if (!p)
		return false;
	p += sizeof(key) - 1;
	return host_text_number(&p, line.p + line.n, out);
}

bool host_pressure_parse(struct bytes text, struct host_pressure *out)
{
	*out = (struct host_pressure){ 0 };
	out->has_full = parse_total(text, "full ", &out->full_us);
	return parse_total(text, "some ", &out->some_us);
}
