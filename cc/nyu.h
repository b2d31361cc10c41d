/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * NYU's improved BBR: nyu_latency.h with gains that follow the queueing delay.
 *
 * The problem (section III of the paper). A flow i with propagation RTT T_i that probes with gain 1.25 at a
 * queueing delay D measures a new bandwidth of
 *
 *	bw_i' = 1.25 * T_i / (T_i + D) * bw_i
 *
 * which is growth while D < T_i / 4. All flows share D but not T_i. So no D keeps all of them in balance: the flow
 * with the longest RTT grows and the others shrink.
 *
 * The idea (section IV.C). Each flow has gains of its own, so that the factor above is 1 for all flows and any D:
 *
 *	gains 1 + alpha_i, 1 - alpha_i, 1, ...		alpha_i = D / T_i in [0.05, 0.95], updated once per gain cycle
 *
 * The shares then stay as they are, except at the bounds of alpha: a flow with D > 0.95 T_i shrinks, one with D <
 * 0.05 T_i grows.
 *
 * Known defects (docs/pathologies.md):
 * - Nothing keeps D small: a longer queue means a greater alpha, which means stronger probing and a longer queue.
 * - A flow alone on a slow link wastes it. After a probe at gain 1.95, DOWN paces at 0.05 bw. There one burst
 *   schedules the next departure 20 bursts ahead: 0.12 s per packet at 2 Mbit/s. The schedule outlives DOWN, and the
 *   link is idle meanwhile. At an RTT of 20 ms the flow uses 65 % of 0.5 Mbit/s, 82 % of 2 Mbit/s and all of 20
 *   Mbit/s; with bursts of two packets, as in eBPF, 51 % and 63 %. With alpha_most 0.75 it uses the whole link. The
 *   bound is the paper's, so it stays.
 *
 * Choices where the paper says nothing:
 * - D is the mean RTT, over the ACKs in CRUISE of the last cycle, less min_rtt: in CRUISE the flow's own probe is
 *   not in it. After a cycle without CRUISE, D is the last RTT less min_rtt. d_is_least takes the least RTT instead
 *   of the mean.
 * - There is no first alpha: PROBE_BW starts with CRUISE. The parameters probe_up_gain and probe_down_gain have no
 *   effect, since each cycle overwrites them.
 * - "Every eight phases" is every gain cycle of bbr1_drain.h, which has three phases and lasts for up to eight min_rtt.
 *
 * The preset nyu8 leaves two of these choices to the letter of the paper: its cycle has eight phases (bbr1_drain.h),
 * and D is the latest RTT at the update, less min_rtt (d_is_latest).
 *
 * Source: Zhang, Mezzavilla, Rangan, Panwar, "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018.
 */
#ifndef CC_NYU_H
#define CC_NYU_H

#include "nyu_latency.h"

/* As nyu_latency. */
#define nyu_paces_below_a_packet 1

#define nyu_own_parameters(P)                                                                                          \
	P(alpha_least, CC_GAIN(0.05), 1, 250, CC_UNIT_GAIN, "least alpha",                                             \
	  "0.05: section IV.C; above 0, or a flow would stop probing")                                                 \
	P(alpha_most, CC_GAIN(0.95), 1, 250, CC_UNIT_GAIN, "greatest alpha",                                           \
	  "0.95: section IV.C; 1 + alpha stays below cwnd_gain, and 1 - alpha above 0")                                \
	P(d_is_least, 0, 0, 1, CC_UNIT_BOOL, "on: D is the least RTT of CRUISE less min_rtt; off: the mean",           \
	  "off: the paper does not say; the mean follows the queue")                                                   \
	P(d_is_latest, 0, 0, 1, CC_UNIT_BOOL, "on: D is the latest RTT less min_rtt; off: that of CRUISE",             \
	  "off: one sample is noise; on: section IV.C as written, 'RTT - RTT_min'")
#define nyu_parameters(P) nyu_latency_parameters(P) nyu_own_parameters(P)
CC_VARIANT_PARAMS(nyu, nyu_latency)

struct nyu {
	union {
		struct bbr1 bbr1;
		struct bbr1_drain bbr1_drain;
		struct nyu_latency nyu_latency;
	};
	struct nyu_own_params own;
	u64 rtt_sum_us; /* over the samples in CRUISE of this cycle */
	u32 rtt_count;
	u32 rtt_least_us; /* of them, if there are any */
	u32 rtt_us;	  /* latest sample; 0: none */
	u32 reserved;
};

CC_INLINE void nyu_forget_rtts(struct nyu *s)
{
	s->rtt_sum_us = 0;
	s->rtt_count = 0;
}

CC_INLINE void nyu_sample_rtt(struct nyu *s, const struct cc_view *v)
{
	/* after PROBE_RTT or a policer's rate the next cycle is the first: drop older samples */
	if (!s->bbr1_drain.in_cycle)
		nyu_forget_rtts(s);
	if (v->rtt_us < 0)
		return;
	s->rtt_us = (u32)v->rtt_us;
	if (!s->bbr1_drain.in_cycle || s->bbr1.cycle_index != BBR1_CYCLE_CRUISE)
		return;
	s->rtt_sum_us += s->rtt_us;
	s->rtt_least_us = s->rtt_count ? cc_min_u32(s->rtt_least_us, s->rtt_us) : s->rtt_us;
	s->rtt_count++;
}

/* alpha = D / T, within its bounds. */
CC_INLINE u32 nyu_alpha_256(const struct nyu *s)
{
	u32 t_us = s->bbr1.min_rtt_us, rtt_us = s->rtt_us;
	u32 alpha;

	if (s->rtt_count && !s->own.d_is_latest)
		rtt_us = s->own.d_is_least ? s->rtt_least_us : cc_saturate_u32(cc_div(s->rtt_sum_us, s->rtt_count));
	alpha = cc_saturate_u32(cc_div((u64)cc_sub_floor_u32(rtt_us, t_us) << CC_GAIN_SHIFT, t_us));
	return cc_max_u32(cc_min_u32(alpha, s->own.alpha_most), s->own.alpha_least);
}

/* The gain cycle of the parent; each new cycle gets its gains from the RTTs of the one before. */
CC_STAGE void nyu_update_cycle(struct nyu *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr1 *b = &s->bbr1;
	u64 cycle_us = b->cycle_stamp_us;
	u32 alpha_256;

	nyu_sample_rtt(s, v);
	nyu_latency_update_cycle(&s->nyu_latency, v, d);
	if (b->cycle_stamp_us == cycle_us)
		return;
	alpha_256 = nyu_alpha_256(s);
	b->p.probe_up_gain = CC_GAIN_UNIT + alpha_256;
	b->p.probe_down_gain = CC_GAIN_UNIT - alpha_256;
	nyu_forget_rtts(s);
}

CC_STAGE void nyu_on_ack(struct nyu *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->bbr1, v);
	nyu_update_cycle(s, v, d);
	nyu_latency_update_mode(&s->nyu_latency, v, d);
	bbr1_set_controls(&s->bbr1, v, d);
}

CC_VARIANT(nyu, nyu_latency)

#endif
