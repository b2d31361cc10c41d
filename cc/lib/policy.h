/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A learned policy: the features that it sees of a monitor interval, and the network that makes a decision of them.
 *
 * The network has two hidden layers with rectified linear units. All of it is integers with 10 fraction bits, so that
 * it is the same in the environment that trains it (crates/gym, fairpace.gym), in the simulator and in the kernel,
 * which has no floating point. An exported policy is a header with its weights as tables.
 *
 * Features are the queueing delay in two units, one relative to the path and one absolute (all flows at a bottleneck
 * see the same, as in Copa and LEVEL), loss and marks, and the flow's own rate, without which equal shares cannot be
 * learned: a policy that does not know whether it is the faster flow cannot yield.
 */
#ifndef CC_LIB_POLICY_H
#define CC_LIB_POLICY_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "lib/monitor.h"

/* Values have 10 fraction bits: a unit is 1024. */
#define CC_POLICY_SHIFT 10
#define CC_POLICY_ONE	(1 << CC_POLICY_SHIFT)
/* Features and units of the network are at most 8. A sum of 16 products with weights of at most 8 is 2^30. */
#define CC_POLICY_MOST (8 << CC_POLICY_SHIFT)
/* Units of each hidden layer. */
#define CC_POLICY_UNITS 16
/* 1 Mbit/s, the unit of rates, in bytes per second. */
#define CC_POLICY_RATE_BPS 125000u
/* 10 ms, the unit of absolute queueing delays. */
#define CC_POLICY_DELAY_US 10000u

enum cc_feature {
	CC_FEATURE_QUEUE_RTTS,	 /* mean queueing delay over the minimum RTT, 0 to 8 */
	CC_FEATURE_QUEUE_10MS,	 /* the same in 10 ms, 0 to 8 */
	CC_FEATURE_LOSS_EIGHTHS, /* marked lost, of those and the delivered packets, in eighths */
	CC_FEATURE_CE_EIGHTHS,	 /* delivered with a congestion mark, of the delivered packets, in eighths */
	CC_FEATURE_DELIVERED,	 /* delivered over the rate in force, 0 to 8 */
	CC_FEATURE_RATE_LOG4,	 /* logarithm to base 4 of the rate in force in Mbit/s, -8 to 8 */
	CC_FEATURE_RTT_LOG4,	 /* logarithm to base 4 of the minimum RTT in ms, -8 to 8 */
	CC_FEATURES,
};

/* The layers of a network; biases are the last weight of each row. */
struct cc_policy_weights {
	s32 first[CC_POLICY_UNITS][CC_FEATURES + 1];
	s32 second[CC_POLICY_UNITS][CC_POLICY_UNITS + 1];
	s32 last[CC_POLICY_UNITS + 1];
};

/*
 * The lesser of two numbers of at most 2^30, without a branch. The compiler must not see what the mask is, or it makes
 * a branch of it; eBPF's verifier walks both sides of each, and with one in every unit of a network it gives up after
 * a million steps.
 */
CC_INLINE s32 cc_policy_min(s32 a, s32 b)
{
	s32 is_less = (a - b) >> 31; /* -1: it is */

	CC_OPAQUE(is_less);
	return b + ((a - b) & is_less);
}

CC_INLINE s32 cc_policy_max(s32 a, s32 b) { return -cc_policy_min(-a, -b); }

CC_INLINE s32 cc_policy_clamp(s32 x, s32 most) { return cc_policy_max(cc_policy_min(x, most), -most); }

/*
 * log2(x), 10 fraction bits, exact at powers of two and linear between them: at most 0.086 too little. The bits below
 * the highest are set, then counted (Warren, Hacker's Delight, 5-1): without a branch, as cc_exp2.
 */
CC_INLINE s32 cc_log2(u32 x)
{
	u32 ones = x | 1;
	u32 count;

	ones |= ones >> 1;
	ones |= ones >> 2;
	ones |= ones >> 4;
	ones |= ones >> 8;
	ones |= ones >> 16;
	count = ones - ((ones >> 1) & 0x55555555u);
	count = (count & 0x33333333u) + ((count >> 2) & 0x33333333u);
	count = (((count + (count >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
	/* the bits below the highest one, as a fraction of it */
	return (s32)(((count - 1) << CC_POLICY_SHIFT) + (u32)(((u64)x << 32 >> (count - 1) >> 22) & 1023));
}

/* A part of a whole, at most CC_POLICY_MOST, without a branch as well. */
CC_INLINE s32 cc_policy_ratio(u64 part, u64 whole)
{
	const u64 ratio = cc_div(part << CC_POLICY_SHIFT, whole);
	const u64 above = ratio / CC_POLICY_MOST;
	u64 is_above = (above | (0 - above)) >> 63;

	CC_OPAQUE(is_above);
	return (s32)((ratio % CC_POLICY_MOST & (is_above - 1)) + is_above * CC_POLICY_MOST);
}

/* The features of an interval with an ACK. rate_Bps was in force. */
CC_INLINE void cc_features(const struct cc_interval *i, u32 rate_Bps, s32 *f)
{
	const u64 mean_us = cc_div(i->rtt_sum_us, i->rtt_samples);
	/* without a sample there is no delay; CC_NO_RTT is more than any mean */
	const u64 queue_us = mean_us > i->min_rtt_us ? mean_us - i->min_rtt_us : 0;
	const u64 delivered = i->delivered_pkts;
	const u64 could_bytes = (u64)rate_Bps * i->duration_us / CC_USEC_PER_SEC;
	const s32 rate = cc_log2(rate_Bps) - cc_log2(CC_POLICY_RATE_BPS);
	const s32 rtt = cc_log2(i->min_rtt_us) - cc_log2(CC_MSEC(1));

	f[CC_FEATURE_QUEUE_RTTS] = cc_policy_ratio(queue_us, i->min_rtt_us);
	f[CC_FEATURE_QUEUE_10MS] = cc_policy_ratio(queue_us, CC_POLICY_DELAY_US);
	f[CC_FEATURE_LOSS_EIGHTHS] = cc_policy_ratio(8ull * i->lost_pkts, delivered + i->lost_pkts);
	f[CC_FEATURE_CE_EIGHTHS] = cc_policy_ratio(8ull * i->ce_pkts, delivered);
	f[CC_FEATURE_DELIVERED] = cc_policy_ratio(delivered * i->mss_bytes, could_bytes);
	f[CC_FEATURE_RATE_LOG4] = cc_policy_clamp(rate >> 1, CC_POLICY_MOST);
	f[CC_FEATURE_RTT_LOG4] = cc_policy_clamp(rtt >> 1, CC_POLICY_MOST);
}

/* Weights times inputs, and the bias: 17 products of at most 2^26 fit into 32 bits. */
CC_INLINE s32 cc_policy_sum(const s32 *w, const s32 *x, u32 n)
{
	s32 sum = w[n] * CC_POLICY_ONE;
	u32 k;

	for (k = 0; k < n; k++)
		sum += w[k] * x[k];
	return cc_policy_clamp(sum >> CC_POLICY_SHIFT, CC_POLICY_MOST);
}

/* What the network makes of the features: the exponent of the factor on the rate, 10 fraction bits, -1 to 1. */
CC_INLINE s32 cc_policy(const struct cc_policy_weights *w, const s32 *features)
{
	s32 first[CC_POLICY_UNITS];
	s32 second[CC_POLICY_UNITS];
	u32 k;

	for (k = 0; k < CC_POLICY_UNITS; k++)
		first[k] = cc_policy_max(cc_policy_sum(w->first[k], features, CC_FEATURES), 0);
	for (k = 0; k < CC_POLICY_UNITS; k++)
		second[k] = cc_policy_max(cc_policy_sum(w->second[k], first, CC_POLICY_UNITS), 0);
	return cc_policy_clamp(cc_policy_sum(w->last, second, CC_POLICY_UNITS), CC_POLICY_ONE);
}

#endif
