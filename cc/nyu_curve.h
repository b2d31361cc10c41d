/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * NYU's improved BBR with a gain that follows a curve through the cycle, instead of one gain per phase.
 *
 * The idea is one sentence of the paper (sections IV.C and VI): replace the eight phases by "a continuous pacing
 * function, such as a line or cubic curve", for "even better fairness". The paper gives no function. This header
 * uses, with t since the start of the cycle, T = min_rtt and alpha as in nyu.h,
 *
 *	gain(t) = 1 + A * |1 - t / 4T|^power	up to 4T; power 1: a line, 3: a cubic curve
 *	gain(t) = 1 - A * |1 - t / 4T|^power	from 4T to 8T
 *
 *	1 + A  |*
 *	       | **
 *	1      |---*******---			the cubic curve is flat in the middle
 *	       |          **
 *	1 - A  |            *
 *	       0      4T     8T
 *
 * Why this height. Equations 2 and 9 of the paper rest on how much is in flight when probing ends, (1 + alpha) * bw
 * * T. So the area of the first half must equal that of a phase of gain 1 + alpha that lasts for T. This gives the
 * height A:
 *
 *	A * 4T / (power + 1) = alpha * T	A = alpha * (power + 1) / 4, which is alpha / 2 or alpha
 *
 * The second half is the mirror image: it takes back what the first half has added, and the mean gain is 1.
 *
 * What changes. A flow whose packets hardly move the queue measures its own gain, as a mean over a round trip: up
 * to 1 + alpha in a phase, up to 1 + 0.68 * alpha along the cubic curve and up to 1 + 0.44 * alpha along the line.
 * So the maximum filters of flows that probe in turn keep less of what the flows took from each other. For fairness
 * the equations promise nothing: the factor is still 1 for all flows, whatever their shares.
 *
 * Choices where the paper says nothing:
 * - The bounds on inflight stay (nyu_latency.h, bbr1_drain.h), since the low latency comes from them. Once (1 +
 *   alpha) BDP is in flight the gain is at most 1; once after that, or after the middle, at most one BDP is in
 *   flight, it is at least 1. So a cycle still has the phases of its parent. UP ends in the middle at the latest, or
 *   where the gain rounds to 1.
 * - DOWN is the second half of the curve and no more, or the gain would not be a function of time. A phase of 1 -
 *   alpha lasts until one BDP is left, so it also drains what was in the queue before. The curve leaves that queue,
 *   cwnd limits the flows again, and they share less fairly than with phases: see
 *   reproduction/open-questions/continuous-pacing.
 * - A cycle on the curve lasts for eight min_rtt, as the paper's pattern does, so that its halves match. The length
 *   of the CRUISE with which PROBE_BW starts is drawn as in the parent, 2 to 8 min_rtt, so that flows do not stay in
 *   step.
 *
 * Source: Zhang, Mezzavilla, Rangan, Panwar, "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018.
 */
#ifndef CC_NYU_CURVE_H
#define CC_NYU_CURVE_H

#include "nyu.h"

/* As nyu. */
#define nyu_curve_paces_below_a_packet 1

/* With a greater power 1 - A could be below zero: A is alpha * (power + 1) / 4, and alpha is less than 1. */
#define NYU_CURVE_POWER_MOST 3u

/* min_rtts from the start of the cycle to where the gain is 1. */
#define NYU_CURVE_HALF (BBR1_DRAIN_CYCLE_MOST / 2)

#define nyu_curve_own_parameters(P)                                                                                    \
	P(power, 3, 1, NYU_CURVE_POWER_MOST, CC_UNIT_COUNT, "exponent of the curve; 1: a line, 3: a cubic curve",      \
	  "the paper names the line and the cubic curve; above 3 the gain could be negative")
#define nyu_curve_parameters(P) nyu_parameters(P) nyu_curve_own_parameters(P)
CC_VARIANT_PARAMS(nyu_curve, nyu)

struct nyu_curve {
	union {
		struct bbr1 bbr1;
		struct bbr1_drain bbr1_drain;
		struct nyu_latency nyu_latency;
		struct nyu nyu;
	};
	struct nyu_curve_own_params own;
	u32 reserved;
};

CC_INLINE u64 nyu_curve_half_us(const struct bbr1 *b) { return (u64)NYU_CURVE_HALF * b->min_rtt_us; }

/* Distance of the curve from 1, rounded to the nearest 1/256, so that the steps of both halves have the same length. */
CC_INLINE u32 nyu_curve_offset_256(const struct nyu_curve *s, u64 t_us)
{
	const struct bbr1 *b = &s->bbr1;
	u64 half_us = nyu_curve_half_us(b);
	u64 from_middle_us = cc_min_u64(t_us < half_us ? half_us - t_us : t_us - half_us, half_us);
	u32 distance = (u32)cc_div(from_middle_us << CC_FRACTION_SHIFT, half_us);
	u32 alpha_256 = b->p.probe_up_gain - CC_GAIN_UNIT;
	u32 curve = distance;

	if (s->own.power > 1)
		curve = cc_fraction_of(curve, distance);
	if (s->own.power > 2)
		curve = cc_fraction_of(curve, distance);
	return (alpha_256 * (s->own.power + 1u) * curve / (NYU_CURVE_HALF * CC_FRACTION_UNIT / 2) + 1) / 2;
}

/*
 * The gain cycle of the parent with the length of the curve: eight min_rtt, and UP ends in the middle. Inlined,
 * because an eBPF call chain has room for eight functions and the parent needs them all.
 */
CC_INLINE void nyu_curve_update_cycle(struct nyu_curve *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr1_drain *cycle = &s->bbr1_drain;

	nyu_update_cycle(&s->nyu, v, d);
	if (!cycle->in_cycle || s->bbr1.cycle_index != BBR1_CYCLE_UP)
		return;
	cycle->cycle_len = BBR1_DRAIN_CYCLE_MOST;
	if (bbr1_phase_us(&s->bbr1, v) >= nyu_curve_half_us(&s->bbr1))
		bbr1_drain_enter_phase(cycle, BBR1_CYCLE_DOWN);
}

/* The curve within the bounds of the phase: UP is above 1, DOWN below 1, CRUISE is 1. */
CC_STAGE void nyu_curve_set_gain(struct nyu_curve *s, const struct cc_view *v)
{
	struct bbr1 *b = &s->bbr1;
	u64 t_us = bbr1_phase_us(b, v);

	if (!s->bbr1_drain.in_cycle || b->cycle_index == BBR1_CYCLE_CRUISE)
		return;
	b->pacing_gain_256 = CC_GAIN_UNIT;
	if (b->cycle_index == BBR1_CYCLE_UP)
		b->pacing_gain_256 += nyu_curve_offset_256(s, t_us);
	else if (t_us > nyu_curve_half_us(b))
		b->pacing_gain_256 -= nyu_curve_offset_256(s, t_us);
}

CC_STAGE void nyu_curve_on_ack(struct nyu_curve *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->bbr1, v);
	nyu_curve_update_cycle(s, v, d);
	nyu_latency_update_mode(&s->nyu_latency, v, d);
	nyu_curve_set_gain(s, v);
	bbr1_set_controls(&s->bbr1, v, d);
}

CC_VARIANT(nyu_curve, nyu)

#endif
