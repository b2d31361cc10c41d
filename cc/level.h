/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * LEVEL: equal rates from the one queueing delay that all flows share.
 *
 * All flows at a FIFO queue see the same queueing delay q, whatever their RTTs are. A flow of LEVEL steers q to a
 * level f(r) that falls with its own rate r:
 *
 *	f(r) = 2.05 ms * sqrt(4096 packets/s / r)	100 Mbit/s: 1.4 ms, 10 Mbit/s: 4.5 ms, 10 Gbit/s: 0.14 ms
 *
 * A flow with a lower rate than the others has a higher level: q is below it, and the flow grows. For a flow with a
 * higher rate q is above the level, and the flow shrinks. Only equal rates are an equilibrium. docs/level.md has the
 * equations and the limits, docs/level-spec.md the rules for an implementation elsewhere. What a flow does:
 *
 *	STARTUP	doubles its window W in each round trip until a queue appears, growth ends or much is lost.
 *	STEADY	Once in a round trip: W += W / 4 * (f(r) - price) / (T + f(r)), where price is q and a share for loss.
 *		T, the base RTT, is the least RTT of the last 15 to 30 s; q is the mean RTT of a round less T. cwnd is
 *		W, pacing 1.06 W / RTT: the clock of ACKs damps the loop, pacing only smooths.
 *	DRAIN	For T + 40 ms the window is a quarter of r T, so that T can be measured. The first ends STARTUP. The
 *		next come 1, 2, 4, 8, then 10 s after the lowest RTT since the last one, and 4 s after it where W was
 *		far off or q is above 5 ms. All flows see that lowest RTT at the same time, when others drain: the
 *		drains of all flows coincide without a shared clock. With q above 5 ms they take out 50 ms at most.
 *
 * Beside CUBIC or BBR, which fill the queue however long it is, a flow would starve. It infers such competitors from
 * drains in which q does not fall, raises W to verify that they do not yield, and if they do not, W follows CUBIC: see
 * "competing" below. `detection_drains` 0 turns that off.
 *
 * When the queue has just been empty, W *= f(r) / (mean of q), between 3/4 and 3/2: the exchange. Steering alone needs
 * T^2 / (f / 8) to make rates equal, 40 s at 100 ms, as it must not move q by more than f in a round trip. The exchange
 * uses the distance from equilibrium, which a flow can compute: with the mean queue as q, the equilibrium is the rate
 * whose f is that queue. What flows above it lose is, to first order, what flows below it gain.
 *
 * Relatives: FAST (Wei et al., IEEE/ACM ToN 14(6), 2006) and Copa (Arun, Balakrishnan, NSDI 2018) hold q at a constant
 * divided by the rate. From 2 Mbit/s to 10 Gbit/s that is a factor of 5000 in the queue; the square root makes it 70.
 */
#ifndef CC_LEVEL_H
#define CC_LEVEL_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "lib/roots.h"

#define level_paces_below_a_packet 1 /* a share of a crowd, down to LEVEL_W_LEAST */

/* ---- parameters ---- */

#define level_parameters(P)                                                                                            \
	P(level, 2050, 100, CC_MSEC(100), CC_UNIT_US, "queueing delay that a flow of 4096 packets/s steers to",        \
	  "shorter, and jitter and bursts weigh more; longer, and slow links have a queue above 10 ms")                \
	P(gain, CC_GAIN(0.25), CC_GAIN(0.01), CC_GAIN(2), CC_UNIT_GAIN, "part of the error in q corrected per round",  \
	  "critical damping: q is seen a round late, z^2 - z + gain = 0 has a double root at 1/4")                     \
	P(pacing_gain, CC_GAIN(1.06), CC_GAIN(1), CC_GAIN(4), CC_UNIT_GAIN, "pacing rate as a multiple of W / RTT",    \
	  "at 1 pacing limits, not the clock of ACKs; at much more, bursts stay together")                             \
	P(loss_full, CC_PERCENT(4), CC_PERCENT(0.1), CC_PERCENT(100), CC_UNIT_PPM, "loss that costs as much as f(r)",  \
	  "2 % of random loss then take half of the level")                                                            \
	P(noise_gain, CC_GAIN(2), 0, CC_GAIN(16), CC_UNIT_GAIN,                                                        \
	  "the level rises by this times the noise of RTTs; 0: not",                                                   \
	  "less, and jitter is taken for a queue; more, and late comers wait longer")                                  \
	P(growth_rounds, 128, 0, 10000, CC_UNIT_ROUNDS,                                                                \
	  "W grows by k / growth_rounds in the k-th round of a low price; 0: not",                                     \
	  "steering alone takes minutes to double W at 10 Gbit/s and 200 ms")                                          \
	P(drain_interval, CC_SEC(10), 0, CC_SEC(100), CC_UNIT_US, "most time between drains; 0: no drains",            \
	  "as BBR's PROBE_RTT")                                                                                        \
	P(exchange, 1, 0, 1, CC_UNIT_BOOL, "W moves to the rate that fits the mean queue when the queue is empty",     \
	  "steering alone takes T^2 / (f / 8) to make rates equal: 40 s at 100 ms")                                    \
	P(fill_gaps, 1, 0, 1, CC_UNIT_BOOL, "cwnd covers the longest gap between ACKs",                                \
	  "aggregation of ACKs would stop the sender")                                                                 \
	P(detection_drains, 4, 0, 100, CC_UNIT_COUNT,                                                                  \
	  "drains in a row that no other flow joins before competitors are inferred; 0: never",                        \
	  "fewer, and crowds are taken for competitors; more, and a flow starves longer beside them")

struct level_params {
	level_parameters(CC_PARAM_FIELD)
};

/* ---- constants and state ---- */

/* W has 10 fraction bits: slow flows in a crowd have under a packet a round trip. 2^24 packets: 400 Gbit/s, 0.5 s. */
#define LEVEL_W_SHIFT 10
#define LEVEL_W_MOST  (((u64)1 << 24) << LEVEL_W_SHIFT)
#define LEVEL_W_LEAST ((1u << LEVEL_W_SHIFT) / 8)
/* 4096 packets/s, the rate at which `level` holds, as CC_BW. */
#define LEVEL_REFERENCE_BW 68719u
/* RTTs are averaged over this. A whole burst of a TSO sender counts once, however the ACKs fall into rounds. */
#define LEVEL_BLOCK_US CC_MSEC(10)
/* The base RTT is the least of this and the last such time: at least two drains. */
#define LEVEL_BIN_US CC_SEC(15)
/* RTTs above are cut, so that sums and shifts fit. */
#define LEVEL_RTT_MOST_US CC_SEC(100)
/* A lone packet's ACK that comes this much later than the base was held back by the receiver (RFC 9293: 500 ms at most;
 * Linux: 40 ms). Linux marks only ACKs of less than a full segment as delayed. */
#define LEVEL_HELD_US CC_MSEC(40)
/* Loss is a mean over this many packets, or 16 rounds if that is less. */
#define LEVEL_LOSS_PKTS 512u
/* Loss costs at most this for loss_full: of two slow flows that see different losses, one would shrink for good. */
#define LEVEL_LOSS_MOST_US CC_MSEC(5)
/* cwnd is at least this: two bursts of two, as fast recovery needs three duplicate ACKs. Pacing keeps to W below. */
#define LEVEL_CWND_LEAST_PKTS 4u
#define LEVEL_FEW_PKTS	      3u /* below this W pacing limits, not cwnd */
/* Growth by k / growth_rounds ends at this k: 25 % per round, the most by which W moves. */
#define LEVEL_GROWTH_MOST 32u
/* A drain leaves a quarter of r T, for T and this: three blocks beyond the round trip in which it works. */
#define LEVEL_DRAIN_US CC_MSEC(40)
/* The time to the next drain: this, or 8 T if that is more, doubled by each drain, that which ends STARTUP included. */
#define LEVEL_DRAIN_FIRST_US CC_MSEC(500)
/* Rounds after a drain or an exchange until q and r are the new W's: the one in flight and the one it limits. */
#define LEVEL_SETTLE_ROUNDS 2u
/* The mean queue of an exchange is that of about as many rounds, and needs them. */
#define LEVEL_MEAN_ROUNDS 8u
/* Exchanges without a drain are at least this far apart: rounds of other flows may be longer. */
#define LEVEL_EXCHANGE_US CC_SEC(1)
/* The noise is the lowest RTT, smoothed over this time, less the base. With 16 ms newcomers keep too high a level. */
#define LEVEL_NOISE_US CC_MSEC(10)
/* Where ACKs are aggregated to this many packets, this far apart, RTTs are smoothed over eight aggregates instead. */
#define LEVEL_AGGREGATE_PKTS 6u
#define LEVEL_AGGREGATE_US   CC_MSEC(5)
#define LEVEL_AGGREGATES     8u
/* A longer time without ACKs is taken for this. */
#define LEVEL_GAP_MOST_US CC_MSEC(100)
/*
 * Competing. A flow is starved with q above both of these and at most a quarter of its best rate: the level of n flows
 * is sqrt(n) times that of one alone, so fewer than eight flows that run LEVEL do not starve each other.
 */
#define LEVEL_STARVED_GAIN CC_GAIN(2.75)
#define LEVEL_CROWD_US	   CC_MSEC(5)
/*
 * Drains come at least this often above LEVEL_CROWD_US, where those of a starved flow probe for competitors, and after
 * an exchange by more than LEVEL_FAR_OFF. With 3 s 164 of 172 random paths use 95 % of their link, with 4 s 170 do.
 */
#define LEVEL_SOON_US CC_SEC(4)
#define LEVEL_FAR_OFF CC_GAIN(1.2)
/* Above LEVEL_CROWD_US a drain takes what the flow sends in this time at most, unless it probes: many drain. */
#define LEVEL_CROWD_DRAIN_US CC_MSEC(50)
/* Verification: a flow that begins to compete holds a larger W for this time, and for four rounds after four in which q
 * rises. If the others do not yield, q stays up by at least a third of the rise that the added packets make. */
#define LEVEL_VERIFY_US	    CC_SEC(2)
#define LEVEL_VERIFY_ROUNDS 4u
#define LEVEL_RISE_PART	    3u
/*
 * A starved flow keeps 9.5 packets/s, as CC_BW, and waits so long for a sample of q in its drain. A floor for W
 * instead would give more to shorter RTTs, and fill the queue of a crowd that has less for each flow.
 */
#define LEVEL_STARVED_BW   (LEVEL_REFERENCE_BW / 4096 * 10)
#define LEVEL_WAIT_US	   CC_MSEC(500)
#define LEVEL_LEAVE_DRAINS 3u /* drains in a row that others join, which end competing */
/* CUBIC, RFC 9438: beta 0.7, fast convergence (1 + beta) / 2, Reno's slope 3 (1 - beta) / (1 + beta). */
#define LEVEL_BETA	 CC_FRACTION(0.7)
#define LEVEL_CONVERGE	 CC_FRACTION(0.85)
#define LEVEL_RENO_SLOPE CC_FRACTION(0.53)

/* What a flow does, see above. */
enum level_mode {
	LEVEL_STARTUP = 0,
	LEVEL_STEADY = 1,
	LEVEL_DRAIN = 2,
};

struct level {
	u64 w;		    /* the window W, packets << LEVEL_W_SHIFT */
	u64 low_at_us;	    /* when low_rtt_us was seen */
	u64 drain_end_us;   /* of the drain under way */
	u64 exchanged_us;   /* the last exchange */
	u64 bin_start_us;   /* of base_us[0] and quiet_us[0] */
	u64 block_start_us; /* of the block under way */
	u64 block_sum_us;   /* RTTs in it */
	u64 last_ack_us;
	u64 round_start_us;
	u64 round_sum_us;   /* RTTs of the blocks of this round */
	u64 drain_seen_us;  /* from here on RTTs show this drain */
	u64 drain_sum_us;   /* RTTs of its blocks since then */
	u64 cubic_start_us; /* of CUBIC's curve */
	u64 w_max;	    /* its plateau, as w */
	u64 w_reno;	    /* Reno's window, as w */
	u64 w_before;	    /* W before the flow competed */
	u64 verify_sum_us;  /* queue_us since q has risen */
	struct level_params p;
	u32 block_samples;
	u32 round_blocks;
	u32 last_block_us; /* mean RTT of the last block; CC_NO_RTT: none yet */
	u32 pair_us;	   /* the greater of the last two */
	u32 base_us[2];	   /* T: least mean of two blocks in this bin and the last; [1] in STARTUP: of RTTs */
	u32 quiet_us[2];   /* least smoothed_us in this bin and the last; CC_NO_RTT: none yet */
	u32 smoothed_us;   /* RTT smoothed over LEVEL_NOISE_US */
	u32 low_rtt_us;	   /* lowest mean of two blocks since the last drain; CC_NO_RTT: none yet */
	u32 queue_us;	   /* q, mean of the last round */
	u32 mean_us_16;	   /* mean of queue_us since the last exchange, 1/16 us */
	u32 rate;	   /* r, delivered: mean of about four rounds, CC_BW */
	u32 loss_ppm;
	u32 drain_interval_us;
	u32 round_end_pkts; /* the round ends with a packet sent at this delivered_pkts */
	u32 round_delivered_pkts;
	u32 round_lost_pkts;
	u32 max_inflight_pkts; /* in this round */
	u32 gap_us;	       /* longest time between ACKs in this round */
	u32 last_gap_us;       /* and in the last */
	u32 full_rate;	       /* the rate that startup must beat by a quarter */
	u32 mss_bytes;
	/* competing */
	u32 best_rate;	      /* halved by each false detection, CC_BW */
	u32 before_us;	      /* the mean queue before this drain */
	u32 lone_queue_us;    /* before the first of the lone drains */
	u32 drain_blocks;     /* of drain_sum_us */
	u32 drain_least_us;   /* least of them */
	u32 k_ms;	      /* CUBIC's K: time to the plateau, 1/1024 s */
	u32 rise_us;	      /* by which q rises if others do not yield; 0: no verification */
	u32 verify_lost_pkts; /* lost before the flow competed */
	u8 mode;	      /* enum level_mode */
	u8 round_start;	      /* bool: this ACK ended a round */
	u8 full_rounds;	      /* of startup without growth */
	u8 queue_rounds;      /* of startup with q above the level, in a row */
	u8 settle_rounds;
	u8 mean_rounds;	  /* of mean_us_16 */
	u8 low_rounds;	  /* in a row with a price far below the level */
	u8 pair_fresh;	  /* bool: pair_us is new since the queue was last looked at */
	u8 limited;	  /* bool: the flow used its window in the last round */
	u8 competing;	  /* bool: verification, or CUBIC's curve */
	u8 probing;	  /* bool: this drain probes for competitors */
	u8 still;	  /* bool: q did not move before this drain */
	u8 lone_drains;	  /* in a row that others did not join */
	u8 still_drains;  /* of these, with a queue that did not move */
	u8 joined_drains; /* in a row while competing */
	u8 cut_rounds;	  /* until the loss of a reduction is over */
	u8 round_lost;	  /* bool: packets were lost in the last round */
	u8 verify_rounds; /* since the flow competes */
	u8 reserved[2];	  /* no holes: parity compares bytes */
};

/* ---- arithmetic ---- */

/* T */
CC_INLINE u32 level_base_us(const struct level *s) { return cc_min_u32(s->base_us[0], s->base_us[1]); }

/* rate * time as a window, and a window within its range */
CC_INLINE u64 level_window(u32 rate, u32 time_us) { return ((u64)rate * time_us) >> (CC_BW_SHIFT - LEVEL_W_SHIFT); }
CC_INLINE void level_set_window(struct level *s, u64 w)
{
	s->w = cc_min_u64(cc_max_u64(w, LEVEL_W_LEAST), LEVEL_W_MOST);
}

/*
 * f(rate), in us. Noise on top of the queue, that is what remains of the smoothed RTT where it is lowest, would be
 * taken for a queue by a flow whose level is below it. So the level rises with it, less a quarter of the level, which
 * quiet paths have, too.
 */
CC_STAGE u32 level_at(const struct level *s, u32 rate)
{
	u64 square = cc_div((u64)s->p.level * s->p.level * LEVEL_REFERENCE_BW, cc_max_u32(rate, 1));
	u32 level = cc_square_root(cc_min_u64(square, 1ull << 43));
	u32 quiet_us = cc_min_u32(s->quiet_us[0], s->quiet_us[1]);
	u64 noise;

	if (quiet_us == CC_NO_RTT)
		return level;
	noise = cc_sub_floor_u32(cc_sub_floor_u32(quiet_us, level_base_us(s)), level / 4);
	return level + (u32)cc_min_u64((noise * s->p.noise_gain) >> CC_GAIN_SHIFT, 8 * level);
}

/* ---- samples ---- */

/* The RTT smoothed over LEVEL_NOISE_US, or over eight aggregates of ACKs. */
CC_STAGE void level_smooth(struct level *s, u32 rtt_us, u32 time_us)
{
	u32 gap_us = cc_min_u32(cc_min_u32(s->gap_us, s->last_gap_us), LEVEL_GAP_MOST_US);
	u32 over_us = LEVEL_NOISE_US;

	if (s->mode != LEVEL_STARTUP && gap_us > LEVEL_AGGREGATE_US &&
	    ((u64)gap_us * s->rate) >> CC_BW_SHIFT >= LEVEL_AGGREGATE_PKTS)
		over_us = cc_max_u32(over_us, gap_us * LEVEL_AGGREGATES);
	if (!s->smoothed_us)
		s->smoothed_us = rtt_us;
	else if (rtt_us >= s->smoothed_us)
		s->smoothed_us += (u32)cc_div((u64)(rtt_us - s->smoothed_us) * time_us, (u64)time_us + over_us);
	else
		s->smoothed_us -= (u32)cc_div((u64)(s->smoothed_us - rtt_us) * time_us, (u64)time_us + over_us);
}

/* A block is over: its mean RTT moves the base, the noise and the lowest RTT since the last drain. */
CC_STAGE void level_end_block(struct level *s, const struct cc_view *v)
{
	u32 rtt_us = (u32)cc_div(s->block_sum_us, s->block_samples);
	u32 time_us = cc_saturate_u32(v->now_us - s->block_start_us);
	u32 last_us = s->last_block_us, two_us;

	s->block_sum_us = 0;
	s->block_samples = 0;
	s->block_start_us = v->now_us;
	s->last_block_us = rtt_us;
	s->round_sum_us += rtt_us;
	s->round_blocks++;
	if (last_us == CC_NO_RTT)
		return;
	level_smooth(s, rtt_us, time_us);
	two_us = (rtt_us + last_us) / 2;
	s->pair_us = cc_max_u32(rtt_us, last_us);
	s->pair_fresh = true;
	if (s->mode == LEVEL_DRAIN && v->now_us >= s->drain_seen_us) {
		s->drain_sum_us += rtt_us;
		s->drain_least_us = cc_min_u32(s->drain_least_us, rtt_us);
		s->drain_blocks++;
	}
	/* Beside flows that never empty the queue, T does not age. */
	if (v->now_us - s->bin_start_us > LEVEL_BIN_US && !s->competing && !s->lone_drains) {
		s->bin_start_us = v->now_us;
		s->base_us[1] = s->base_us[0];
		s->base_us[0] = two_us;
		s->quiet_us[1] = s->quiet_us[0];
		s->quiet_us[0] = s->smoothed_us;
	}
	s->base_us[0] = cc_min_u32(s->base_us[0], two_us);
	s->quiet_us[0] = cc_min_u32(s->quiet_us[0], s->smoothed_us);
	if (two_us <= s->low_rtt_us) {
		s->low_rtt_us = two_us;
		s->low_at_us = v->now_us;
	}
}

CC_STAGE void level_sample_rtt(struct level *s, const struct cc_view *v)
{
	u32 rtt_us = cc_min_u32((u32)v->rtt_us, LEVEL_RTT_MOST_US);

	s->gap_us = cc_max_u32(s->gap_us, cc_saturate_u32(v->now_us - s->last_ack_us));
	s->last_ack_us = v->now_us;
	s->max_inflight_pkts = cc_max_u32(s->max_inflight_pkts, v->prior_inflight_pkts);
	if (v->rtt_us < 0)
		return;
	if (v->acked_pkts == 1 && v->inflight_pkts == 0 && level_base_us(s) != CC_NO_RTT &&
	    rtt_us > level_base_us(s) + LEVEL_HELD_US)
		return;
	s->block_sum_us += rtt_us;
	s->block_samples++;
	/* Startup must see a queue before it has two blocks. There is no last bin yet. */
	if (s->mode == LEVEL_STARTUP)
		s->base_us[1] = cc_min_u32(s->base_us[1], rtt_us);
	if (v->now_us - s->block_start_us >= LEVEL_BLOCK_US)
		level_end_block(s, v);
}

/* ---- rounds ---- */

CC_STAGE void level_sample_loss(struct level *s, u32 delivered_pkts, u32 lost_pkts)
{
	u32 sent_pkts = delivered_pkts + lost_pkts;
	u32 weight = cc_max_u32(cc_min_u32(sent_pkts, LEVEL_LOSS_PKTS), LEVEL_LOSS_PKTS / 16);
	u64 loss_ppm = cc_div((u64)lost_pkts * CC_USEC_PER_SEC, sent_pkts);

	if (sent_pkts)
		s->loss_ppm =
			(u32)(((u64)s->loss_ppm * (LEVEL_LOSS_PKTS - weight) + loss_ppm * weight) / LEVEL_LOSS_PKTS);
}

CC_STAGE void level_sample_rate(struct level *s, u32 delivered_pkts, u64 time_us)
{
	u32 rate = cc_saturate_u32(cc_div((u64)delivered_pkts << CC_BW_SHIFT, time_us));

	if (s->mode == LEVEL_STARTUP)
		s->rate = rate;
	else if (s->mode == LEVEL_STEADY && !s->settle_rounds)
		s->rate = rate > s->rate ? s->rate + (rate - s->rate) / 4 : s->rate - (s->rate - rate) / 4;
}

/* A round ends when a packet is acknowledged that was sent after the last one ended, and has a block of RTTs. */
CC_STAGE void level_update_round(struct level *s, const struct cc_view *v)
{
	u32 delivered_pkts = v->delivered_pkts - s->round_delivered_pkts;

	s->round_start = false;
	if (v->sample_delivered_pkts < 0 || v->sample_interval_us <= 0 ||
	    cc_before(v->sample_prior_delivered_pkts, s->round_end_pkts))
		return;
	if (s->mode != LEVEL_STARTUP && !s->round_blocks)
		return;
	s->round_start = true;
	level_sample_rate(s, delivered_pkts, v->now_us - s->round_start_us);
	level_sample_loss(s, delivered_pkts, v->lost_pkts - s->round_lost_pkts);
	if (s->round_blocks)
		s->queue_us = cc_sub_floor_u32((u32)cc_div(s->round_sum_us, s->round_blocks), level_base_us(s));
	s->round_sum_us = 0;
	s->round_blocks = 0;
	s->round_end_pkts = s->round_delivered_pkts = v->delivered_pkts;
	s->round_lost = v->lost_pkts != s->round_lost_pkts;
	s->round_lost_pkts = v->lost_pkts;
	s->round_start_us = v->now_us;
	s->last_gap_us = s->gap_us;
	s->gap_us = 0;
}

/* ---- startup ---- */

/* Another phase. STARTUP ends in a drain, and is never entered again. */
CC_INLINE void level_enter(struct level *s, u8 mode)
{
	CC_CHECK(mode == LEVEL_DRAIN ? s->mode == LEVEL_STARTUP || s->mode == LEVEL_STEADY :
				       mode == LEVEL_STEADY && s->mode == LEVEL_DRAIN,
		 "level: this mode may not follow the one before");
	s->mode = mode;
}

/* Its rate is a small part of its best one, in a queue that fewer than eight flows that run LEVEL do not make. */
CC_STAGE bool level_is_starved(const struct level *s)
{
	u32 queue_us = s->mean_us_16 >> 4;

	return s->p.detection_drains && s->rate <= s->best_rate / 4 && queue_us > LEVEL_CROWD_US &&
	       queue_us > ((u64)level_at(s, s->best_rate) * LEVEL_STARVED_GAIN) >> CC_GAIN_SHIFT;
}

CC_STAGE void level_enter_drain(struct level *s, const struct cc_view *v)
{
	u32 base_us = level_base_us(s), low_us = cc_sub_floor_u32(s->low_rtt_us, base_us), differ_us;
	bool late = v->now_us + base_us >= s->low_at_us + LEVEL_SOON_US;

	level_enter(s, LEVEL_DRAIN);
	s->before_us = s->competing ? s->queue_us : s->mean_us_16 >> 4;
	s->probing = s->competing || (late && level_is_starved(s));
	differ_us = low_us > s->before_us ? low_us - s->before_us : s->before_us - low_us;
	s->still = s->mean_rounds >= 2 && differ_us < s->before_us / 8;
	s->drain_seen_us = v->now_us + base_us + s->queue_us;
	s->drain_end_us = v->now_us + base_us + LEVEL_DRAIN_US + (s->probing ? s->queue_us : 0);
	s->drain_sum_us = 0;
	s->drain_blocks = 0;
	s->drain_least_us = CC_NO_RTT;
	s->low_rtt_us = CC_NO_RTT;
}

/* W becomes what the path carries: the greater of the last round's rate, which may be old, and the last sample's. */
CC_STAGE void level_leave_startup(struct level *s, const struct cc_view *v)
{
	u32 base_us = level_base_us(s), sample;

	if (v->sample_delivered_pkts > 0 && v->sample_interval_us > 0) {
		sample = cc_saturate_u32(
			cc_div((u64)(u32)v->sample_delivered_pkts << CC_BW_SHIFT, (u32)v->sample_interval_us));
		s->rate = cc_max_u32(s->rate, sample);
	}
	level_set_window(s, level_window(s->rate, base_us + level_at(s, s->rate)));
	s->drain_interval_us = cc_max_u32(LEVEL_DRAIN_FIRST_US, cc_saturate_u32((u64)base_us * 8));
	s->loss_ppm = 0;
	/* A single sample lacks the mean jitter that q has: kept as T, it would count as noise and raise the level. */
	if (s->base_us[0] != CC_NO_RTT)
		s->base_us[1] = CC_NO_RTT;
	level_enter_drain(s, v);
}

/*
 * Doubling ends with a queue above the level (on long paths a sixteenth of T: others' bursts are shorter), after two
 * rounds with the mean of q above it, which is the share on a link where others hold q, after three in which the rate
 * grew by less than a quarter, as in BBR, or with more loss than other flows' bursts cause.
 */
CC_STAGE void level_startup(struct level *s, const struct cc_view *v)
{
	u32 base_us = level_base_us(s);
	bool queue;

	level_set_window(s, s->w + ((u64)v->acked_pkts << LEVEL_W_SHIFT));
	queue = s->pair_us != CC_NO_RTT && s->pair_us > base_us + cc_max_u32(level_at(s, s->rate), base_us / 16);
	if (!s->round_start && !queue)
		return;
	if ((u64)s->rate * 4 >= (u64)s->full_rate * 5) {
		s->full_rate = s->rate;
		s->full_rounds = 0;
	} else {
		s->full_rounds++;
	}
	if (s->round_start)
		s->queue_rounds = s->queue_us > level_at(s, s->rate) ? (u8)(s->queue_rounds + 1) : 0;
	if (queue || s->queue_rounds >= 2 || s->full_rounds >= 3 || s->loss_ppm > CC_PERCENT(12))
		level_leave_startup(s, v);
}

/* ---- steady ---- */

/*
 * What q and loss cost, to be held at `level_us`. Loss costs from the first packet on: if a part of it were free, a
 * flow whose packets always find room would keep a small buffer full, and one that always finds it full would starve.
 * More than 2 loss_full is an overload, which must end whatever q is: flows that have never seen the queue empty,
 * because a thousand came at once, take it for a part of the path.
 */
CC_INLINE u32 level_price_us(const struct level *s, u32 level_us)
{
	u64 cost = (u64)s->loss_ppm * cc_min_u32(level_us, LEVEL_LOSS_MOST_US) +
		   (u64)cc_sub_floor_u32(s->loss_ppm, 2 * s->p.loss_full) * level_us;

	return cc_saturate_u32(s->queue_us + cc_div(cost, s->p.loss_full));
}

CC_STAGE void level_grow(struct level *s, u32 level_us, u32 price_us)
{
	u64 step =
		cc_div(((s->w * s->p.gain) >> CC_GAIN_SHIFT) * (level_us - price_us), (u64)level_base_us(s) + level_us);

	s->low_rounds = price_us < level_us / 4 ? (u8)cc_min_u32(s->low_rounds + 1u, LEVEL_GROWTH_MOST) : 0;
	step = cc_max_u64(step, cc_div(s->w * s->low_rounds, s->p.growth_rounds));
	if (s->limited)
		level_set_window(s, s->w + cc_min_u64(step, s->w / 4));
}

/* Where q alone is below the level, loss alone does not push W below 7/8 of what the flow has in flight. */
CC_STAGE void level_shrink(struct level *s, u32 level_us, u32 price_us)
{
	u32 base_us = level_base_us(s);
	u64 step = cc_div(((s->w * s->p.gain) >> CC_GAIN_SHIFT) * (price_us - level_us), (u64)base_us + level_us);
	u64 least = s->queue_us > level_us ? 0 : level_window(s->rate, base_us + s->queue_us) / 8 * 7;

	s->low_rounds = 0;
	if (s->w > least)
		level_set_window(s, s->w - cc_min_u64(step, cc_min_u64(s->w - least, s->w / 4)));
}

/* ---- competing ---- */

/*
 * CUBIC and the BBRs fill the queue, and a flow that holds q to its level starves beside them. What distinguishes them
 * from a crowd of flows that run LEVEL is the drain: drains of a crowd coincide, and the queue falls to half at least.
 * Above LEVEL_CROWD_US all flows drain 4 s after the lowest RTT. After `detection_drains` drains of a starved flow in a
 * row that no others joined, W becomes that of half of its best rate. Flows of LEVEL yield within a few round trips,
 * and q is as before: W becomes what it was. CUBIC yields only after loss, and BBR hardly: q stays up, or packets are
 * lost, and W follows CUBIC, until others join three drains in a row.
 */

/* CUBIC's curve begins at W, below or at its plateau w_max: K^3 = (w_max - W) / C, C = 0.4 packets/s^3. */
CC_STAGE void level_start_curve(struct level *s, const struct cc_view *v)
{
	u64 below = cc_min_u64(s->w_max > s->w ? s->w_max - s->w : 0, 1ull << 34);

	s->cubic_start_us = v->now_us;
	s->w_reno = s->w;
	s->cut_rounds = 1;
	/* (1/1024 s)^3 are 2^-30 s^3, and W has 10 fraction bits */
	s->k_ms = cc_cube_root((below * 5 / 2) << 20);
}

/* A false detection: others yielded, so they run LEVEL. After a few a flow that has its share is not starved. */
CC_STAGE void level_cancel_competing(struct level *s)
{
	s->competing = false;
	s->best_rate /= 2;
	s->lone_drains = s->still_drains = 0;
	level_set_window(s, s->w_before);
	s->settle_rounds = LEVEL_SETTLE_ROUNDS;
}

/* A round in which W stays up. Blocks are 10 ms, so there are at most 200 in LEVEL_VERIFY_US. */
CC_STAGE void level_verify(struct level *s, const struct cc_view *v)
{
	u32 mean_us;

	if (++s->verify_rounds <= LEVEL_VERIFY_ROUNDS)
		return;
	s->verify_sum_us += s->queue_us;
	if (v->now_us < s->cubic_start_us + LEVEL_VERIFY_US || s->verify_rounds < 2 * LEVEL_VERIFY_ROUNDS)
		return;
	mean_us = (u32)cc_div(s->verify_sum_us, s->verify_rounds - LEVEL_VERIFY_ROUNDS);
	if (cc_sub_floor_u32(mean_us, s->before_us) < s->rise_us / LEVEL_RISE_PART)
		level_cancel_competing(s);
	else
		level_start_curve(s, v);
	s->rise_us = 0;
}

/* One round of CUBIC: RFC 9438, sections 4.2 to 4.7. */
CC_STAGE void level_follow_cubic(struct level *s, const struct cc_view *v)
{
	u64 t_ms, from_k_ms, rise, target;

	if (s->cut_rounds) {
		s->cut_rounds--;
		return;
	}
	if (s->round_lost) {
		s->w_max = s->w < s->w_max ? (s->w * LEVEL_CONVERGE) >> CC_FRACTION_SHIFT : s->w;
		level_set_window(s, (s->w * LEVEL_BETA) >> CC_FRACTION_SHIFT);
		level_start_curve(s, v);
		return;
	}
	/* us to 1/1024 s: 1024 / 1000000 << 32 */
	t_ms = cc_min_u64(cc_mul_shift(v->now_us - s->cubic_start_us + level_base_us(s), 4398047, 32), 1u << 20);
	from_k_ms = t_ms < s->k_ms ? s->k_ms - t_ms : t_ms - s->k_ms;
	rise = (((from_k_ms * from_k_ms * 2) / 5) * from_k_ms) >> 20;
	target = t_ms >= s->k_ms ? s->w_max + rise : s->w_max > rise ? s->w_max - rise : 0;
	s->w_reno = cc_min_u64(s->w_reno + LEVEL_RENO_SLOPE, LEVEL_W_MOST);
	target = cc_max_u64(target, s->w_reno);
	if (target > s->w && s->limited)
		level_set_window(s, s->w + cc_min_u64(target - s->w, s->w / 2));
}

/* Loss shows that others do not yield, or cannot. */
CC_INLINE void level_compete(struct level *s, const struct cc_view *v)
{
	if (v->lost_pkts != s->verify_lost_pkts)
		s->rise_us = 0;
	if (s->rise_us)
		level_verify(s, v);
	else
		level_follow_cubic(s, v);
}

CC_STAGE void level_enter_competing(struct level *s, const struct cc_view *v)
{
	u64 more;

	s->competing = true;
	s->w_before = s->w;
	level_set_window(s, cc_max_u64(s->w, level_window(s->best_rate / 2, level_base_us(s) + s->before_us)));
	more = (s->w - s->w_before) << (CC_BW_SHIFT - LEVEL_W_SHIFT);
	s->rise_us = cc_saturate_u32(cc_div(more, cc_max_u32(s->best_rate, 1)));
	s->verify_sum_us = 0;
	s->verify_rounds = 0;
	s->verify_lost_pkts = v->lost_pkts;
	s->w_max = s->w;
	level_start_curve(s, v);
}

/* The others joined: they run LEVEL. */
CC_STAGE void level_count_joined_drain(struct level *s)
{
	s->lone_drains = s->still_drains = 0;
	if (!s->competing || ++s->joined_drains < LEVEL_LEAVE_DRAINS)
		return;
	s->joined_drains = 0;
	s->competing = false;
	level_set_window(s, level_window(s->rate, level_base_us(s) + level_at(s, s->rate)));
}

/*
 * No others joined. If q moved before one of `detection_drains` such drains at most, it is no queue: the path got
 * longer, or a receiver holds its ACKs back to be taken for a long path. A queue that grew by half or shrank to half
 * shows that flows come or go, and the count starts anew.
 */
CC_STAGE void level_count_lone_drain(struct level *s, const struct cc_view *v)
{
	u32 base_us = level_base_us(s);

	s->joined_drains = 0;
	if (!s->probing || s->competing)
		return;
	if (!s->lone_drains || s->before_us > s->lone_queue_us / 2 * 3 || s->before_us < s->lone_queue_us / 2) {
		s->lone_queue_us = s->before_us;
		s->lone_drains = s->still_drains = 0;
	}
	s->lone_drains++;
	s->still_drains += s->still;
	if (s->lone_drains < s->p.detection_drains)
		return;
	if (s->still_drains + 1u < s->p.detection_drains) {
		level_enter_competing(s, v);
		return;
	}
	base_us += cc_sub_floor_u32(s->before_us, level_at(s, s->best_rate) / 4 * 3);
	s->base_us[0] = s->base_us[1] = base_us;
	s->lone_drains = s->still_drains = 0;
}

/* Lone or joined: at the end of a drain. A shallow one, while competing, is classified by the mean of what is left. */
CC_INLINE void level_classify_drain(struct level *s, const struct cc_view *v)
{
	u32 rtt_us = s->competing ? (u32)cc_div(s->drain_sum_us, s->drain_blocks) : s->drain_least_us;
	u32 left_us = cc_sub_floor_u32(rtt_us, level_base_us(s));

	if (left_us < (s->competing ? s->before_us / 16 * 7 : s->before_us / 2))
		level_count_joined_drain(s);
	else
		level_count_lone_drain(s, v);
}

/* ---- rounds and drains ---- */

CC_STAGE void level_steer(struct level *s, const struct cc_view *v)
{
	u32 level_us = level_at(s, s->rate), price_us = level_price_us(s, level_us);

	s->mean_rounds = (u8)cc_min_u32(s->mean_rounds + 1u, 255);
	if (s->mean_rounds == 1)
		s->mean_us_16 = s->queue_us << 4;
	else
		s->mean_us_16 += (s->queue_us << 4) / LEVEL_MEAN_ROUNDS - s->mean_us_16 / LEVEL_MEAN_ROUNDS;
	s->best_rate = cc_max_u32(s->best_rate, s->rate);
	if (s->competing)
		level_compete(s, v);
	else if (price_us <= level_us)
		level_grow(s, level_us, price_us);
	else
		level_shrink(s, level_us, price_us);
	if (level_is_starved(s))
		level_set_window(s, cc_max_u64(s->w, level_window(LEVEL_STARVED_BW, level_base_us(s) + s->queue_us)));
}

/*
 * W *= f(r) / (mean queue): half the way, in the logarithm, to the rate that is at equilibrium with that queue. W does
 * not rise where it is not used, or loss shows that there is no room. Returns whether the flow was far off.
 */
CC_STAGE bool level_exchange(struct level *s, const struct cc_view *v)
{
	u32 gain =
		cc_saturate_u32(cc_div((u64)level_at(s, s->rate) << (CC_GAIN_SHIFT + 4), cc_max_u32(s->mean_us_16, 1)));
	bool far_off = s->mean_rounds >= LEVEL_MEAN_ROUNDS &&
		       (gain > LEVEL_FAR_OFF || gain * LEVEL_FAR_OFF < CC_GAIN_UNIT * CC_GAIN_UNIT);

	if (!s->limited || s->loss_ppm > s->p.loss_full / 2)
		gain = cc_min_u32(gain, CC_GAIN_UNIT);
	if (s->p.exchange && !s->competing && s->mean_rounds >= LEVEL_MEAN_ROUNDS)
		level_set_window(s,
				 (s->w * cc_max_u32(cc_min_u32(gain, CC_GAIN(1.5)), CC_GAIN(0.75))) >> CC_GAIN_SHIFT);
	s->mean_rounds = 0;
	s->low_rounds = 0;
	s->settle_rounds = LEVEL_SETTLE_ROUNDS;
	s->exchanged_us = v->now_us;
	return far_off;
}

/* Others drained, and all flows see an empty queue: the time to exchange without a drain of the flow's own. */
CC_STAGE bool level_sees_empty_queue(struct level *s, const struct cc_view *v)
{
	u32 level_us;

	if (!s->pair_fresh || s->competing || s->mean_rounds < LEVEL_MEAN_ROUNDS ||
	    v->now_us < s->exchanged_us + LEVEL_EXCHANGE_US)
		return false;
	s->pair_fresh = false;
	level_us = level_at(s, s->rate);
	return s->low_rtt_us != CC_NO_RTT && s->pair_us < level_base_us(s) + level_us / 4 &&
	       s->mean_us_16 >> 4 > level_us / 2;
}

CC_STAGE bool level_is_drain_due(const struct level *s, const struct cc_view *v)
{
	u32 interval_us = s->drain_interval_us;

	if (s->p.detection_drains && s->mean_us_16 >> 4 > LEVEL_CROWD_US)
		interval_us = cc_min_u32(interval_us, LEVEL_SOON_US);
	if (s->competing && s->rise_us)
		return false;
	return s->p.drain_interval && s->limited && s->low_rtt_us != CC_NO_RTT && !s->settle_rounds &&
	       v->now_us + level_base_us(s) >= s->low_at_us + interval_us;
}

CC_STAGE void level_steady(struct level *s, const struct cc_view *v)
{
	if (level_is_drain_due(s, v)) {
		level_enter_drain(s, v);
		return;
	}
	if (level_sees_empty_queue(s, v))
		level_exchange(s, v);
	if (!s->round_start)
		return;
	/* A flow limited by the application or the receiver does not use a larger window, and has nothing to drain. */
	s->limited = s->max_inflight_pkts + 2 >= (u32)(s->w >> LEVEL_W_SHIFT) * 7 / 8;
	s->max_inflight_pkts = 0;
	if (s->settle_rounds)
		s->settle_rounds--;
	else
		level_steer(s, v);
}

CC_STAGE void level_drain(struct level *s, const struct cc_view *v)
{
	if (v->now_us < s->drain_end_us ||
	    (s->probing && !s->drain_blocks && v->now_us < s->drain_end_us + LEVEL_WAIT_US))
		return;
	level_enter(s, LEVEL_STEADY);
	if (s->p.detection_drains && s->drain_blocks && s->before_us)
		level_classify_drain(s, v);
	s->drain_interval_us = cc_min_u32(cc_saturate_u32((u64)s->drain_interval_us * 2), s->p.drain_interval);
	if (level_exchange(s, v))
		s->drain_interval_us = cc_min_u32(s->drain_interval_us, LEVEL_SOON_US);
}

CC_INLINE void level_update_mode(struct level *s, const struct cc_view *v)
{
	if (s->mode == LEVEL_STARTUP)
		level_startup(s, v);
	else if (s->mode == LEVEL_STEADY)
		level_steady(s, v);
	else
		level_drain(s, v);
}

/* ---- outputs ---- */

/*
 * The RTT by which the window is paced. Below the least cwnd pacing is the only limit. W / (T + q) is then a reaction
 * to q of its own, whose sample is two round trips old: gain times delay above pi / 2, it oscillates. Half of q does
 * not.
 */
CC_STAGE u32 level_pacing_rtt_us(const struct level *s, const struct cc_view *v)
{
	u32 base_us = level_base_us(s);

	if (s->mode == LEVEL_STARTUP)
		return v->srtt_us ? v->srtt_us : CC_MSEC(1);
	if (s->mode == LEVEL_DRAIN && !s->competing)
		return base_us;
	if (!s->competing && s->w < (u64)LEVEL_FEW_PKTS << LEVEL_W_SHIFT)
		return base_us + (s->queue_us + level_at(s, s->rate)) / 2;
	return base_us + s->queue_us;
}

/* cwnd for the longest time without ACKs in the last round: else the sender waits for each aggregate. */
CC_INLINE u32 level_gap_pkts(const struct level *s)
{
	u32 gap_us = cc_min_u32(s->last_gap_us, LEVEL_GAP_MOST_US);

	return s->p.fill_gaps && s->mode == LEVEL_STEADY ? (u32)(((u64)s->rate * gap_us) >> CC_BW_SHIFT) : 0;
}

/* The window in force. A drain of a competing flow is shallow, down to a quarter of the queue: it costs less. */
CC_STAGE u64 level_drained_window(const struct level *s)
{
	u32 base_us = level_base_us(s), left_us = base_us / 4;

	if (s->mode != LEVEL_DRAIN)
		return s->w;
	if (s->competing)
		return cc_div(s->w * ((u64)base_us + s->before_us / 4), (u64)base_us + s->before_us);
	if (!s->probing && s->before_us > LEVEL_CROWD_US)
		left_us = cc_max_u32(left_us, cc_sub_floor_u32(base_us, LEVEL_CROWD_DRAIN_US));
	/* A quarter of the least W: after timeouts r is a packet in seconds, and two at a quarter of it take 76 s. */
	return cc_max_u64(level_window(s->rate, left_us), LEVEL_W_LEAST / 4);
}

CC_STAGE void level_set_controls(struct level *s, const struct cc_view *v, struct cc_decision *d)
{
	u64 w = level_drained_window(s);
	u32 gain_256 = s->p.pacing_gain;
	u64 rate_Bps;

	w = cc_min_u64(w, LEVEL_W_MOST);
	if (s->mode == LEVEL_STARTUP)
		gain_256 = CC_GAIN(2);
	else if (s->competing)
		gain_256 = CC_GAIN(1.25);
	else if (w < (u64)LEVEL_FEW_PKTS << LEVEL_W_SHIFT)
		gain_256 = CC_GAIN_UNIT;
	/* bytes << LEVEL_W_SHIFT per ms, then bytes per second */
	rate_Bps = cc_div(((w * v->mss_bytes * gain_256) >> CC_GAIN_SHIFT) * 1000, level_pacing_rtt_us(s, v));
	rate_Bps = cc_mul_shift(rate_Bps, 1000, LEVEL_W_SHIFT);
	d->pacing_rate_Bps = cc_min_u64(cc_max_u64(rate_Bps, 1), v->max_pacing_rate_Bps);
	d->cwnd_pkts = cc_max_u32((u32)(w >> LEVEL_W_SHIFT) + level_gap_pkts(s), LEVEL_CWND_LEAST_PKTS);
	d->min_burst_pkts = CC_MIN_BURST_PKTS;
}

/* ---- the contract ---- */

CC_STAGE void level_on_ack(struct level *s, const struct cc_view *v, struct cc_decision *d)
{
	level_sample_rtt(s, v);
	level_update_round(s, v);
	level_update_mode(s, v);
	level_set_controls(s, v, d);
}

/* The application paused: no gap between ACKs and no slow round. A paced flow of few packets does not pause. */
CC_STAGE void level_restart(struct level *s, const struct cc_view *v)
{
	s->last_ack_us = v->now_us;
	s->block_start_us = v->now_us;
	s->block_sum_us = 0;
	s->block_samples = 0;
	s->round_start_us = v->now_us;
	s->round_delivered_pkts = s->round_end_pkts = v->delivered_pkts;
	s->low_at_us = v->now_us;
}

CC_INLINE void level_on_event(struct level *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)d;
	if (event == CC_EVENT_RESTART && v->app_limited)
		level_restart(s, v);
}

CC_STAGE void level_init(struct level *s, const struct level_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	level_set_window(s, (u64)v->cwnd_pkts << LEVEL_W_SHIFT);
	s->block_start_us = s->bin_start_us = s->round_start_us = s->last_ack_us = v->now_us;
	s->last_block_us = s->low_rtt_us = s->pair_us = CC_NO_RTT;
	/* A connection that changes to LEVEL may stand in a queue; the host's minimum may be from before it. */
	s->base_us[0] = v->delivered_pkts > LEVEL_CWND_LEAST_PKTS ? v->min_rtt_us : CC_NO_RTT;
	s->base_us[1] = s->quiet_us[0] = s->quiet_us[1] = CC_NO_RTT;
	s->round_end_pkts = s->round_delivered_pkts = v->delivered_pkts;
	s->round_lost_pkts = v->lost_pkts;
	s->mss_bytes = v->mss_bytes;
	s->limited = true;
	d->ssthresh_pkts = CC_INFINITE;
	level_set_controls(s, v, d);
}

CC_INLINE void level_observe(const struct level *s, struct cc_observation *o)
{
	o->bw_Bps = cc_mul_shift((u64)s->rate * s->mss_bytes, CC_USEC_PER_SEC, CC_BW_SHIFT);
	o->min_rtt_us = level_base_us(s);
	o->pacing_gain_256 = s->mode == LEVEL_STARTUP ? CC_GAIN(2) : s->competing ? CC_GAIN(1.25) : s->p.pacing_gain;
	o->cwnd_gain_256 = 0;
	o->phase = s->mode == LEVEL_STARTUP ? CC_PHASE_STARTUP :
		   s->mode == LEVEL_DRAIN   ? CC_PHASE_DRAIN :
					      CC_PHASE_AVOIDANCE;
}

#endif
