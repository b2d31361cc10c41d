/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Bad on purpose: after its first loss it halves cwnd in every round trip, and never grows again.
 */
#ifndef CC_HALVES_H
#define CC_HALVES_H

#include "frame.h"

#define halves_kind  CC_OWNS_CWND
#define halves_title "Bad on purpose: halves for ever"

#define halves_parameters(P)                                                                                           \
	P(least_pkts, 1, 1, 100, CC_UNIT_PKTS, "least cwnd", "1: a sender needs one packet in flight to get an ACK")

FRAME_PARAMS(halves)

struct halves {
	struct halves_params p;
	u32 reserved;
	struct rounds rounds;
	u32 slow_start_ended; /* bool */
	u32 credit_pkts;
};

CC_INLINE void halves_on_ack(struct halves *s, const struct cc_view *v, struct cc_decision *d)
{
	bool lost = false;

	if (v->losses_pkts)
		s->slow_start_ended = true;
	if (!s->slow_start_ended)
		d->cwnd_pkts += v->acked_pkts;
	else if (round_ends(&s->rounds, v, &lost))
		d->cwnd_pkts = cc_max_u32(d->cwnd_pkts / 2, s->p.least_pkts);
}

FRAME(halves)

#endif
