/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A sender whose pacing rate and cwnd are set from outside, once per monitor interval. It has no control of its own.
 *
 * This is the sender of an environment for reinforcement learning (crates/gym): the environment stops at the end of
 * each monitor interval, reads the statistics of its ACKs and hands in an action. The action is in force from the first
 * ACK after the interval on: exactly when an algorithm that decides by itself, with lib/monitor.h, would decide. A
 * trained policy in C, with lib/action.h, therefore does in any host what it did in the environment.
 *
 *   - Before the first action, the initial cwnd of the host is paced over the RTT of the handshake.
 *   - Without an action, rate and cwnd stay as they are. So they do in loss recovery, after a timeout and when sending
 *     begins again: what to do then is for the agent to learn.
 *   - The application's limit bounds the pacing rate.
 *
 * Source: none; the interval is that of PCC, Aurora and Orca, see lib/monitor.h.
 */
#ifndef CC_AGENT_H
#define CC_AGENT_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "lib/action.h"
#include "lib/monitor.h"

/* The rate is what the environment says. */
#define agent_paces_below_a_packet 1

/* It has no control: in the kernel only CAP_NET_ADMIN may select it. */
#define CC_RESTRICTED

#define agent_parameters(P)                                                                                            \
	P(interval_us, CC_MSEC(100), CC_MSEC(1), CC_SEC(10), CC_UNIT_US, "length of a monitor interval",               \
	  "100 ms, meant to be set: two RTTs see the effect of an action; shorter than 1 ms, a burst is all of it")    \
	P(cwnd_gain, CC_GAIN(2), CC_GAIN(1), CC_GAIN(16), CC_UNIT_GAIN,                                                \
	  "cwnd in rate * srtt, where an action is a factor on the rate",                                              \
	  "2, as BBR: the rate stays in control with delayed and aggregated ACKs; below 1, cwnd would be")

struct agent_params {
	agent_parameters(CC_PARAM_FIELD)
};

struct agent {
	struct cc_monitor monitor;
	struct cc_action action; /* the next one; taken at the first ACK after the interval */
	struct agent_params p;
	u32 rate_Bps;
	u32 cwnd_pkts;
};

CC_INLINE void agent_decide(const struct agent *s, const struct cc_view *v, struct cc_decision *d)
{
	d->cwnd_pkts = s->cwnd_pkts;
	d->pacing_rate_Bps = cc_min_u64(s->rate_Bps, v->max_pacing_rate_Bps);
}

/* Takes the action that was handed in. */
CC_INLINE void agent_act(struct agent *s, const struct cc_view *v)
{
	const struct cc_action a = s->action;

	if (a.form == CC_ACTION_ABSOLUTE) {
		s->rate_Bps = cc_max_u32(a.rate_Bps, CC_ACTION_LEAST_BPS);
		s->cwnd_pkts = cc_max_u32(cc_min_u32(a.cwnd_pkts, CC_ACTION_MOST_CWND_PKTS), 1);
	} else if (a.form == CC_ACTION_FACTOR) {
		s->rate_Bps = cc_rate_times(s->rate_Bps, a.exponent);
		s->cwnd_pkts = cc_cwnd_of_rate(s->rate_Bps, s->p.cwnd_gain, v);
	}
	s->action.form = CC_ACTION_NONE;
}

CC_INLINE void agent_on_ack(struct agent *s, const struct cc_view *v, struct cc_decision *d)
{
	struct cc_interval interval; /* the environment has read the same */

	if (cc_monitor_on_ack(&s->monitor, v, &interval))
		agent_act(s, v);
	agent_decide(s, v, d);
}

CC_INLINE void agent_on_event(struct agent *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)event;
	agent_decide(s, v, d);
}

CC_INLINE void agent_init(struct agent *s, const struct agent_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	s->cwnd_pkts = v->cwnd_pkts;
	s->rate_Bps = cc_first_rate(v);
	cc_monitor_start(&s->monitor, p->interval_us, v);
	d->ssthresh_pkts = CC_INFINITE;
	agent_decide(s, v, d);
}

CC_INLINE void agent_observe(const struct agent *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = s->monitor.min_rtt_us;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = CC_PHASE_FIXED;
}

#endif
