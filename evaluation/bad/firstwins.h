/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Bad on purpose: who is first stays first. After slow start has ended with a loss, cwnd is a part of what it was
 * then, for ever. Each later flow finds less room, and stays with a part of that.
 */
#ifndef CC_FIRSTWINS_H
#define CC_FIRSTWINS_H

#include "frame.h"

#define firstwins_kind	CC_OWNS_CWND
#define firstwins_title "Bad on purpose: who is first stays first"

#define firstwins_parameters(P)                                                                                        \
	P(beta, CC_FRACTION(0.5), CC_FRACTION(0.1), CC_FRACTION_UNIT - 1, CC_UNIT_FRACTION,                            \
	  "part of the window that remains after slow start", "1/2: RFC 5681")

FRAME_PARAMS(firstwins)

struct firstwins {
	struct firstwins_params p;
	u32 has_lost; /* bool */
};

CC_INLINE void firstwins_on_ack(struct firstwins *s, const struct cc_view *v, struct cc_decision *d)
{
	if (s->has_lost)
		return;
	s->has_lost = v->losses_pkts > 0;
	d->cwnd_pkts = s->has_lost ? cc_fraction_of(d->cwnd_pkts, s->p.beta) : d->cwnd_pkts + v->acked_pkts;
}

FRAME(firstwins)

#endif
