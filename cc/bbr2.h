/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv2 as it was last published, v2alpha: bbr3.h without what Google changed on the way to v3.
 *
 *			BBRv2					BBRv3
 *	STARTUP		pacing and cwnd 2.89			2.77 and 2
 *			ends by loss in 8 ACKs of a round	6
 *			inflight_hi is then a BDP		at least what was delivered in the latest round
 *	full pipe	max_bw per round, only in STARTUP	every sample, also in UP
 *	UP		cwnd 2					2.25
 *			until 1.25 BDP is in flight,		until bw stops growing
 *			at least for a min_rtt
 *	DOWN		pacing 0.75				0.91
 *	inflight_hi	loses its credit for growth when	keeps it
 *			cwnd does not limit the flow
 *	tail loss	repaired by a probe: does not count	counts
 *	ECN		half of a flight is too much		more than half; and reprobes
 *	PROBE_RTT	postponed by an equal RTT		only by a lower one
 *	bursts		one packet below 1.2 Mbit/s		always two at least
 *
 * Differences in numbers, and parts of BBRv3 that can be switched off, are parameters with another default (BBR2_... in
 * lib/bbr3_model.h). The other differences are in this file.
 *
 * Sources: google/bbr, branch v2alpha, net/ipv4/tcp_bbr2.c [v2]; draft-cardwell-iccrg-bbr-congestion-control-02
 * [Draft02]. Where they differ, this is [v2]. [Draft02] has 2.77 and 2 in STARTUP, 0.5 in DRAIN, 0.9 in DOWN, an
 * exit from STARTUP after 3 ACKs with loss, and packet conservation in the first round of recovery. The earlier
 * v2alpha had a second upper bound on bandwidth, bw_hi, which the last one does not have.
 *
 * One difference is in the order: BBRv2 starts the next round of bw_latest and inflight_latest right after it has used
 * them, BBRv3 at the end of the ACK. So when the ACK that ends a round also starts DOWN, in BBRv2 the samples of UP are
 * forgotten and do not keep bw_lo up.
 *
 * Departures from [v2]: those of bbr3.h from [v3]. Besides, ecn_alpha decays only from when the flow reacts to
 * marks (in [v2] always, so its first cut is smaller), and bw_lo is at least one unit of bandwidth (715 bit/s),
 * where it may be 0 in [v2].
 */
#ifndef CC_BBR2_H
#define CC_BBR2_H

#include "bbr3.h"
#include "lib/variant.h"

/* As bbr1. */
#define bbr2_paces_below_a_packet 1

#define bbr2_own_parameters(P)                                                                                         \
	P(probe_up_inflight_gain, CC_GAIN(1.25), CC_GAIN(1), CC_GAIN(10), CC_UNIT_GAIN,                                \
	  "UP ends when this multiple of the BDP is in flight",                                                        \
	  "1.25, the pacing gain of UP: its goal after one min_rtt; below 1 nothing is probed")
#define bbr2_parameters(P) bbr3_family_parameters(P, BBR2) bbr2_own_parameters(P)
CC_VARIANT_PARAMS(bbr2, bbr3)

struct bbr2 {
	struct bbr3 bbr3;
	struct bbr2_own_params own;
	u32 reserved;
};

/* STARTUP ended by loss or marks: inflight_hi is a BDP, whatever was delivered in the latest round. */
CC_STAGE void bbr2_check_startup_loss(struct bbr3 *b, const struct cc_view *v, const struct cc_decision *d)
{
	if (!b->full_pipe)
		bbr3_check_startup_loss(b, v, d);
	if (b->state == BBR3_STARTUP && b->full_pipe) /* on this ACK */
		b->inflight_hi = bbr3_inflight_pkts(b, bbr3_max_bw(b), CC_GAIN_UNIT, v, d);
}

/* The pipe is full when max_bw has not grown for three rounds, as in BBRv1. */
CC_STAGE void bbr2_check_full_bw(struct bbr3 *b, const struct cc_view *v)
{
	if (b->full_pipe || !b->round_start || v->is_app_limited)
		return;
	if (bbr_has_grown(&b->full_bw, bbr3_max_bw(b), b->p.full_bw_gain))
		b->full_bw_count = 0;
	else
		b->full_pipe = ++b->full_bw_count >= b->p.full_bw_rounds;
}

/* UP ends when continuing is risky, or when its queue is there. */
CC_STAGE bool bbr2_has_probed(struct bbr2 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3 *b = &s->bbr3;

	if (bbr3_is_risky(b, v, d))
		return true;
	return v->now_us > b->cycle_stamp_us + b->min_rtt_us &&
	       bbr3_in_network_before_pkts(b, v, d) >=
		       bbr3_inflight_pkts(b, bbr3_max_bw(b), s->own.probe_up_inflight_gain, v, d);
}

CC_STAGE void bbr2_update_cycle(struct bbr2 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3 *b = &s->bbr3;

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
	if (!b->p.min_rtt_by_equal || v->rtt_us < 0 || (u32)v->rtt_us != b->probe_rtt_min_us)
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
		bbr3_advance_latest(b, v);
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
	if (event == CC_EVENT_CA_STATE) /* a timeout resets full_bw, but not the count of rounds */
		s->bbr3.full_bw_count = rounds;
}

CC_VARIANT_INIT(bbr2, bbr3)
CC_VARIANT_OBSERVE(bbr2, bbr3)

#endif
