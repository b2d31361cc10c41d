/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * NYU's improved BBR: nyu_latency.h with a gain that follows the queueing delay.
 *
 * The problem (section III of the paper). A flow i that probes with gain 1.25 gets, at a queueing delay D and with a
 * propagation RTT T_i, a new estimate of
 *
 *	bw_i' = 1.25 * T_i / (T_i + D) * bw_i
 *
 * which grows while D < T_i / 4. Flows of different T_i see the same D, so there is none at which all rest: the longest RTT
 * grows and the others shrink.
 *
 * The idea (section IV.C). Each flow has its own gains, so that the factor is 1 for all, at any D:
 *
 *	gains 1 + alpha_i, 1 - alpha_i, 1, ...		alpha_i = D / T_i in [0.05, 0.95], renewed with every gain cycle
 *
 * The shares then stay where they are: it is the bounds of alpha that move them. With D > 0.95 T_i a flow shrinks, with
 * D < 0.05 T_i it grows.
 *
 * Nothing keeps D small, though: more D is more alpha, which is more probing and more D. See docs/variants.md.
 *
 * What the paper leaves open, and what is done here:
 * - which RTT: D is the mean RTT less min_rtt, over the ACKs of the last cycle's CRUISE, where the flow's own probing is not in
 *   it; in a cycle that never came to cruising, the last RTT. Set d_is_least to take the least RTT instead of the mean;
 * - alpha before there is one: not needed, since PROBE_BW begins with CRUISE. So probe_up_gain and probe_down_gain have no
 *   effect: they are what moves;
 * - "every eight phases": the gain cycle of the drain patch has three phases and lasts for up to eight min_rtt (bbr1_drain.h).
 *
 * Source: Zhang, Mezzavilla, Rangan, Panwar, "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018.
 */
#ifndef CC_NYU_H
#define CC_NYU_H

#include "nyu_latency.h"

#define nyu_own_parameters(P)                                                                                          \
	P(alpha_least, 13, 1, 250, CC_UNIT_GAIN, "least alpha; 0.05")                                                  \
	P(alpha_most, 243, 1, 250, CC_UNIT_GAIN, "greatest alpha; 0.95, so that 1 + alpha stays below cwnd_gain")      \
	P(d_is_least, 0, 0, 1, CC_UNIT_BOOL, "1: take the least RTT of CRUISE for D, not the mean")
#define nyu_parameters(P) nyu_latency_parameters(P) nyu_own_parameters(P)

struct nyu_params {
	struct nyu_latency_params latency;
	nyu_own_parameters(CC_PARAM_FIELD)
};

struct nyu {
	struct nyu_latency latency;
	u64 rtt_sum_us; /* over the samples of this cycle's CRUISE */
	u32 rtt_count;
	u32 rtt_least_us;
	u32 rtt_us; /* latest sample; 0: none */
	u8 alpha_least_256;
	u8 alpha_most_256;
	u8 d_is_least;
	u8 reserved;
};

CC_INLINE void nyu_forget_rtts(struct nyu *s)
{
	s->rtt_sum_us = 0;
	s->rtt_count = 0;
	s->rtt_least_us = CC_NO_RTT;
}

CC_INLINE void nyu_sample_rtt(struct nyu *s, const struct cc_view *v)
{
	if (v->rtt_us < 0)
		return;
	s->rtt_us = (u32)v->rtt_us;
	if (!s->latency.drain.in_cycle || s->latency.drain.bbr1.cycle_index != BBR1_CYCLE_CRUISE)
		return;
	s->rtt_sum_us += s->rtt_us;
	s->rtt_count++;
	s->rtt_least_us = cc_min_u32(s->rtt_least_us, s->rtt_us);
}

/* alpha = D / T, 1/256, within its bounds. */
CC_INLINE u32 nyu_alpha_256(const struct nyu *s)
{
	u32 t_us = s->latency.drain.bbr1.min_rtt_us, rtt_us = s->rtt_us;
	u32 alpha;

	if (s->rtt_count)
		rtt_us = s->d_is_least ? s->rtt_least_us : cc_saturate_u32(cc_div(s->rtt_sum_us, s->rtt_count));
	alpha = cc_saturate_u32(cc_div((u64)cc_sub_floor_u32(rtt_us, t_us) << CC_GAIN_SHIFT, t_us));
	return cc_max_u32(cc_min_u32(alpha, s->alpha_most_256), s->alpha_least_256);
}

/* The gain cycle, and gains for each new one by the RTTs of the last. */
CC_STAGE void nyu_update_cycle(struct nyu *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr1 *b = &s->latency.drain.bbr1;
	u64 cycle_us = b->cycle_stamp_us;
	u32 alpha_256;

	nyu_sample_rtt(s, v);
	nyu_latency_update_cycle(&s->latency, v, d);
	if (b->cycle_stamp_us == cycle_us)
		return;
	alpha_256 = nyu_alpha_256(s);
	b->p.probe_up_gain = CC_GAIN_UNIT + alpha_256;
	b->p.probe_down_gain = CC_GAIN_UNIT - alpha_256;
	nyu_forget_rtts(s);
}

CC_STAGE void nyu_on_ack(struct nyu *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->latency.drain.bbr1, v);
	nyu_update_cycle(s, v, d);
	nyu_latency_update_mode(&s->latency, v, d);
	bbr1_set_controls(&s->latency.drain.bbr1, v, d);
}

CC_STAGE void nyu_on_event(struct nyu *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	nyu_latency_on_event(&s->latency, event, v, d);
}

CC_STAGE void nyu_init(struct nyu *s, const struct nyu_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->alpha_least_256 = (u8)p->alpha_least;
	s->alpha_most_256 = (u8)p->alpha_most;
	s->d_is_least = p->d_is_least != 0;
	nyu_forget_rtts(s);
	nyu_latency_init(&s->latency, &p->latency, v, d);
}

CC_INLINE void nyu_observe(const struct nyu *s, struct cc_observation *o) { nyu_latency_observe(&s->latency, o); }

#endif
