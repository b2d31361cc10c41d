/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The states of BBRv3, and what leads from one to the next. bbr3.h has their diagram, and what each is for.
 *
 * From top to bottom: what must be in flight, which most conditions ask for; how each state begins; STARTUP and
 * DRAIN; the upper bound and the cycle of PROBE_BW; PROBE_RTT. Each of these is a stage of bbr3_on_ack, so that a
 * variant can put its own in the place of one.
 *
 * Every change of state goes through bbr3_become, which knows the legal ones.
 *
 * Sources: see bbr3.h.
 */
#ifndef CC_BBR3_STATES_H
#define CC_BBR3_STATES_H

#include "bbr.h"
#include "bbr3_bounds.h"
#include "contract/contract.h"
#include "contract/maths.h"

/* At tiny min_rtts hosts send up to 64 KiB more at once, since a queue of that is soon gone. [v3]: tso_rtt_shift */
#define BBR3_BURST_LAN_BYTES  65536u
#define BBR3_BURST_LEAST_PKTS 2u
/* Below this many bits the allowance is nothing. */
#define BBR3_BURST_HALVINGS 17u
/* Room for a burst in the sender's queue, one on the wire and one in the receiver's offload. */
#define BBR3_BURSTS_IN_FLIGHT 3u
/* ---- what must be in flight ---- */

CC_INLINE u32 bbr3_bdp_pkts(const struct bbr3 *s, u32 bw, u32 gain_256)
{
	return s->min_rtt_us == CC_NO_RTT ? s->init_cwnd_pkts : bbr_bdp_pkts(bw, s->min_rtt_us, gain_256);
}

CC_INLINE u32 bbr3_burst_pkts(const struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	u64 halvings = cc_div(s->min_rtt_us, s->p.burst_rtt_us);
	u32 more = s->p.burst_rtt_us && halvings < BBR3_BURST_HALVINGS ? BBR3_BURST_LAN_BYTES >> halvings : 0;

	return bbr_burst_pkts(v, d, more, BBR3_BURST_LEAST_PKTS);
}

/*
 * Never less than bursts need, nor than min_cwnd; two more to probe with, or a gain of 1.25 on a tiny BDP would be
 * nothing.
 */
CC_INLINE u32 bbr3_quantise_pkts(const struct bbr3 *s, u32 pkts, const struct cc_view *v, const struct cc_decision *d)
{
	pkts = cc_max_u32(cc_min_u32(pkts, CC_INFINITE), BBR3_BURSTS_IN_FLIGHT * bbr3_burst_pkts(s, v, d));
	pkts = cc_max_u32(pkts, s->p.min_cwnd_pkts);
	return s->state == BBR3_UP ? pkts + 2 : pkts;
}

/* What must be in flight for `gain` times the BDP at `bw`. */
CC_STAGE u32 bbr3_inflight_pkts(const struct bbr3 *s, u32 bw, u32 gain_256, const struct cc_view *v,
				const struct cc_decision *d)
{
	return bbr3_quantise_pkts(s, bbr3_bdp_pkts(s, bw, gain_256), v, d);
}

/* A BDP to fall back to. */
CC_STAGE u32 bbr3_fallback_pkts(const struct bbr3 *s, u32 bw, const struct cc_view *v, const struct cc_decision *d)
{
	return s->p.quantised_bdp ? bbr3_inflight_pkts(s, bw, CC_GAIN_UNIT, v, d) : bbr3_bdp_pkts(s, bw, CC_GAIN_UNIT);
}

/* What this flow wants in flight: a BDP, unless congestion has cut cwnd. */
CC_INLINE u32 bbr3_target_inflight_pkts(const struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	return cc_min_u32(bbr3_fallback_pkts(s, bbr3_bw(s), v, d), d->cwnd_pkts);
}

/* What will be in the network when the next packet may leave; a burst that is about to be sent counts while probing. */
CC_STAGE u32 bbr3_in_network_pkts(const struct bbr3 *s, u32 inflight, const struct cc_view *v,
				  const struct cc_decision *d)
{
	if (s->pacing_gain_256 > CC_GAIN_UNIT)
		inflight += bbr3_burst_pkts(s, v, d);
	return bbr_in_network_pkts(inflight, bbr3_bw(s), v);
}

/* ---- changes of state ---- */

CC_INLINE bool bbr3_in_probe_bw(const struct bbr3 *s) { return s->state >= BBR3_DOWN && s->state <= BBR3_UP; }

/* Risks loss on purpose. */
CC_INLINE bool bbr3_is_probing(const struct bbr3 *s)
{
	return s->state == BBR3_STARTUP || s->state == BBR3_REFILL || s->state == BBR3_UP;
}

/* DOWN and CRUISE: waits for the next probe. */
CC_INLINE bool bbr3_is_waiting(const struct bbr3 *s) { return s->state == BBR3_DOWN || s->state == BBR3_CRUISE; }

/* The arrows of the diagram above; and those of an undo that goes back to STARTUP. */
CC_INLINE bool bbr3_may_become(const struct bbr3 *s, u32 state)
{
	switch (state) {
	case BBR3_STARTUP:
		return s->state == BBR3_PROBE_RTT || (s->p.undo_to_state && s->state != BBR3_STARTUP);
	case BBR3_DRAIN:
		return s->state == BBR3_STARTUP;
	case BBR3_DOWN:
		return s->state == BBR3_DRAIN || s->state == BBR3_UP || s->state == BBR3_PROBE_RTT;
	case BBR3_CRUISE:
		return s->state == BBR3_DOWN;
	case BBR3_REFILL:
		return bbr3_is_waiting(s);
	case BBR3_UP:
		return s->state == BBR3_REFILL;
	default:
		return s->state < BBR3_PROBE_RTT;
	}
}

CC_INLINE void bbr3_become(struct bbr3 *s, u32 state)
{
	CC_CHECK(bbr3_may_become(s, state), "bbr3: this state may not follow the one before");
	CC_CHECK(state == BBR3_PROBE_RTT || (state == BBR3_STARTUP) == !s->full_pipe,
		 "bbr3: STARTUP is for a pipe that is not full, DRAIN and PROBE_BW for one that is");
	s->state = (u8)state;
	s->settled_cwnd_pkts = 0;
}

CC_INLINE void bbr3_start_round(struct bbr3 *s, const struct cc_view *v)
{
	s->round_end_delivered_pkts = v->delivered_pkts;
}

/* Measure growth from `bw` on. */
CC_INLINE void bbr3_reset_full_bw(struct bbr3 *s, u32 bw)
{
	s->full_bw = bw;
	s->full_bw_count = 0;
	s->full_bw_now = false;
}

/*
 * A cycle begins with giving back; and with the time of the next probe, at random so that flows do not probe
 * together.
 */
CC_STAGE void bbr3_start_down(struct bbr3 *s, const struct cc_view *v)
{
	bbr3_forget_signals(s);
	s->probe_up_every_pkts = BBR3_UNSET;
	s->rounds_since_probe = cc_random_below(&s->rng, s->p.probe_wait_random_rounds);
	s->probe_wait_us = s->p.probe_wait_us + cc_random_below(&s->rng, s->p.probe_wait_random_us);
	s->cycle_stamp_us = v->now_us;
	s->ack_phase = BBR3_ACKS_STOPPING;
	bbr3_start_round(s, v);
	bbr3_become(s, BBR3_DOWN);
}

CC_INLINE void bbr3_start_cruise(struct bbr3 *s)
{
	if (s->inflight_lo != BBR3_UNSET)
		s->inflight_lo = cc_min_u32(s->inflight_lo, s->inflight_hi);
	bbr3_become(s, BBR3_CRUISE);
}

/* inflight_hi will grow by 2^up_rounds packets in the first round of UP. */
CC_STAGE void bbr3_start_refill(struct bbr3 *s, const struct cc_view *v, u32 up_rounds)
{
	bbr3_forget_lower_bounds(s);
	s->probe_up_rounds = (u8)up_rounds;
	s->probe_up_acked_pkts = 0;
	s->stopped_risky_probe = false;
	s->ack_phase = BBR3_ACKS_REFILLING;
	bbr3_start_round(s, v);
	bbr3_become(s, BBR3_REFILL);
}

CC_INLINE void bbr3_start_up(struct bbr3 *s, const struct cc_view *v)
{
	s->probe_samples = true; /* what is acknowledged from now on was sent with a full pipe */
	s->ack_phase = BBR3_ACKS_STARTING;
	s->cycle_stamp_us = v->now_us;
	bbr3_start_round(s, v);
	bbr3_reset_full_bw(s, s->sample_bw);
	bbr3_become(s, BBR3_UP);
	bbr3_steepen_inflight_hi(s, v);
}

CC_INLINE void bbr3_save_cwnd(struct bbr3 *s, u32 cwnd_pkts)
{
	if (s->prev_ca_state < CC_CA_RECOVERY && s->state != BBR3_PROBE_RTT)
		s->prior_cwnd_pkts = cwnd_pkts;
	else /* cwnd is low already: remember the best */
		s->prior_cwnd_pkts = cc_max_u32(s->prior_cwnd_pkts, cwnd_pkts);
}

CC_INLINE void bbr3_start_probe_rtt(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	bbr3_become(s, BBR3_PROBE_RTT);
	bbr3_save_cwnd(s, d->cwnd_pkts);
	s->probe_rtt_done_us = 0;
	s->ack_phase = BBR3_ACKS_STOPPING;
	bbr3_start_round(s, v);
}

/* Afterwards less than a BDP is in flight: no need to give back first. */
CC_STAGE void bbr3_check_probe_rtt_done(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	if (!s->probe_rtt_done_us || v->now_us <= s->probe_rtt_done_us)
		return;
	s->probe_rtt_min_stamp_us = v->now_us; /* what was seen is the minimum for the next 5 s */
	d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, s->prior_cwnd_pkts);
	bbr3_forget_lower_bounds(s);
	if (!s->full_pipe) {
		bbr3_become(s, BBR3_STARTUP);
		return;
	}
	bbr3_start_down(s, v);
	bbr3_start_cruise(s);
}

/* STARTUP has found the end by overdoing it. */
CC_STAGE void bbr3_end_startup(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	s->full_pipe = true;
	s->inflight_hi = cc_max_u32(bbr3_fallback_pkts(s, bbr3_max_bw(s), v, d), s->inflight_latest_pkts);
	s->undo_state = BBR3_STARTUP;
}

/* ---- STARTUP and DRAIN ---- */

/*
 * Loss ends STARTUP when a round of recovery is over, so that all that one round lost is known: if it was too much,
 * and not in one lump, which a burst of other traffic can cause. [Draft] "Exiting Startup Based on Packet Loss"
 */
CC_STAGE void bbr3_check_startup_loss(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3_flight f;

	if (s->full_pipe)
		return;
	if (v->losses_pkts && !s->p.full_loss_ranges)
		s->loss_events = (u8)cc_min_u32(s->loss_events + 1u, BBR3_LOSS_EVENTS_MOST);
	if (!s->loss_round_start)
		return;
	bbr3_flight_of_ack(&f, v);
	if (s->p.full_loss_events && v->ca_state == CC_CA_RECOVERY && s->loss_events >= s->p.full_loss_events &&
	    bbr3_is_too_much(s, &f))
		bbr3_end_startup(s, v, d);
	s->loss_events = 0;
}

/*
 * Has bw stopped growing although the sender offered more? In STARTUP and UP. [Draft] "Exiting Startup Based on
 * Bandwidth Plateau"
 */
CC_STAGE void bbr3_check_full_bw(struct bbr3 *s, const struct cc_view *v)
{
	if (s->full_bw_now || v->is_app_limited || (s->p.full_bw_per_round && !s->round_start))
		return;
	if (s->sample_bw >= ((u64)s->full_bw * s->p.full_bw_gain) >> CC_GAIN_SHIFT) {
		bbr3_reset_full_bw(s, s->sample_bw);
		return;
	}
	if (!s->round_start)
		return;
	s->full_bw_count++;
	s->full_bw_now = s->full_bw_count >= s->p.full_bw_rounds;
	if (s->full_bw_now)
		s->full_pipe = true;
}

CC_STAGE void bbr3_check_drain(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 bdp;

	if (s->state != BBR3_DRAIN && (s->state != BBR3_STARTUP || !s->full_pipe))
		return;
	bdp = bbr3_inflight_pkts(s, bbr3_max_bw(s), CC_GAIN_UNIT, v, d);
	if (s->state == BBR3_STARTUP) {
		bbr3_become(s, BBR3_DRAIN);
		s->drain_round = s->round_count;
		d->ssthresh_pkts = bdp; /* for onlookers only */
		bbr3_forget_signals(s);
	}
	if (bbr3_in_network_pkts(s, v->inflight_pkts, v, d) <= bdp ||
	    (s->p.drain_max_rounds && s->round_count - s->drain_round > s->p.drain_max_rounds))
		bbr3_start_down(s, v);
}

/* ---- the upper bound, PROBE_BW ---- */

/* Too much in flight: once per probe, lower inflight_hi; and stop probing. */
CC_STAGE void bbr3_overdone(struct bbr3 *s, u32 inflight_pkts, const struct cc_view *v, const struct cc_decision *d)
{
	bbr3_lower_inflight_hi(s, inflight_pkts, bbr3_target_inflight_pkts(s, v, d), v->is_app_limited);
	if (s->state == BBR3_UP) {
		bbr3_start_down(s, v);
		s->undo_state = BBR3_UP;
	}
}

/*
 * Samples of a probe come in a round later than they were sent, until a round after it. When the last is in, max_bw
 * may forget the cycle before; and if the probe stopped short of a risk that is none as we know now, it is time for a
 * bold one. True: it is.
 */
CC_INLINE bool bbr3_update_ack_phase(struct bbr3 *s, const struct cc_view *v)
{
	if (!s->round_start)
		return false;
	if (s->ack_phase == BBR3_ACKS_STARTING)
		s->ack_phase = BBR3_ACKS_FEEDBACK;
	if (s->ack_phase != BBR3_ACKS_STOPPING)
		return false;
	s->probe_samples = false;
	s->ack_phase = BBR3_ACKS_INIT;
	if (bbr3_in_probe_bw(s) && !v->is_app_limited)
		bbr3_advance_max_bw(s);
	if (!bbr3_is_waiting(s) || !s->stopped_risky_probe || s->prev_probe_too_high)
		return false;
	bbr3_start_refill(s, v, 0);
	return true;
}

/* inflight_hi by what was acknowledged. True: the state has changed. */
CC_STAGE bool bbr3_update_upper_bound(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3_flight f;

	if (bbr3_update_ack_phase(s, v))
		return true;
	bbr3_flight_of_ack(&f, v);
	if (bbr3_is_too_much(s, &f)) {
		if (s->probe_samples && s->p.loss_on_acks)
			bbr3_overdone(s, f.inflight_pkts, v, d);
	} else if (s->inflight_hi != BBR3_UNSET) {
		s->inflight_hi = cc_max_u32(s->inflight_hi, f.inflight_pkts); /* it was safe, whatever the state */
		if (s->state == BBR3_UP)
			bbr3_raise_inflight_hi(s, v);
	}
	return false;
}

/* The greatest n with 2^n packets within the part of inflight_hi that the first round of a probe shall add. */
CC_INLINE u32 bbr3_reprobe_rounds(const struct bbr3 *s)
{
	u32 pkts = bbr3_part(s->inflight_hi, s->p.ecn_reprobe_gain);
	u32 n = 0;

	/* by halves and without branches: verifiers before 6.8 would go on from each end of each turn */
	for (u32 bit = 5; bit-- > 0;) {
		u32 rest = pkts >> (n + (1u << bit));
		u32 negative = 0u - rest;

		CC_OPAQUE(negative);
		n += ((rest | negative) >> 31) << bit; /* 1 << bit, unless rest is 0 */
	}
	return cc_min_u32(n, BBR3_PROBE_UP_ROUNDS_MOST);
}

/*
 * Is it time for the next probe? 2 to 3 s let a Reno flow of 25 Mbit/s and 30 ms come back from a loss; so do as many
 * rounds as packets in its BDP, 62. And at once when marks cease that came without loss: others may have gone.
 * [Draft] "Time Scale for Bandwidth Probing"
 */
CC_STAGE bool bbr3_check_probe_time(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (s->p.ecn_reprobe_gain && s->ecn_eligible && s->ecn_in_cycle && !s->loss_in_cycle &&
	    v->ca_state == CC_CA_OPEN) {
		bbr3_start_refill(s, v, bbr3_reprobe_rounds(s));
		return true;
	}
	if (v->now_us > s->cycle_stamp_us + s->probe_wait_us ||
	    s->rounds_since_probe >= cc_min_u32(s->p.probe_wait_rounds, bbr3_target_inflight_pkts(s, v, d))) {
		bbr3_start_refill(s, v, 0);
		return true;
	}
	return false;
}

/* PROBE_BW but for the end of UP. */
CC_STAGE void bbr3_update_phase(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	u32 inflight;

	if (s->state == BBR3_REFILL && s->round_start)
		bbr3_start_up(s, v);
	if (!bbr3_is_waiting(s) || bbr3_check_probe_time(s, v, d) || s->state == BBR3_CRUISE)
		return;
	inflight = bbr3_in_network_pkts(s, v->prior_inflight_pkts, v, d);
	if (inflight <= bbr3_inflight_with_headroom(s) &&
	    inflight <= bbr3_inflight_pkts(s, bbr3_max_bw(s), CC_GAIN_UNIT, v, d))
		bbr3_start_cruise(s);
}

/* A probe that follows on one that was too much stops at what that left of inflight_hi. */
CC_INLINE bool bbr3_is_risky(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (!s->prev_probe_too_high || bbr3_in_network_pkts(s, v->prior_inflight_pkts, v, d) < s->inflight_hi)
		return false;
	s->stopped_risky_probe = true;
	return true;
}

/* UP is over when it is risky to go on; or when bw has stopped growing, and not because inflight_hi held it back. */
CC_STAGE bool bbr3_has_probed(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (bbr3_is_risky(s, v, d))
		return true;
	if (!bbr3_is_bound_by_inflight_hi(s, v))
		return s->full_bw_now;
	bbr3_reset_full_bw(s, s->sample_bw);
	return false;
}

/* UP ends without having been too much. */
CC_INLINE void bbr3_end_probe(struct bbr3 *s, const struct cc_view *v)
{
	s->prev_probe_too_high = false;
	bbr3_start_down(s, v);
}

CC_STAGE void bbr3_update_cycle(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (!s->full_pipe || bbr3_update_upper_bound(s, v, d))
		return;
	if (s->state != BBR3_UP)
		bbr3_update_phase(s, v, d);
	else if (bbr3_has_probed(s, v, d))
		bbr3_end_probe(s, v);
}

/* ---- min_rtt, PROBE_RTT ---- */

CC_INLINE u32 bbr3_probe_rtt_cwnd_pkts(const struct bbr3 *s)
{
	return cc_max_u32(bbr3_bdp_pkts(s, bbr3_bw(s), s->p.probe_rtt_cwnd_gain), s->p.min_cwnd_pkts);
}

/* PROBE_RTT: hold inflight at half a BDP, so that every queue this flow built is gone, and look at the RTT. */
CC_STAGE void bbr3_run_probe_rtt(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr_mark_app_limited(v, d);
	if (!s->probe_rtt_done_us) {
		if (v->inflight_pkts <= bbr3_probe_rtt_cwnd_pkts(s)) {
			s->probe_rtt_done_us = v->now_us + s->p.probe_rtt_us;
			s->probe_rtt_round_done = false;
			bbr3_start_round(s, v);
		}
		return;
	}
	if (s->round_start)
		s->probe_rtt_round_done = true;
	if (s->probe_rtt_round_done)
		bbr3_check_probe_rtt_done(s, v, d);
}

/*
 * The minimum of 5 s says when to go to PROBE_RTT, that of 10 s is what the model uses: so that half a BDP is a known
 * quantity in PROBE_RTT. An ACK that was held back is no measure.
 */
CC_STAGE void bbr3_update_min_rtt(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 before = s->min_rtt_us;
	bool expired = v->now_us > s->probe_rtt_min_stamp_us + s->p.probe_rtt_interval_us;

	if (v->rtt_us >= 0 && ((u32)v->rtt_us < s->probe_rtt_min_us || (expired && !v->is_ack_delayed))) {
		s->probe_rtt_min_us = (u32)v->rtt_us;
		s->probe_rtt_min_stamp_us = v->now_us;
	}
	if (s->probe_rtt_min_us <= s->min_rtt_us || v->now_us > s->min_rtt_stamp_us + s->p.min_rtt_window_us) {
		s->min_rtt_us = s->probe_rtt_min_us;
		s->min_rtt_stamp_us = s->probe_rtt_min_stamp_us;
	}
	if (s->min_rtt_us != before)
		s->settled_cwnd_pkts = 0;
	if (s->p.probe_rtt_us && expired && !s->idle_restart && s->state != BBR3_PROBE_RTT)
		bbr3_start_probe_rtt(s, v, d);
	if (s->state == BBR3_PROBE_RTT)
		bbr3_run_probe_rtt(s, v, d);
	if (v->sample_delivered_pkts > 0)
		s->idle_restart = false;
}

#endif
