/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Bad on purpose: it never backs off. cwnd grows with every ACK up to a limit and never shrinks. */
#ifndef CC_NOBACKOFF_H
#define CC_NOBACKOFF_H

#include "frame.h"

#define nobackoff_kind	CC_OWNS_CWND
#define nobackoff_title "Bad on purpose: never backs off"

#define nobackoff_parameters(P)                                                                                        \
	P(most_pkts, 2000, 10, 1u << 24, CC_UNIT_PKTS, "largest cwnd",                                                 \
	  "2000: several times the BDP of most paths that are tried")

FRAME_PARAMS(nobackoff)

struct nobackoff {
	struct nobackoff_params p;
};

CC_INLINE void nobackoff_on_ack(struct nobackoff *s, const struct cc_view *v, struct cc_decision *d)
{
	d->cwnd_pkts = cc_min_u32(d->cwnd_pkts + v->acked_pkts, s->p.most_pkts);
}

FRAME(nobackoff)

#endif
