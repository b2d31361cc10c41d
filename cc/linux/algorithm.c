/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One algorithm as a tcp_congestion_ops that is built into a kernel. Compiled once per CC_ALGORITHM of algorithms.def,
 * with the macros of ../bpf/flow.h and with -include NAME.h (Makefile).
 *
 * The state of a flow is memory of its own, to which the socket's icsk_ca_priv points: its 104 bytes are too few. A
 * connection that fails before it is established calls no release: its state stays until the kernel ends with its task.
 */
#include "bpf/flow.h"

#include <linux/inet_diag.h>
#include <linux/init.h>
#include "fairpace.h"

static const u32 cc_defaults[] = { CC_PARAMETERS(CC_DEFAULT) };
_Static_assert(sizeof(cc_defaults) == sizeof(struct cc_params), "a default for each parameter");

static const struct {
	bool may_set_app_limited;
	u32 testing; /* enum cc_testing */
} cc_config = { .may_set_app_limited = true };

static struct cc_counters cc_counters;

/* A flow in memory. The owner is not the socket if a listener's icsk_ca_priv was copied to that of its child. */
struct cc_owned {
	const struct sock *owner;
	struct cc_flow flow;
};

static struct cc_owned **cc_owned(struct sock *sk) { return inet_csk_ca(sk); }

static const CC_PARAMS *cc_params(struct sock *sk)
{
	const struct cc_instance *of = container_of(inet_csk(sk)->icsk_ca_ops, struct cc_instance, ops);

	return (const CC_PARAMS *)of->parameters;
}

static struct cc_flow *cc_storage(struct sock *sk, u64 flags)
{
	struct cc_owned **owned = cc_owned(sk);

	if (*owned && (*owned)->owner != sk)
		*owned = NULL;
	if (!*owned && (flags & BPF_LOCAL_STORAGE_GET_F_CREATE)) {
		*owned = kzalloc(sizeof(**owned), GFP_ATOMIC);
		if (*owned)
			(*owned)->owner = sk;
	}
	return *owned ? &(*owned)->flow : NULL;
}

static void cc_storage_delete(struct sock *sk)
{
	struct cc_owned **owned = cc_owned(sk);

	if (cc_storage(sk, 0))
		kfree(*owned);
	*owned = NULL;
}

#include "bpf/hooks.h"
#include "bpf/replay.h"

static void cc_replay(void *of, const u32 *parameters) { cc_replay_call(of, (const CC_PARAMS *)parameters); }

/* What TCP_CC_INFO returns: the first fields of BBR's, so that ss can show them, and the phase. */
struct cc_info {
	u32 bw_low; /* bytes per second */
	u32 bw_high;
	u32 min_rtt_us;
	u32 pacing_gain_256;
	u32 phase; /* enum cc_phase */
};
_Static_assert(sizeof(struct cc_info) <= sizeof(union tcp_cc_info), "the kernel has room for it");

/* For getsockopt only: the phase is not what a dump of sockets has in this place. */
static size_t cc_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct cc_flow *flow = ext == ~0u ? cc_storage(sk, 0) : NULL;
	struct cc_observation seen = {};
	struct cc_info *of = (struct cc_info *)info;

	if (!flow)
		return 0;
	CC_FN(observe)(&flow->CC_NAME, &seen);
	*of = (struct cc_info){
		.bw_low = (u32)seen.bw_Bps,
		.bw_high = (u32)(seen.bw_Bps >> 32),
		.min_rtt_us = seen.min_rtt_us,
		.pacing_gain_256 = seen.pacing_gain_256,
		.phase = seen.phase,
	};
	return sizeof(*of);
}

static struct cc_listed cc_listed = {
	.name = CC_STRING(CC_LISTED_NAME),
	.ops = &CC_KERNEL_NAME,
	.defaults = cc_defaults,
	.parameter_count = ARRAY_SIZE(cc_defaults),
	.counters = (const u64 *)&cc_counters,
	.counter_count = sizeof(cc_counters) / sizeof(u64),
	.replay = cc_replay,
	.replay_bytes = sizeof(struct cc_replay),
};

static int __init cc_start(void)
{
	CC_KERNEL_NAME.get_info = cc_get_info;
	return cc_list(&cc_listed);
}
device_initcall(cc_start);
