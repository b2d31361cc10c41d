/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A policy of a learned controller as a header: the test `parity` holds it against the same policy over an environment.
 * The exponent of the pacing rate follows from the loss and the mean RTT of a monitor interval.
 */
#ifndef CC_POLICY_H
#define CC_POLICY_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "lib/action.h"
#include "lib/monitor.h"

/* As agent, against which it is held: lib/clamp.h. */
#define policy_paces_below_a_packet 1

#define policy_kind CC_OWNS_CWND

#define policy_parameters(P)                                                                                           \
	P(interval_us, CC_MSEC(100), CC_MSEC(1), CC_SEC(10), CC_UNIT_US, "length of a monitor interval", "as agent")   \
	P(cwnd_gain, CC_GAIN(2), CC_GAIN(1), CC_GAIN(16), CC_UNIT_GAIN, "cwnd in rate * srtt", "as agent")

struct policy_params {
	policy_parameters(CC_PARAM_FIELD)
};

struct policy {
	struct cc_monitor monitor;
	struct policy_params p;
	u32 rate_Bps;
	u32 cwnd_pkts;
};

/* Half the rate above 2 % of loss; else the slower, the more the mean RTT exceeds the minimum. */
CC_INLINE s32 policy_exponent(const struct cc_interval *i)
{
	const u64 mean_us = cc_div(i->rtt_sum_us, i->rtt_samples);
	const u64 ratio_1024 = cc_div(mean_us << 10, i->min_rtt_us);
	const u64 above = cc_min_u64(ratio_1024, 4096) - cc_min_u64(ratio_1024, 1024);
	const s32 exponent = CC_EXPONENT_UNIT / 8 - (s32)above * 16;

	if ((u64)i->lost_pkts * 50 > (u64)i->delivered_pkts + i->lost_pkts)
		return -CC_EXPONENT_UNIT;
	return exponent < -CC_EXPONENT_UNIT ? -CC_EXPONENT_UNIT : exponent;
}

CC_INLINE void policy_decide(const struct policy *s, const struct cc_view *v, struct cc_decision *d)
{
	d->cwnd_pkts = s->cwnd_pkts;
	d->pacing_rate_Bps = cc_min_u64(s->rate_Bps, v->max_pacing_rate_Bps);
}

CC_INLINE void policy_on_ack(struct policy *s, const struct cc_view *v, struct cc_decision *d)
{
	struct cc_interval interval;

	if (cc_monitor_on_ack(&s->monitor, v, &interval)) {
		s->rate_Bps = cc_rate_times(s->rate_Bps, policy_exponent(&interval));
		s->cwnd_pkts = cc_cwnd_of_rate(s->rate_Bps, s->p.cwnd_gain, v);
	}
	policy_decide(s, v, d);
}

CC_INLINE void policy_on_event(struct policy *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)event;
	policy_decide(s, v, d);
}

CC_INLINE void policy_init(struct policy *s, const struct policy_params *p, const struct cc_view *v,
			   struct cc_decision *d)
{
	s->p = *p;
	s->cwnd_pkts = v->cwnd_pkts;
	s->rate_Bps = cc_first_rate(v);
	cc_monitor_start(&s->monitor, p->interval_us, v);
	d->ssthresh_pkts = CC_INFINITE;
	policy_decide(s, v, d);
}

CC_INLINE void policy_observe(const struct policy *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = s->monitor.min_rtt_us;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = CC_PHASE_FIXED;
}

#endif
