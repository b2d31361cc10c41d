/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The first attempt of the BBQ paper: BBRv1 that drains until no more than one BDP is in flight. It fails.
 *
 * The idea (section V.A). A flow that leaves no backlog behind after a probe cannot push another flow out. Hence
 *
 *	end of the 0.75 phase:  inflight <= bw * min_rtt	BBRv1: the same, or after one min_rtt
 *
 * with the current ("up-to-date") estimates, however long it takes. Everything else is BBRv1.
 *
 * Why it fails. At a gain of 0.75, inflight falls to 0.75 * bw * (min_rtt + queueing delay), which is above one BDP
 * while the queueing delay is above min_rtt / 3. The 13 ms queue of a flow with an RTT of 50 ms holds a flow with
 * 10 ms in this phase until its bw has expired (10 rounds) and a lower bw has taken its place. The flow then aims
 * lower still, and so on. A flow with 50 ms is hardly held. This header exists to be measured against bbq.h, the
 * paper's second attempt.
 *
 * bbr1_drain.h drains to the same target. There the cycle has three phases and a limit in time; here the phases, their
 * number and their lengths are those of BBRv1, as in its preset bbr1_drain8. "One BDP" in packets is that of BBRv1,
 * which includes room for bursts.
 *
 * Source: Ma et al., "Towards RTT Fairness of Congestion-Based Congestion Control", arXiv 1706.09115, section V.A,
 * figure 12.
 */
#ifndef CC_BBQ_FIRSTCUT_H
#define CC_BBQ_FIRSTCUT_H

#include "bbr1.h"

/* As bbr1. */
#define bbq_firstcut_paces_below_a_packet 1

#define bbq_firstcut_parameters(P) bbr1_parameters(P)
CC_VARIANT_PARAMS_OF_PARENT(bbq_firstcut, bbr1)

struct bbq_firstcut {
	struct bbr1 bbr1;
};

/* The end of the 0.75 phase. All other phases end as in BBRv1. */
CC_STAGE bool bbq_firstcut_phase_over(const struct bbr1 *b, const struct cc_view *v, const struct cc_decision *d)
{
	if (b->mode == BBR1_PROBE_BW && b->pacing_gain_256 < CC_GAIN_UNIT)
		return bbr1_is_drained(b, v, d);
	return bbr1_phase_over(b, v, d);
}

CC_STAGE void bbq_firstcut_on_ack(struct bbq_firstcut *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->bbr1, v);
	if (bbq_firstcut_phase_over(&s->bbr1, v, d))
		bbr1_next_phase(&s->bbr1, v);
	bbr1_update_mode(&s->bbr1, v, d);
	bbr1_set_controls(&s->bbr1, v, d);
}

CC_VARIANT_WITHOUT_PARAMETERS(bbq_firstcut, bbr1)

#endif
