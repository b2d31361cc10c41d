/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Reno that grows by 16 packets in a round trip instead of by one.
 */
#ifndef CC_GREEDY_H
#define CC_GREEDY_H

#include "reno.h"
#include "frame.h"

#define greedy_kind	     CC_GROWS_CWND
#define greedy_title	     "Bad on purpose: grows 16 times as fast"
#define greedy_parameters(P) reno_parameters(P)

/* Packets in a round trip; Reno has 1 (RFC 5681 section 3.1). */
#define GREEDY_GROWTH_PKTS 16u

FRAME_PARAMS(greedy, reno)

struct greedy {
	struct reno sound;
};

CC_INLINE void greedy_on_ack(struct greedy *s, const struct cc_view *v, struct cc_decision *d)
{
	const u32 before_pkts = d->cwnd_pkts;

	reno_on_ack(&s->sound, v, d);
	if (!cc_in_slow_start(d))
		d->cwnd_pkts += (d->cwnd_pkts - before_pkts) * (GREEDY_GROWTH_PKTS - 1);
}

FRAME_INIT(greedy, reno)
FRAME_ON_EVENT(greedy, reno)
FRAME_OBSERVE(greedy, reno)

#endif
