/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Prague: the congestion control of L4S (Low Latency, Low Loss, Scalable throughput).
 *
 * A Classic queue signals congestion rarely, so each signal halves cwnd and the queue must be long. A queue of L4S
 * marks packets as soon as there is a queue at all, several per round trip, and Prague reduces cwnd in proportion to
 * the share of packets that were marked:
 *
 *	alpha    moving average of the share of marked packets, gain 1/16          [prague] section 2.3.2
 *	mark     once per round trip: cwnd -= cwnd * alpha / 2                     section 2.4.2
 *	growth   per packet acknowledged without a mark: cwnd += M^2 / cwnd        sections 2.4.3, 2.4.4
 *	loss     cwnd / 2, as Reno; with a mark in the same round trip no more     section 2.4.1
 *	start    cwnd += 1 per packet acknowledged, up to the first mark or loss   section 2.4.5
 *	pacing   cwnd per smoothed RTT, twice that in slow start                   section 2.5.1
 *
 * Take M = 1 and a share p of marks. Growth by one packet and reduction by W * p / 2 balance at W = 2 / p packets per
 * round trip: two marks per round trip at any rate. That is what "scalable" means.
 *
 * The queue of L4S is so short that RTTs of flows differ by more than it. A flow of 5 ms would get five times the rate
 * of one of 25 ms. So after 500 round trips ("reduced RTT dependence") Prague behaves as on a path with a virtual RTT
 * of at least 25 ms: alpha and the reduction run once per virtual RTT, and cwnd grows by M per virtual RTT, that is by
 * M^2 per round trip, with M = srtt / virtual RTT. Then W = 2 M / p, and the rate W / srtt = 2 / (p * virtual RTT) is
 * that of a flow with the virtual RTT. (By this equation the reduction must come once per virtual RTT, too.)
 *
 * RFC 9331 section 4 asks for: ECT(1) and accurate feedback (the host), a scalable response to marks, Reno's response
 * to loss, less dependence on RTT. Before the first mark nothing shows that the path has a queue of L4S. Then, and
 * without ECN, this is Reno with pacing.
 *
 * Prague owns cwnd (CC_OWNS_CWND). A host that reduces on an echo, as for CC_GROWS_CWND, cuts to ssthresh once per
 * round trip and stops growth until the round trip is over. Prague's reduction depends on the time since the last one,
 * cwnd has a fraction, and unmarked packets count while it is reducing.
 *
 * Departures from [prague]: CWR ends by time, not by sequence; no fall-back on Classic ECN queues (section 3.3), which
 * mark ECT(1) as seldom as ECT(0): there Prague takes more than its share; bursts are the host's, about 1 ms, where
 * the draft asks for 250 us (section 2.5.2); cwnd is 2 packets at least (no fractional windows, section 3.5). Pacing
 * is twice as fast up to ssthresh, in the draft up to half of it, and by cwnd also while more is in flight (section
 * 2.5.1).
 *
 * Sources: draft-briscoe-iccrg-prague-congestion-control-04 [prague]; RFC 9331; RFC 8257 (DCTCP); RFC 5681 (Reno).
 */
#ifndef CC_PRAGUE_H
#define CC_PRAGUE_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "contract/window.h"

/* The kernel host fills in delivered_ce_pkts and ecn, which other algorithms of this kind do not read. */
#define CC_READS_MARKS

#define prague_parameters(P)                                                                                           \
	P(alpha_gain, CC_FRACTION(0.0625), 1, CC_FRACTION_UNIT, CC_UNIT_FRACTION,                                      \
	  "weight of a round trip in the average share of marks",                                                      \
	  "1/16: the draft, section 2.3.2; 1: the last round trip only")                                               \
	P(rtt_virt_us, CC_MSEC(25), 0, CC_SEC(1), CC_UNIT_US,                                                          \
	  "least virtual RTT; a flow with a shorter RTT gets the rate of this one",                                    \
	  "25 ms: the draft, section 2.4.4, a typical RTT to a content server; 0: rates depend on RTTs")               \
	P(rtt_virt_after_rounds, 500, 0, 1000000, CC_UNIT_ROUNDS,                                                      \
	  "round trips from the start after which the virtual RTT holds",                                              \
	  "500: the draft, section 2.4.4, so that short flows converge sooner")                                        \
	P(beta, CC_FRACTION(0.5), CC_FRACTION(0.1), CC_FRACTION_UNIT - 1, CC_UNIT_FRACTION,                            \
	  "share of cwnd that remains after a loss",                                                                   \
	  "1/2: the draft, section 2.4.1, Reno; below 1 to reduce; 0.7 as CUBIC")

struct prague_params {
	prague_parameters(CC_PARAM_FIELD)
};

/* alpha is a share of 2^20: at 2 marks per round trip it is exact to 1 % up to 20,000 packets in flight. */
#define PRAGUE_ALPHA_SHIFT 20
#define PRAGUE_ALPHA_ONE   (1u << PRAGUE_ALPHA_SHIFT)
/*
 * cwnd has 24 fraction bits: on a path of 1 ms it grows by 1/625 packet per round trip. At most 2^26 packets (100 GB
 * in flight), so that products fit 64 bits.
 */
#define PRAGUE_W_SHIFT	24
#define PRAGUE_W_ONE	(1u << PRAGUE_W_SHIFT)
#define PRAGUE_MAX_PKTS (1u << 26)
/* Packets that one ACK counts for at most: a TSO burst has 44. The bound is for products. */
#define PRAGUE_ACK_MOST_PKTS (1u << 20)
/* The RTT before the first sample, for pacing. [Linux] tcp_prague, tcp_bbr */
#define PRAGUE_FIRST_RTT_US CC_MSEC(1)

struct prague {
	u64 w;	      /* cwnd with its fraction */
	u64 prior_w;  /* the same before the last reduction on a mark */
	u64 start_us; /* when the connection started */
	u64 round_us; /* when alpha was last updated */
	u64 cwr_us;   /* when cwnd was last reduced */
	struct prague_params p;
	u32 alpha;		  /* average share of marked packets, of 2^20 */
	u32 cwnd_pkts;		  /* last set; if it differs from what is in force, the host has changed it */
	u32 lossy_cwnd_pkts;	  /* cwnd when an episode of loss or marks began; 0: none begins */
	u32 ce_pkts;		  /* delivered_ce_pkts of the last ACK */
	u32 round_delivered_pkts; /* delivered_pkts and delivered_ce_pkts when alpha was last updated */
	u32 round_ce_pkts;
	u32 round_end_seq; /* alpha is updated when this has been acknowledged */
	u32 phase;	   /* enum cc_phase: SLOW_START or AVOIDANCE */
	u8 saw_ce;	   /* a mark has shown that the path has a queue that marks */
	u8 has_reduced;	   /* cwr_us is set */
	u8 reserved[6];	   /* no holes: parity compares bytes */
};

/* ---- the window ---- */

CC_INLINE u32 prague_pkts(const struct prague *s) { return (u32)(s->w >> PRAGUE_W_SHIFT); }

CC_INLINE void prague_set_w(struct prague *s, u64 w)
{
	s->w = cc_min_u64(cc_max_u64(w, (u64)CC_MIN_SSTHRESH_PKTS << PRAGUE_W_SHIFT),
			  (u64)PRAGUE_MAX_PKTS << PRAGUE_W_SHIFT);
}

/* A timeout, an idle period and a limit of the socket change cwnd without Prague. */
CC_INLINE void prague_follow_host(struct prague *s, const struct cc_decision *d)
{
	if (d->cwnd_pkts != s->cwnd_pkts)
		prague_set_w(s, (u64)cc_min_u32(d->cwnd_pkts, PRAGUE_MAX_PKTS) << PRAGUE_W_SHIFT);
}

/* [prague] section 2.5.1 */
CC_INLINE void prague_set_controls(struct prague *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 srtt_us = v->srtt_us ? v->srtt_us : PRAGUE_FIRST_RTT_US;
	u64 rate;

	s->cwnd_pkts = prague_pkts(s);
	d->cwnd_pkts = s->cwnd_pkts;
	s->phase = cc_in_slow_start(d) ? CC_PHASE_SLOW_START : CC_PHASE_AVOIDANCE;
	rate = cc_div((u64)s->cwnd_pkts * v->mss_bytes * CC_USEC_PER_SEC, srtt_us);
	if (s->phase == CC_PHASE_SLOW_START)
		rate *= 2;
	d->pacing_rate_Bps = cc_min_u64(rate, v->max_pacing_rate_Bps);
	d->min_burst_pkts = 1;
}

/* ---- the virtual RTT, [prague] section 2.4.4 ---- */

CC_INLINE u32 prague_rtt_us(const struct prague *s, const struct cc_view *v)
{
	bool is_virtual = s->saw_ce && v->now_us - s->start_us >= (u64)s->p.rtt_virt_after_rounds * v->srtt_us;

	return is_virtual ? cc_max_u32(v->srtt_us, s->p.rtt_virt_us) : v->srtt_us;
}

/* M^2 of 2^24: growth in packets per round trip. */
CC_INLINE u64 prague_growth(const struct prague *s, const struct cc_view *v)
{
	u64 m = cc_div((u64)v->srtt_us << PRAGUE_W_SHIFT, prague_rtt_us(s, v));

	return v->srtt_us ? (m * m) >> PRAGUE_W_SHIFT : PRAGUE_W_ONE;
}

/* ---- marks ---- */

/* Once per virtual RTT, from the first mark on: alpha += gain * (share of marks - alpha). [prague] section 2.3.2 */
CC_STAGE void prague_update_alpha(struct prague *s, const struct cc_view *v)
{
	u32 delivered = v->delivered_pkts - s->round_delivered_pkts;
	u32 marked = v->delivered_ce_pkts - s->round_ce_pkts;
	u64 share;

	if (cc_before(v->snd_una, s->round_end_seq) || v->now_us - s->round_us < prague_rtt_us(s, v))
		return;
	if (s->saw_ce && delivered) {
		share = cc_min_u64(cc_div((u64)marked << PRAGUE_ALPHA_SHIFT, delivered), PRAGUE_ALPHA_ONE);
		s->alpha = (u32)((s->alpha * (u64)(CC_FRACTION_UNIT - s->p.alpha_gain) + share * s->p.alpha_gain) >>
				 CC_FRACTION_SHIFT);
	}
	s->round_us = v->now_us;
	s->round_end_seq = v->snd_nxt;
	s->round_delivered_pkts = v->delivered_pkts;
	s->round_ce_pkts = v->delivered_ce_pkts;
}

CC_INLINE bool prague_has_just_reduced(const struct prague *s, const struct cc_view *v)
{
	return s->has_reduced && v->now_us - s->cwr_us < prague_rtt_us(s, v);
}

CC_INLINE void prague_note_reduction(struct prague *s, const struct cc_view *v, struct cc_decision *d)
{
	s->cwr_us = v->now_us;
	s->has_reduced = true;
	d->ssthresh_pkts = prague_pkts(s);
}

/* At most once per virtual RTT: cwnd -= cwnd * alpha / 2. [prague] section 2.4.2 */
CC_STAGE void prague_reduce_on_mark(struct prague *s, const struct cc_view *v, struct cc_decision *d)
{
	s->saw_ce = true;
	if (prague_has_just_reduced(s, v))
		return;
	s->prior_w = s->w;
	prague_set_w(s, s->w - cc_mul_shift(s->w, s->alpha, PRAGUE_ALPHA_SHIFT + 1));
	prague_note_reduction(s, v, d);
}

/* ---- growth ---- */

CC_STAGE void prague_grow(struct prague *s, const struct cc_view *v, struct cc_decision *d, u32 unmarked_pkts)
{
	u32 pkts = cc_min_u32(unmarked_pkts, PRAGUE_ACK_MOST_PKTS);

	d->cwnd_pkts = prague_pkts(s);
	if (v->ca_state == CC_CA_RECOVERY || !cc_window_is_used(v, d))
		return;
	if (cc_in_slow_start(d)) {
		u32 room = d->ssthresh_pkts - d->cwnd_pkts;
		u32 growth = cc_min_u32(pkts, room);

		prague_set_w(s, s->w + ((u64)growth << PRAGUE_W_SHIFT));
		pkts -= growth;
	}
	/* 20 bits of packets and 24 of M^2; 8 more of each keep cwnd's fraction in the quotient */
	prague_set_w(s, s->w + cc_div((pkts * prague_growth(s, v)) << 8, s->w >> (PRAGUE_W_SHIFT - 8)));
}

/* ---- loss ---- */

/*
 * Reno's response. If cwnd was reduced on a mark in the same round trip, both together leave beta of what it was.
 * [prague] section 2.4.1
 */
CC_STAGE void prague_reduce_on_loss(struct prague *s, const struct cc_view *v, struct cc_decision *d)
{
	u64 before = (u64)cc_min_u32(s->lossy_cwnd_pkts, PRAGUE_MAX_PKTS) << PRAGUE_W_SHIFT;
	u64 larger = prague_has_just_reduced(s, v) ? cc_max_u64(before, s->prior_w) : before;

	prague_set_w(s, cc_min_u64(before, cc_mul_shift(larger, s->p.beta, CC_FRACTION_SHIFT)));
	prague_note_reduction(s, v, d);
	s->prior_w = 0;
}

/* An episode begins: the state that follows says of what. */
CC_STAGE void prague_on_ca_state(struct prague *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 cwnd_pkts = d->cwnd_pkts;
	/* CWR without a mark: a tail loss probe has repaired a loss */
	bool is_loss = v->ca_state >= CC_CA_RECOVERY ||
		       (v->ca_state == CC_CA_CWR && v->delivered_ce_pkts == s->ce_pkts);

	if (s->lossy_cwnd_pkts && is_loss) {
		prague_reduce_on_loss(s, v, d);
		if (v->ca_state == CC_CA_LOSS) /* slow start, from where the host has put cwnd */
			prague_set_w(s, (u64)cc_min_u32(cwnd_pkts, PRAGUE_MAX_PKTS) << PRAGUE_W_SHIFT);
		prague_set_controls(s, v, d);
	}
	s->lossy_cwnd_pkts = 0;
}

/* ---- the contract ---- */

CC_STAGE void prague_on_ack(struct prague *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 marked_pkts = v->delivered_ce_pkts - s->ce_pkts;

	s->ce_pkts = v->delivered_ce_pkts;
	prague_follow_host(s, d);
	prague_update_alpha(s, v);
	if (marked_pkts)
		prague_reduce_on_mark(s, v, d);
	prague_grow(s, v, d, cc_sub_floor_u32(v->acked_pkts, marked_pkts));
	prague_set_controls(s, v, d);
}

CC_STAGE void prague_on_event(struct prague *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (event) {
	case CC_EVENT_REDUCE:
		s->lossy_cwnd_pkts = cc_max_u32(d->cwnd_pkts, 1);
		break;
	case CC_EVENT_CA_STATE:
		prague_on_ca_state(s, v, d);
		break;
	case CC_EVENT_UNDO:
		d->cwnd_pkts = cc_max_u32(v->cwnd_pkts, v->prior_cwnd_pkts);
		prague_follow_host(s, d);
		prague_set_controls(s, v, d);
		break;
	default:
		break;
	}
}

CC_STAGE void prague_init(struct prague *s, const struct prague_params *p, const struct cc_view *v,
			  struct cc_decision *d)
{
	s->p = *p;
	s->alpha = PRAGUE_ALPHA_ONE; /* the first mark halves: RFC 8257 section 3.3 */
	s->start_us = v->now_us;
	s->round_us = v->now_us;
	s->round_end_seq = v->snd_nxt;
	s->round_delivered_pkts = v->delivered_pkts;
	s->round_ce_pkts = v->delivered_ce_pkts;
	s->ce_pkts = v->delivered_ce_pkts;
	prague_set_w(s, (u64)cc_min_u32(v->cwnd_pkts, PRAGUE_MAX_PKTS) << PRAGUE_W_SHIFT);
	prague_set_controls(s, v, d);
}

CC_INLINE void prague_observe(const struct prague *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = CC_NO_RTT;
	o->pacing_gain_256 = s->phase == CC_PHASE_SLOW_START ? CC_GAIN(2) : CC_GAIN(1);
	o->cwnd_gain_256 = 0;
	o->phase = s->phase;
}

#endif
