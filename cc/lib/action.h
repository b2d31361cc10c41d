/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Actions of a learned controller: a pacing rate and a cwnd, or a factor on the pacing rate.
 *
 * The factor is 2^a with a from -1 to 1: one action doubles or halves the rate at most, a and -a undo each other, and a
 * step is as large at any rate. Orca has such a factor on cwnd (Abbasloo et al., SIGCOMM 2020). Here cwnd follows from
 * the rate:
 *
 *	cwnd = cwnd_gain * rate * srtt
 *
 * with a gain above 1, so that the rate is in control and cwnd bounds what a wrong rate can do.
 */
#ifndef CC_LIB_ACTION_H
#define CC_LIB_ACTION_H

#include "contract/contract.h"
#include "contract/maths.h"

/* The exponent a has 16 fraction bits: one step is 0.001 % of the rate. */
#define CC_EXPONENT_SHIFT 16
#define CC_EXPONENT_UNIT  (1 << CC_EXPONENT_SHIFT)

/* Bytes per second: 8 kbit/s, a packet in 1.5 s. Below, a sender sees too few ACKs to decide on. */
#define CC_ACTION_LEAST_BPS 1000u
/* Bytes per second: 34 Gbit/s, what 32 bits hold. */
#define CC_ACTION_MOST_BPS 0xffffffffu
/* Packets: 400 Gbit/s and 0.5 s. */
#define CC_ACTION_MOST_CWND_PKTS (1u << 24)
/* Packets: with fewer, delayed ACKs stop the sender (draft-ietf-ccwg-bbr-06, BBR.MinPipeCwnd). */
#define CC_ACTION_LEAST_CWND_PKTS 4u

enum cc_action_form {
	CC_ACTION_NONE = 0,	/* rate and cwnd stay as they are */
	CC_ACTION_ABSOLUTE = 1, /* rate_Bps and cwnd_pkts */
	CC_ACTION_FACTOR = 2,	/* the rate times 2^exponent, cwnd from the rate */
};

struct cc_action {
	u32 form;      /* enum cc_action_form */
	u32 rate_Bps;  /* pacing rate, bytes of payload */
	u32 cwnd_pkts; /* cwnd */
	s32 exponent;  /* from -CC_EXPONENT_UNIT to CC_EXPONENT_UNIT; beyond, the nearer of them */
};

/*
 * 2^f for f from 0 to 1, both with 16 fraction bits, to 0.016 %: 1 + f * (c1 + f * (c2 + f * c3)). The coefficients
 * have the least relative error of those that are exact at both ends. Without a branch, because the verifier of eBPF
 * would follow both sides of each.
 */
CC_INLINE u32 cc_exp2(u32 f)
{
	const u32 c1 = 45613, c2 = 14689, c3 = 5234; /* 0.69600, 0.22414, 0.07986; their sum is 1 */
	u32 x = c2 + ((f * c3) >> 16);

	x = c1 + (u32)(((u64)f * x) >> 16);
	return (1u << 16) + (u32)(((u64)f * x) >> 16);
}

/* rate * 2^exponent, within the range of rates. */
CC_INLINE u32 cc_rate_times(u32 rate_Bps, s32 exponent)
{
	s32 a = exponent < -CC_EXPONENT_UNIT ? -CC_EXPONENT_UNIT : exponent;
	u32 above; /* the exponent less -1, so that it is not negative */
	u64 rate;

	a = a > CC_EXPONENT_UNIT ? CC_EXPONENT_UNIT : a;
	above = (u32)(a + CC_EXPONENT_UNIT);
	rate = (u64)rate_Bps * cc_exp2(above & 0xffff);
	rate = (rate << (above >> 16)) >> 17;
	return (u32)cc_max_u64(cc_min_u64(rate, CC_ACTION_MOST_BPS), CC_ACTION_LEAST_BPS);
}

/* The rate before the first action: cwnd over the RTT of the handshake. Without a sample 1 ms, as bbr1_init. */
CC_INLINE u32 cc_first_rate(const struct cc_view *v)
{
	const u32 rtt_us = v->srtt_us ? v->srtt_us : CC_MSEC(1);
	const u64 cwnd_bytes = (u64)v->cwnd_pkts * v->mss_bytes;

	return cc_max_u32(cc_saturate_u32(cc_div(cwnd_bytes * CC_USEC_PER_SEC, rtt_us)), CC_ACTION_LEAST_BPS);
}

/* The cwnd that goes with a rate, rounded up. The gain is in 1/256. */
CC_INLINE u32 cc_cwnd_of_rate(u32 rate_Bps, u32 cwnd_gain_256, const struct cc_view *v)
{
	const u64 bdp_bytes = (u64)rate_Bps * v->srtt_us / CC_USEC_PER_SEC;
	const u64 unit = (u64)v->mss_bytes << CC_GAIN_SHIFT;
	const u64 pkts = cc_div(bdp_bytes * cwnd_gain_256 + unit - 1, unit);

	return (u32)cc_max_u64(cc_min_u64(pkts, CC_ACTION_MOST_CWND_PKTS), CC_ACTION_LEAST_CWND_PKTS);
}

#endif
