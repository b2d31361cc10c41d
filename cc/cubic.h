/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC: cwnd is a function of the time since the last loss, not of the number of ACKs. Growth then hardly depends
 * on the RTT, and a path with a large BDP is filled in seconds instead of hours.
 *
 * After a loss at a cwnd of W_max, cwnd drops to beta * W_max and then follows
 *
 *	W(t) = C * (t - K)^3 + W_max		K = cbrt((W_max - cwnd) / C)		RFC 9438 section 4.2
 *
 *	  cwnd |                        .        convex: probes for a new maximum
 *	 W_max |- - - - _..------------'
 *	       |     .'                          concave: fast at first, then slow
 *	       |    /
 *	  beta |---'
 *	       +----+---------+-------------> t
 *	            0         K
 *
 *	on ACK     cwnd += (W(t + min_rtt) - cwnd) / cwnd per packet, between 1/(100 cwnd) and 1/2     sections 4.4, 4.5
 *	           but no slower than Reno with the same beta would be (+0.53 a round)                 section 4.3
 *	loss, ECN  ssthresh = beta * cwnd; W_max = cwnd, or 0.85 cwnd if that is below the last W_max,
 *	           which leaves room for new flows ("fast convergence")                                sections 4.6, 4.7
 *	timeout    reset: slow start, then K = 0 from the cwnd at which it ends                        section 4.8
 *	idle       t does not advance                                                                  section 5.8
 *
 * Slow start ends at the first sign of a queue, not at the first loss: see lib/hystart.h.
 *
 * Behaviour is that of Linux 6.18 net/ipv4/tcp_cubic.c. Where it departs from RFC 9438, so does this file: W_est keeps
 * growing by 0.53 after it has passed the old maximum (in the RFC then by 1); the target is not clamped to 1.5 cwnd,
 * instead growth is limited to one packet per two acknowledged; ssthresh derives from cwnd, not from flight size; an
 * undo restores cwnd and ssthresh, but not W_max. Departures from Linux: time is in microseconds, and "once per jiffy"
 * is once per millisecond; the cube root is exact where Linux is within 0.2 %; 64-bit arithmetic where Linux's wraps
 * (epochs above 340 s, windows above 4 million packets); idle time counts from the last ACK, not the last transmission;
 * the largest GSO burst is taken to be 64 KiB.
 */
#ifndef CC_CUBIC_H
#define CC_CUBIC_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "contract/window.h"
#include "lib/hystart.h"
#include "lib/roots.h"

#define cubic_own_parameters(P)                                                                                        \
	P(beta, CC_FRACTION(0.7), CC_FRACTION(0.1), CC_FRACTION_UNIT - 1, CC_UNIT_FRACTION,                            \
	  "share of cwnd that remains after a loss", "0.7: RFC 9438 section 4.6; below 1 to reduce")                   \
	P(c, CC_FRACTION(0.4), CC_FRACTION(0.04), CC_FRACTION(4), CC_UNIT_FRACTION,                                    \
	  "steepness of the curve, packets per second cubed",                                                          \
	  "0.4: RFC 9438 section 5.1; 0.04 to 4: a tenth to ten times the RFC's")                                      \
	P(fast_convergence, 1, 0, 1, CC_UNIT_BOOL, "aim below the last maximum if maxima are falling",                 \
	  "on: RFC 9438 section 4.7, Linux")                                                                           \
	P(reno_friendly, 1, 0, 1, CC_UNIT_BOOL, "never grow slower than Reno would", "on: RFC 9438 section 4.3, Linux")
#define cubic_parameters(P) cubic_own_parameters(P) hystart_parameters(P, HYSTART_LINUX)

struct cubic_own_params {
	cubic_own_parameters(CC_PARAM_FIELD)
};

struct cubic_params {
	struct cubic_own_params own;
	struct hystart_params slow_start;
};

/*
 * Time on the curve is in units of 1/1024 s, so that c * t^3 is a product and a shift. At most 2048 s: t^3 fits 64
 * bits.
 */
#define CUBIC_TIME_SHIFT 10
#define CUBIC_TIME_MAX	 (1u << 21)
/* cwnd on the curve is at most 2^26 packets (100 GB in flight), so that K^3 fits 64 bits. */
#define CUBIC_MAX_PKTS (1u << 26)

/* The curve is evaluated at most once a millisecond, and at least 32 times a second while cwnd is constant. [Linux] */
#define CUBIC_UPDATE_LEAST_US 1000u
#define CUBIC_UPDATE_MOST_US  (CC_USEC_PER_SEC / 32)

/* Packets acknowledged per packet of growth: limits. [Linux] */
#define CUBIC_EVERY_LEAST     2u   /* cwnd grows by half per round at most */
#define CUBIC_EVERY_UNPROVEN  20u  /* before the first loss: at least 5 % per round */
#define CUBIC_EVERY_MOST_CWND 100u /* times cwnd: above the curve, 1 % of a packet per round */

/* RTT samples within this time after a reduction include the old queue. [Linux] */
#define CUBIC_SETTLE_US CC_USEC_PER_SEC

struct cubic {
	struct hystart slow_start;
	u64 epoch_us;	 /* t = 0; shifted by idle time */
	u64 update_us;	 /* when the curve was last evaluated */
	u64 last_ack_us; /* latest ACK */
	struct cubic_own_params p;
	u32 reno_every_8;     /* packets acknowledged per packet of Reno's growth, over 8 cwnd */
	u32 update_cwnd_pkts; /* cwnd at that time */
	u32 w_max_pkts;	      /* cwnd at the last loss; 0: none */
	u32 origin_pkts;      /* the plateau of the curve */
	u32 k;		      /* when it is reached, units of 1/1024 s */
	u32 every_pkts;	      /* packets acknowledged per packet of growth */
	u32 credit_pkts;      /* acknowledged towards the next one */
	u32 reno_cwnd_pkts;   /* W_est: the cwnd that Reno would have */
	u32 reno_acked_pkts;  /* acknowledged towards its next packet */
	u8 in_epoch;	      /* the curve is in force */
	u8 reserved[3];	      /* no holes: parity compares bytes */
};

/* ---- the curve ---- */

CC_INLINE u32 cubic_time(u64 us)
{
	return (u32)cc_min_u64(cc_mul_shift(us, (1ull << (CUBIC_TIME_SHIFT + 32)) / CC_USEC_PER_SEC, 32),
			       CUBIC_TIME_MAX);
}

/* A stage, so that in BPF it is a function of its own. */
CC_STAGE u32 cubic_root(u64 x) { return cc_cube_root(x); }

/* Starts the curve at cwnd. Without a higher W_max to return to, it is convex from the start. */
CC_STAGE void cubic_start_epoch(struct cubic *s, u64 now_us, u32 cwnd_pkts, u32 acked_pkts)
{
	u64 below = cc_min_u32(cc_sub_floor_u32(s->w_max_pkts, cwnd_pkts), CUBIC_MAX_PKTS);

	s->in_epoch = true;
	s->epoch_us = now_us;
	s->origin_pkts = cc_max_u32(s->w_max_pkts, cwnd_pkts);
	s->k = cubic_root(below * cc_div(1ull << (CC_FRACTION_SHIFT + 3 * CUBIC_TIME_SHIFT), s->p.c));
	s->reno_cwnd_pkts = cwnd_pkts;
	s->reno_acked_pkts = acked_pkts;
}

/* W(t) in packets. */
CC_STAGE u32 cubic_window_pkts(const struct cubic *s, u64 now_us)
{
	u32 min_rtt_us = s->slow_start.min_rtt_us;
	u32 t = cubic_time((now_us > s->epoch_us ? now_us - s->epoch_us : 0) +
			   (min_rtt_us == CC_NO_RTT ? 0 : min_rtt_us));
	u64 offset = t < s->k ? s->k - t : t - s->k;
	u32 rise = cc_saturate_u32(
		cc_mul_shift(offset * offset * offset, s->p.c, CC_FRACTION_SHIFT + 3 * CUBIC_TIME_SHIFT));

	if (t < s->k)
		return cc_sub_floor_u32(s->origin_pkts, rise);
	return (u32)cc_min_u64((u64)s->origin_pkts + rise, CC_INFINITE);
}

/* Packets acknowledged per packet of growth, so that cwnd is on the curve after one round. */
CC_INLINE u32 cubic_every_pkts(const struct cubic *s, u32 cwnd_pkts, u32 target_pkts)
{
	u32 every = target_pkts > cwnd_pkts ? (u32)cc_div(cwnd_pkts, target_pkts - cwnd_pkts) :
					      cc_saturate_u32((u64)cwnd_pkts * CUBIC_EVERY_MOST_CWND);

	return s->w_max_pkts ? every : cc_min_u32(every, CUBIC_EVERY_UNPROVEN);
}

/* The same for the cwnd that Reno would have, if that is larger. */
CC_STAGE u32 cubic_reno_every_pkts(struct cubic *s, u32 cwnd_pkts)
{
	u64 every = cc_max_u64(((u64)cwnd_pkts * s->reno_every_8) >> 3, 1);
	u64 growth = s->reno_acked_pkts ? cc_div(s->reno_acked_pkts - 1, every) : 0;

	s->reno_acked_pkts -= (u32)(growth * every);
	s->reno_cwnd_pkts = (u32)cc_min_u64(s->reno_cwnd_pkts + growth, CC_INFINITE);
	if (s->reno_cwnd_pkts <= cwnd_pkts)
		return ~0u;
	return (u32)cc_div(cwnd_pkts, s->reno_cwnd_pkts - cwnd_pkts);
}

/* Updates every_pkts. */
CC_STAGE void cubic_update(struct cubic *s, u64 now_us, u32 cwnd_pkts, u32 acked_pkts)
{
	u64 since_us = now_us > s->update_us ? now_us - s->update_us : 0;

	s->reno_acked_pkts = cc_saturate_u32((u64)s->reno_acked_pkts + acked_pkts);
	if (s->update_cwnd_pkts == cwnd_pkts && since_us <= CUBIC_UPDATE_MOST_US)
		return;
	if (!s->in_epoch || since_us >= CUBIC_UPDATE_LEAST_US) {
		s->update_cwnd_pkts = cwnd_pkts;
		s->update_us = now_us;
		if (!s->in_epoch)
			cubic_start_epoch(s, now_us, cwnd_pkts, acked_pkts);
		s->every_pkts = cubic_every_pkts(s, cwnd_pkts, cubic_window_pkts(s, now_us));
	}
	if (s->p.reno_friendly)
		s->every_pkts = cc_min_u32(s->every_pkts, cubic_reno_every_pkts(s, cwnd_pkts));
	s->every_pkts = cc_max_u32(s->every_pkts, CUBIC_EVERY_LEAST);
}

/* ---- the contract ---- */

CC_STAGE void cubic_on_ack(struct cubic *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 acked_pkts = v->acked_pkts;

	if (!cc_window_is_used(v, d))
		return;
	acked_pkts = hystart_grow(&s->slow_start, v, d, acked_pkts);
	if (acked_pkts) {
		cubic_update(s, v->now_us, d->cwnd_pkts, acked_pkts);
		cc_additive_increase(d, &s->credit_pkts, s->every_pkts, acked_pkts);
	}
	hystart_note_window(&s->slow_start, d);
}

/* Every ACK: the minimum RTT, and the end of slow start. */
CC_STAGE void cubic_on_sample(struct cubic *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 rtt_us = v->rtt_us > 0 ? (u32)v->rtt_us : 1;

	s->last_ack_us = v->now_us;
	if (v->rtt_us < 0 || (s->in_epoch && v->now_us < s->epoch_us + CUBIC_SETTLE_US))
		return;
	hystart_on_rtt(&s->slow_start, v, d, rtt_us);
}

CC_STAGE void cubic_on_reduce(struct cubic *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 cwnd = v->cwnd_pkts;
	bool shrinking = cwnd < s->w_max_pkts && s->p.fast_convergence;

	s->in_epoch = false;
	s->credit_pkts = 0;
	s->w_max_pkts = shrinking ? cc_fraction_of(cwnd, CC_FRACTION_UNIT + s->p.beta) / 2 : cwnd;
	d->ssthresh_pkts = cc_max_u32(cc_fraction_of(cwnd, s->p.beta), CC_MIN_SSTHRESH_PKTS);
	hystart_enter(&s->slow_start, CC_PHASE_AVOIDANCE);
}

/* Forgets the path. */
CC_STAGE void cubic_reset(struct cubic *s, const struct cc_view *v)
{
	s->in_epoch = false;
	s->update_us = 0;
	s->update_cwnd_pkts = 0;
	s->w_max_pkts = 0;
	s->origin_pkts = 0;
	s->k = 0;
	s->every_pkts = 0;
	s->credit_pkts = 0;
	s->reno_cwnd_pkts = 0;
	s->reno_acked_pkts = 0;
	hystart_reset(&s->slow_start, v);
}

CC_STAGE void cubic_on_event(struct cubic *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (event) {
	case CC_EVENT_SAMPLE:
		cubic_on_sample(s, v, d);
		break;
	case CC_EVENT_REDUCE:
		cubic_on_reduce(s, v, d);
		break;
	case CC_EVENT_CA_STATE:
		if (v->ca_state == CC_CA_LOSS) {
			cubic_reset(s, v);
			hystart_enter(&s->slow_start, CC_PHASE_SLOW_START);
		}
		break;
	case CC_EVENT_RESTART: /* idle time does not count on the curve */
		if (s->in_epoch && v->now_us > s->last_ack_us)
			s->epoch_us = cc_min_u64(s->epoch_us + (v->now_us - s->last_ack_us), v->now_us);
		break;
	case CC_EVENT_UNDO:
		d->cwnd_pkts = cc_max_u32(v->cwnd_pkts, v->prior_cwnd_pkts);
		break;
	default:
		break;
	}
}

CC_STAGE void cubic_init(struct cubic *s, const struct cubic_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = p->own;
	s->reno_every_8 = (u32)cc_div(8 * (CC_FRACTION_UNIT + s->p.beta) / 3, CC_FRACTION_UNIT - s->p.beta);
	s->last_ack_us = v->now_us;
	hystart_init(&s->slow_start, &p->slow_start, v, d);
	cubic_reset(s, v);
}

CC_INLINE void cubic_observe(const struct cubic *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = s->slow_start.min_rtt_us;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = s->slow_start.phase;
}

#endif
