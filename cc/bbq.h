/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBQ: BBRv1 that probes for at most 3 ms while there is a queue.
 *
 * The problem. A BBRv1 flow probes with gain 1.25 for one of its own min_rtt, and so adds 0.25 * bw * min_rtt to a
 * shared queue: at the same rate, a flow with an RTT of 50 ms adds five times as much as a flow with 10 ms. The
 * share of a flow in the backlog of a FIFO is its share of the rate. Therefore the flow with the long RTT takes
 * over.
 *
 * The idea (section V of the paper). Bound the probing phase by a time that is the same for all flows,
 *
 *	length of the 1.25 phase = min(min_rtt, alpha)		alpha = 3 ms
 *
 * but only while there is a queue, which the flow detects by its RTT:
 *
 *	queue present:  rtt >= (1 + beta) * min_rtt		beta = 1 %
 *
 * Without a queue there is bandwidth to be found, and BBQ is BBRv1. Everything else is BBRv1, unchanged.
 *
 * Choices where the paper says nothing:
 * - The RTT is the latest sample, compared on every ACK, so that a queue that appears while probing ends the probe.
 * - BBRv1 also stays in the phase until 1.25 BDP is in flight or a packet is lost. In 3 ms a probe adds only 0.25 *
 *   bw * 3 ms, so with this condition alpha would rarely end a phase. BBQ drops the condition while alpha applies;
 *   until_inflight keeps it, to show the difference.
 * - After a short probe the 0.75 phase is unchanged. It may end with the first ACK, at one BDP.
 *
 * Source: Ma et al., "Towards RTT Fairness of Congestion-Based Congestion Control", arXiv 1706.09115.
 */
#ifndef CC_BBQ_H
#define CC_BBQ_H

#include "bbr1.h"

/* As bbr1. */
#define bbq_paces_below_a_packet 1

#define bbq_own_parameters(P)                                                                                          \
	P(alpha_us, CC_MSEC(3), 1, CC_SEC(10), CC_UNIT_US, "longest probing phase while there is a queue",             \
	  "3 ms: section V.C, for RTTs of 5 to 300 ms; above the RTT it has no effect")                                \
	P(beta, CC_PERCENT(1), 0, CC_PERCENT(100), CC_UNIT_PPM, "an RTT this far above min_rtt shows a queue",         \
	  "section V.C: 0.5 to 1 %, above the noise of wired networks; at 100 % only a queue of one "                  \
	  "BDP counts")                                                                                                \
	P(until_inflight, 0, 0, 1, CC_UNIT_BOOL, "on: also probe until 1.25 BDP is in flight, as BBRv1 does",          \
	  "off: with it alpha rarely ends a phase")
#define bbq_parameters(P) bbr1_parameters(P) bbq_own_parameters(P)
CC_VARIANT_PARAMS(bbq, bbr1)

struct bbq {
	struct bbr1 bbr1;
	struct bbq_own_params own;
	u32 rtt_us; /* latest sample; 0: none */
};

CC_INLINE bool bbq_sees_queue(const struct bbq *s)
{
	return (u64)s->rtt_us * CC_USEC_PER_SEC >= (u64)s->bbr1.min_rtt_us * (CC_USEC_PER_SEC + (u64)s->own.beta);
}

/* The bound on probing. All other phases end as in BBRv1. */
CC_STAGE bool bbq_phase_over(struct bbq *s, const struct cc_view *v, const struct cc_decision *d)
{
	const struct bbr1 *b = &s->bbr1;

	if (v->rtt_us >= 0)
		s->rtt_us = (u32)v->rtt_us;
	if (b->mode == BBR1_PROBE_BW && b->pacing_gain_256 > CC_GAIN_UNIT && !s->own.until_inflight &&
	    bbq_sees_queue(s))
		return bbr1_phase_us(b, v) > cc_min_u32(b->min_rtt_us, s->own.alpha_us);
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

CC_VARIANT(bbq, bbr1)

#endif
