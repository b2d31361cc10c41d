/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The bounds of a decision. Every host applies them to what an algorithm decided, whatever that is: an algorithm
 * that is wrong may be slow or unfair, but it neither stops its connection nor brings the host out of order. No
 * algorithm of algorithms.def reaches a bound; a bound that acts is counted and shown as a defect of the header.
 *
 *	cwnd		1 packet to CC_MOST_CWND_PKTS; where Linux computes the pacing rate from it, to
 *			CC_MOST_TCP_CWND_PKTS
 *	ssthresh	2 packets to CC_INFINITE; where the host reduces cwnd to it, at most the cwnd before
 *	pacing rate	Linux's next burst, two packets or more, is over in CC_PAUSE_US or 1.5 RTTs: more than a packet
 *			in max(srtt, 200 ms). One packet and a half in that time, if it is what Linux has
 *			computed for CC_GROWS_CWND, which is 1.2 packets per RTT at the least, and computes again
 *			before it sends. If the header defines NAME_paces_below_a_packet, in CC_SLOW_PAUSES times
 *			as long
 *	burst		1 or CC_MIN_BURST_PKTS packets: more no host has
 *	app-limited	until no later than what is in flight now has been delivered
 *
 * What they prevent in Linux 6.18:
 *
 *   - tcp_snd_cwnd_set() warns of a cwnd that as an int is not positive. It gets the value of undo_cwnd in
 *     tcp_undo_cwnd_reduction(), ssthresh in tcp_end_cwnd_reduction(), at most cwnd in tcp_cwnd_restart(), and
 *     cwnd + 1 after a failed MTU probe in tcp_fastretrans_alert().
 *   - tcp_cwnd_reduction() (PRR) warns of a cwnd of 0 before the reduction. Its product ssthresh * delivered / prior
 *     cwnd has to fit into an int: it does if ssthresh is not above the prior cwnd. Above CC_INFINITE its difference to
 *     the packets in flight, an int, is negative.
 *   - tcp_xmit_retransmit_queue() takes cwnd less the packets in flight as an int and sends nothing if it is negative.
 *   - tcp_update_pacing_rate(), which algorithms that own cwnd do not have, multiplies cwnd, MSS, 8e4 and up to 200 in
 *     64 bits, which overflows above 1.7e7 packets of 64 KiB.
 *   - tcp_update_skb_after_send() divides a burst by the pacing rate: at 1 B/s nothing is sent for hours, and without
 *     ACKs no hook runs that could correct it. A rate of 0 does not pace at all.
 *   - tcp_tso_autosize() takes a burst of 0 packets for the size of the next one.
 *   - tcp_rate_gen() ends an application-limited period only when its end has been delivered, also if the socket has
 *     another algorithm by then.
 *
 * Two products of Linux wrap for cwnds that it reaches by itself, without harm: tcp_tso_should_defer() multiplies cwnd
 * and MSS in 32 bits, and waits for an ACK that is on its way or does not wait; tcp_sndbuf_expand() multiplies in an
 * int, and then does not expand.
 */
#ifndef CC_CLAMP_H
#define CC_CLAMP_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/window.h"

/* Packets: an int, with room for the one that tcp_fastretrans_alert() adds. */
#define CC_MOST_CWND_PKTS 0x7ffffffeu
/* The largest window of TCP, 2^30 bytes (RFC 7323 section 2.3), in packets of 64 bytes. */
#define CC_MOST_TCP_CWND_PKTS (1u << 24)
/* Linux's TCP_RTO_MIN. A receiver may wait as long again before it acknowledges a lone packet (TCP_DELACK_MAX). */
#define CC_PAUSE_US CC_MSEC(200)
/*
 * Two packets in 77 s. BBR's least bandwidth is a packet in 2^24 us (CC_BW_SHIFT), of which DRAIN takes 0.34: one in
 * 49 s.
 * LEVEL shares a link among more flows than it has packets, down to an eighth of a packet per RTT.
 */
#define CC_SLOW_PAUSES 384u
/*
 * A TSO burst has up to 64 KiB (GSO_LEGACY_MAX_SIZE): a pacing rate's part, and on short paths 64 KiB, halved for each
 * 2^9 us of the minimum RTT (Linux: tcp_tso_rtt_log).
 */
#define CC_BURST_BYTES	  65536ull
#define CC_NEAR_RTT_SHIFT 9
/* No floor of the pacing rate is higher: two packets of 64 KiB in a pause. */
#define CC_FLOOR_MOST_BPS (2 * 65536ull * CC_USEC_PER_SEC / CC_PAUSE_US)

/* What the bounds depend on beside view and decision: a set. */
enum cc_bounds {
	CC_BOUNDS_GROWS = 1,	/* CC_GROWS_CWND: the host reduces cwnd, and Linux computes the pacing rate */
	CC_BOUNDS_SLOW = 2,	/* the header defines NAME_paces_below_a_packet as 1 */
	CC_BOUNDS_REDUCES = 4,	/* the decision is on CC_EVENT_REDUCE */
	CC_BOUNDS_RESTARTS = 8, /* on CC_EVENT_RESTART */
};

/* What an event adds to the set. */
CC_INLINE u32 cc_bounds_of_event(u32 event)
{
	return (event == CC_EVENT_REDUCE ? CC_BOUNDS_REDUCES : 0) |
	       (event == CC_EVENT_RESTART ? CC_BOUNDS_RESTARTS : 0);
}

/* 1 if x is defined as 1, else 0: also where no macro x exists, as in most headers. */
#define CC_SECOND(first, second, ...) second
#define CC_BEFORE_1		      0,
#define CC_IS_1(x)		      CC_IS_1_(x)
#define CC_IS_1_(x)		      CC_IS_1__(CC_BEFORE_##x)
#define CC_IS_1__(before)	      CC_SECOND(before 1, 0, 0)

/* The fields of a decision, as bits of what cc_clamp() returns and as places of a host's counters. */
#define CC_CLAMPS(X)                                                                                                   \
	X(CWND)                                                                                                        \
	X(SSTHRESH)                                                                                                    \
	X(PACING)                                                                                                      \
	X(BURST)                                                                                                       \
	X(APP_LIMITED)
#define CC_CLAMP_ENUM(name) CC_CLAMP_##name,
enum cc_clamp { CC_CLAMPS(CC_CLAMP_ENUM) CC_CLAMP_COUNT };

/*
 * 1 if a differs from b, without a branch: the verifier follows both sides of each, and nothing later depends on which.
 */
CC_INLINE u32 cc_differ(u64 a, u64 b)
{
	u64 difference = a ^ b;

	CC_OPAQUE(difference);
	return (u32)((difference | (0 - difference)) >> 63);
}

/* 1 if x was outside of its bounds. */
CC_INLINE u32 cc_bound_u32(u32 *x, u32 least, u32 most)
{
	u32 decided = *x;

	*x = cc_max_u32(cc_min_u32(decided, most), least);
	return cc_differ(*x, decided);
}

/*
 * The longest burst that will take its length by this rate, beside the least of two packets: on a short path, with up
 * to half of cwnd (Linux: tcp_tso_autosize, tcp_cwnd_test). On CC_EVENT_RESTART Linux has already formed one with what
 * was in force.
 */
CC_INLINE u64 cc_long_burst_bytes(const struct cc_view *v, u32 cwnd_pkts, u32 bounds)
{
	u64 long_bytes = CC_BURST_BYTES >> cc_min_u32(v->min_rtt_us >> CC_NEAR_RTT_SHIFT, 31);

	if (bounds & CC_BOUNDS_RESTARTS) {
		long_bytes = cc_min_u64(long_bytes + (v->pacing_rate_Bps >> (v->pacing_shift & 63)), CC_BURST_BYTES);
		cwnd_pkts = cc_max_u32(cwnd_pkts, v->cwnd_pkts);
	}
	return cc_min_u64(long_bytes, (u64)(cwnd_pkts / 2) * v->mss_bytes);
}

/*
 * True if the host sends by this decision. Not if Linux computes the pacing rate first: with the cwnd that an ACK has
 * raised, by an undo or by many packets that it acknowledges, after all calls that are due to the ACK. Others are
 * CC_EVENT_RESTART and, without an ACK, CC_EVENT_REDUCE.
 */
CC_INLINE bool cc_sends_next(const struct cc_view *v, const struct cc_decision *d, u32 bounds, bool computed)
{
	return !computed || (bounds & CC_BOUNDS_RESTARTS) ||
	       ((bounds & CC_BOUNDS_REDUCES) && d->cwnd_pkts > v->cwnd_pkts);
}

/* The least pacing rate. One that may pace below a packet per RTT has thought of its bursts. */
CC_INLINE u64 cc_least_pacing_Bps(const struct cc_view *v, const struct cc_decision *d, u32 bounds)
{
	bool computed = (bounds & CC_BOUNDS_GROWS) && d->pacing_rate_Bps == v->pacing_rate_Bps;
	u64 most_us = cc_max_u64(3ull * v->srtt_us / 2, CC_PAUSE_US);
	u64 burst_bytes = (computed ? 3ull : 4ull) * v->mss_bytes / 2;

	if (bounds & CC_BOUNDS_SLOW)
		most_us *= CC_SLOW_PAUSES;
	else if (cc_sends_next(v, d, bounds, computed))
		burst_bytes = cc_max_u64(burst_bytes, cc_long_burst_bytes(v, d->cwnd_pkts, bounds));
	return cc_max_u64(cc_div(burst_bytes * CC_USEC_PER_SEC + most_us - 1, most_us), 1);
}

/* 1 if the pacing rate was below its floor, and below the application's limit, which the host sees to. */
CC_INLINE u32 cc_bound_pacing(const struct cc_view *v, struct cc_decision *d, u32 bounds)
{
	u64 decided = d->pacing_rate_Bps;

	d->pacing_rate_Bps = cc_max_u64(decided, cc_min_u64(cc_least_pacing_Bps(v, d, bounds), v->max_pacing_rate_Bps));
	return cc_differ(d->pacing_rate_Bps, decided);
}

/* 1 if an application-limited period would outlast what is in flight. */
CC_INLINE u32 cc_bound_app_limited(const struct cc_view *v, struct cc_decision *d)
{
	u32 decided = d->app_limited_until_pkts;
	u32 last = v->delivered_pkts + v->inflight_pkts;

	last = last ? last : 1; /* 0 would be none */
	d->app_limited_until_pkts = decided && cc_after(decided, last) ? last : decided;
	return cc_differ(d->app_limited_until_pkts, decided);
}

/*
 * A reduction does not raise cwnd. Later in it, ssthresh may become twice the prior cwnd: after an undo without SACK
 * the state stays, with an ssthresh that the algorithm did not decide, and slow start may end above the prior cwnd.
 */
CC_INLINE u32 cc_most_ssthresh_pkts(const struct cc_view *v, const struct cc_decision *d, u32 bounds)
{
	u32 most_pkts = CC_INFINITE;

	if (!(bounds & CC_BOUNDS_GROWS))
		return most_pkts;
	if (bounds & CC_BOUNDS_REDUCES)
		most_pkts = cc_min_u32(v->cwnd_pkts, CC_MOST_TCP_CWND_PKTS);
	else if (d->ssthresh_pkts != v->ssthresh_pkts && (v->ca_state == CC_CA_CWR || v->ca_state == CC_CA_RECOVERY))
		most_pkts = 2 * cc_min_u32(v->prior_cwnd_pkts, CC_MOST_TCP_CWND_PKTS);
	return cc_max_u32(most_pkts, CC_MIN_SSTHRESH_PKTS);
}

/*
 * All bounds, one by one. Out of line: nearly every decision is within them. In eBPF a global function, which the
 * verifier goes through once for itself, and not on each path that leads to a call; for it the pointers may be NULL.
 */
#ifdef __bpf__
u32 cc_clamp_each(const struct cc_view *v, struct cc_decision *d, u32 bounds);
__attribute__((noinline)) u32 cc_clamp_each(const struct cc_view *v, struct cc_decision *d, u32 bounds)
#else
static __attribute__((__noinline__, unused)) u32 cc_clamp_each(const struct cc_view *v, struct cc_decision *d,
							       u32 bounds)
#endif
{
	if (!v || !d)
		return 0;
	u32 most_cwnd_pkts = bounds & CC_BOUNDS_GROWS ? CC_MOST_TCP_CWND_PKTS : CC_MOST_CWND_PKTS;
	u32 most_ssthresh_pkts = cc_most_ssthresh_pkts(v, d, bounds);
	u32 clamped = 0;

	clamped |= cc_bound_u32(&d->cwnd_pkts, 1, most_cwnd_pkts) << CC_CLAMP_CWND;
	clamped |= cc_bound_u32(&d->ssthresh_pkts, CC_MIN_SSTHRESH_PKTS, most_ssthresh_pkts) << CC_CLAMP_SSTHRESH;
	clamped |= cc_bound_u32(&d->min_burst_pkts, 1, CC_MIN_BURST_PKTS) << CC_CLAMP_BURST;
	clamped |= cc_bound_pacing(v, d, bounds) << CC_CLAMP_PACING;
	clamped |= cc_bound_app_limited(v, d) << CC_CLAMP_APP_LIMITED;
	return clamped;
}

/*
 * Keeps a decision within its bounds. Returns which fields were outside: bit CC_CLAMP_x of each. `bounds` is a set of
 * enum cc_bounds. Nearly every decision passes the tests here, which are of all fields and for all algorithms.
 */
CC_INLINE u32 cc_clamp(const struct cc_view *v, struct cc_decision *d, u32 bounds)
{
	if (d->cwnd_pkts - 1 < CC_MOST_TCP_CWND_PKTS && d->ssthresh_pkts - CC_MIN_SSTHRESH_PKTS < CC_INFINITE - 1 &&
	    d->pacing_rate_Bps >= CC_FLOOR_MOST_BPS && d->min_burst_pkts - 1 < CC_MIN_BURST_PKTS &&
	    !d->app_limited_until_pkts && d->ssthresh_pkts == v->ssthresh_pkts && !(bounds & CC_BOUNDS_REDUCES))
		return 0;
	return cc_clamp_each(v, d, bounds);
}

#endif
