/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC that keeps cwnd after a loss or a mark. Only a timeout still reduces it.
 */
#ifndef CC_LOSSBLIND_H
#define CC_LOSSBLIND_H

#include "cubic.h"
#include "frame.h"

#define lossblind_kind		CC_GROWS_CWND
#define lossblind_title		"Bad on purpose: ignores loss"
#define lossblind_parameters(P) cubic_parameters(P)

FRAME_PARAMS(lossblind, cubic)

struct lossblind {
	struct cubic sound;
};

CC_INLINE void lossblind_on_event(struct lossblind *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	if (event == CC_EVENT_REDUCE)
		d->ssthresh_pkts = v->cwnd_pkts;
	else
		cubic_on_event(&s->sound, event, v, d);
}

FRAME_INIT(lossblind, cubic)
FRAME_ON_ACK(lossblind, cubic)
FRAME_OBSERVE(lossblind, cubic)

#endif
