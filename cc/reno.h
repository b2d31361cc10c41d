/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Reno: additive increase and multiplicative decrease, the reference for all other algorithms.
 *
 *   slow start   cwnd < ssthresh   cwnd += 1 per packet acknowledged: doubles each round   RFC 5681 section 3.1
 *   avoidance    otherwise         cwnd += 1 per cwnd acknowledged: +1 each round          RFC 5681 section 3.1
 *   loss or ECN  once a round      ssthresh = max(cwnd / 2, 2); the host reduces cwnd      RFC 5681 section 3.2,
 *                                                                                          RFC 9937, RFC 3168
 *   spurious     undo              cwnd = max(cwnd, cwnd before the reduction)             RFC 3522, RFC 4015
 *
 * The host decides which packets are lost (RACK), reduces cwnd to ssthresh (PRR), and sends one packet after an RTO
 * and few after an idle period. Slow start may end before the first loss, see lib/hystart.h.
 *
 * Departures, as in Linux: ssthresh derives from cwnd where the RFC uses FlightSize (cc_window_is_used keeps cwnd
 * near what is in flight); packets are counted instead of bytes; an ACK grows slow start by all it acknowledges,
 * not by two segments at most (RFC 3465 L=2), since GRO and ACK thinning would throttle it otherwise.
 */
#ifndef CC_RENO_H
#define CC_RENO_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "contract/window.h"
#include "lib/hystart.h"

#define reno_parameters(P)                                                                                             \
	P(beta, CC_FRACTION(0.5), CC_FRACTION(0.1), CC_FRACTION_UNIT - 1, CC_UNIT_FRACTION,                            \
	  "share of cwnd that remains after a loss",                                                                   \
	  "1/2: RFC 5681 equation 4; below 1 to reduce; 0.8 for ECN: RFC 8511")                                        \
	hystart_parameters(P, HYSTART_NONE)

struct reno_params {
	u32 beta;
	struct hystart_params slow_start;
};

struct reno {
	struct hystart slow_start;
	u32 beta;
	u32 credit_pkts; /* acknowledged towards the next additive increase */
};

CC_INLINE void reno_init(struct reno *s, const struct reno_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->beta = p->beta;
	s->credit_pkts = 0;
	hystart_init(&s->slow_start, &p->slow_start, v, d);
}

CC_INLINE void reno_on_ack(struct reno *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 acked_pkts;

	if (!cc_window_is_used(v, d))
		return;
	acked_pkts = hystart_grow(&s->slow_start, v, d, v->acked_pkts);
	if (acked_pkts)
		cc_additive_increase(d, &s->credit_pkts, d->cwnd_pkts, acked_pkts);
	hystart_note_window(&s->slow_start, d);
}

CC_INLINE u32 reno_ssthresh(const struct reno *s, u32 cwnd_pkts)
{
	return cc_max_u32(cc_fraction_of(cwnd_pkts, s->beta), CC_MIN_SSTHRESH_PKTS);
}

CC_INLINE void reno_on_event(struct reno *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (event) {
	case CC_EVENT_SAMPLE:
		if (v->rtt_us >= 0)
			hystart_on_rtt(&s->slow_start, v, d, cc_max_u32((u32)v->rtt_us, 1));
		break;
	case CC_EVENT_REDUCE:
		s->credit_pkts = 0;
		d->ssthresh_pkts = reno_ssthresh(s, v->cwnd_pkts);
		hystart_enter(&s->slow_start, CC_PHASE_AVOIDANCE);
		break;
	case CC_EVENT_CA_STATE:
		if (v->ca_state == CC_CA_LOSS) {
			s->credit_pkts = 0;
			hystart_reset(&s->slow_start, v);
			hystart_enter(&s->slow_start, CC_PHASE_SLOW_START);
		}
		break;
	case CC_EVENT_UNDO:
		d->cwnd_pkts = cc_max_u32(v->cwnd_pkts, v->prior_cwnd_pkts);
		break;
	default: /* idle time changes nothing */
		break;
	}
}

CC_INLINE void reno_observe(const struct reno *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = CC_NO_RTT;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = s->slow_start.phase;
}

#endif
