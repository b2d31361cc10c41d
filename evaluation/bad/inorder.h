/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC that reduces cwnd at the first duplicate ACK or SACK, before any packet is marked lost.
 */
#ifndef CC_INORDER_H
#define CC_INORDER_H

#include "cubic.h"
#include "frame.h"

#define inorder_kind	      CC_GROWS_CWND
#define inorder_title	      "Bad on purpose: takes disorder for loss"
#define inorder_parameters(P) cubic_parameters(P)

FRAME_PARAMS(inorder, cubic)

struct inorder {
	struct cubic sound;
};

CC_INLINE void inorder_on_event(struct inorder *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	cubic_on_event(&s->sound, event, v, d);
	if (event == CC_EVENT_CA_STATE && v->ca_state == CC_CA_DISORDER) {
		cubic_on_reduce(&s->sound, v, d);
		d->cwnd_pkts = d->ssthresh_pkts;
	}
}

FRAME_INIT(inorder, cubic)
FRAME_ON_ACK(inorder, cubic)
FRAME_OBSERVE(inorder, cubic)

#endif
