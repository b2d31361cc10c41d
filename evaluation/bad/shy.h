/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC that also takes an RTT of 15 ms above the least one for a loss, once in a round trip.
 */
#ifndef CC_SHY_H
#define CC_SHY_H

#include "cubic.h"
#include "frame.h"

#define shy_kind	  CC_GROWS_CWND
#define shy_title	  "Bad on purpose: yields to any delay"
#define shy_parameters(P) cubic_parameters(P)

/* Microseconds above the least RTT; less than the delay of a radio link can vary by. */
#define SHY_MOST_US CC_MSEC(15)

FRAME_PARAMS(shy, cubic)

struct shy {
	struct cubic sound;
	u32 round_end_pkts; /* delivered_pkts at which the round trip ends */
	u32 is_late;	    /* bool: a sample of this round trip was above the bound */
};

CC_INLINE void shy_on_event(struct shy *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	cubic_on_event(&s->sound, event, v, d);
	if (event != CC_EVENT_SAMPLE || v->rtt_us <= 0)
		return;
	if ((u32)v->rtt_us > v->min_rtt_us + SHY_MOST_US)
		s->is_late = true;
	if (cc_before(v->delivered_pkts, s->round_end_pkts))
		return;
	s->round_end_pkts = v->delivered_pkts + v->inflight_pkts;
	if (s->is_late && v->ca_state == CC_CA_OPEN) {
		cubic_on_reduce(&s->sound, v, d);
		d->cwnd_pkts = d->ssthresh_pkts;
	}
	s->is_late = false;
}

FRAME_INIT(shy, cubic)
FRAME_ON_ACK(shy, cubic)
FRAME_OBSERVE(shy, cubic)

#endif
