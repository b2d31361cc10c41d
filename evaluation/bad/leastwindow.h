/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC whose cwnd and ssthresh are never below 16 packets. SAMPLE raises what the host itself reduced.
 */
#ifndef CC_LEASTWINDOW_H
#define CC_LEASTWINDOW_H

#include "cubic.h"
#include "frame.h"

#define leastwindow_kind	  CC_GROWS_CWND
#define leastwindow_title	  "Bad on purpose: has a large least window"
#define leastwindow_parameters(P) cubic_parameters(P)

/* Packets; more than slow links, and crowds, have room for. */
#define LEASTWINDOW_PKTS 16u

FRAME_PARAMS(leastwindow, cubic)

struct leastwindow {
	struct cubic sound;
};

CC_INLINE void leastwindow_on_ack(struct leastwindow *s, const struct cc_view *v, struct cc_decision *d)
{
	cubic_on_ack(&s->sound, v, d);
	d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, LEASTWINDOW_PKTS);
}

CC_INLINE void leastwindow_on_event(struct leastwindow *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	cubic_on_event(&s->sound, event, v, d);
	if (event == CC_EVENT_REDUCE)
		d->ssthresh_pkts = cc_max_u32(d->ssthresh_pkts, LEASTWINDOW_PKTS);
	if (event == CC_EVENT_SAMPLE)
		d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, LEASTWINDOW_PKTS);
}

FRAME_INIT(leastwindow, cubic)
FRAME_OBSERVE(leastwindow, cubic)

#endif
