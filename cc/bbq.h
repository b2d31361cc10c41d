/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBQ: BBRv1 that probes no longer than 3 ms while there is a queue.
 *
 * The problem. A BBRv1 flow probes with gain 1.25 for one of its own min_rtt. With a shared queue, what it adds to
 * the queue is 0.25 * bw * min_rtt: a flow of 50 ms adds five times as much as one of 10 ms at the same rate. A flow's
 * share of a FIFO's backlog is its share of the rate, so the long flow takes over.
 *
 * The idea (section V of the paper): bound the probing phase by a time that is the same for all,
 *
 *	length of the 1.25 phase = min(min_rtt, alpha)		alpha = 3 ms
 *
 * but only while a queue is there, which the flow sees in its RTT:
 *
 *	queue present:  rtt >= (1 + beta) * min_rtt		beta = 0.5 % to 1 %
 *
 * Without a queue there is bandwidth to be found, and BBQ is BBRv1. All the rest is BBRv1, unchanged.
 *
 * What the paper leaves open, and what is done here:
 * - which RTT: the latest sample, looked at on every ACK, so that a queue which appears while probing ends the probing;
 * - BBRv1 also stays in the phase until 1.25 BDP is in flight (or a packet is lost). In 3 ms only 0.25 * bw * 3 ms is
 *   added, so with that condition the bound would hardly ever bind: it is dropped while the bound is in force.
 *   Set until_inflight to keep it, and see the difference;
 * - after a short probe the 0.75 phase is unchanged and may end at once, at one BDP.
 *
 * Source: Ma et al., "Towards RTT Fairness of Congestion-Based Congestion Control", arXiv 1706.09115.
 */
#ifndef CC_BBQ_H
#define CC_BBQ_H

#include "bbr1.h"

#define bbq_own_parameters(P)                                                                                          \
	P(alpha_us, 3000, 1, 10000000, CC_UNIT_US, "longest probing phase while there is a queue")                     \
	P(beta, 10000, 0, 1000000, CC_UNIT_PPM, "an RTT this much above min_rtt shows a queue")                        \
	P(until_inflight, 0, 0, 1, CC_UNIT_BOOL, "1: even so, probe until 1.25 BDP is in flight, as BBRv1 does")
#define bbq_parameters(P) bbr1_parameters(P) bbq_own_parameters(P)

struct bbq_params {
	struct bbr1_params bbr1;
	bbq_own_parameters(CC_PARAM_FIELD)
};

struct bbq {
	struct bbr1 bbr1;
	u32 alpha_us;
	u32 beta_ppm;
	u32 rtt_us; /* latest sample; 0: none */
	u8 until_inflight;
	u8 reserved[3];
};

CC_INLINE bool bbq_sees_queue(const struct bbq *s)
{
	return (u64)s->rtt_us * CC_USEC_PER_SEC >= (u64)s->bbr1.min_rtt_us * (CC_USEC_PER_SEC + (u64)s->beta_ppm);
}

/* The bound on probing; everything else is for BBRv1 to say. */
CC_STAGE bool bbq_phase_over(struct bbq *s, const struct cc_view *v, const struct cc_decision *d)
{
	const struct bbr1 *b = &s->bbr1;

	if (v->rtt_us >= 0)
		s->rtt_us = (u32)v->rtt_us;
	if (b->mode == BBR1_PROBE_BW && b->pacing_gain_256 > CC_GAIN_UNIT && !s->until_inflight && bbq_sees_queue(s))
		return bbr1_phase_us(b, v) > cc_min_u32(b->min_rtt_us, s->alpha_us);
	return bbr1_phase_over(b, v, d);
}

CC_STAGE void bbq_on_ack(struct bbq *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->bbr1, v);
	if (bbq_phase_over(s, v, d))
		bbr1_next_phase(&s->bbr1, v);
	bbr1_update_mode(&s->bbr1, v, d);
	bbr1_set_controls(&s->bbr1, v, d);
}

CC_STAGE void bbq_on_event(struct bbq *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_on_event(&s->bbr1, event, v, d);
}

CC_STAGE void bbq_init(struct bbq *s, const struct bbq_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->alpha_us = p->alpha_us;
	s->beta_ppm = p->beta;
	s->until_inflight = p->until_inflight != 0;
	bbr1_init(&s->bbr1, &p->bbr1, v, d);
}

CC_INLINE void bbq_observe(const struct bbq *s, struct cc_observation *o) { bbr1_observe(&s->bbr1, o); }

#endif
