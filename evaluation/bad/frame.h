/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the algorithms of this folder that set cwnd themselves share: one parameter, no reaction to events, no pacing
 * unless on_ack says so, and empty traces. An algorithm NAME defines NAME_parameters, struct NAME with a first field
 * `p`, and NAME_on_ack; then FRAME(NAME) gives the rest.
 */
#ifndef BAD_FRAME_H
#define BAD_FRAME_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "contract/window.h"

/* Loss and round trips, for a state that begins with them. */
struct rounds {
	u32 end_pkts; /* delivered_pkts at which the round trip ends */
	u32 has_lost; /* bool: in this round trip */
};

/* Whether a round trip ends with this ACK; `*lost` is whether packets were lost in it. */
CC_INLINE bool round_ends(struct rounds *r, const struct cc_view *v, bool *lost)
{
	if (v->losses_pkts)
		r->has_lost = true;
	if (cc_before(v->delivered_pkts, r->end_pkts))
		return false;
	*lost = r->has_lost;
	r->end_pkts = v->delivered_pkts + v->inflight_pkts;
	r->has_lost = false;
	return true;
}

#define FRAME_PARAMS(name)                                                                                             \
	struct name##_params {                                                                                         \
		name##_parameters(CC_PARAM_FIELD)                                                                      \
	};

#define FRAME(name)                                                                                                    \
	CC_INLINE void name##_init(struct name *s, const struct name##_params *p, const struct cc_view *v,             \
				   struct cc_decision *d)                                                              \
	{                                                                                                              \
		s->p = *p;                                                                                             \
		d->ssthresh_pkts = CC_INFINITE;                                                                        \
		d->pacing_rate_Bps = v->max_pacing_rate_Bps;                                                           \
	}                                                                                                              \
	CC_INLINE void name##_on_event(struct name *s, u32 event, const struct cc_view *v, struct cc_decision *d)      \
	{                                                                                                              \
		(void)s, (void)event, (void)v, (void)d;                                                                \
	}                                                                                                              \
	CC_INLINE void name##_observe(const struct name *s, struct cc_observation *o)                                  \
	{                                                                                                              \
		(void)s;                                                                                               \
		o->bw_Bps = 0;                                                                                         \
		o->min_rtt_us = CC_NO_RTT;                                                                             \
		o->pacing_gain_256 = 0;                                                                                \
		o->cwnd_gain_256 = 0;                                                                                  \
		o->phase = CC_PHASE_FIXED;                                                                             \
	}

#endif
