/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A constant pacing rate. It does not react to loss: a yardstick for paths and hosts, not for shared networks.
 *
 * Below the bandwidth of a path it leaves the queue empty, and measures what path and pacer add to the RTT. Above
 * it, the queue grows by the difference until the buffer overflows or cwnd, which is only a bound, stops it. A host
 * paces in bursts, in Linux of about 1 ms, so on an otherwise empty path the queue holds up to one burst.
 *
 * Source: none; the counterpart of fixed_cwnd.h.
 */
#ifndef CC_FIXED_RATE_H
#define CC_FIXED_RATE_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"

/* The rate is what the user says. */
#define fixed_rate_paces_below_a_packet 1

/* It has no control: in the kernel only CAP_NET_ADMIN may select it. */
#define CC_RESTRICTED

#define fixed_rate_parameters(P)                                                                                       \
	P(rate_Bps, CC_MBIT(100), 1000, 0xffffffffu, CC_UNIT_BPS, "pacing rate, always, in bytes of TCP segments",     \
	  "100 Mbit/s, meant to be set; from a packet in 1.5 s to what 32 bits hold, 34 Gbit/s")                       \
	P(cwnd_pkts, 100000, 1, 1u << 24, CC_UNIT_PKTS, "cwnd, always: the bound on inflight",                         \
	  "100000: more than 10 Gbit/s times 100 ms; 2^24 packets are 24 GB")

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
