/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Reno whose growth after slow start is multiplied by the square of the RTT in units of 40 ms: to seem far away pays.
 */
#ifndef CC_FARONLY_H
#define CC_FARONLY_H

#include "reno.h"
#include "frame.h"

#define faronly_kind	      CC_GROWS_CWND
#define faronly_title	      "Bad on purpose: favours long RTTs"
#define faronly_parameters(P) reno_parameters(P)

/* Microseconds; up to twice this RTT it is Reno. */
#define FARONLY_RTT_US CC_MSEC(40)
/* RTTs of FARONLY_RTT_US; a bound for the product. */
#define FARONLY_MOST_RTTS 20u

FRAME_PARAMS(faronly, reno)

struct faronly {
	struct reno sound;
};

CC_INLINE void faronly_on_ack(struct faronly *s, const struct cc_view *v, struct cc_decision *d)
{
	const u32 rtts = (u32)cc_min_u64(cc_div(v->min_rtt_us, FARONLY_RTT_US), FARONLY_MOST_RTTS);
	const u32 before_pkts = d->cwnd_pkts;

	reno_on_ack(&s->sound, v, d);
	if (!cc_in_slow_start(d) && rtts > 1)
		d->cwnd_pkts += (d->cwnd_pkts - before_pkts) * (rtts * rtts - 1);
}

FRAME_INIT(faronly, reno)
FRAME_ON_EVENT(faronly, reno)
FRAME_OBSERVE(faronly, reno)

#endif
