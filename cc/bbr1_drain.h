/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv1 with Google's drain-to-target patch of 2018: after a probe, drain until the queue is gone, not for one min_rtt.
 *
 * The problem. BBRv1 leaves its 0.75 phase after one min_rtt, even if the queue of the probe is not gone. What is
 * left adds up from cycle to cycle until cwnd stops it: this is the standing queue of several flows.
 *
 * The idea. The gain cycle has three phases instead of eight, and a length of its own:
 *
 *	      +----> UP      1.25   at least one min_rtt, until 1.25 BDP is in flight (or loss, or no data)
 *	      |       |
 *	      |       v
 *	      |     DOWN     0.75   until at most one BDP is in flight, however long that takes
 *	      |       |
 *	      |       v
 *	      +---- CRUISE   1      PROBE_BW starts here
 *	  from any phase, when the cycle has lasted for 2 to 8 min_rtt; the length is drawn for each cycle
 *
 * So a flow that does not get down to one BDP probes again without cruising, and flows do not stay in step.
 *
 * The same in prose is another algorithm. Zhang et al. 2018, section IV.A, describe the patch as BBRv1's pattern of
 * eight phases, of which only the second is longer, "until the packets in flight are lower than the BDP". Then
 * nothing else ends DOWN, and six min_rtt of gain 1 follow. This is the preset bbr1_drain8 (eight_phases=on), on
 * which nyu_latency8 and nyu8 are built. Apart from when the application has no data, its phases are those of
 * bbq_firstcut.h, which tells why such a flow may drain for ever. With drain_in_full=on the cycle is the patch's, but
 * nothing else ends DOWN. Which reading of the paper is judged, and why: reproduction/improved-bbr-zhang2018.
 *
 * Sources: Cardwell, "RFC: Linux TCP BBR patches for higher wifi throughput and lower queuing delays", bbr-dev
 * 2018; the gain cycle that google/bbr's tcp_bbr2.c keeps for drain_to_target. Departures: the contract does not
 * say that the receive window limits the sender, so that does not end UP. While the rate of a policer is in use
 * (bbr1.h) there are no phases, and a new cycle starts afterwards.
 */
#ifndef CC_BBR1_DRAIN_H
#define CC_BBR1_DRAIN_H

#include "bbr1.h"

/* As bbr1. */
#define bbr1_drain_paces_below_a_packet 1

/* The longest gain cycle in min_rtts: the length of BBRv1's cycle. */
#define BBR1_DRAIN_CYCLE_MOST 8u

/* min_rtts of gain 1 after DOWN, if the cycle has eight phases. */
#define BBR1_DRAIN_CRUISE (BBR1_CYCLE_LEN - BBR1_CYCLE_CRUISE)

#define bbr1_drain_own_parameters(P)                                                                                   \
	P(cycle_least, 2, 1, BBR1_DRAIN_CYCLE_MOST, CC_UNIT_COUNT,                                                     \
	  "a gain cycle lasts for this many to 8 min_rtt; 8: always for 8",                                            \
	  "2 to 8: the patch draws the length so that flows do not probe in step; 8 is BBRv1's length")                \
	P(drain_in_full, 0, 0, 1, CC_UNIT_BOOL, "on: a cycle ends in CRUISE only; off: in any phase",                  \
	  "off: the patch; on: one of two readings of Zhang et al., section IV.A")                                     \
	P(eight_phases, 0, 0, 1, CC_UNIT_BOOL,                                                                         \
	  "on: as drain_in_full, and CRUISE lasts for 6 min_rtt after DOWN; PROBE_BW starts with 0 to 6 of them",      \
	  "off: the patch; on: Zhang et al., sections II.B and IV.A, as written; 6 and the start are BBRv1's")
#define bbr1_drain_parameters(P) bbr1_parameters(P) bbr1_drain_own_parameters(P)
CC_VARIANT_PARAMS(bbr1_drain, bbr1)

struct bbr1_drain {
	struct bbr1 bbr1;
	struct bbr1_drain_own_params own;
	u8 cycle_len; /* min_rtts from clock_us to the end of the cycle */
	u8 in_cycle;  /* in PROBE_BW, and no policer's rate is in use */
	u8 reserved[2];
	u64 clock_us; /* start of the cycle; with eight phases, once DOWN is over, of CRUISE */
};

/* All changes of phase: UP, DOWN, CRUISE, in this order; a new cycle may start at any time. */
CC_INLINE void bbr1_drain_enter_phase(struct bbr1_drain *s, u8 phase)
{
	u8 before = s->bbr1.cycle_index;

	CC_CHECK(phase == BBR1_CYCLE_UP || !s->in_cycle || phase == before + 1,
		 "bbr1_drain: DOWN follows UP, and CRUISE follows DOWN or begins");
	s->bbr1.cycle_index = phase;
}

CC_INLINE void bbr1_drain_begin_cycle(struct bbr1_drain *s, const struct cc_view *v, u8 phase)
{
	u32 lengths = cc_sub_floor_u32(BBR1_DRAIN_CYCLE_MOST + 1, s->own.cycle_least);

	if (s->own.eight_phases) /* of a cycle that starts with CRUISE; else what follows DOWN overwrites it */
		s->cycle_len = (u8)cc_random_below(&s->bbr1.rng, BBR1_DRAIN_CRUISE + 1);
	else
		s->cycle_len = (u8)(BBR1_DRAIN_CYCLE_MOST - cc_random_below(&s->bbr1.rng, lengths));
	s->bbr1.cycle_stamp_us = v->delivered_us;
	s->clock_us = v->delivered_us;
	bbr1_drain_enter_phase(s, phase);
}

/* DOWN is over. With eight phases the cycle has a fixed time left from here on. */
CC_INLINE void bbr1_drain_begin_cruise(struct bbr1_drain *s, const struct cc_view *v)
{
	bbr1_drain_enter_phase(s, BBR1_CYCLE_CRUISE);
	if (!s->own.eight_phases)
		return;
	s->cycle_len = BBR1_DRAIN_CRUISE;
	s->clock_us = v->delivered_us;
}

CC_INLINE bool bbr1_drain_cycle_over(const struct bbr1_drain *s, const struct cc_view *v)
{
	u64 elapsed_us = v->delivered_us > s->clock_us ? v->delivered_us - s->clock_us : 0;

	if ((s->own.drain_in_full || s->own.eight_phases) && s->bbr1.cycle_index != BBR1_CYCLE_CRUISE)
		return false;
	return elapsed_us > (u64)s->cycle_len * s->bbr1.min_rtt_us;
}

/* UP ends as in BBRv1, or when the application has no more data to probe with. */
CC_INLINE bool bbr1_drain_probed(const struct bbr1 *b, const struct cc_view *v, const struct cc_decision *d)
{
	bool limited = v->is_app_limited || v->app_limited;

	return (limited && bbr1_phase_us(b, v) > b->min_rtt_us) || bbr1_phase_over(b, v, d);
}

/* The phases. cycle_stamp_us is the start of the cycle, which is the start of UP. */
CC_STAGE void bbr1_drain_update_cycle(struct bbr1_drain *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr1 *b = &s->bbr1;

	if (!s->in_cycle)
		return;
	if (bbr1_drain_cycle_over(s, v))
		bbr1_drain_begin_cycle(s, v, BBR1_CYCLE_UP);
	else if (b->cycle_index == BBR1_CYCLE_UP && bbr1_drain_probed(b, v, d))
		bbr1_drain_enter_phase(s, BBR1_CYCLE_DOWN);
	else if (b->cycle_index == BBR1_CYCLE_DOWN && bbr1_is_drained(b, v, d))
		bbr1_drain_begin_cruise(s, v);
}

/* BBRv1 starts PROBE_BW in one of seven phases; this variant starts it in CRUISE. Then the gains. */
CC_STAGE void bbr1_drain_enter_cycle(struct bbr1_drain *s, const struct cc_view *v)
{
	u8 in_cycle = s->bbr1.mode == BBR1_PROBE_BW && !s->bbr1.policer.in_use;

	if (in_cycle != s->in_cycle) {
		s->in_cycle = false; /* no phase precedes the first one */
		bbr1_drain_begin_cycle(s, v, BBR1_CYCLE_CRUISE);
		s->in_cycle = in_cycle;
	}
	bbr1_update_gains(&s->bbr1);
}

CC_STAGE void bbr1_drain_on_ack(struct bbr1_drain *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->bbr1, v);
	bbr1_drain_update_cycle(s, v, d);
	bbr1_change_mode(&s->bbr1, v, d);
	bbr1_drain_enter_cycle(s, v);
	bbr1_set_controls(&s->bbr1, v, d);
}

CC_VARIANT(bbr1_drain, bbr1)

#endif
