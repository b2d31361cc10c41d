/*
 * NAME: a congestion control of your own. This starting point grows its window by a packet in each round trip,
 * shrinks it after a loss, and paces. Change it: it is an ordinary C file, and nothing else has to be built.
 *
 *	fairpace compare ./NAME.h bbr3 cubic --rtt 10ms,50ms
 *	fairpace sim SCENARIO.toml --set flow.cc=./NAME.h --out out/NAME
 *	sudo fairpace load ./NAME.h	the running kernel has fp_NAME then, until `fairpace unload fp_NAME`
 *
 * The host, that is the simulator or the kernel, calls the functions below: NAME_init when a connection starts,
 * NAME_on_ack on every ACK, NAME_on_event for what happens between ACKs, NAME_observe for traces. A function reads the
 * connection from `v` (struct cc_view), keeps what it must remember in `s` (struct NAME), and writes cwnd and pacing
 * rate to `d` (struct cc_decision). All fields, events and rules are in contract/contract.h, and
 * `fairpace new --contract` prints it.
 *
 * The rules in short, since eBPF has them: integers only (CC_GAIN(1.25) is a constant in 1/256), cc_div() for every
 * division by a variable, loops with a constant bound, no pointers and no bool in the state, at most five arguments.
 */
#ifndef CC_NAME_H
#define CC_NAME_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "contract/window.h"

/*
 * What it does with cwnd. CC_OWNS_CWND: on_ack runs on every ACK and alone sets cwnd. CC_GROWS_CWND: the host
 * reduces cwnd to the ssthresh of CC_EVENT_REDUCE, and on_ack grows it, as for Reno and CUBIC.
 */
#define NAME_kind   CC_OWNS_CWND
#define NAME_title  "An algorithm of my own"
#define NAME_source "none yet"

/*
 * Parameters: `--set NAME.beta=0.8`. Name, default, least, most, unit, what it does, why this default. The unit says
 * how users write it (contract/params.h).
 */
#define NAME_parameters(P)                                                                                          \
	P(beta, CC_FRACTION(0.7), CC_FRACTION(0.1), CC_FRACTION_UNIT - 1, CC_UNIT_FRACTION,                            \
	  "part of the window that remains after a loss", "0.7: as CUBIC, RFC 9438")                                   \
	P(pacing_gain, CC_GAIN(1.2), CC_GAIN(1), CC_GAIN(4), CC_UNIT_GAIN, "pacing rate as a multiple of cwnd / RTT",  \
	  "1.2: as Linux in congestion avoidance, so that cwnd limits and not pacing")

struct NAME_params {
	NAME_parameters(CC_PARAM_FIELD)
};

/* The state of a flow, zeros before NAME_init. Parameters are copied, so that a change never hits a running flow. */
struct NAME {
	struct NAME_params p;
	u32 credit_pkts; /* acknowledged towards the next packet of growth */
	u32 slow_start;	 /* bool, for traces */
};

/* cwnd / RTT. While cwnd doubles, pacing must leave room for twice of it. */
CC_INLINE void NAME_pace(const struct NAME *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 gain = cc_in_slow_start(d) ? CC_GAIN(2) : s->p.pacing_gain;
	u64 bytes = ((u64)d->cwnd_pkts * v->mss_bytes * gain) >> CC_GAIN_SHIFT;
	u32 rtt_us = v->srtt_us ? v->srtt_us : CC_MSEC(1); /* before the first sample */

	d->pacing_rate_Bps = cc_min_u64(cc_div(bytes * CC_USEC_PER_SEC, rtt_us), v->max_pacing_rate_Bps);
}

CC_INLINE void NAME_init(struct NAME *s, const struct NAME_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	s->slow_start = true;
	NAME_pace(s, v, d);
}

/*
 * Twice the window in a round trip up to ssthresh, then a packet more in each. It must not grow if it is not used, nor
 * while lost packets are sent again (CC_CA_RECOVERY); after a timeout it must.
 */
CC_INLINE void NAME_on_ack(struct NAME *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 acked_pkts = v->acked_pkts;

	if (v->ca_state != CC_CA_RECOVERY && v->ca_state != CC_CA_CWR && cc_window_is_used(v, d)) {
		if (cc_in_slow_start(d))
			acked_pkts = cc_slow_start(d, acked_pkts);
		cc_additive_increase(d, &s->credit_pkts, d->cwnd_pkts, acked_pkts);
	}
	s->slow_start = cc_in_slow_start(d);
	NAME_pace(s, v, d);
}

/*
 * CC_EVENT_REDUCE comes once for all losses of a round trip, and for marks (ECN). After a timeout the state becomes
 * CC_CA_LOSS: the flow starts again with a packet, and grows fast up to the ssthresh of the reduction before.
 * CC_EVENT_UNDO takes a reduction back that was a mistake.
 */
CC_INLINE void NAME_on_event(struct NAME *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	if (event == CC_EVENT_REDUCE) {
		s->credit_pkts = 0;
		d->ssthresh_pkts = cc_max_u32(cc_fraction_of(v->cwnd_pkts, s->p.beta), CC_MIN_SSTHRESH_PKTS);
		d->cwnd_pkts = cc_min_u32(v->cwnd_pkts, d->ssthresh_pkts);
	} else if (event == CC_EVENT_CA_STATE && v->ca_state == CC_CA_LOSS) {
		d->cwnd_pkts = 1;
	} else if (event == CC_EVENT_UNDO) {
		d->cwnd_pkts = cc_max_u32(v->cwnd_pkts, v->prior_cwnd_pkts);
	}
}

/* What traces and pictures show of a flow: see struct cc_observation. */
CC_INLINE void NAME_observe(const struct NAME *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = CC_NO_RTT;
	o->pacing_gain_256 = s->slow_start ? CC_GAIN(2) : s->p.pacing_gain;
	o->cwnd_gain_256 = 0;
	o->phase = s->slow_start ? CC_PHASE_SLOW_START : CC_PHASE_AVOIDANCE;
}

#endif
