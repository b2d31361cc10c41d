/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A constant cwnd, sent as fast as ACKs allow. It does not react to loss: a yardstick for paths and hosts, not for
 * shared networks.
 *
 * On a path of bandwidth C and propagation RTT T with a buffer B, one such flow of W bytes shows the two bounds between
 * which every algorithm works (figure 1 of the BBR paper):
 *
 *	W <= C * T		rate W / T, RTT T		the path is not full
 *	W <= C * T + B		rate C,     RTT W / C		W - C * T are in the queue
 *	beyond			loss
 *
 * Source: Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016, figure 1.
 */
#ifndef CC_FIXED_CWND_H
#define CC_FIXED_CWND_H

#include "contract/contract.h"
#include "contract/params.h"

/* It has no control: in the kernel only CAP_NET_ADMIN may select it. */
#define CC_RESTRICTED

#define fixed_cwnd_parameters(P)                                                                                       \
	P(cwnd_pkts, 10, 1, 1u << 24, CC_UNIT_PKTS, "cwnd, always",                                                    \
	  "10: the initial cwnd of RFC 6928, which hosts may send anyway; 2^24 packets are 24 GB")

struct fixed_cwnd_params {
	fixed_cwnd_parameters(CC_PARAM_FIELD)
};

struct fixed_cwnd {
	struct fixed_cwnd_params p;
};

/* The only pacing is the application's limit. */
CC_INLINE void fixed_cwnd_on_ack(struct fixed_cwnd *s, const struct cc_view *v, struct cc_decision *d)
{
	d->cwnd_pkts = s->p.cwnd_pkts;
	d->pacing_rate_Bps = v->max_pacing_rate_Bps;
}

CC_INLINE void fixed_cwnd_on_event(struct fixed_cwnd *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)event;
	fixed_cwnd_on_ack(s, v, d);
}

CC_INLINE void fixed_cwnd_init(struct fixed_cwnd *s, const struct fixed_cwnd_params *p, const struct cc_view *v,
			       struct cc_decision *d)
{
	s->p = *p;
	d->ssthresh_pkts = CC_INFINITE;
	fixed_cwnd_on_ack(s, v, d);
}

CC_INLINE void fixed_cwnd_observe(const struct fixed_cwnd *s, struct cc_observation *o)
{
	(void)s;
	o->bw_Bps = 0;
	o->min_rtt_us = CC_NO_RTT;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = CC_PHASE_FIXED;
}

#endif
