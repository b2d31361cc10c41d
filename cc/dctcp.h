/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * DCTCP: Data Center TCP. Reno, but a mark reduces cwnd in proportion to the share of packets that were marked.
 *
 * A switch marks every packet that finds more than K waiting. Reno would halve cwnd whenever the queue touches K, and
 * empty it. DCTCP learns from the share of marked packets how far the queue is above K:
 *
 *	alpha    once per cwnd of data: alpha += g * (share of marked packets - alpha)      RFC 8257 section 3.3
 *	mark     once per cwnd of data: cwnd *= 1 - alpha / 2                               RFC 8257 section 3.3
 *	growth   as Reno                                                                    RFC 8257 section 3.4
 *	loss     as Reno: half of cwnd, whatever alpha is                                   RFC 8257 section 3.5
 *
 * With N flows in step on a link of C packets per second and an RTT of R, cwnd is W = (C R + K) / N when the marks
 * begin. A flow adds one more packet before they take effect, so alpha settles at about sqrt(2 / W), a reduction takes
 * sqrt(W / 2) packets, and the queue swings by N sqrt(W / 2) = sqrt(N (C R + K) / 2) packets: [SIGCOMM] section 3.3.
 * The queue does not run empty if K > C R / 7.
 *
 * The host counts the marks that the receiver echoes one by one (RFC 8257 section 3.2: `ecn = "dctcp"`), starts an
 * episode of reduction at most once per cwnd of data, and takes cwnd down to ssthresh (PRR). With an echo that stays on
 * until it is answered, as of RFC 3168, alpha is too large and DCTCP is Reno.
 *
 * Departures, as in Linux: packets are counted instead of bytes; the reduction is spread over a round trip instead of
 * made at once; alpha has 20 bits of fraction (Linux has 10, which loses shares below 1.6 %). ECT on SYNs and pure ACKs
 * (RFC 8257 section 3.1) is up to the host, and ours sets none. Section 3.5 allows for the share of marks in a
 * reduction on loss; neither Linux nor this does.
 *
 * Sources: RFC 8257; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010 [SIGCOMM].
 */
#ifndef CC_DCTCP_H
#define CC_DCTCP_H

#include "reno.h"
#include "lib/variant.h"

/* The kernel host fills in delivered_ce_pkts and ecn, which other algorithms of this kind do not read. */
#define CC_READS_MARKS

#define dctcp_own_parameters(P)                                                                                        \
	P(alpha_gain, CC_FRACTION(0.0625), 1, CC_FRACTION_UNIT, CC_UNIT_FRACTION,                                      \
	  "g: weight of a cwnd of data in the average share of marks",                                                 \
	  "1/16: RFC 8257 section 4.2; [SIGCOMM] section 3.4: below 1.386 / sqrt(2 (C R + K)); 1: the last cwnd only")
#define dctcp_parameters(P) reno_parameters(P) dctcp_own_parameters(P)
CC_VARIANT_PARAMS(dctcp, reno)

/* alpha is a share of 2^20: at a gain of 1/16 it still tells shares of 1e-5 apart. */
#define DCTCP_ALPHA_SHIFT 20
#define DCTCP_ALPHA_ONE	  (1u << DCTCP_ALPHA_SHIFT)

struct dctcp {
	struct reno reno;
	struct dctcp_own_params own;
	u32 alpha;		  /* average share of marked packets, of 2^20 */
	u32 round_end_seq;	  /* alpha is updated when this has been acknowledged */
	u32 round_delivered_pkts; /* delivered_pkts and delivered_ce_pkts when alpha was last updated */
	u32 round_ce_pkts;
	u32 ce_pkts;	    /* delivered_ce_pkts of the last ACK */
	u32 before_ce_pkts; /* and of the one before */
	u32 reduced_pkts;   /* cwnd when the episode of loss or marks began */
};

/* alpha += g * (share of marks - alpha). RFC 8257 section 3.3 */
CC_STAGE void dctcp_update_alpha(struct dctcp *s, const struct cc_view *v)
{
	u32 delivered = v->delivered_pkts - s->round_delivered_pkts;
	u32 marked = v->delivered_ce_pkts - s->round_ce_pkts;
	u64 share;

	if (cc_before(v->snd_una, s->round_end_seq) || !delivered)
		return;
	share = cc_min_u64(cc_div((u64)marked << DCTCP_ALPHA_SHIFT, delivered), DCTCP_ALPHA_ONE);
	s->alpha = (u32)((s->alpha * (u64)(CC_FRACTION_UNIT - s->own.alpha_gain) + share * s->own.alpha_gain) >>
			 CC_FRACTION_SHIFT);
	s->round_end_seq = v->snd_nxt;
	s->round_delivered_pkts = v->delivered_pkts;
	s->round_ce_pkts = v->delivered_ce_pkts;
}

/* cwnd * (1 - alpha / 2). RFC 8257 section 3.3 */
CC_INLINE u32 dctcp_marked_ssthresh(const struct dctcp *s, u32 cwnd_pkts)
{
	u32 cut = (u32)(((u64)cwnd_pkts * s->alpha) >> (DCTCP_ALPHA_SHIFT + 1));

	return cc_max_u32(cc_sub_floor_u32(cwnd_pkts, cut), CC_MIN_SSTHRESH_PKTS);
}

/* The ACK that begins this episode echoes a mark. */
CC_INLINE bool dctcp_sees_mark(const struct dctcp *s, const struct cc_view *v)
{
	return s->ce_pkts != s->before_ce_pkts || v->delivered_ce_pkts != s->ce_pkts;
}

/* Reno has set ssthresh to half of cwnd, which is right for a loss. */
CC_STAGE void dctcp_reduce(struct dctcp *s, const struct cc_view *v, struct cc_decision *d)
{
	s->reduced_pkts = v->cwnd_pkts;
	if (dctcp_sees_mark(s, v))
		d->ssthresh_pkts = dctcp_marked_ssthresh(s, v->cwnd_pkts);
}

/* The state that follows says of what the episode is: of a loss, though the ACK echoed a mark, too. */
CC_STAGE void dctcp_on_ca_state(struct dctcp *s, const struct cc_view *v, struct cc_decision *d)
{
	if (s->reduced_pkts && v->ca_state >= CC_CA_RECOVERY)
		d->ssthresh_pkts = reno_ssthresh(&s->reno, s->reduced_pkts);
	s->reduced_pkts = 0;
}

/* ---- the contract ---- */

CC_INLINE void dctcp_on_ack(struct dctcp *s, const struct cc_view *v, struct cc_decision *d)
{
	reno_on_ack(&s->reno, v, d);
}

CC_INLINE void dctcp_on_event(struct dctcp *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	reno_on_event(&s->reno, event, v, d);
	switch (event) {
	case CC_EVENT_SAMPLE:
		s->before_ce_pkts = s->ce_pkts;
		s->ce_pkts = v->delivered_ce_pkts;
		dctcp_update_alpha(s, v);
		break;
	case CC_EVENT_REDUCE:
		dctcp_reduce(s, v, d);
		break;
	case CC_EVENT_CA_STATE:
		dctcp_on_ca_state(s, v, d);
		break;
	default:
		break;
	}
}

CC_INLINE void dctcp_init(struct dctcp *s, const struct dctcp_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->own = p->own;
	s->alpha = DCTCP_ALPHA_ONE; /* the first mark halves: RFC 8257 section 3.3 */
	s->round_end_seq = v->snd_nxt;
	s->round_delivered_pkts = v->delivered_pkts;
	s->round_ce_pkts = v->delivered_ce_pkts;
	s->ce_pkts = v->delivered_ce_pkts;
	s->before_ce_pkts = v->delivered_ce_pkts;
	reno_init(&s->reno, &p->reno, v, d);
}

CC_VARIANT_OBSERVE(dctcp, reno)

#endif
