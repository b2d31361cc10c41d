/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Bad on purpose: it oscillates. For two seconds cwnd is a quarter of the estimated BDP, for two three times of it. */
#ifndef CC_WOBBLES_H
#define CC_WOBBLES_H

#include "frame.h"

#define wobbles_kind  CC_OWNS_CWND
#define wobbles_title "Bad on purpose: oscillates"

#define wobbles_parameters(P)                                                                                          \
	P(half_us, CC_SEC(2), CC_MSEC(10), CC_SEC(60), CC_UNIT_US, "half of the period",                               \
	  "2s: some hundred round trips, much longer than any filter smooths")

FRAME_PARAMS(wobbles)

struct wobbles {
	struct wobbles_params p;
	u32 reserved;
	u64 best_Bps;
};

CC_INLINE void wobbles_on_ack(struct wobbles *s, const struct cc_view *v, struct cc_decision *d)
{
	u64 bdp_pkts;

	if (v->sample_delivered_pkts > 0 && v->sample_interval_us > 0)
		s->best_Bps =
			cc_max_u64(s->best_Bps, cc_div((u64)v->sample_delivered_pkts * v->mss_bytes * CC_USEC_PER_SEC,
						       (u32)v->sample_interval_us));
	if (s->best_Bps == 0 || v->min_rtt_us == CC_NO_RTT)
		return;
	bdp_pkts = cc_div(s->best_Bps * v->min_rtt_us / CC_USEC_PER_SEC, v->mss_bytes);
	if (cc_div(v->now_us, s->p.half_us) % 2)
		bdp_pkts *= 3;
	else
		bdp_pkts /= 4;
	d->cwnd_pkts = (u32)cc_min_u64(bdp_pkts + 4, CC_INFINITE);
}

FRAME(wobbles)

#endif
