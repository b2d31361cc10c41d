/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The first half of NYU's improved BBR: drain-to-target, and two phases that end as soon as they have done their work.
 *
 * The idea (section IV.B of the paper), on top of bbr1_drain.h:
 *
 *	UP         ends as soon as 1.25 BDP is in flight	before: not before one min_rtt
 *	PROBE_RTT  ends as soon as a lower RTT was seen		before: after 200 ms
 *
 * When bw is overestimated, 1.25 BDP are in flight long before one min_rtt is over, and the rest of the phase only adds to
 * the queue. And when a flow is away for 200 ms the others take its bandwidth, so that the queue jumps when it is back.
 *
 * What the paper leaves open, and what is done here:
 * - the early end of UP adds to the rules for its end; what ended it before ends it still;
 * - lower than what? PROBE_RTT begins because min_rtt has expired, which any sample then replaces; with a falling
 *   queue the next ACK already is "lower", although it says nothing about the path without this flow's own queue. So the
 *   visit ends when a packet that was sent after inflight had come down to 4 has been acknowledged, and min_rtt is lower than
 *   before that: two round trips at least, which is what the paper says it takes. A flow that sees no lower RTT, as one without a
 *   queue in front of it, stays for 200 ms.
 *
 * Source: Zhang, Mezzavilla, Rangan, Panwar, "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018.
 */
#ifndef CC_NYU_LATENCY_H
#define CC_NYU_LATENCY_H

#include "bbr1_drain.h"

#define nyu_latency_parameters(P) bbr1_drain_parameters(P)

struct nyu_latency_params {
	struct bbr1_drain_params drain;
};

struct nyu_latency {
	struct bbr1_drain drain;
	u32 full_rtt_us; /* the least RTT of packets that were sent before inflight came down in PROBE_RTT */
	u32 reserved;
};

/* UP is over at once when the pipe is full; everything else is for the patch to say. */
CC_STAGE void nyu_latency_update_cycle(struct nyu_latency *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr1 *b = &s->drain.bbr1;

	if (s->drain.in_cycle && b->cycle_index == BBR1_CYCLE_UP && bbr1_is_filled(b, v, d))
		bbr1_drain_enter_phase(&s->drain, BBR1_CYCLE_DOWN);
	else
		bbr1_drain_update_cycle(&s->drain, v, d);
}

/* PROBE_RTT is over when it has seen what it is for. */
CC_STAGE void nyu_latency_check_probe_rtt(struct nyu_latency *s, const struct cc_view *v, struct cc_decision *d)
{
	struct bbr1 *b = &s->drain.bbr1;

	if (b->mode != BBR1_PROBE_RTT)
		return;
	if (!b->probe_rtt_done_us || !b->probe_rtt_round_done)
		s->full_rtt_us = b->min_rtt_us;
	else if (b->min_rtt_us < s->full_rtt_us)
		bbr1_leave_probe_rtt(b, v, d);
}

/* Which mode comes next, and its gains. */
CC_STAGE void nyu_latency_update_mode(struct nyu_latency *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_change_mode(&s->drain.bbr1, v, d);
	nyu_latency_check_probe_rtt(s, v, d);
	bbr1_drain_enter_cycle(&s->drain, v);
}

CC_STAGE void nyu_latency_on_ack(struct nyu_latency *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->drain.bbr1, v);
	nyu_latency_update_cycle(s, v, d);
	nyu_latency_update_mode(s, v, d);
	bbr1_set_controls(&s->drain.bbr1, v, d);
}

CC_STAGE void nyu_latency_on_event(struct nyu_latency *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_drain_on_event(&s->drain, event, v, d);
}

CC_STAGE void nyu_latency_init(struct nyu_latency *s, const struct nyu_latency_params *p, const struct cc_view *v,
			       struct cc_decision *d)
{
	bbr1_drain_init(&s->drain, &p->drain, v, d);
}

CC_INLINE void nyu_latency_observe(const struct nyu_latency *s, struct cc_observation *o)
{
	bbr1_drain_observe(&s->drain, o);
}

#endif
