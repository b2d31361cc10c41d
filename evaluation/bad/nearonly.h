/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC whose growth after slow start is divided by the square of the RTT in units of 10 ms: far flows hardly grow.
 */
#ifndef CC_NEARONLY_H
#define CC_NEARONLY_H

#include "cubic.h"
#include "frame.h"

#define nearonly_kind	       CC_GROWS_CWND
#define nearonly_title	       "Bad on purpose: unfair to long RTTs"
#define nearonly_parameters(P) cubic_parameters(P)

/* Microseconds; up to twice this RTT it is CUBIC. */
#define NEARONLY_RTT_US CC_MSEC(10)

FRAME_PARAMS(nearonly, cubic)

struct nearonly {
	struct cubic sound;
	u32 credit_pkts; /* acknowledged, and not yet counted */
	u32 reserved;
};

CC_INLINE void nearonly_on_ack(struct nearonly *s, const struct cc_view *v, struct cc_decision *d)
{
	const u64 rtts = cc_div(v->min_rtt_us, NEARONLY_RTT_US);
	struct cc_view seen = *v;

	if (!cc_in_slow_start(d) && rtts > 1) {
		s->credit_pkts += v->acked_pkts;
		seen.acked_pkts = (u32)cc_div(s->credit_pkts, rtts * rtts);
		s->credit_pkts -= seen.acked_pkts * (u32)(rtts * rtts);
	}
	if (seen.acked_pkts)
		cubic_on_ack(&s->sound, &seen, d);
}

FRAME_INIT(nearonly, cubic)
FRAME_ON_EVENT(nearonly, cubic)
FRAME_OBSERVE(nearonly, cubic)

#endif
