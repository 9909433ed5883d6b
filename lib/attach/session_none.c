/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for session.c in a build without BPF: no session can be opened, so that nothing else of it
 * is ever called.
 */
#include "lib/attach/session.h"

#include "lib/attach/session_optional.h"
#include "lib/attach/session_unwind.h"

int probe_session_open(struct probe_session **out, const struct probe_options *opt, struct err *e)
{
	*out = NULL;
	return err_set(e, ERR_CANNOT,
		       "cannot record calls: " INGERO_NO_BPF
		       "; --no-probes records samples of machine, processes and GPUs");
}

void probe_session_free(struct probe_session *s)
{
}

#define NEVER(type, name, ...)           \
	type name(__VA_ARGS__)           \
	{                                \
		__builtin_unreachable(); \
	}

/* clang-format off */
NEVER(int, probe_session_start, struct probe_session *s, struct err *e)
NEVER(void, probe_session_stop, struct probe_session *s)
NEVER(const struct probe_programs *, probe_session_programs, const struct probe_session *s)
NEVER(const struct probe_programs *, probe_session_hook, const struct probe_session *s)
NEVER(const struct probe_programs *, probe_session_freed, const struct probe_session *s)
NEVER(const struct probe_programs *, probe_session_nvtx, const struct probe_session *s)
NEVER(int, probe_session_walker, const struct probe_session *s)
NEVER(const struct probe_optionals *, probe_session_optional, const struct probe_session *s)
NEVER(uint32_t, probe_session_cpu_hz, const struct probe_session *s)
NEVER(int, probe_session_others, const struct probe_session *s, uint32_t *device, struct block_others *sum)
NEVER(int, probe_session_target, struct probe_session *s, uint32_t tgid, uint32_t flags, struct err *e)
NEVER(int, probe_session_adopt, struct probe_session *s, struct err *e)
NEVER(int, probe_session_python, struct probe_session *s, uint32_t tgid, const struct python_process *p)
NEVER(bool, probe_session_python_of, const struct probe_session *s, uint32_t tgid, struct python_process *out)
NEVER(bool, probe_session_find_peers, struct probe_session *s)
NEVER(void, probe_session_number_anew, struct probe_session *s)
NEVER(void, probe_session_known, struct probe_session *s, uint32_t device, uint64_t inode, bool probed,
      bool starts)
NEVER(bool, probe_session_is_target, const struct probe_session *s, uint32_t tgid)
NEVER(int, probe_session_wait, struct probe_session *s, int timeout_ms)
NEVER(int, probe_session_every, struct probe_session *s, uint16_t op, uint16_t every, struct err *e)
NEVER(uint64_t, probe_session_left_out, const struct probe_session *s, uint16_t op)
NEVER(uint64_t, probe_session_folded, const struct probe_session *s, uint16_t op)
NEVER(void, probe_session_folded_by_tier, const struct probe_session *s, uint64_t folded[SPEC_TIERS])
NEVER(int64_t, probe_session_tier, struct probe_session *s, unsigned tier, bool on)
NEVER(void, probe_session_mute, struct probe_session *s)
NEVER(int, probe_session_trial, struct probe_session *s, struct probe_fds *fds, struct err *e)
NEVER(void, probe_session_each, struct probe_session *s, void (*fn)(void *ctx, int fd, bool calls), void *ctx)
NEVER(void, probe_session_forget, struct probe_session *s, uint32_t tgid)
NEVER(int, probe_session_watch, struct probe_session *s, int fd, struct err *e)
NEVER(bool, probe_session_drain, struct probe_session *s, probe_ring_fn *life, probe_ring_fn *event, void *ctx)
NEVER(bool, probe_session_mapped, struct probe_session *s, uint32_t tgid, file_mappings_fn *fn, void *ctx)
NEVER(void, probe_session_losses, const struct probe_session *s, struct loss_slot *sum)
NEVER(uint32_t, probe_session_stacks, const struct probe_session *s)
NEVER(int, probe_session_open_calls, struct probe_session *s, probe_open_fn *fn, void *ctx, struct err *e)
NEVER(int, probe_session_asleep, struct probe_session *s, probe_still_fn *fn, void *ctx, struct err *e)
NEVER(const char *, probe_optional_unsampled, const struct probe_optionals *o)
NEVER(bool, probe_optional_source, const struct probe_optionals *o, size_t i, struct probe_optional_source *out)
NEVER(bool, probe_session_unwind_open, struct probe_session *s, struct probe_unwind_maps *out)
NEVER(void, probe_session_unwind_close, struct probe_unwind_maps *m)
NEVER(void *, probe_session_unwind_chunk, struct probe_session *s, enum probe_unwind_kind kind, uint32_t number, uint32_t n, size_t each)
NEVER(void, probe_session_unwind_chunk_gone, struct probe_session *s, enum probe_unwind_kind kind, uint32_t number, void *memory, size_t bytes)
NEVER(bool, probe_session_unwind_slot, struct probe_session *s, uint32_t tgid, uint32_t *slot)
NEVER(bool, probe_session_unwind_take, struct probe_session *s, uint32_t *slot)
NEVER(void, probe_session_unwind_give, struct probe_session *s, uint32_t slot)
NEVER(bool, probe_session_unwind_enter, struct probe_session *s, uint32_t tgid, uint32_t slot)
NEVER(void, probe_session_unwind_leave, struct probe_session *s, uint32_t tgid)
NEVER(struct unwind_counts, probe_session_unwind_counts, const struct probe_session *s)
/* clang-format on */
