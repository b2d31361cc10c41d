/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One algorithm in a kernel: its names, its parameters, and the state of a flow. A host includes this, says where
 * parameters, counters and state are, and includes hooks.h.
 *
 * CC_NAME is the algorithm, whose header has been included. CC_LISTED_NAME is its name in algorithms.def. CC_OWNS is 0
 * for CC_GROWS_CWND, CC_TRACKS is 1 for CC_TRACKS_SENDS.
 */
#ifndef CC_BPF_FLOW_H
#define CC_BPF_FLOW_H

#include "shim.h"
#if CC_TRACKS
#include "lib/sends.h"
#endif

#define CC_PASTE_(a, b)					     a##b
#define CC_PASTE(a, b)					     CC_PASTE_(a, b)
#define CC_STRING_(a)					     #a
#define CC_STRING(a)					     CC_STRING_(a)
#define CC_FN(name)					     CC_PASTE(CC_NAME, _##name)
#define CC_KERNEL_NAME					     CC_PASTE(fp_, CC_LISTED_NAME)
#define CC_FLOWS					     CC_PASTE(CC_KERNEL_NAME, _flow)
#define CC_PARAMS					     struct CC_PASTE(CC_NAME, _params)
#define CC_DEFAULT(name, dflt, least, most, unit, what, why) (dflt),
#define CC_PARAMETERS(P)				     CC_PASTE(CC_NAME, _parameters)(P)

/* The parameters as the flat list that the loader finds in BTF; CC_PARAMS nests those of a parent. */
struct cc_params {
	CC_PARAMETERS(CC_PARAM_FIELD)
};
_Static_assert(sizeof(struct cc_params) == sizeof(CC_PARAMS), "a NAME_params is its parameter list");

/* What only tests ask for, as bits. */
enum cc_testing {
	CC_TESTING_NO_STORAGE = 1, /* every allocation of a flow's state fails */
	CC_TESTING_NO_CLAMPS = 2,  /* decisions are applied whatever they are, and nothing is healed */
	CC_TESTING_SKIPS = 4,	   /* like a kernel that skips every fourth call of a hook that returns a value */
};

/* What should not happen, over all flows. `fairpace status` shows it. */
struct cc_counters {
	u64 fallbacks;		    /* ACKs handled without state */
	u64 heals;		    /* values of cwnd and ssthresh that nothing decided, and that were put right */
	u64 clamps[CC_CLAMP_COUNT]; /* decisions outside of their bounds, by enum cc_clamp */
};

/*
 * One flow. view and decision are those of the last call. They are here because of the verifier of
 * eBPF: on the stack it tracks the value of each field on each path, and goes through 54,000 instructions of bbr1. It
 * does not track this memory, so that paths merge: 5,000 instructions.
 */
struct cc_flow {
	u64 since_us; /* when it started under this algorithm, the socket's clock */
	u64 acks;     /* handled so far */
	struct cc_view view;
	struct cc_decision decision;
	struct CC_NAME CC_NAME;
	u32 reduction_seq; /* high_seq when the hook ssthresh ran last */
#if CC_TRACKS
	u32 probe_seq; /* during an ACK: tlp_high_seq as it was before, if the probe was an old packet; else 0 */
	u32 is_ece;    /* bool, during an ACK: it echoes congestion */
	struct cc_sends sends;
#endif
};

/* The bytes that start as zeros: all but the ring, which cc_sends_start() fills. */
#if CC_TRACKS
#define CC_FLOW_HEAD_BYTES __builtin_offsetof(struct cc_flow, sends)
#else
#define CC_FLOW_HEAD_BYTES sizeof(struct cc_flow)
#endif

#endif
