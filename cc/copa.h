/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Copa: a rate that is inversely proportional to the queueing delay.
 *
 * A flow aims at 1/delta packets in the queue, whatever the link is: at the target rate of
 *
 *	lambda_t = 1 / (delta * dq) packets/s, where dq = RTTstanding - RTTmin		(section 1, equation 1)
 *
 *	RTTstanding	the least RTT of the last srtt / 2: what stands in the queue, without bursts and jitter
 *	RTTmin		the least RTT of the last 10 s
 *
 * The current rate is lambda = cwnd / RTTstanding. On each ACK cwnd goes towards the target (section 2.1):
 *
 *	lambda <= lambda_t	cwnd += v / (delta * cwnd) per packet acknowledged: v / delta in a round trip
 *	lambda >  lambda_t	cwnd -= v / (delta * cwnd)
 *
 * v is the velocity. It is 1, and doubles in each round after three in which cwnd went in the same direction. A change
 * of direction makes it 1 again. Packets are paced at 2 cwnd / RTTstanding, which only spreads bursts: cwnd limits.
 *
 *	SLOW_START	cwnd doubles in each round trip until lambda exceeds lambda_t (section 2.1).
 *	DEFAULT		delta = 0.5. cwnd sees the queue a round trip late and swings around its target: the queue of
 *			flows with equal RTTs goes from 0 to 2.5 / delta packets for each and back in 5 RTTs
 *			(section 3).
 *	COMPETITIVE	Flows that fill the buffer let the queue never become empty. Where dq has not been below a
 *			tenth of RTTmax - RTTmin (RTTmax: the most of the last 4 RTTs) for 5 RTTs, 1/delta follows
 *			the window of NewReno instead: + 1 in a round trip, half after a loss, never below that of
 *			DEFAULT. The first nearly empty queue ends that (section 2.2).
 *
 * Source: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018; sections
 * are its. What it leaves open, and where this departs from it:
 *
 *   - v goes back to 1 on the first ACK that turns cwnd (`turn_at_once`), as in mvfst. The paper resets it once in a
 *     round. A v that has grown then turns cwnd, too, overshoots as far, and grows again: at 100 Mbit/s and 50 ms cwnd
 *     swings between 8 and 650 packets for good and uses 30 % of the link, where section 3 has a swing of 5 packets.
 *   - v / delta is at most cwnd: no more than doubling in a round trip. A cwnd that stopped at its least while v kept
 *     doubling would jump. The authors' and other implementations have such bounds, too.
 *   - DEFAULT has no reaction to loss in the paper. A buffer of less than 1/delta packets for each flow never shows the
 *     delay that would stop it. So a round that loses more than `loss_most` counts as one above the target.
 *   - After a timeout, cwnd is the least one and slow start begins (RFC 5681, section 3.1). An undo takes that back.
 *   - Only a cwnd that is in use grows (RFC 9002, section 7.8). Idle time counts as an empty queue.
 *   - An episode of loss or of ECN echoes halves 1/delta once, as it halves NewReno's window. DEFAULT ignores marks.
 *   - Minima and maxima are those of Nichols' filter (contract/minmax.h): three samples, never beyond the true ones.
 *
 * Known limits, see crates/sim/tests/all/copa.rs. The paper's receiver acknowledged each packet. With delayed ACKs, the
 * ACK of a pair shows the queue that the first makes for the second. RTTmin, from an ACK of a lone packet, has none. So
 * Copa alone sees no nearly empty queue for 5 RTTs now and then, and takes itself for a competitor (also Jiang et al.,
 * "Copa+", INFOCOM 2022). Where 1/delta then exceeds the BDP, the queue stands and COMPETITIVE does not end (section 3:
 * RTTs much below the queueing delay). Of flows with different RTTs, the longer one sees the least of the other's whole
 * swing in its srtt / 2, a shorter queue, and gets more. mvfst has no COMPETITIVE, and a lower delta instead.
 */
#ifndef CC_COPA_H
#define CC_COPA_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/minmax.h"
#include "contract/params.h"
#include "contract/window.h"

/* The smoothed RTT follows the standing one, of which the rate is 2 w, with a delay of some round trips. */
#define copa_paces_below_a_packet 1

/* ---- parameters ---- */

#define copa_parameters(P)                                                                                             \
	P(delta, CC_FRACTION(0.5), CC_FRACTION(0.02), CC_FRACTION(2), CC_UNIT_FRACTION,                                \
	  "weight of delay against throughput: DEFAULT aims at 1/delta packets in the queue",                          \
	  "0.5: section 2.2; at 0.02 a queue of 125 packets, at 2 of one")                                             \
	P(competitive, 1, 0, 1, CC_UNIT_BOOL, "COMPETITIVE beside flows that fill the buffer",                         \
	  "section 2.2; off, it starves beside them and holds its queue beside its kind")                              \
	P(empty_rtts, 5, 2, 100, CC_UNIT_COUNT, "RTTs without a nearly empty queue that lead to COMPETITIVE",          \
	  "section 2.2: Copa alone empties the queue every 5 RTTs; more, and mistakes are fewer but it reacts later")  \
	P(turn_at_once, 1, 0, 1, CC_UNIT_BOOL,                                                                         \
	  "v becomes 1 on the first ACK that turns cwnd, not at the end of the round",                                 \
	  "off: as in the paper, where a v that has grown turns cwnd and overshoots for good")                         \
	P(min_rtt_time, CC_SEC(10), CC_SEC(1), CC_SEC(100), CC_UNIT_US, "RTTmin is the least RTT of this time",        \
	  "section 2.1: changes of the route are seen after it; less, and a standing queue is taken for the path")     \
	P(loss_most, CC_PERCENT(20), CC_PERCENT(1), CC_PERCENT(100), CC_UNIT_PPM,                                      \
	  "a round that loses a larger share counts as above the target; 100%: as in the paper",                       \
	  "BBRv1 takes as much for a policer; less, and random loss costs throughput")

struct copa_params {
	copa_parameters(CC_PARAM_FIELD)
};

/* ---- constants and state ---- */

/* cwnd has 24 fraction bits: one step of 2 packets in a round trip is 2 / cwnd^2 packets per packet acknowledged. */
#define COPA_W_SHIFT 24
/* 2^24 packets: 400 Gbit/s and 0.5 s. */
#define COPA_W_MOST (((u64)1 << 24) << COPA_W_SHIFT)
/* Two packets: a receiver that acknowledges every second one holds back the ACK of a lone one (RFC 5681, 4.2). */
#define COPA_W_LEAST ((u64)2 << COPA_W_SHIFT)
/* RTTs above are cut, so that products fit. */
#define COPA_RTT_MOST_US CC_SEC(100)
/* RTTmax is the most of this many RTTs, section 2.2. */
#define COPA_MAX_RTTS 4u
/* Nearly empty: dq is at most RTTmax - RTTmin divided by this, section 2.2. */
#define COPA_NEARLY_EMPTY 10u
/* Rounds in the same direction after which v doubles: in equilibrium it is 2.5 RTTs, section 2.1. */
#define COPA_SAME_ROUNDS 3u
/* The pacing rate in cwnd / RTTstanding: at 1, imperfect pacing would limit the rate (section 2.1). */
#define COPA_PACING_GAIN CC_GAIN(2)

/* What a flow does, see above. */
enum copa_mode {
	COPA_SLOW_START = 0,
	COPA_DEFAULT = 1,
	COPA_COMPETITIVE = 2,
};

/* Where cwnd went in a round. */
enum copa_direction {
	COPA_STILL = 0,
	COPA_UP = 1,
	COPA_DOWN = 2,
};

struct copa {
	u64 w;			   /* cwnd, packets << COPA_W_SHIFT */
	u64 round_w;		   /* when this round began */
	u64 w_before;		   /* before the last episode of loss */
	u64 empty_us;		   /* when the queue was nearly empty, the last time */
	struct cc_minmax standing; /* of srtt / 2: ~RTT, so that the maximum is the least RTT */
	struct cc_minmax least;	   /* of min_rtt_time: ~RTT */
	struct cc_minmax highest;  /* of 4 srtt */
	struct copa_params p;
	u32 standing_us;	/* RTTstanding; 0: no sample yet */
	u32 min_rtt_us;		/* RTTmin */
	u32 inverse_delta_256;	/* 1/delta in force, packets << 8 */
	u32 inverse_before_256; /* before the last episode of loss */
	u32 velocity;		/* v */
	u32 round_end_pkts;	/* the round ends with a packet sent at this delivered_pkts */
	u32 round_delivered_pkts;
	u32 round_lost_pkts;
	u8 mode;	/* enum copa_mode */
	u8 mode_before; /* the last episode of loss */
	u8 direction;	/* enum copa_direction, of the last round */
	u8 same_rounds; /* in a row in this direction */
	u8 lossy;	/* bool: the last round lost more than loss_most */
	u8 reserved[3]; /* no holes: parity compares bytes */
};

/* ---- arithmetic ---- */

CC_INLINE void copa_set_window(struct copa *s, u64 w) { s->w = cc_min_u64(cc_max_u64(w, COPA_W_LEAST), COPA_W_MOST); }
CC_INLINE u32 copa_cwnd_pkts(const struct copa *s) { return (u32)(s->w >> COPA_W_SHIFT); }
CC_INLINE u64 copa_cwnd_256(const struct copa *s) { return s->w >> (COPA_W_SHIFT - CC_GAIN_SHIFT); }

/* 1/delta of DEFAULT: 8 fraction bits of a number with 10, inverted. */
CC_INLINE u32 copa_least_inverse_256(const struct copa *s)
{
	return (u32)cc_div((u64)1 << (CC_GAIN_SHIFT + CC_FRACTION_SHIFT), s->p.delta);
}

/* dq */
CC_INLINE u32 copa_queue_us(const struct copa *s) { return cc_sub_floor_u32(s->standing_us, s->min_rtt_us); }

/* lambda > lambda_t, without divisions: cwnd * delta * dq > RTTstanding. */
CC_INLINE bool copa_is_above_target(const struct copa *s)
{
	return copa_cwnd_256(s) * copa_queue_us(s) > (u64)s->inverse_delta_256 * s->standing_us;
}

/* ---- samples ---- */

CC_STAGE void copa_sample_rtt(struct copa *s, const struct cc_view *v)
{
	u32 now_us = (u32)v->now_us, srtt_us = cc_min_u32(v->srtt_us, COPA_RTT_MOST_US), rtt_us, max_rtt_us;

	if (v->rtt_us < 0)
		return;
	rtt_us = cc_min_u32(cc_max_u32((u32)v->rtt_us, 1), COPA_RTT_MOST_US);
	s->standing_us = ~cc_minmax_max(&s->standing, srtt_us / 2, now_us, ~rtt_us);
	s->min_rtt_us = ~cc_minmax_max(&s->least, s->p.min_rtt_time, now_us, ~rtt_us);
	max_rtt_us = cc_minmax_max(&s->highest, COPA_MAX_RTTS * srtt_us, now_us, rtt_us);
	/* <= where the paper has <: without any variation, a queue of 0 is empty */
	if ((u64)copa_queue_us(s) * COPA_NEARLY_EMPTY <= cc_sub_floor_u32(max_rtt_us, s->min_rtt_us))
		s->empty_us = v->now_us;
}

/* ---- modes ---- */

/* COMPETITIVE follows only on DEFAULT; a timeout leads from either to SLOW_START. */
CC_INLINE void copa_enter(struct copa *s, u8 mode)
{
	CC_CHECK(mode == COPA_DEFAULT	  ? s->mode == COPA_SLOW_START || s->mode == COPA_COMPETITIVE :
		 mode == COPA_COMPETITIVE ? s->mode == COPA_DEFAULT :
					    s->mode == COPA_DEFAULT || s->mode == COPA_COMPETITIVE,
		 "copa: this mode may not follow the one before");
	s->mode = mode;
	s->inverse_delta_256 = copa_least_inverse_256(s);
}

CC_INLINE void copa_reset_velocity(struct copa *s)
{
	s->velocity = 1;
	s->direction = COPA_STILL;
	s->same_rounds = 0;
}

CC_STAGE void copa_update_mode(struct copa *s, const struct cc_view *v)
{
	bool fills = v->now_us - s->empty_us > (u64)s->p.empty_rtts * v->srtt_us;

	if (s->mode == COPA_SLOW_START) {
		if (!copa_is_above_target(s) && !s->lossy)
			return;
		copa_enter(s, COPA_DEFAULT);
		copa_reset_velocity(s);
	} else if (s->mode == COPA_DEFAULT && fills && s->p.competitive) {
		copa_enter(s, COPA_COMPETITIVE);
	} else if (s->mode == COPA_COMPETITIVE && !fills) {
		copa_enter(s, COPA_DEFAULT);
	}
}

/* ---- rounds ---- */

/* Once in a round: v doubles from the fourth round in the same direction on. */
CC_STAGE void copa_update_velocity(struct copa *s)
{
	u8 direction = s->w > s->round_w ? COPA_UP : s->w < s->round_w ? COPA_DOWN : COPA_STILL;

	if (direction != s->direction || direction == COPA_STILL) {
		s->direction = direction;
		s->same_rounds = 1;
		s->velocity = 1;
		return;
	}
	s->same_rounds = (u8)cc_min_u32(s->same_rounds + 1u, 255);
	if (s->same_rounds > COPA_SAME_ROUNDS && (u64)s->velocity * s->inverse_delta_256 < copa_cwnd_256(s))
		s->velocity *= 2;
}

CC_STAGE void copa_update_round(struct copa *s, const struct cc_view *v)
{
	u32 delivered_pkts = v->delivered_pkts - s->round_delivered_pkts;
	u32 lost_pkts = v->lost_pkts - s->round_lost_pkts;

	if (v->sample_delivered_pkts < 0 || v->sample_interval_us <= 0 ||
	    cc_before(v->sample_prior_delivered_pkts, s->round_end_pkts))
		return;
	s->lossy = (u64)lost_pkts * CC_PERCENT(100) > ((u64)delivered_pkts + lost_pkts) * s->p.loss_most;
	copa_update_velocity(s);
	if (s->mode == COPA_COMPETITIVE && v->ca_state <= CC_CA_DISORDER)
		s->inverse_delta_256 = cc_saturate_u32((u64)s->inverse_delta_256 + CC_GAIN_UNIT);
	s->round_w = s->w;
	s->round_end_pkts = s->round_delivered_pkts = v->delivered_pkts;
	s->round_lost_pkts = v->lost_pkts;
}

/* ---- outputs ---- */

/*
 * v / (delta * cwnd) for each packet acknowledged, and not more than doubles cwnd in a round trip. Quotient and
 * remainder apart: their products with acked_pkts fit, and the step of a whole cwnd is exactly v / delta.
 */
CC_STAGE u64 copa_step(const struct copa *s, u32 acked_pkts)
{
	u64 round_w = cc_min_u64((u64)s->velocity * s->inverse_delta_256, copa_cwnd_256(s))
		      << (COPA_W_SHIFT - CC_GAIN_SHIFT);
	u32 cwnd_pkts = copa_cwnd_pkts(s), pkts = cc_min_u32(acked_pkts, cwnd_pkts);
	u64 each_w = cc_div(round_w, cwnd_pkts);

	return each_w * pkts + cc_div((round_w - each_w * cwnd_pkts) * pkts, cwnd_pkts);
}

CC_STAGE void copa_move_window(struct copa *s, const struct cc_view *v, const struct cc_decision *d)
{
	bool above = copa_is_above_target(s) || s->lossy;
	u64 step;

	if (s->p.turn_at_once && s->velocity > 1 && s->direction != (above ? COPA_DOWN : COPA_UP))
		copa_reset_velocity(s);
	step = copa_step(s, v->acked_pkts);
	if (above)
		copa_set_window(s, s->w - cc_min_u64(step, s->w));
	else if (!cc_window_is_used(v, d))
		return;
	else if (s->mode == COPA_SLOW_START)
		copa_set_window(s, s->w + ((u64)v->acked_pkts << COPA_W_SHIFT));
	else
		copa_set_window(s, s->w + step);
}

CC_STAGE void copa_set_controls(const struct copa *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 rtt_us = s->standing_us ? s->standing_us : v->srtt_us ? v->srtt_us : CC_MSEC(1);
	u64 bytes_256 = (copa_cwnd_256(s) * v->mss_bytes * COPA_PACING_GAIN) >> CC_GAIN_SHIFT;
	/* bytes << 8 per ms, then bytes per second */
	u64 rate_Bps = cc_mul_shift(cc_div(bytes_256 * 1000, rtt_us), 1000, CC_GAIN_SHIFT);

	d->pacing_rate_Bps = cc_min_u64(cc_max_u64(rate_Bps, 1), v->max_pacing_rate_Bps);
	d->cwnd_pkts = copa_cwnd_pkts(s);
	d->min_burst_pkts = CC_MIN_BURST_PKTS;
}

/* ---- the contract ---- */

CC_STAGE void copa_on_ack(struct copa *s, const struct cc_view *v, struct cc_decision *d)
{
	copa_sample_rtt(s, v);
	copa_update_mode(s, v);
	copa_update_round(s, v);
	copa_move_window(s, v, d);
	copa_set_controls(s, v, d);
}

/* An episode of loss or ECN begins: 1/delta is to COMPETITIVE what cwnd is to NewReno. */
CC_INLINE void copa_reduce(struct copa *s)
{
	s->w_before = s->w;
	s->mode_before = s->mode;
	s->inverse_before_256 = s->inverse_delta_256;
	if (s->mode == COPA_COMPETITIVE)
		s->inverse_delta_256 = cc_max_u32(s->inverse_delta_256 / 2, copa_least_inverse_256(s));
}

CC_INLINE void copa_time_out(struct copa *s)
{
	copa_set_window(s, COPA_W_LEAST);
	copa_reset_velocity(s);
	if (s->mode != COPA_SLOW_START)
		copa_enter(s, COPA_SLOW_START);
}

CC_INLINE void copa_undo(struct copa *s)
{
	copa_set_window(s, cc_max_u64(s->w, s->w_before));
	if (s->mode == COPA_SLOW_START && s->mode_before != COPA_SLOW_START)
		copa_enter(s, COPA_DEFAULT);
	else if (s->mode == COPA_COMPETITIVE)
		s->inverse_delta_256 = cc_max_u32(s->inverse_delta_256, s->inverse_before_256);
}

CC_STAGE void copa_on_event(struct copa *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (event) {
	case CC_EVENT_REDUCE:
		copa_reduce(s);
		break;
	case CC_EVENT_CA_STATE:
		if (v->ca_state != CC_CA_LOSS)
			break;
		copa_time_out(s);
		copa_set_controls(s, v, d);
		break;
	case CC_EVENT_RESTART: /* nothing of this flow is in the queue */
		s->empty_us = v->now_us;
		break;
	case CC_EVENT_UNDO:
		copa_undo(s);
		copa_set_controls(s, v, d);
		break;
	default:
		break;
	}
}

CC_STAGE void copa_init(struct copa *s, const struct copa_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	copa_set_window(s, (u64)v->cwnd_pkts << COPA_W_SHIFT);
	s->round_w = s->w;
	s->velocity = 1;
	s->inverse_delta_256 = copa_least_inverse_256(s);
	s->empty_us = v->now_us;
	s->round_end_pkts = s->round_delivered_pkts = v->delivered_pkts;
	s->round_lost_pkts = v->lost_pkts;
	d->ssthresh_pkts = CC_INFINITE;
	copa_set_controls(s, v, d);
}

CC_INLINE void copa_observe(const struct copa *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = s->standing_us ? s->min_rtt_us : CC_NO_RTT;
	o->pacing_gain_256 = COPA_PACING_GAIN;
	o->cwnd_gain_256 = 0;
	o->phase = s->mode == COPA_SLOW_START  ? CC_PHASE_SLOW_START :
		   s->mode == COPA_COMPETITIVE ? CC_PHASE_COMPETITIVE :
						 CC_PHASE_AVOIDANCE;
}

#endif
