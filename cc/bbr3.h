/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv3: BBR that also reacts to loss and ECN, as in Google's Linux kernel.
 *
 * The idea. BBRv1 (bbr1.h) sends by a model of the path, bandwidth and RTT, and ignores loss: in a small buffer it
 * loses many packets, and so do the flows beside it. BBRv3 keeps the model and adds bounds on what may be in
 * flight, which it learns from loss and ECN:
 *
 *	pacing_rate = pacing_gain * bw * 0.99			bw = min(max_bw, bw_lo)
 *	cwnd        = min(cwnd_gain * bw * min_rtt + ..., inflight_hi, inflight_lo)
 *
 * inflight_hi is measured while probing for bandwidth, which risks loss on purpose and is therefore rare. bw_lo and
 * inflight_lo apply until the next probe (lib/bbr3_model.h). A flow that never loses more than 2 % of a flight has
 * no bounds.
 *
 *	   +----- STARTUP  pacing 2.77, cwnd 2: until bw has not grown by 25 % for 3 rounds, or a round of recovery
 *	   |         |                          lost too much in 6 ACKs (which also sets inflight_hi)
 *	   |         v
 *	   |       DRAIN    0.34, 2: until at most a BDP is in flight
 *	   |         |
 *	   |         v                                       PROBE_BW:
 *	   |   +-> DOWN     0.91, 2: until at most a BDP, and at most 0.85 inflight_hi, is in flight
 *	   |   |     |
 *	   |   |     v
 *	   |   |  CRUISE    1, 2: until 2 to 3 s after DOWN began, or as many rounds as Reno takes to
 *	   |   |     |            recover from a loss: one per packet of the BDP, 62 or 63 at most
 *	   |   |     v
 *	   |   |  REFILL    1, 2: for a round without bw_lo and inflight_lo, so that UP starts with a full pipe
 *	   |   |     |
 *	   |   |     v
 *	   |   +--- UP      1.25, 2.25: until bw has not grown for 3 rounds, or too much of a flight was lost.
 *	   |   |                inflight_hi grows meanwhile, by 1, 2, 4, ... packets per round
 *	   |   |  no lower RTT for 5 s, from any state
 *	   +-PROBE_RTT      1, half a BDP: for 200 ms and a round; then CRUISE, or STARTUP if the pipe was never full
 *
 * If the last probe was too much, the next one ends as soon as inflight_hi packets are in flight (a risky probe).
 * If that proves safe, another probe follows at once. DOWN may also lead to REFILL directly, when it is time for
 * the next probe.
 *
 * Each ACK: round, ECN, sample -> max_bw and lower bounds -> ACK aggregation -> too much loss in STARTUP? -> has bw
 * stopped growing? -> DRAIN -> upper bound, PROBE_BW -> min_rtt, PROBE_RTT -> gains, pacing, cwnd. Packets that the
 * host marks lost come before that: one event per packet in the simulator, one for all since the last report in eBPF.
 *
 * Sources: google/bbr, branch v3, net/ipv4/tcp_bbr.c [v3], whose behaviour is the default; draft-ietf-ccwg-bbr-06
 * [Draft], whose differences are parameters (lib/bbr3_model.h) and together the preset bbr3_draft.
 *
 * Departures of bbr3 from [v3]: times are microseconds of the ACK clock instead of jiffies; the flow has its own
 * random generator; marks are counted from init on; a cwnd that the host has changed ends the fast path; packets in
 * flight (20 bits in [v3]) and extra_acked (16 bits) have 32 bits, which matters above a million packets in flight.
 * When a host does not report what was in flight with a packet, what has left the network since it was sent stands
 * for it. In eBPF CC_EVENT_PROBE_REPAIRED follows CC_EVENT_REDUCE (in [v3] it comes first), so the bounds saved for an
 * undo are those before the repair; no undo follows a repair. Left out: fast_ack_mode, which concerns the receiver,
 * and PLB, which needs the routing layer.
 *
 * Choices of bbr3_draft where [Draft] contradicts itself: gains follow from the state on each ACK; STARTUP that
 * ends by loss does not set full_bw_now; an application-limited flight does not lower inflight_hi; in PROBE_RTT
 * half a BDP; bounds are in packets; undo restores what was saved at the first loss, not again when recovery starts
 * or more is lost, since bounds have fallen by then.
 *
 * Departures of bbr3_draft from [Draft], and what they cost:
 * - Updates within one ACK have the order of [v3], and a delayed ACK does not raise min_rtt.
 * - STARTUP grows up to twice the initial cwnd whatever the target, not until an initial cwnd was delivered.
 * - Gains have 8 bits: loss_thresh is 1.95 % instead of 2 %, so the 20th loss in 1000 packets is too much, not the
 *   21st; beta is 0.699, headroom 0.148, DOWN 0.898.
 * - extra_acked has two bins of 7 rounds instead of one filter of 10, so the maximum is 7 to 14 rounds old.
 * - max_bw keeps its value through a cycle without a valid sample. In [Draft] the cycle still counts, so that the next
 *   sample replaces all older ones. Such a cycle needs a round of ACKs without any rate sample.
 * - [Draft] takes any loss for too much without SACK. The contract does not say whether there is SACK; all hosts here
 *   use it.
 *
 * The Startup variants of Mahmud et al. are presets: bbr3e1 (pacing gain 2.887), bbr3e2 (no exit by loss or ECN),
 * bbr3e3 (both). Their paper also names a "maximum startup duration" as an exit; neither [v3] nor [Draft] has one,
 * and so these presets have none.
 */
#ifndef CC_BBR3_H
#define CC_BBR3_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "lib/bbr.h"
#include "lib/bbr3_model.h"

/* As bbr1: after timeouts bandwidth samples are below a packet per RTT. */
#define bbr3_paces_below_a_packet 1

/* [v3] keeps the initial cwnd in 7 bits. */
#define BBR3_INIT_CWND_MOST_PKTS 127u

/* ---- changes of state ---- */

CC_INLINE bool bbr3_in_probe_bw(const struct bbr3 *s) { return s->state >= BBR3_DOWN && s->state <= BBR3_UP; }

/* The flow risks loss on purpose. */
CC_INLINE bool bbr3_is_probing(const struct bbr3 *s)
{
	return s->state == BBR3_STARTUP || s->state == BBR3_REFILL || s->state == BBR3_UP;
}

/* DOWN and CRUISE: the flow waits for the next probe. */
CC_INLINE bool bbr3_is_waiting(const struct bbr3 *s) { return s->state == BBR3_DOWN || s->state == BBR3_CRUISE; }

/* The arrows of the diagram above, and those of an undo that returns to STARTUP. */
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

/* All changes of state. */
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

/* Measures growth from `bw` on. */
CC_INLINE void bbr3_reset_full_bw(struct bbr3 *s, u32 bw)
{
	s->full_bw = bw;
	s->full_bw_count = 0;
	s->full_bw_now = false;
}

/*
 * A cycle starts with draining. It also draws the time of the next probe, at random, so that flows do not probe
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
	if (s->inflight_lo != BBR3_UNSET && s->p.cruise_clips)
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
	else /* cwnd is already reduced: keep the greatest */
		s->prior_cwnd_pkts = cc_max_u32(s->prior_cwnd_pkts, cwnd_pkts);
}

/*
 * The last samples of a probe that this interrupts are application-limited, and then no cycle ends. If that has
 * happened since the last PROBE_RTT, it happens again: with probe_rtt_ends_cycle the cycle ends here.
 */
CC_INLINE void bbr3_start_probe_rtt(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (s->p.probe_rtt_ends_cycle && bbr3_in_probe_bw(s) && !s->cycle_ended && !v->is_app_limited)
		bbr3_advance_max_bw(s);
	s->cycle_ended = false;
	bbr3_become(s, BBR3_PROBE_RTT);
	bbr3_save_cwnd(s, d->cwnd_pkts);
	s->probe_rtt_done_us = 0;
	s->ack_phase = BBR3_ACKS_STOPPING;
	bbr3_start_round(s, v);
}

/* Afterwards less than a BDP is in flight, so PROBE_BW continues with CRUISE. */
CC_STAGE void bbr3_check_probe_rtt_done(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	if (!s->probe_rtt_done_us || v->now_us <= s->probe_rtt_done_us)
		return;
	s->probe_rtt_min_stamp_us = v->now_us; /* what was measured is the minimum for the next 5 s */
	d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, s->prior_cwnd_pkts);
	bbr3_forget_lower_bounds(s);
	if (!s->full_pipe) {
		bbr3_become(s, BBR3_STARTUP);
		return;
	}
	bbr3_start_down(s, v);
	bbr3_start_cruise(s);
}

/*
 * STARTUP ends by loss or marks, which also shows how much is too much. An undo may return to STARTUP, which
 * then counts anew. [v3] bbr_handle_queue_too_high_in_startup
 */
CC_STAGE void bbr3_end_startup(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	s->full_pipe = true;
	s->inflight_hi = cc_max_u32(bbr3_fallback_pkts(s, bbr3_max_bw(s), v, d), s->inflight_latest_pkts);
	s->undo_state = BBR3_STARTUP;
	s->loss_events = 0;
	s->ecn_rounds = 0;
}

/* ---- STARTUP and DRAIN ---- */

/*
 * Loss ends STARTUP at the end of a round of recovery, when all losses of the round are known: if the loss was too
 * much and not in one burst, which other traffic can cause. [Draft] "Exiting Startup Based on Packet Loss"
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
 * Whether bw has stopped growing although the sender offered more; in STARTUP and UP. [Draft] "Exiting Startup Based on
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
	bdp = bbr3_inflight_pkts(s, s->p.drain_by_bw ? bbr3_bw(s) : bbr3_max_bw(s), CC_GAIN_UNIT, v, d);
	if (s->state == BBR3_STARTUP) {
		bbr3_become(s, BBR3_DRAIN);
		s->drain_round = s->round_count;
		d->ssthresh_pkts = bdp; /* for observers only */
		bbr3_forget_signals(s);
	}
	if (bbr3_in_network_pkts(s, v->inflight_pkts, v, d) <= bdp ||
	    (s->p.drain_max_rounds && s->round_count - s->drain_round > s->p.drain_max_rounds))
		bbr3_start_down(s, v);
}

/* ---- the upper bound, PROBE_BW ---- */

/* Too much in flight: inflight_hi falls, once per probe, and the probe ends. [v3] bbr_handle_inflight_too_high */
CC_STAGE void bbr3_overdone(struct bbr3 *s, u32 inflight_pkts, const struct cc_view *v, const struct cc_decision *d)
{
	bbr3_lower_inflight_hi(s, inflight_pkts, bbr3_target_inflight_pkts(s, v, d), v->is_app_limited);
	if (s->state == BBR3_UP) {
		bbr3_start_down(s, v);
		s->undo_state = BBR3_UP;
	}
}

/*
 * The samples of a probe arrive one round after it. When the last one is in, max_bw drops the cycle before. If the
 * probe ended early because it was risky, and was not too much, the next probe starts at once. True: it has
 * started. [v3] bbr_adapt_upper_bounds
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
	if (bbr3_in_probe_bw(s) && !v->is_app_limited) {
		bbr3_advance_max_bw(s);
		s->cycle_ended = true;
	}
	if (!bbr3_is_waiting(s) || !s->stopped_risky_probe || s->prev_probe_too_high)
		return false;
	bbr3_start_refill(s, v, 0);
	return true;
}

/* inflight_hi by the flight of this ACK. True: the state has changed. */
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
		s->inflight_hi = cc_max_u32(s->inflight_hi, f.inflight_pkts); /* it was safe, in any state */
		if (s->state == BBR3_UP)
			bbr3_raise_inflight_hi(s, v);
	}
	return false;
}

/* The greatest n so that 2^n packets are within the part of inflight_hi that the first round of a probe adds. */
CC_INLINE u32 bbr3_reprobe_rounds(const struct bbr3 *s)
{
	u32 pkts = bbr3_part(s->inflight_hi, s->p.ecn_reprobe_gain);
	u32 n = 0;

	/* by halves and without branches, see CC_OPAQUE */
	for (u32 bit = 5; bit-- > 0;) {
		u32 rest = pkts >> (n + (1u << bit));
		u32 negative = 0u - rest;

		CC_OPAQUE(negative);
		n += ((rest | negative) >> 31) << bit; /* 1 << bit, unless rest is 0 */
	}
	return cc_min_u32(n, BBR3_PROBE_UP_ROUNDS_MOST);
}

/*
 * Whether it is time for the next probe. In 2 to 3 s a Reno flow of 25 Mbit/s and 30 ms recovers from a loss, as it
 * does in as many rounds as its BDP has packets, 62. After marks without loss the next probe starts at once, since
 * other flows may have left. True: the probe has started. [Draft] "Time Scale for Bandwidth Probing"
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

/* The phases of PROBE_BW, except the end of UP. */
CC_STAGE void bbr3_update_phase(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	u32 inflight;

	if (s->state == BBR3_REFILL && s->round_start)
		bbr3_start_up(s, v);
	if (!bbr3_is_waiting(s) || bbr3_check_probe_time(s, v, d) || s->state == BBR3_CRUISE)
		return;
	inflight = bbr3_in_network_before_pkts(s, v, d);
	if (inflight <= bbr3_inflight_with_headroom(s) &&
	    inflight <= bbr3_inflight_pkts(s, bbr3_max_bw(s), CC_GAIN_UNIT, v, d))
		bbr3_start_cruise(s);
}

/* After a probe that was too much, the next one ends when inflight_hi is in flight. */
CC_INLINE bool bbr3_is_risky(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (!s->prev_probe_too_high || bbr3_in_network_before_pkts(s, v, d) < s->inflight_hi)
		return false;
	s->stopped_risky_probe = true;
	return true;
}

/* UP ends when continuing is risky, or when bw has stopped growing for another reason than inflight_hi. */
CC_STAGE bool bbr3_has_probed(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (bbr3_is_risky(s, v, d))
		return true;
	if (!bbr3_is_bound_by_inflight_hi(s, v))
		return s->full_bw_now;
	bbr3_reset_full_bw(s, s->sample_bw);
	return false;
}

/* UP ends and was not too much. */
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

/* PROBE_RTT: hold inflight at half a BDP, so that the queue of this flow is gone, and measure the RTT. */
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
 * The minimum of 5 s decides when to enter PROBE_RTT, the minimum of 10 s is part of the model, so that half a BDP
 * is known in PROBE_RTT. A delayed ACK does not replace an expired minimum.
 */
CC_STAGE void bbr3_update_min_rtt(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 before = s->min_rtt_us;
	bool expired = v->now_us > s->probe_rtt_min_stamp_us + s->p.probe_rtt_interval_us;

	if (v->rtt_us >= 0 && ((u32)v->rtt_us < s->probe_rtt_min_us || (expired && !v->is_ack_delayed))) {
		s->probe_rtt_min_us = (u32)v->rtt_us;
		s->probe_rtt_min_stamp_us = v->now_us;
	}
	if (s->probe_rtt_min_us < s->min_rtt_us || (s->probe_rtt_min_us == s->min_rtt_us && s->p.min_rtt_by_equal) ||
	    v->now_us > s->min_rtt_stamp_us + s->p.min_rtt_window_us) {
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

/* ---- the stages of on_ack ---- */

/* Rounds, and the rate of marks, which ends STARTUP when it is high in two consecutive rounds. */
CC_STAGE void bbr3_update_round(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	u32 marked_256;

	s->round_start = v->sample_interval_us > 0 &&
			 !cc_before(v->sample_prior_delivered_pkts, s->round_end_delivered_pkts);
	if (s->round_start) {
		bbr3_start_round(s, v);
		s->round_count++;
		s->rounds_since_probe = cc_min_u32(s->rounds_since_probe + 1, BBR3_ROUNDS_MOST);
		marked_256 = bbr3_update_ecn_alpha(s, v);
		if (s->ecn_eligible && !s->full_pipe && s->p.full_ecn_rounds && s->p.ecn_thresh) {
			s->ecn_rounds = marked_256 >= s->p.ecn_thresh ? (u8)(s->ecn_rounds + 1) : 0;
			if (s->ecn_rounds >= s->p.full_ecn_rounds)
				bbr3_end_startup(s, v, d);
		}
	}
	if (s->ecn_eligible && v->is_ece)
		s->ecn_in_round = true;
}

/*
 * Round and samples. True: the ACK cannot change the model, since the application limits the flow and cwnd is at
 * its target. [v3] bbr_run_fast_path
 */
CC_STAGE bool bbr3_begin_ack(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	s->mss_bytes = v->mss_bytes;
	bbr3_update_round(s, v, d);
	bbr3_update_latest(s, v);
	return s->p.fast_path && v->cwnd_pkts == s->settled_cwnd_pkts && v->is_app_limited &&
	       s->sample_bw < bbr3_max_bw(s) && !s->loss_in_round && !s->ecn_in_round;
}

/* max_bw, the lower bounds, ACK aggregation. */
CC_STAGE void bbr3_learn(struct bbr3 *s, const struct cc_view *v)
{
	bbr3_update_signals(s, v, bbr3_is_probing(s));
	if (s->p.extra_acked_gain)
		bbr_update_aggregation(&s->aggregation, v, bbr3_bw(s), s->full_pipe ? s->p.extra_acked_rounds : 1,
				       s->round_start);
}

/* ---- controls ---- */

CC_INLINE void bbr3_set_gains(struct bbr3 *s, u32 pacing_gain_256, u32 cwnd_gain_256)
{
	s->pacing_gain_256 = pacing_gain_256;
	s->cwnd_gain_256 = cwnd_gain_256;
}

CC_STAGE void bbr3_update_gains(struct bbr3 *s)
{
	switch (s->state) {
	case BBR3_STARTUP:
		bbr3_set_gains(s, s->p.startup_pacing_gain, s->p.startup_cwnd_gain);
		break;
	case BBR3_DRAIN:
		bbr3_set_gains(s, s->p.drain_gain, s->p.startup_cwnd_gain);
		break;
	case BBR3_DOWN:
		bbr3_set_gains(s, s->p.probe_down_gain, s->p.cwnd_gain);
		break;
	case BBR3_UP:
		bbr3_set_gains(s, s->p.probe_up_gain, s->p.probe_up_cwnd_gain);
		break;
	case BBR3_PROBE_RTT:
		bbr3_set_gains(s, CC_GAIN_UNIT, CC_GAIN_UNIT);
		break;
	default:
		bbr3_set_gains(s, CC_GAIN_UNIT, s->p.cwnd_gain);
		break;
	}
}

CC_INLINE void bbr3_init_pacing_rate(const struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr_init_pacing_rate(v, d, s->p.startup_pacing_gain, s->p.initial_margin ? s->p.pacing_margin : 0);
}

CC_STAGE void bbr3_set_pacing_rate(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d, u32 gain_256)
{
	u64 rate = bbr_rate_Bps(v->mss_bytes, bbr3_bw(s), gain_256, s->p.pacing_margin);

	if (!s->has_seen_rtt && v->srtt_us) {
		s->has_seen_rtt = true;
		bbr3_init_pacing_rate(s, v, d);
	}
	bbr_set_pacing_rate(v, d, rate, s->full_pipe);
	d->min_burst_pkts = bbr3_min_burst_pkts(s, d);
}

/* The greatest cwnd within the bounds. inflight_hi does not apply in STARTUP and DRAIN. */
CC_INLINE u32 bbr3_bound_pkts(const struct bbr3 *s)
{
	u32 bound = BBR3_UNSET;

	if (s->state == BBR3_CRUISE || s->state == BBR3_PROBE_RTT)
		bound = bbr3_inflight_with_headroom(s);
	else if (bbr3_in_probe_bw(s))
		bound = s->inflight_hi;
	return cc_max_u32(cc_min_u32(bound, s->inflight_lo), s->p.min_cwnd_pkts);
}

/*
 * cwnd moves to its target as fast as data is delivered; before the pipe is full it only grows. Recovery has no
 * rule of its own.
 */
CC_STAGE void bbr3_set_cwnd(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 bw = bbr3_bw(s), target;
	bool grows, settled = false;

	if (v->acked_pkts) {
		target = bbr3_bdp_pkts(s, bw, s->cwnd_gain_256);
		target = cc_saturate_u32((u64)target + bbr_aggregation_cwnd_pkts(&s->aggregation, bw,
										 s->p.extra_acked_gain,
										 s->p.extra_acked_max_us));
		target = bbr3_quantise_pkts(s, target, v, d);
		grows = s->full_pipe || d->cwnd_pkts < target || d->cwnd_pkts < 2 * s->init_cwnd_pkts;
		if (grows)
			d->cwnd_pkts += v->acked_pkts;
		settled = s->full_pipe ? d->cwnd_pkts >= target : !grows;
		if (s->full_pipe)
			d->cwnd_pkts = cc_min_u32(d->cwnd_pkts, target);
		d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, s->p.min_cwnd_pkts);
	}
	if (s->state == BBR3_PROBE_RTT)
		d->cwnd_pkts = cc_min_u32(d->cwnd_pkts, bbr3_probe_rtt_cwnd_pkts(s));
	d->cwnd_pkts = cc_min_u32(d->cwnd_pkts, bbr3_bound_pkts(s));
	if (v->acked_pkts)
		s->settled_cwnd_pkts = settled ? d->cwnd_pkts : 0;
}

/* The decision, unless nothing has changed; and what the next ACK needs to know of this one. */
CC_STAGE void bbr3_end_ack(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d, bool nothing_new)
{
	if (!nothing_new || !s->settled_cwnd_pkts) {
		bbr3_update_gains(s);
		bbr3_set_pacing_rate(s, v, d, s->pacing_gain_256);
		bbr3_set_cwnd(s, v, d);
	}
	s->prev_ca_state = v->ca_state;
	if (v->ca_state < CC_CA_RECOVERY)
		s->undo_saved = false;
	if (v->sample_lost_pkts)
		s->loss_in_cycle = true;
	if (v->sample_delivered_ce_pkts)
		s->ecn_in_cycle = true;
}

/* ---- the contract ---- */

CC_STAGE void bbr3_on_ack(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	bool nothing_new = bbr3_begin_ack(s, v, d);

	if (!nothing_new) {
		bbr3_learn(s, v);
		bbr3_check_startup_loss(s, v, d);
		bbr3_check_full_bw(s, v);
	}
	bbr3_check_drain(s, v, d);
	bbr3_update_cycle(s, v, d);
	bbr3_update_min_rtt(s, v, d);
	bbr3_advance_latest(s, v);
	bbr3_end_ack(s, v, d, nothing_new);
}

CC_INLINE void bbr3_save(struct bbr3 *s, const struct cc_decision *d)
{
	bbr3_save_cwnd(s, d->cwnd_pkts);
	bbr3_save_bounds(s);
}

/* Once per episode, which lasts from its first loss to the first ACK outside of recovery. */
CC_INLINE void bbr3_save_once(struct bbr3 *s, const struct cc_decision *d)
{
	if (!s->undo_saved)
		bbr3_save(s, d);
	s->undo_saved = true;
}

/* Packets were lost. If they were sent to probe, they show how much is safe. [v3] bbr_skb_marked_lost */
CC_STAGE void bbr3_on_lost(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3_flight f;

	if (s->p.undo_to_state)
		bbr3_save_once(s, d);
	bbr3_note_loss(s, v);
	if (s->p.full_loss_ranges && !s->full_pipe &&
	    v->sample_end_seq - v->losses_pkts * v->mss_bytes != s->lost_end_seq)
		s->loss_events = (u8)cc_min_u32(s->loss_events + 1u, BBR3_LOSS_EVENTS_MOST);
	s->lost_end_seq = v->sample_end_seq;
	bbr3_flight_of_loss(&f, s, v);
	if (s->probe_samples && bbr3_is_too_much(s, &f))
		bbr3_overdone(s, bbr3_inflight_at_loss(s, &f, v->losses_pkts), v, d);
}

/* A tail loss probe has replaced a packet that was not marked lost. [v3] CA_EVENT_TLP_RECOVERY */
CC_STAGE void bbr3_on_probe_repaired(struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	struct bbr3_flight f;

	bbr3_note_loss(s, v);
	bbr3_flight_of_tail_loss(&f, s);
	if (s->probe_samples && bbr3_is_too_much(s, &f))
		bbr3_overdone(s, f.inflight_pkts, v, d);
}

/*
 * The recovery state changes. After a timeout the growth of bw is measured again, and cwnd before the timeout becomes
 * inflight_lo.
 */
CC_STAGE void bbr3_on_ca_state(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	if (v->ca_state == CC_CA_LOSS) {
		s->prev_ca_state = CC_CA_LOSS;
		bbr3_reset_full_bw(s, 0);
		if (!bbr3_is_probing(s) && s->inflight_lo == BBR3_UNSET)
			s->inflight_lo = cc_max_u32(d->cwnd_pkts, s->prior_cwnd_pkts);
	} else if (s->prev_ca_state == CC_CA_LOSS) {
		d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, s->prior_cwnd_pkts);
		s->settled_cwnd_pkts = 0;
	}
}

/* Sending resumes after an idle period: the pipe is empty, so pace at bw and build no queue. */
CC_STAGE void bbr3_on_restart(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	if (!v->app_limited)
		return;
	s->idle_restart = true;
	bbr_restart_aggregation(&s->aggregation, v);
	if (bbr3_in_probe_bw(s))
		bbr3_set_pacing_rate(s, v, d, CC_GAIN_UNIT);
	else if (s->state == BBR3_PROBE_RTT)
		bbr3_check_probe_rtt_done(s, v, d);
}

/*
 * The losses were spurious: restore the bounds. [Draft] "Handling a Spurious Loss Recovery" also returns to the
 * state that they ended; for UP that is REFILL, which leads to UP.
 */
CC_STAGE void bbr3_on_undo(struct bbr3 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr3_reset_full_bw(s, 0);
	bbr3_restore_bounds(s);
	s->settled_cwnd_pkts = 0;
	d->cwnd_pkts = cc_max_u32(s->prior_cwnd_pkts, s->p.undo_lowers_cwnd ? 1 : d->cwnd_pkts);
	if (!s->p.undo_to_state)
		return;
	if (s->undo_state == BBR3_STARTUP && s->state != BBR3_STARTUP) {
		s->full_pipe = false;
		if (s->state != BBR3_PROBE_RTT)
			bbr3_become(s, BBR3_STARTUP);
	} else if (s->undo_state == BBR3_UP && bbr3_is_waiting(s)) {
		bbr3_start_refill(s, v, 0);
	}
	s->undo_state = BBR3_STATE_COUNT;
}

CC_STAGE void bbr3_on_event(struct bbr3 *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (event) {
	case CC_EVENT_REDUCE: /* no reduction; save cwnd and bounds for the end of the episode */
		if (s->p.undo_to_state)
			bbr3_save_once(s, d);
		else
			bbr3_save(s, d);
		break;
	case CC_EVENT_CA_STATE:
		bbr3_on_ca_state(s, v, d);
		break;
	case CC_EVENT_RESTART:
		bbr3_on_restart(s, v, d);
		break;
	case CC_EVENT_UNDO:
		bbr3_on_undo(s, v, d);
		break;
	case CC_EVENT_LOST:
		bbr3_on_lost(s, v, d);
		break;
	case CC_EVENT_PROBE_REPAIRED:
		if (s->p.tail_loss)
			bbr3_on_probe_repaired(s, v, d);
		break;
	default:
		break;
	}
}

CC_STAGE void bbr3_init(struct bbr3 *s, const struct bbr3_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	s->rng = cc_random_seed(v->random);
	s->mss_bytes = v->mss_bytes;
	s->init_cwnd_pkts = cc_min_u32(d->cwnd_pkts, BBR3_INIT_CWND_MOST_PKTS);
	s->prior_cwnd_pkts = v->prior_cwnd_pkts;
	s->min_rtt_us = v->min_rtt_us;
	s->min_rtt_stamp_us = v->now_us;
	s->probe_rtt_min_us = v->min_rtt_us;
	s->probe_rtt_min_stamp_us = v->now_us;
	bbr_restart_aggregation(&s->aggregation, v);
	bbr3_start_round(s, v);
	s->loss_round_end_delivered_pkts = v->delivered_pkts + 1;
	s->alpha_delivered_pkts = v->delivered_pkts;
	s->alpha_delivered_ce_pkts = v->delivered_ce_pkts;
	s->ecn_alpha_256 = p->ecn_alpha_initial;
	bbr3_forget_lower_bounds(s);
	s->inflight_hi = BBR3_UNSET;
	s->probe_up_every_pkts = BBR3_UNSET;
	s->undo_state = BBR3_STATE_COUNT;
	s->state = BBR3_STARTUP;
	bbr3_update_gains(s);
	d->ssthresh_pkts = CC_INFINITE;
	s->has_seen_rtt = v->srtt_us != 0;
	bbr3_init_pacing_rate(s, v, d);
	d->min_burst_pkts = bbr3_min_burst_pkts(s, d);
}

CC_INLINE u32 bbr3_phase(const struct bbr3 *s)
{
	switch (s->state) {
	case BBR3_STARTUP:
		return CC_PHASE_STARTUP;
	case BBR3_DRAIN:
		return CC_PHASE_DRAIN;
	case BBR3_DOWN:
		return CC_PHASE_PROBE_BW_DOWN;
	case BBR3_CRUISE:
		return CC_PHASE_PROBE_BW_CRUISE;
	case BBR3_REFILL:
		return CC_PHASE_PROBE_BW_REFILL;
	case BBR3_UP:
		return CC_PHASE_PROBE_BW_UP;
	default:
		return CC_PHASE_PROBE_RTT;
	}
}

CC_INLINE void bbr3_observe(const struct bbr3 *s, struct cc_observation *o)
{
	o->bw_Bps = bbr_rate_Bps(s->mss_bytes, bbr3_bw(s), CC_GAIN_UNIT, 0);
	o->min_rtt_us = s->min_rtt_us;
	o->pacing_gain_256 = s->pacing_gain_256;
	o->cwnd_gain_256 = s->cwnd_gain_256;
	o->phase = bbr3_phase(s);
}

#endif
