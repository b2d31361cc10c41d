/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv1 with Google's drain-to-target patch of 2018: give back until the queue is gone, not for one min_rtt.
 *
 * The problem. BBRv1 leaves its 0.75 phase after one min_rtt, whether or not what it added to the queue is gone. What
 * is left adds up over cycles, until cwnd stops it: the standing queue of several flows.
 *
 * The idea. The gain cycle has three phases instead of eight, and ends by its own clock:
 *
 *	      +----> UP      1.25   for one min_rtt at least, until 1.25 BDP is in flight (or loss, or nothing to send)
 *	      |       |
 *	      |       v
 *	      |     DOWN     0.75   until no more than one BDP is in flight, however long that takes
 *	      |       |
 *	      |       v
 *	      +---- CRUISE   1      PROBE_BW begins here
 *	  from any phase, when the cycle has lasted for 2 to 8 min_rtt, drawn anew for each cycle
 *
 * So a flow that never gets down to one BDP probes again without having cruised, and flows do not keep step.
 *
 * Sources: Cardwell, "RFC: Linux TCP BBR patches for higher wifi throughput and lower queuing delays", bbr-dev 2018; the
 * rules as they live on in the gain cycle that google/bbr's tcp_bbr2.c keeps for drain_to_target.
 * Departures: the host does not tell when the receiver's window is what limits the sender, so that does not end UP; while
 * a policer's rate is in use (bbr1.h) there are no phases, and the cycle begins afresh after that.
 */
#ifndef CC_BBR1_DRAIN_H
#define CC_BBR1_DRAIN_H

#include "bbr1.h"

#define bbr1_drain_own_parameters(P)                                                                                   \
	P(cycle_least, 2, 1, 8, CC_UNIT_COUNT, "a gain cycle lasts for this many to 8 min_rtt; 8: always for 8")
#define bbr1_drain_parameters(P) bbr1_parameters(P) bbr1_drain_own_parameters(P)

struct bbr1_drain_params {
	struct bbr1_params bbr1;
	bbr1_drain_own_parameters(CC_PARAM_FIELD)
};

/* The longest gain cycle, min_rtts. As long as BBRv1's. */
#define BBR1_DRAIN_CYCLE_MOST 8u

struct bbr1_drain {
	struct bbr1 bbr1;
	u8 cycle_least;
	u8 cycle_len; /* of this cycle, min_rtts */
	u8 in_cycle;  /* PROBE_BW, and with phases */
	u8 reserved[5];
};

/* All changes of phase: UP, DOWN, CRUISE, in this order; but the cycle may begin anew at any time. */
CC_INLINE void bbr1_drain_enter_phase(struct bbr1_drain *s, u8 phase)
{
	u8 before = s->bbr1.cycle_index;

	CC_CHECK(phase == BBR1_CYCLE_UP || !s->in_cycle || phase == before + 1,
		 "bbr1_drain: DOWN follows UP, and CRUISE follows DOWN or begins");
	s->bbr1.cycle_index = phase;
}

CC_INLINE void bbr1_drain_begin_cycle(struct bbr1_drain *s, const struct cc_view *v, u8 phase)
{
	u32 lengths = cc_sub_floor_u32(BBR1_DRAIN_CYCLE_MOST + 1, s->cycle_least);

	s->cycle_len = (u8)(BBR1_DRAIN_CYCLE_MOST - cc_random_below(&s->bbr1.rng, lengths));
	s->bbr1.cycle_stamp_us = v->delivered_us;
	bbr1_drain_enter_phase(s, phase);
}

/* UP is over as in BBRv1, or when the application offers no more to probe with. */
CC_INLINE bool bbr1_drain_probed(const struct bbr1 *b, const struct cc_view *v, const struct cc_decision *d)
{
	bool limited = v->is_app_limited || v->app_limited;

	return (limited && bbr1_phase_us(b, v) > b->min_rtt_us) || bbr1_phase_over(b, v, d);
}

/* The phases; cycle_stamp_us is the start of the cycle, which is that of UP. */
CC_STAGE void bbr1_drain_update_cycle(struct bbr1_drain *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr1 *b = &s->bbr1;

	if (!s->in_cycle)
		return;
	if (bbr1_phase_us(b, v) > (u64)s->cycle_len * b->min_rtt_us)
		bbr1_drain_begin_cycle(s, v, BBR1_CYCLE_UP);
	else if (b->cycle_index == BBR1_CYCLE_UP && bbr1_drain_probed(b, v, d))
		bbr1_drain_enter_phase(s, BBR1_CYCLE_DOWN);
	else if (b->cycle_index == BBR1_CYCLE_DOWN && bbr1_is_drained(b, v, d))
		bbr1_drain_enter_phase(s, BBR1_CYCLE_CRUISE);
}

/* BBRv1 begins PROBE_BW in one of seven phases; here it begins in CRUISE. Then the gains. */
CC_STAGE void bbr1_drain_enter_cycle(struct bbr1_drain *s, const struct cc_view *v)
{
	u8 in_cycle = s->bbr1.mode == BBR1_PROBE_BW && !s->bbr1.policer.in_use;

	if (in_cycle != s->in_cycle) {
		s->in_cycle = false; /* there is no phase before */
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

CC_STAGE void bbr1_drain_on_event(struct bbr1_drain *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_on_event(&s->bbr1, event, v, d);
}

CC_STAGE void bbr1_drain_init(struct bbr1_drain *s, const struct bbr1_drain_params *p, const struct cc_view *v,
			      struct cc_decision *d)
{
	s->cycle_least = (u8)p->cycle_least;
	bbr1_init(&s->bbr1, &p->bbr1, v, d);
}

CC_INLINE void bbr1_drain_observe(const struct bbr1_drain *s, struct cc_observation *o) { bbr1_observe(&s->bbr1, o); }

#endif
