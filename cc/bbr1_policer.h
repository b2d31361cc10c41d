/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv1's detector of token-bucket policers ("long-term bandwidth", lt_bw in Linux). Not an algorithm.
 *
 * A policer lets a burst pass at any rate and then drops what exceeds its rate. BBR takes the rate of the burst for bw,
 * and loses a large share of what it sends for as long as it remembers it. But when the bucket is empty it lets through
 * exactly its rate: so measure from one loss to another,
 *
 *	interval  4 to 16 rounds that begin and end with a loss, at least 19.5 % of what was delivered lost in between
 *	found     two intervals in a row have the same rate (within 1/8 or 4 kbit/s): use their mean instead of bw
 *	expired   after 48 rounds of PROBE_BW: try again whether there is more
 *
 * Source: Linux 6.18 net/ipv4/tcp_bbr.c; there is no published one. Departure: the arithmetic is 64 bits wide where
 * Linux's wraps above a difference of 12 Gbit/s.
 */
#ifndef CC_BBR1_POLICER_H
#define CC_BBR1_POLICER_H

#include "bbr.h"
#include "contract/contract.h"
#include "contract/maths.h"

#define BBR1_POLICER_MIN_ROUNDS 4u
#define BBR1_POLICER_MAX_ROUNDS (4u * BBR1_POLICER_MIN_ROUNDS)
#define BBR1_POLICER_LOSS_256	50u  /* least lost/delivered, 19.5 % */
#define BBR1_POLICER_AGREE_256	32u  /* two rates agree within 1/8 ... */
#define BBR1_POLICER_AGREE_Bps	500u /* ... or within 4 kbit/s */
#define BBR1_POLICER_USE_ROUNDS 48u

struct bbr1_policer {
	u64 stamp_us;	    /* start of the interval */
	u32 delivered_pkts; /* delivered_pkts then */
	u32 lost_pkts;	    /* lost_pkts then */
	u32 rounds;	    /* in the interval; or since the rate is in use */
	u32 bw;		    /* rate of the last interval, or in use; 0: none */
	u32 clock_us;	    /* parameter: resolution of the interval's clock */
	u32 margin_ppm;	    /* parameter: pacing margin */
	u8 sampling;	    /* an interval is open */
	u8 in_use;	    /* a policer was found: bw is its rate */
	u8 reserved[6];	    /* no holes: parity compares bytes */
};

CC_INLINE void bbr1_policer_open_interval(struct bbr1_policer *l, const struct cc_view *v)
{
	l->stamp_us = v->delivered_us;
	l->delivered_pkts = v->delivered_pkts;
	l->lost_pkts = v->lost_pkts;
	l->rounds = 0;
}

/* There is none, as far as is known. */
CC_INLINE void bbr1_policer_reset(struct bbr1_policer *l, const struct cc_view *v)
{
	l->bw = 0;
	l->in_use = false;
	l->sampling = false;
	bbr1_policer_open_interval(l, v);
}

/* While the rate is in use: is it time to try for more? */
CC_INLINE bool bbr1_policer_expired(struct bbr1_policer *l, bool round_start)
{
	return round_start && ++l->rounds >= BBR1_POLICER_USE_ROUNDS;
}

CC_INLINE bool bbr1_policer_agrees(const struct bbr1_policer *l, u32 mss_bytes, u32 bw)
{
	u32 diff = bw > l->bw ? bw - l->bw : l->bw - bw;

	return l->bw && ((u64)diff * CC_GAIN_UNIT <= (u64)l->bw * BBR1_POLICER_AGREE_256 ||
			 bbr_rate_Bps(mss_bytes, diff, CC_GAIN_UNIT, l->margin_ppm) <= BBR1_POLICER_AGREE_Bps);
}

/* The interval is complete; is it the second at this rate? */
CC_STAGE bool bbr1_policer_close_interval(struct bbr1_policer *l, const struct cc_view *v, u32 bw)
{
	if (bbr1_policer_agrees(l, v->mss_bytes, bw)) {
		l->bw = (u32)(((u64)bw + l->bw) >> 1);
		l->in_use = true;
		l->rounds = 0;
		return true;
	}
	l->bw = bw;
	bbr1_policer_open_interval(l, v);
	return false;
}

/* An ACK with so many losses. Has it revealed a policer? A rate that the application limited says nothing about one. */
CC_STAGE bool bbr1_policer_sample(struct bbr1_policer *l, const struct cc_view *v, u32 losses, bool app_limited,
				  bool round_start)
{
	u32 lost, delivered;
	u64 elapsed_us;

	if (!l->sampling) {
		if (!losses)
			return false;
		bbr1_policer_open_interval(l, v);
		l->sampling = true;
	}
	if (app_limited) {
		bbr1_policer_reset(l, v);
		return false;
	}
	if (round_start)
		l->rounds++;
	if (l->rounds < BBR1_POLICER_MIN_ROUNDS)
		return false;
	if (l->rounds > BBR1_POLICER_MAX_ROUNDS) {
		bbr1_policer_reset(l, v);
		return false;
	}
	lost = v->lost_pkts - l->lost_pkts;
	delivered = v->delivered_pkts - l->delivered_pkts;
	if (!losses || !delivered || ((u64)lost << 8) < (u64)BBR1_POLICER_LOSS_256 * delivered)
		return false;
	elapsed_us = (cc_div(v->delivered_us, l->clock_us) - cc_div(l->stamp_us, l->clock_us)) * l->clock_us;
	if (!elapsed_us)
		return false;
	return bbr1_policer_close_interval(l, v, cc_saturate_u32(cc_div((u64)delivered << CC_BW_SHIFT, elapsed_us)));
}

#endif
