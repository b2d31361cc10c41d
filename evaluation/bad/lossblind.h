/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Bad on purpose: it ignores loss, as BBRv1 does. It paces a quarter faster than the best delivery rate of its last
 * ten seconds, and keeps up to two and a half BDP in flight.
 */
#ifndef CC_LOSSBLIND_H
#define CC_LOSSBLIND_H

#include "frame.h"

#define lossblind_kind	CC_OWNS_CWND
#define lossblind_title "Bad on purpose: ignores loss"

#define lossblind_parameters(P)                                                                                        \
	P(cwnd_gain, CC_GAIN(2.5), CC_GAIN(1), CC_GAIN(16), CC_UNIT_GAIN, "cwnd as a multiple of the estimated BDP",   \
	  "2.5: the least RTT is overestimated by a queue, so this fills buffers of several BDP")

FRAME_PARAMS(lossblind)

struct lossblind {
	struct lossblind_params p;
	u32 reserved;
	u64 best_Bps;
	u64 best_us; /* when */
};

CC_INLINE void lossblind_on_ack(struct lossblind *s, const struct cc_view *v, struct cc_decision *d)
{
	u64 rate_Bps = 0;

	if (v->sample_delivered_pkts > 0 && v->sample_interval_us > 0)
		rate_Bps = cc_div((u64)v->sample_delivered_pkts * v->mss_bytes * CC_USEC_PER_SEC,
				  (u32)v->sample_interval_us);
	if (rate_Bps >= s->best_Bps || v->now_us - s->best_us > 10 * CC_USEC_PER_SEC) {
		s->best_Bps = rate_Bps;
		s->best_us = v->now_us;
	}
	if (s->best_Bps == 0 || v->min_rtt_us == CC_NO_RTT)
		return;
	d->pacing_rate_Bps = cc_min_u64(s->best_Bps + s->best_Bps / 4, v->max_pacing_rate_Bps);
	d->cwnd_pkts = (u32)cc_min_u64(
		cc_div(s->best_Bps * v->min_rtt_us / CC_USEC_PER_SEC * s->p.cwnd_gain >> CC_GAIN_SHIFT, v->mss_bytes) +
			10,
		CC_INFINITE);
}

FRAME(lossblind)

#endif
