/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * General AIMD: Reno with both of its numbers open. What a first algorithm of one's own may look like; recipe.rs adds
 * it to a copy of the sources.
 *
 *   slow start   cwnd < ssthresh   cwnd += 1 per packet acknowledged          RFC 5681 section 3.1
 *   avoidance    otherwise         cwnd += increase each round                Yang and Lam, section 2
 *   loss         once a round      ssthresh = keep * cwnd; the host goes there
 *
 * It is as aggressive as Reno where increase = 3 * (1 - keep) / (1 + keep).
 *
 * Source: Yang and Lam, "General AIMD congestion control", ICNP 2000.
 */
#ifndef CC_AIMD_H
#define CC_AIMD_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "contract/window.h"

#define aimd_parameters(P)                                                                                             \
	P(increase_pkts, 1, 1, 1000, CC_UNIT_PKTS, "added to cwnd each round without loss",                            \
	  "1: Reno; with 0 free bandwidth would not be found")                                                         \
	P(keep, CC_FRACTION(0.5), CC_FRACTION(0.1), CC_FRACTION_UNIT - 1, CC_UNIT_FRACTION,                            \
	  "share of cwnd that remains after a loss", "1/2: Reno; below 1 to reduce")

struct aimd_params {
	aimd_parameters(CC_PARAM_FIELD)
};

struct aimd {
	struct aimd_params p;
	u32 credit_pkts; /* acknowledged towards the next increase */
	u32 phase;	 /* enum cc_phase, for observers */
};

CC_STAGE void aimd_on_ack(struct aimd *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 acked_pkts = v->acked_pkts;

	if (!cc_window_is_used(v, d))
		return;
	if (cc_in_slow_start(d))
		acked_pkts = cc_slow_start(d, acked_pkts);
	if (acked_pkts)
		cc_additive_increase(d, &s->credit_pkts, (u32)cc_div(d->cwnd_pkts, s->p.increase_pkts), acked_pkts);
	s->phase = cc_in_slow_start(d) ? CC_PHASE_SLOW_START : CC_PHASE_AVOIDANCE;
}

CC_STAGE void aimd_on_event(struct aimd *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (event) {
	case CC_EVENT_REDUCE:
		s->credit_pkts = 0;
		d->ssthresh_pkts = cc_max_u32(cc_fraction_of(v->cwnd_pkts, s->p.keep), CC_MIN_SSTHRESH_PKTS);
		break;
	case CC_EVENT_UNDO:
		d->cwnd_pkts = cc_max_u32(v->cwnd_pkts, v->prior_cwnd_pkts);
		break;
	default: /* an RTT, a timeout, idle time: the host does what there is to do */
		break;
	}
}

CC_STAGE void aimd_init(struct aimd *s, const struct aimd_params *p, const struct cc_view *v, struct cc_decision *d)
{
	(void)v;
	s->p = *p;
	s->credit_pkts = 0;
	s->phase = cc_in_slow_start(d) ? CC_PHASE_SLOW_START : CC_PHASE_AVOIDANCE;
}

CC_INLINE void aimd_observe(const struct aimd *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = CC_NO_RTT;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = s->phase;
}

#endif
