/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Bad on purpose: it takes any longer RTT for congestion. cwnd halves in a round trip whose RTT is more than a
 * millisecond above the least one, and else grows by a packet.
 */
#ifndef CC_SHY_H
#define CC_SHY_H

#include "frame.h"

#define shy_kind  CC_OWNS_CWND
#define shy_title "Bad on purpose: yields to any delay"

#define shy_parameters(P)                                                                                              \
	P(most_us, CC_MSEC(1), 0, CC_SEC(1), CC_UNIT_US, "delay above the least RTT that is no congestion",            \
	  "1ms: less than the jitter of most radio links")

FRAME_PARAMS(shy)

struct shy {
	struct shy_params p;
	u32 round_end_pkts; /* delivered_pkts at which the round trip ends */
	u32 is_late;	    /* bool: a sample of this round trip was above the bound */
};

CC_INLINE void shy_on_ack(struct shy *s, const struct cc_view *v, struct cc_decision *d)
{
	if (v->rtt_us > 0 && v->min_rtt_us != CC_NO_RTT && (u32)v->rtt_us > v->min_rtt_us + s->p.most_us)
		s->is_late = true;
	if (cc_before(v->delivered_pkts, s->round_end_pkts))
		return;
	s->round_end_pkts = v->delivered_pkts + v->inflight_pkts;
	d->cwnd_pkts = s->is_late ? cc_max_u32(d->cwnd_pkts / 2, 4) : d->cwnd_pkts + 1;
	s->is_late = false;
}

FRAME(shy)

#endif
