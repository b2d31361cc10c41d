/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv2 as it was last published, v2alpha: bbr3.h with what Google changed on the way to v3 taken back.
 *
 *			BBRv2					BBRv3
 *	STARTUP		pacing and cwnd 2.89			2.77 and 2
 *			ends by loss in 8 ACKs of a round	6
 *			inflight_hi is then a BDP		or what was delivered of late, if more
 *	full pipe	max_bw by the round, in STARTUP only	samples, in UP, too
 *	UP		cwnd 2					2.25
 *			until 1.25 BDP is in flight,		until bw stops growing
 *			for a min_rtt at least
 *	DOWN		pacing 0.75				0.91
 *	inflight_hi	forgets what it counted when		goes on counting
 *			cwnd does not hold the flow back
 *	tail loss	repaired by a probe: unseen		counts
 *	ECN		half of a flight is too much		more than half; and reprobes
 *	PROBE_RTT	an equal RTT puts it off		only a lower one
 *
 * What of this is a number, or a part of BBRv3 that can be switched off, is a parameter with another default; the rest is
 * below.
 *
 * Sources: google/bbr, branch v2alpha, net/ipv4/tcp_bbr2.c [v2]; draft-cardwell-iccrg-bbr-congestion-control-02
 * [Draft02], which has 2.77 and 2 in STARTUP, 0.5 in DRAIN, 0.9 in DOWN, 3 ACKs with loss, and conserves packets in
 * the first round of recovery: [v2] does not. The earlier v2alpha had a second upper bound on bandwidth, bw_hi; it is
 * not here.
 *
 * Departures from [v2]: those of bbr3.h from [v3].
 */
#ifndef CC_BBR2_H
#define CC_BBR2_H

#include "bbr3.h"

/* 2.887 twice; 8 ACKs; 0.75; 2.0; tail losses do not count; ECN at the threshold; no reprobe */
#define bbr2_own_parameters(P)                                                                                         \
	P(probe_up_inflight_gain, 320, 256, 2560, CC_UNIT_GAIN,                                                        \
	  "probing is over when this multiple of the BDP is in flight")
#define bbr2_parameters(P) bbr3_family_parameters(P, 739, 739, 8, 192, 512, 0, 1, 0) bbr2_own_parameters(P)

struct bbr2_params {
	struct bbr3_params bbr3;
	bbr2_own_parameters(CC_PARAM_FIELD)
};

struct bbr2 {
	struct bbr3 bbr3;
	u32 probe_up_inflight_gain_256;
	u32 reserved;
};

/* Too much in STARTUP: what was delivered of late is no argument. */
CC_STAGE void bbr2_check_startup_loss(struct bbr3 *b, const struct cc_view *v, const struct cc_decision *d)
{
	if (!b->full_pipe)
		bbr3_check_startup_loss(b, v, d);
	if (b->state == BBR3_STARTUP && b->full_pipe) /* just now, or by marks on this ACK */
		b->inflight_hi = bbr3_inflight_pkts(b, bbr3_max_bw(b), CC_GAIN_UNIT, v, d);
}

/* The pipe is full when max_bw has not grown for three rounds, as in BBRv1. */
CC_STAGE void bbr2_check_full_bw(struct bbr3 *b, const struct cc_view *v)
{
	if (b->full_pipe || !b->round_start || v->is_app_limited)
		return;
	if (bbr3_max_bw(b) >= ((u64)b->full_bw * b->p.full_bw_gain) >> CC_GAIN_SHIFT) {
		b->full_bw = bbr3_max_bw(b);
		b->full_bw_count = 0;
		return;
	}
	b->full_pipe = ++b->full_bw_count >= b->p.full_bw_rounds;
}

/* UP is over when it is risky to go on, or when the queue that it aims at is there. */
CC_STAGE bool bbr2_has_probed(struct bbr2 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3 *b = &s->bbr3;

	if (bbr3_is_risky(b, v, d))
		return true;
	return v->now_us > b->cycle_stamp_us + b->min_rtt_us &&
	       bbr3_in_network_pkts(b, v->prior_inflight_pkts, v, d) >=
		       bbr3_inflight_pkts(b, bbr3_max_bw(b), s->probe_up_inflight_gain_256, v, d);
}

CC_STAGE void bbr2_update_cycle(struct bbr2 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3 *b = &s->bbr3;

	if (b->state == BBR3_UP && !bbr3_is_bound_by_inflight_hi(b, v))
		b->probe_up_acked_pkts = 0;
	if (!b->full_pipe || bbr3_update_upper_bound(b, v, d))
		return;
	if (b->state != BBR3_UP)
		bbr3_update_phase(b, v, d);
	else if (bbr2_has_probed(s, v, d))
		bbr3_end_probe(b, v);
}

/* An RTT equal to the minimum confirms it. */
CC_STAGE void bbr2_update_min_rtt(struct bbr3 *b, const struct cc_view *v, struct cc_decision *d)
{
	bbr3_update_min_rtt(b, v, d);
	if (v->rtt_us < 0 || (u32)v->rtt_us != b->probe_rtt_min_us)
		return;
	b->probe_rtt_min_stamp_us = v->now_us;
	if (b->probe_rtt_min_us == b->min_rtt_us)
		b->min_rtt_stamp_us = v->now_us;
}

CC_STAGE void bbr2_on_ack(struct bbr2 *s, const struct cc_view *v, struct cc_decision *d)
{
	struct bbr3 *b = &s->bbr3;
	bool nothing_new = bbr3_begin_ack(b, v, d);

	if (!nothing_new) {
		bbr3_learn(b, v);
		bbr2_check_startup_loss(b, v, d);
		bbr2_check_full_bw(b, v);
	}
	bbr3_check_drain(b, v, d);
	bbr2_update_cycle(s, v, d);
	bbr2_update_min_rtt(b, v, d);
	bbr3_end_ack(b, v, d, nothing_new);
}

CC_STAGE void bbr2_on_event(struct bbr2 *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	u8 rounds = s->bbr3.full_bw_count;

	bbr3_on_event(&s->bbr3, event, v, d);
	if (event == CC_EVENT_CA_STATE) /* a timeout measures growth from nothing, but keeps the count of rounds */
		s->bbr3.full_bw_count = rounds;
}

CC_STAGE void bbr2_init(struct bbr2 *s, const struct bbr2_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->probe_up_inflight_gain_256 = p->probe_up_inflight_gain;
	bbr3_init(&s->bbr3, &p->bbr3, v, d);
}

CC_INLINE void bbr2_observe(const struct bbr2 *s, struct cc_observation *o) { bbr3_observe(&s->bbr3, o); }

#endif
