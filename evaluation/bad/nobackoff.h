/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC that never backs off. It owns cwnd, so that the host never reduces it: not after a loss, not after a timeout,
 * not for a mark. It grows up to a limit.
 */
#ifndef CC_NOBACKOFF_H
#define CC_NOBACKOFF_H

#include "cubic.h"
#include "frame.h"

#define nobackoff_kind		CC_OWNS_CWND
#define nobackoff_title		"Bad on purpose: never backs off"
#define nobackoff_parameters(P) cubic_parameters(P)

/* Packets; several times the BDP of most paths that are tried. */
#define NOBACKOFF_MOST_PKTS 2000u

FRAME_PARAMS(nobackoff, cubic)

struct nobackoff {
	struct cubic sound;
};

CC_INLINE void nobackoff_on_ack(struct nobackoff *s, const struct cc_view *v, struct cc_decision *d)
{
	cubic_on_ack(&s->sound, v, d);
	d->cwnd_pkts = cc_min_u32(d->cwnd_pkts, NOBACKOFF_MOST_PKTS);
}

FRAME_INIT(nobackoff, cubic)
FRAME_ON_EVENT(nobackoff, cubic)
FRAME_OBSERVE(nobackoff, cubic)

#endif
