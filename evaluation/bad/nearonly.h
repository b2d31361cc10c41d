/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Bad on purpose: its window grows by (100 ms / RTT)^2 / 25 packets in a round trip: far flows hardly grow.
 */
#ifndef CC_NEARONLY_H
#define CC_NEARONLY_H

#include "frame.h"

#define nearonly_kind  CC_OWNS_CWND
#define nearonly_title "Bad on purpose: unfair to long RTTs"

#define nearonly_parameters(P)                                                                                         \
	P(reference_us, CC_MSEC(100), CC_MSEC(1), CC_SEC(1), CC_UNIT_US,                                               \
	  "an RTT of this grows 1/25 packet in a round trip", "100ms: a flow of 20 ms grows as Reno does")

FRAME_PARAMS(nearonly)

struct nearonly {
	struct nearonly_params p;
	u32 reserved;
	struct rounds rounds;
	u32 slow_start_ended; /* bool */
	u32 credit_pkts;
};

CC_INLINE void nearonly_on_ack(struct nearonly *s, const struct cc_view *v, struct cc_decision *d)
{
	bool lost = false;

	u64 per_round_256; /* growth in 1/256 packet */

	if (!s->slow_start_ended)
		d->cwnd_pkts += v->acked_pkts;
	if (v->losses_pkts)
		s->slow_start_ended = true;
	if (!round_ends(&s->rounds, v, &lost) || v->min_rtt_us == CC_NO_RTT)
		return;
	per_round_256 =
		cc_div((u64)s->p.reference_us * s->p.reference_us / 25 * 256, (u64)v->min_rtt_us * v->min_rtt_us);
	s->credit_pkts += (u32)cc_min_u64(per_round_256, 256 * 64);
	d->cwnd_pkts = lost ? cc_max_u32(d->cwnd_pkts / 2, 2) : d->cwnd_pkts + (s->credit_pkts >> 8);
	s->credit_pkts &= 255;
}

FRAME(nearonly)

#endif
