/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The BBQ paper's first attempt: BBRv1 that gives back until no more than one BDP is in flight. It fails.
 *
 * The idea (section V.A): a flow that leaves no backlog behind when it has probed cannot squeeze out another. So
 *
 *	end of the 0.75 phase:  inflight <= bw * min_rtt	BBRv1: that, or one min_rtt
 *
 * with the estimates of the moment ("up-to-date"), for as long as it takes. All the rest is BBRv1.
 *
 * Why it fails. At a gain of 0.75, what is in flight comes down to 0.75 * bw * (min_rtt + queueing delay), which is above
 * one BDP as long as the queueing delay is above min_rtt / 3. A flow of 10 ms is held in the phase by the 13 ms queue that
 * a flow of 50 ms makes, until its bw has been forgotten (10 rounds) and a lower one is in its place; then it asks for less,
 * and so on. A flow of 50 ms is hardly held. It is here to be measured against bbq.h, which is what came of it.
 *
 * It differs from bbr1_drain.h in that the other phases, their number and their lengths are those of BBRv1: nothing ends
 * the phase but the goal. What "one BDP" means in packets is what BBRv1 means by it, with room for bursts.
 *
 * Source: Ma et al., "Towards RTT Fairness of Congestion-Based Congestion Control", arXiv 1706.09115, section V.A, figure 12.
 */
#ifndef CC_BBQ_FIRSTCUT_H
#define CC_BBQ_FIRSTCUT_H

#include "bbr1.h"

#define bbq_firstcut_parameters(P) bbr1_parameters(P)

struct bbq_firstcut_params {
	struct bbr1_params bbr1;
};

struct bbq_firstcut {
	struct bbr1 bbr1;
};

/* Giving back has one end; everything else is for BBRv1 to say. */
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

CC_STAGE void bbq_firstcut_on_event(struct bbq_firstcut *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_on_event(&s->bbr1, event, v, d);
}

CC_STAGE void bbq_firstcut_init(struct bbq_firstcut *s, const struct bbq_firstcut_params *p, const struct cc_view *v,
				struct cc_decision *d)
{
	bbr1_init(&s->bbr1, &p->bbr1, v, d);
}

CC_INLINE void bbq_firstcut_observe(const struct bbq_firstcut *s, struct cc_observation *o)
{
	bbr1_observe(&s->bbr1, o);
}

#endif
