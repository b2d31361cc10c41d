/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBR (bbr1_drain) that halves a limit of cwnd at each loss, and raises it by one packet in a round trip, as Reno does.
 */
#ifndef CC_LOSSSHY_H
#define CC_LOSSSHY_H

#include "bbr1_drain.h"
#include "frame.h"

#define lossshy_kind	      CC_OWNS_CWND
#define lossshy_title	      "Bad on purpose: takes each loss for congestion"
#define lossshy_parameters(P) bbr1_drain_parameters(P)

/* Packets; least limit, that of BBR. */
#define LOSSSHY_LEAST_PKTS 4u

FRAME_PARAMS(lossshy, bbr1_drain)

struct lossshy {
	struct bbr1_drain sound;
	u32 most_pkts;	    /* limit of cwnd */
	u32 round_end_pkts; /* delivered_pkts at which the round trip ends */
};

CC_INLINE void lossshy_init(struct lossshy *s, const struct lossshy_params *p, const struct cc_view *v,
			    struct cc_decision *d)
{
	bbr1_drain_init(&s->sound, &p->sound, v, d);
	s->most_pkts = CC_INFINITE;
}

CC_INLINE void lossshy_on_ack(struct lossshy *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_drain_on_ack(&s->sound, v, d);
	if (!cc_before(v->delivered_pkts, s->round_end_pkts)) {
		s->round_end_pkts = v->delivered_pkts + v->inflight_pkts;
		s->most_pkts = cc_min_u32(s->most_pkts + 1, CC_INFINITE);
	}
	if (v->losses_pkts)
		s->most_pkts = cc_max_u32(cc_min_u32(s->most_pkts, v->inflight_pkts) / 2, LOSSSHY_LEAST_PKTS);
	d->cwnd_pkts = cc_min_u32(d->cwnd_pkts, s->most_pkts);
}

FRAME_ON_EVENT(lossshy, bbr1_drain)
FRAME_OBSERVE(lossshy, bbr1_drain)

#endif
