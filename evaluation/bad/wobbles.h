/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC that keeps an eighth of cwnd after a loss. It swings between an empty link and a full buffer.
 */
#ifndef CC_WOBBLES_H
#define CC_WOBBLES_H

#include "cubic.h"
#include "frame.h"

#define wobbles_kind	      CC_GROWS_CWND
#define wobbles_title	      "Bad on purpose: oscillates"
#define wobbles_parameters(P) cubic_parameters(P)

/* cwnd after a loss is this part of it: 1/8. CUBIC keeps 0.7 (RFC 9438 section 4.6). */
#define WOBBLES_KEEPS 8u

FRAME_PARAMS(wobbles, cubic)

struct wobbles {
	struct cubic sound;
};

CC_INLINE void wobbles_on_event(struct wobbles *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	cubic_on_event(&s->sound, event, v, d);
	if (event == CC_EVENT_REDUCE)
		d->ssthresh_pkts = cc_max_u32(v->cwnd_pkts / WOBBLES_KEEPS, CC_MIN_SSTHRESH_PKTS);
}

FRAME_INIT(wobbles, cubic)
FRAME_ON_ACK(wobbles, cubic)
FRAME_OBSERVE(wobbles, cubic)

#endif
