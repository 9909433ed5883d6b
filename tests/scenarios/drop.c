/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loses every fifth packet that carries more than a few bytes, at random: a network that drops data
 * but lets connections be made. For tc(8), as a direct action where packets arrive. Headers and an
 * acknowledgement are shorter than this.
 */
#define DATA 300

struct __sk_buff { /* linux/bpf.h; its first member */
	unsigned int len;
};

static unsigned int (*const prandom)(void) = (unsigned int (*)(void))7; /* bpf_get_prandom_u32 */

__attribute__((section("classifier"), used)) int drop(struct __sk_buff *packet)
{
	return packet->len > DATA && prandom() % 5 == 0 ? 2 : 0; /* TC_ACT_SHOT, TC_ACT_OK */
}
