/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Bad on purpose: it takes back only a sixty-fourth of cwnd after a loss, so that any buffer is always almost full.
 */
#ifndef CC_FILLSBUFFER_H
#define CC_FILLSBUFFER_H

#include "frame.h"

#define fillsbuffer_kind  CC_OWNS_CWND
#define fillsbuffer_title "Bad on purpose: fills any buffer"

#define fillsbuffer_parameters(P)                                                                                      \
	P(take_back, 64, 2, 1024, CC_UNIT_COUNT, "a loss takes cwnd / take_back back",                                 \
	  "64: the buffer is full again after a few round trips")

FRAME_PARAMS(fillsbuffer)

struct fillsbuffer {
	struct fillsbuffer_params p;
	u32 reserved;
	struct rounds rounds;
	u32 slow_start_ended; /* bool */
	u32 credit_pkts;
};

CC_INLINE void fillsbuffer_on_ack(struct fillsbuffer *s, const struct cc_view *v, struct cc_decision *d)
{
	bool lost = false;

	if (!s->slow_start_ended)
		d->cwnd_pkts += v->acked_pkts;
	if (v->losses_pkts)
		s->slow_start_ended = true;
	if (round_ends(&s->rounds, v, &lost))
		d->cwnd_pkts = lost ? cc_max_u32(d->cwnd_pkts - cc_div(d->cwnd_pkts, s->p.take_back), 2) :
				      d->cwnd_pkts + 1;
}

FRAME(fillsbuffer)

#endif
