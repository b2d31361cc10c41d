/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * NYU's improved BBR with a gain that follows a curve through the cycle, instead of one gain per phase.
 *
 * The idea is a sentence of the paper (sections IV.C and VI): replace the eight phases by "a continuous pacing function, such
 * as a line or cubic curve", for "even better fairness". It gives no function. Here, with t since the cycle began, T = min_rtt
 * and alpha as in nyu.h, it is
 *
 *	gain(t) = 1 + A * |1 - t / 4T|^power	up to 4T; power 1: a line, 3: a cubic curve
 *	gain(t) = 1 - A * |1 - t / 4T|^power	from there to 8T
 *
 *	1 + A  |*
 *	       | **
 *	1      |---*******---			the cubic curve; flat in the middle
 *	       |          **
 *	1 - A  |            *
 *	       0      4T     8T
 *
 * What must stay as it is. Equations 2 and 9 rest on how much is in flight when probing ends, (1 + alpha) * bw * T. So it is the
 * area of the first half that must be that of a phase of 1 + alpha, which lasts for T, and with it the height:
 *
 *	A * 4T / (power + 1) = alpha * T	A = alpha * (power + 1) / 4, so alpha / 2 or alpha
 *
 * The second half is the mirror image, so it takes back what the first has added, and the mean gain is 1.
 *
 * What changes. A flow whose packets hardly move the queue measures the gain itself, as a mean over a round trip: up to 1 + alpha
 * in a phase, up to 1 + 0.68 * alpha along the cubic curve and up to 1 + 0.44 * alpha along the line. So the maximum filters of flows
 * that probe in turn keep less of what they took from each other. For fairness the equations promise nothing: the factor is 1 for
 * all flows still, whatever their shares. What came of it: reproduction/open-questions/continuous-pacing.
 *
 * What else the paper leaves open, and what is done here:
 * - the bounds on what is in flight (nyu_latency.h, bbr1_drain.h) stay, since the latency comes from them: from when (1 + alpha) BDP
 *   are in flight the gain is no more than 1, and from when, after that or after the middle, no more than one BDP is, no less than 1.
 *   So a cycle has the phases of its base still; UP is over in the middle at the latest, or where the gain is 1 by rounding;
 * - the length: a cycle on the curve lasts for eight min_rtt, as the paper's pattern, or its halves would not match. The CRUISE
 *   with which PROBE_BW begins is drawn as before, 2 to 8 min_rtt, so that flows do not keep step.
 *
 * Source: Zhang, Mezzavilla, Rangan, Panwar, "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018.
 */
#ifndef CC_NYU_CURVE_H
#define CC_NYU_CURVE_H

#include "nyu.h"

#define nyu_curve_own_parameters(P)                                                                                    \
	P(power, 3, 1, NYU_CURVE_POWER_MOST, CC_UNIT_COUNT, "of the curve; 1: a line, 3: a cubic curve")
#define nyu_curve_parameters(P) nyu_parameters(P) nyu_curve_own_parameters(P)

/* With more, 1 - A could come below zero: A is alpha * (power + 1) / 4, and alpha less than 1. */
#define NYU_CURVE_POWER_MOST 3u

/* min_rtts from the start of the cycle to where the gain is 1. */
#define NYU_CURVE_HALF (BBR1_DRAIN_CYCLE_MOST / 2)

struct nyu_curve_params {
	struct nyu_params nyu;
	nyu_curve_own_parameters(CC_PARAM_FIELD)
};

struct nyu_curve {
	struct nyu nyu;
	u8 power;
	u8 reserved[7];
};

CC_INLINE u64 nyu_curve_half_us(const struct bbr1 *b) { return (u64)NYU_CURVE_HALF * b->min_rtt_us; }

/* How far from 1 the curve is, 1/256, rounded to nearest, so that both halves have steps of the same length. */
CC_INLINE u32 nyu_curve_offset_256(const struct nyu_curve *s, u64 t_us)
{
	const struct bbr1 *b = &s->nyu.latency.drain.bbr1;
	u64 half_us = nyu_curve_half_us(b);
	u64 from_middle_us = cc_min_u64(t_us < half_us ? half_us - t_us : t_us - half_us, half_us);
	u32 distance = (u32)cc_div(from_middle_us << CC_FRACTION_SHIFT, half_us);
	u32 alpha_256 = b->p.probe_up_gain - CC_GAIN_UNIT;
	u32 curve = distance;

	if (s->power > 1)
		curve = cc_fraction_of(curve, distance);
	if (s->power > 2)
		curve = cc_fraction_of(curve, distance);
	return (alpha_256 * (s->power + 1u) * curve / (NYU_CURVE_HALF * CC_FRACTION_UNIT / 2) + 1) / 2;
}

/*
 * The gain cycle of the base, on the curve's terms: eight min_rtt, and UP is over in the middle. Inlined, as on_event: a BPF
 * program may have eight functions on its stack, and the base needs them all.
 */
CC_INLINE void nyu_curve_update_cycle(struct nyu_curve *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr1_drain *cycle = &s->nyu.latency.drain;

	nyu_update_cycle(&s->nyu, v, d);
	if (!cycle->in_cycle || cycle->bbr1.cycle_index != BBR1_CYCLE_UP)
		return;
	cycle->cycle_len = BBR1_DRAIN_CYCLE_MOST;
	if (bbr1_phase_us(&cycle->bbr1, v) >= nyu_curve_half_us(&cycle->bbr1))
		bbr1_drain_enter_phase(cycle, BBR1_CYCLE_DOWN);
}

/* The curve, as far as the phase lets it: UP is above 1, DOWN below, CRUISE neither. */
CC_STAGE void nyu_curve_set_gain(struct nyu_curve *s, const struct cc_view *v)
{
	struct bbr1_drain *cycle = &s->nyu.latency.drain;
	struct bbr1 *b = &cycle->bbr1;
	u64 t_us = bbr1_phase_us(b, v);

	if (!cycle->in_cycle || b->cycle_index == BBR1_CYCLE_CRUISE)
		return;
	b->pacing_gain_256 = CC_GAIN_UNIT;
	if (b->cycle_index == BBR1_CYCLE_UP)
		b->pacing_gain_256 += nyu_curve_offset_256(s, t_us);
	else if (t_us > nyu_curve_half_us(b))
		b->pacing_gain_256 -= nyu_curve_offset_256(s, t_us);
}

CC_STAGE void nyu_curve_on_ack(struct nyu_curve *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->nyu.latency.drain.bbr1, v);
	nyu_curve_update_cycle(s, v, d);
	nyu_latency_update_mode(&s->nyu.latency, v, d);
	nyu_curve_set_gain(s, v);
	bbr1_set_controls(&s->nyu.latency.drain.bbr1, v, d);
}

CC_INLINE void nyu_curve_on_event(struct nyu_curve *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	nyu_on_event(&s->nyu, event, v, d);
}

CC_STAGE void nyu_curve_init(struct nyu_curve *s, const struct nyu_curve_params *p, const struct cc_view *v,
			     struct cc_decision *d)
{
	s->power = (u8)p->power;
	nyu_init(&s->nyu, &p->nyu, v, d);
}

CC_INLINE void nyu_curve_observe(const struct nyu_curve *s, struct cc_observation *o) { nyu_observe(&s->nyu, o); }

#endif
