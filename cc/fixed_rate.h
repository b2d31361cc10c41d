/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * No control at all: a constant pacing rate. A yardstick for paths and hosts, not for a network that others use: it does not react
 * to loss.
 *
 * Below the bandwidth of a path it leaves the queue empty and measures what the path and the pacer add to the RTT; above, it
 * grows the queue by the difference until the buffer overflows or cwnd holds it. cwnd is only there to bound that.
 * A host paces bursts, Linux about 1 ms of data at once: they are what it sees of a path that has no queue.
 */
#ifndef CC_FIXED_RATE_H
#define CC_FIXED_RATE_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"

/*
 * rate_Bps: 100 Mbit/s, to be set; at most what 32 bits hold, 34 Gbit/s, at least a packet in 1.5 s.
 * cwnd_pkts: more than 10 Gbit/s have in flight in 100 ms.
 */
#define fixed_rate_parameters(P)                                                                                       \
	P(rate_Bps, 12500000, 1000, 0xffffffffu, CC_UNIT_BPS, "pacing rate, always, in bytes of TCP segments")         \
	P(cwnd_pkts, 100000, 1, 1u << 24, CC_UNIT_PKTS, "cwnd, always: the bound on what is in flight")

struct fixed_rate_params {
	fixed_rate_parameters(CC_PARAM_FIELD)
};

struct fixed_rate {
	struct fixed_rate_params p;
};

CC_INLINE void fixed_rate_on_ack(struct fixed_rate *s, const struct cc_view *v, struct cc_decision *d)
{
	d->cwnd_pkts = s->p.cwnd_pkts;
	d->pacing_rate_Bps = cc_min_u64(s->p.rate_Bps, v->max_pacing_rate_Bps);
}

CC_INLINE void fixed_rate_on_event(struct fixed_rate *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)event;
	fixed_rate_on_ack(s, v, d);
}

CC_INLINE void fixed_rate_init(struct fixed_rate *s, const struct fixed_rate_params *p, const struct cc_view *v,
			       struct cc_decision *d)
{
	s->p = *p;
	d->ssthresh_pkts = CC_INFINITE;
	fixed_rate_on_ack(s, v, d);
}

CC_INLINE void fixed_rate_observe(const struct fixed_rate *s, struct cc_observation *o)
{
	(void)s;
	o->bw_Bps = 0;
	o->min_rtt_us = CC_NO_RTT;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = CC_PHASE_FIXED;
}

#endif
