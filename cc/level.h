/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * LEVEL: equal rates from the one queueing delay that all flows share.
 */
#ifndef CC_LEVEL_H
#define CC_LEVEL_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"

#ifdef LEVEL_DEBUG
int printf(const char *f, ...);
#define DBG(...) printf(__VA_ARGS__)
#else
#define DBG(...) (void)0
#endif
/* ---- parameters ---- */

#define level_parameters(P)                                                                                            \
	P(level_us, 2050, 10, CC_MSEC(100), CC_UNIT_US, "queueing delay that a flow of 4096 packets/s steers to",      \
	  "todo")                                                                                                      \
	P(block_us, CC_MSEC(10), 100, CC_MSEC(100), CC_UNIT_US, "a block", "todo")                                     \
	P(loss_full, CC_PERCENT(4), 1, CC_PERCENT(100), CC_UNIT_PPM, "loss that costs as much as the level", "todo")   \
	P(loss_most_us, CC_MSEC(5), 0, CC_MSEC(100), CC_UNIT_US, "but at most this", "todo")                           \
	P(gain, CC_GAIN(0.25), 1, CC_GAIN(2), CC_UNIT_GAIN, "gain of steering", "todo")                                 \
	P(pacing_gain, CC_GAIN(1.06), CC_GAIN(1), CC_GAIN(4), CC_UNIT_GAIN, "pacing", "todo")                          \
	P(least_pkts, 4, 1, 100, CC_UNIT_PKTS, "least cwnd", "todo") \
	P(smooth, 0, 0, 64, CC_UNIT_COUNT, "blocks over which RTTs are smoothed", "todo") \
	P(floor_8, 7, 0, 8, CC_UNIT_COUNT, "", "todo") \
	P(mean_rounds, 8, 1, 64, CC_UNIT_COUNT, "", "todo") \
	P(on_empty, 1, 0, 1, CC_UNIT_COUNT, "", "todo") \
	P(start_sample, 1, 0, 1, CC_UNIT_COUNT, "", "todo") \
	P(exchange_rounds, 8, 1, 64, CC_UNIT_COUNT, "", "todo") \
	P(ramp, 128, 1, 10000, CC_UNIT_COUNT, "", "todo") \
	P(ramp_most, 40, 0, 200, CC_UNIT_COUNT, "", "todo") \
	P(dither, CC_GAIN(0.05), 0, 64, CC_UNIT_GAIN, "", "todo") \
	P(ramp_below, CC_GAIN(0.25), 0, 256, CC_UNIT_GAIN, "", "todo") \
	P(unsettled_us, CC_SEC(100), 0, CC_SEC(100), CC_UNIT_US, "", "todo") \
	P(unsettle, 0, 0, 1, CC_UNIT_BOOL, "", "todo") \
	P(refractory_us, CC_SEC(1), 0, CC_SEC(100), CC_UNIT_US, "", "todo") \
	P(both, 0, 0, 1, CC_UNIT_COUNT, "", "todo") \
	P(stat2, 1, 0, 1, CC_UNIT_COUNT, "", "todo") \
	P(again, 0, 0, 100, CC_UNIT_COUNT, "", "todo") \
	P(again_rounds, 4, 0, 100, CC_UNIT_COUNT, "", "todo") \
	P(over, 1, 1, 100, CC_UNIT_COUNT, "", "todo") \
	P(lump, 16, 0, 1000, CC_UNIT_COUNT, "", "todo") \
	P(lump_gaps, 4, 0, 1000, CC_UNIT_COUNT, "", "todo") \
	P(lump_us, CC_MSEC(5), 0, CC_MSEC(100), CC_UNIT_US, "", "todo") \
	P(up, 1, 0, 4, CC_UNIT_COUNT, "", "todo") \
	P(quad, 0, 0, 1, CC_UNIT_COUNT, "", "todo") \
	P(stat, 1, 0, 2, CC_UNIT_COUNT, "", "todo") \
	P(noise_most, 8, 0, 20, CC_UNIT_COUNT, "", "todo") \
	P(slow_us, CC_MSEC(16), 1, CC_SEC(1), CC_UNIT_US, "", "todo") \
	P(noise_dead, 4, 1, 100, CC_UNIT_COUNT, "", "todo") \
	P(fast, 1, 0, 1, CC_UNIT_BOOL, "", "todo") \
	P(slack_pkts, 0, 0, 100, CC_UNIT_PKTS, "cwnd beyond W", "todo")                                                \
	P(few_pkts, 3, 0, 100, CC_UNIT_PKTS, "below this W pacing reacts to half of q, exactly", "todo")               \
	P(half_pkts, 0, 0, 100, CC_UNIT_PKTS, "below this W half the gain", "todo")                                    \
	P(drain_gain, CC_GAIN(0.25), 1, CC_GAIN(1), CC_UNIT_GAIN, "part of r T that a drain leaves", "todo")           \
	P(drain_us, CC_MSEC(40), 0, CC_SEC(1), CC_UNIT_US, "a drain lasts T plus this", "todo")                        \
	P(drain_interval_us, CC_SEC(10), 0, CC_SEC(100), CC_UNIT_US, "greatest time between drains; 0: none", "todo")  \
	P(drain_first_us, CC_MSEC(500), CC_MSEC(1), CC_SEC(100), CC_UNIT_US, "time to the first", "todo")              \
	P(exchange, 1, 0, 1, CC_UNIT_BOOL, "exchange", "todo")                                                         \
	P(exchange_most, CC_GAIN(1.5), CC_GAIN(1), CC_GAIN(4), CC_UNIT_GAIN, "exchange", "todo")                       \
	P(noise, 8, 0, 100, CC_UNIT_COUNT, "noise raises the level", "todo")                                              \
	P(gaps, 1, 0, 1, CC_UNIT_BOOL, "cwnd grows by gaps between ACKs", "todo")                                      \
	P(compete, 1, 0, 1, CC_UNIT_BOOL, "compete", "todo")                                                           \
	P(suspect, CC_GAIN(1.5), CC_GAIN(1), CC_GAIN(16), CC_UNIT_GAIN, "times the level of the best rate: suspect", "todo") \
	P(peers, CC_GAIN(0.75), 0, CC_GAIN(1), CC_UNIT_GAIN, "part of the traffic that must drain too", "todo")        \
	P(patience, 2, 1, 100, CC_UNIT_COUNT, "drains that others do not join", "todo")                                \
	P(forget, CC_GAIN(0.25), 0, CC_GAIN(1), CC_UNIT_GAIN, "of the best rate at a drain that others join", "todo")    \
	P(shallow, 0, 0, 1, CC_UNIT_BOOL, "tests are shallow before competing too", "todo")                             \
	P(anchor, 0, 0, 1, CC_UNIT_BOOL, "tests keep to the anchor of drains", "todo")                                  \
	P(squeezed, CC_GAIN(0.25), 0, CC_GAIN(1), CC_UNIT_GAIN, "of the best rate: suspect below", "todo")              \
	P(path, 1, 0, 1, CC_UNIT_BOOL, "longer path", "todo")

struct level_params {
	level_parameters(CC_PARAM_FIELD)
};

/* ---- constants and state ---- */

#define LEVEL_W_SHIFT 10
#define LEVEL_W_MOST  (((u64)1 << 24) << LEVEL_W_SHIFT)
#define LEVEL_W_LEAST (1ull << (LEVEL_W_SHIFT - 3))
/* level(r) = level_us * sqrt(4096 packets/s / r); in units of CC_BW 4096 packets/s are 68719 */
#define LEVEL_REFERENCE_BW 68719u
#define LEVEL_BASE_BIN_US  CC_SEC(15)
#define LEVEL_LOSS_PKTS	   512u
#define LEVEL_HELD_US	   CC_MSEC(40)

enum level_mode {
	LEVEL_STARTUP = 0,
	LEVEL_STEADY = 1,
	LEVEL_DRAIN = 2,
};

struct level {
	u64 w; /* window, packets << LEVEL_W_SHIFT */
	u64 block_start_us;
	u64 base_bin_us; /* start of the bin */
	u64 drain_end_us;
	u64 low_us; /* when the lowest RTT was seen since the last drain */
	u64 round_start_us;
	u64 last_ack_us;
	u64 exchanged_us, low_since_us;
	struct level_params p;
	u32 block_rtt_us;   /* least RTT of this block, CC_NO_RTT: none yet */
	u32 prior_block_us; /* of the block before */
	u32 sum_us;	    /* of blocks in this round */
	u32 blocks;
	u64 slow_at_us;
	u32 floor_us[2], slow_us, slow_pad;
	u32 base_us[2];
	u32 low_rtt_us;
	u32 queue_us;	/* mean of the last round */
	u32 mean_us_16; /* mean queue, for exchange, 1/16 us */
	u32 mean_f_16, over;
	u32 noise_us;
	u32 drained, drained_sum_us, drained_least_us, differ_us;
	u64 drain_see_us;
	u32 smooth_us_16;
	u32 noises_us[2];
	u32 block_sum_us, block_count;
	u32 pair_us; /* the lesser of the last two blocks */
	u32 rate; /* delivered, CC_BW */
	u32 loss_ppm;
	u32 drain_interval_us;
	u32 round_end_delivered_pkts;
	u32 round_delivered_pkts;
	u32 round_lost_pkts;
	u32 max_inflight_pkts; /* in this round */
	u32 gap_us[2];	       /* longest between ACKs, this round and before */
	u32 full_rate;
	u32 gain_256, gain_pad;
	u32 rng;
	u32 mss_bytes;
	/* compete */
	u64 epoch_us;	    /* of CUBIC's curve */
	u64 w_max;	    /* its plateau */
	u64 w_reno;
	u64 step_w;	    /* W when q stepped up */
	u32 k_us_10;	    /* time to the plateau, 1/1024 s */
	u32 best_rate;	    /* since a drain emptied the queue */
	u32 before_us;	    /* queue before this drain */
	u32 test_sum_us;    /* RTTs while drained */
	u32 tests;
	u32 step_us;	    /* q after a step */
	u8 competing;
	u8 testing;	    /* this drain is shallow */
	u8 alone;	    /* drains that others did not join */
	u8 high_rounds;
	u8 cut;		    /* W was cut in this round */
	u8 round_lost;
	u8 joined; /* drains in a row while competing that the others joined */
	u8 shallow;
	u8 mode;
	u8 full_rounds;
	u8 round_start;
	u8 settle_rounds; /* rounds until samples are the flow's own again */
	u8 mean_rounds;
	u8 low_rounds;
	u8 pair_fresh;
	u8 settled;
};

/* ---- arithmetic ---- */

/* Square root of x, below 2^44, rounded down. Without branches, see CC_OPAQUE. */
CC_STAGE u32 level_root(u64 x)
{
	u64 root = 0;
	u64 bit;

	for (bit = 1u << 22; bit; bit >>= 1) {
		u64 candidate = root | bit;
		u64 too_large = (x - candidate * candidate) >> 63;

		CC_OPAQUE(too_large);
		root |= bit & (too_large - 1);
	}
	return (u32)root;
}

CC_INLINE u32 level_base_us(const struct level *s) { return cc_min_u32(s->base_us[0], s->base_us[1]); }

/* f(r) */
CC_STAGE u32 level_us(const struct level *s, u32 rate)
{
	u64 square = cc_div((u64)s->p.level_us * s->p.level_us * LEVEL_REFERENCE_BW, cc_max_u32(rate, 1));

	u32 level = level_root(cc_min_u64(square, 1ull << 43));

	if (s->p.noise && s->floor_us[0] != CC_NO_RTT) {
		u32 noise = cc_sub_floor_u32(cc_min_u32(s->floor_us[0], s->floor_us[1]), level_base_us(s));

		noise = cc_sub_floor_u32(noise, level / s->p.noise_dead);
		level += cc_min_u32((u32)(((u64)noise * s->p.noise) / 4), s->p.noise_most * level);
	}
	return level;
}

CC_INLINE void level_enter(struct level *s, u8 mode) { s->mode = mode; }

/* ---- samples ---- */

/* One block of time is over. */
CC_STAGE void level_end_block(struct level *s, const struct cc_view *v)
{
	u32 least = s->block_rtt_us, before = s->prior_block_us;
	u32 pair, differ;

	if (s->p.stat == 1)
		least = s->block_sum_us / s->block_count;
	if (s->p.stat == 2)
		least = (least + s->block_sum_us / s->block_count) / 2;
	s->block_sum_us = s->block_count = 0;
	s->block_rtt_us = CC_NO_RTT;
	s->block_start_us = v->now_us;
	s->prior_block_us = least;
	DBG("B %llx t %.4f least %u\n", (unsigned long long)s, (double)v->now_us/1e6, least);
	s->sum_us += least;
	s->blocks++;
	if (before == CC_NO_RTT) {
		s->smooth_us_16 = least << 4;
		return;
	}
	s->smooth_us_16 += (least << 4) / cc_max_u32(s->p.smooth, 1) - s->smooth_us_16 / cc_max_u32(s->p.smooth, 1);
	{
		u32 dt = cc_saturate_u32(v->now_us - s->slow_at_us);
		u32 gap = cc_min_u32(cc_min_u32(s->gap_us[0], s->gap_us[1]), CC_MSEC(100)), slow = s->p.slow_us;

		if (s->p.lump && gap > s->p.lump_us && ((u64)gap * s->rate >> CC_BW_SHIFT) >= s->p.lump && s->mode != LEVEL_STARTUP)
			slow = cc_max_u32(slow, gap * s->p.lump_gaps);

		s->slow_at_us = v->now_us;
		if (!s->slow_us)
			s->slow_us = least;
		else if (least >= s->slow_us)
			s->slow_us += (u32)cc_div((u64)(least - s->slow_us) * dt, (u64)dt + slow);
		else
			s->slow_us -= (u32)cc_div((u64)(s->slow_us - least) * dt, (u64)dt + slow);
	}
	pair = s->p.smooth == 0 ? (least + before) / 2 : s->smooth_us_16 >> 4;
	s->over = least > level_base_us(s) + cc_max_u32(level_us(s, s->rate), level_base_us(s) / 16) ? s->over + 1 : 0;
	s->pair_us = cc_max_u32(least, before);
	s->pair_fresh = 1;
	differ = least > before ? least - before : before - least;
	if (s->mode == LEVEL_STEADY)
		s->differ_us = s->differ_us - s->differ_us / 16 + differ; /* 16 times the mean difference */
	if (s->mode == LEVEL_DRAIN && v->now_us < s->drain_see_us)
		goto skip;
	if (s->mode == LEVEL_DRAIN) {
		s->test_sum_us += least;
		s->tests++;
	}
	if (s->mode == LEVEL_DRAIN || s->settle_rounds) {
		s->drained_sum_us += least;
		s->drained_least_us = s->drained ? cc_min_u32(s->drained_least_us, least) : least;
		s->drained++;
	}
skip:
	if (v->now_us - s->base_bin_us > LEVEL_BASE_BIN_US && !s->competing && !s->alone) {
		s->base_bin_us = v->now_us;
		s->base_us[1] = s->base_us[0];
		s->floor_us[1] = s->floor_us[0];
		s->floor_us[0] = s->slow_us;
		s->base_us[0] = pair;
	}
	s->base_us[0] = cc_min_u32(s->base_us[0], pair);
	s->floor_us[0] = cc_min_u32(s->floor_us[0], s->slow_us);
	if (pair <= s->low_rtt_us) {
		s->low_rtt_us = pair;
		s->low_us = v->now_us;
	}
}

CC_STAGE void level_sample_rtt(struct level *s, const struct cc_view *v)
{
	u32 rtt = (u32)v->rtt_us;
	u32 gap = cc_saturate_u32(v->now_us - s->last_ack_us);

	s->last_ack_us = v->now_us;
	s->gap_us[0] = cc_max_u32(s->gap_us[0], gap);
	s->max_inflight_pkts = cc_max_u32(s->max_inflight_pkts, v->prior_inflight_pkts);
	if (v->rtt_us < 0)
		return;
	/* the ACK of a lone packet was held back */
	if (v->acked_pkts == 1 && s->base_us[0] != CC_NO_RTT && rtt > level_base_us(s) + LEVEL_HELD_US &&
	    v->inflight_pkts == 0)
		return;
	s->block_rtt_us = cc_min_u32(s->block_rtt_us, rtt);
	s->block_sum_us += rtt;
	s->block_count++;
	if (s->base_us[0] == CC_NO_RTT)
		s->base_us[0] = rtt;
	if (s->mode == LEVEL_STARTUP)
		s->base_us[0] = cc_min_u32(s->base_us[0], rtt);
	if (v->now_us - s->block_start_us >= s->p.block_us)
		level_end_block(s, v);
}

CC_STAGE void level_update_round(struct level *s, const struct cc_view *v)
{
	u64 time_us;
	u32 delivered, lost, rate, of;

	s->round_start = false;
	if (v->sample_delivered_pkts < 0 || v->sample_interval_us <= 0 ||
	    cc_before(v->sample_prior_delivered_pkts, s->round_end_delivered_pkts))
		return;
	if (s->mode != LEVEL_STARTUP && !s->blocks)
		return;
	s->round_start = true;
	s->round_end_delivered_pkts = v->delivered_pkts;
	time_us = v->now_us - s->round_start_us;
	delivered = v->delivered_pkts - s->round_delivered_pkts;
	lost = v->lost_pkts - s->round_lost_pkts;
	s->round_start_us = v->now_us;
	s->round_delivered_pkts = v->delivered_pkts;
	s->round_lost_pkts = v->lost_pkts;
	rate = cc_saturate_u32(cc_div((u64)delivered << CC_BW_SHIFT, time_us));
	if (s->mode == LEVEL_STARTUP)
		s->rate = rate;
	else if (s->mode == LEVEL_STEADY && !s->settle_rounds)
		s->rate = rate > s->rate ? s->rate + (rate - s->rate) / 4 : s->rate - (s->rate - rate) / 4;
	of = delivered + lost;
	if (of) {
		u32 now_ppm = (u32)cc_div((u64)lost * CC_USEC_PER_SEC, of);
		u32 part = cc_max_u32(cc_min_u32(of, LEVEL_LOSS_PKTS), LEVEL_LOSS_PKTS / 16);

		s->loss_ppm =
			(u32)(((u64)s->loss_ppm * (LEVEL_LOSS_PKTS - part) + (u64)now_ppm * part) / LEVEL_LOSS_PKTS);
	}
	if (s->blocks) {
		s->queue_us = cc_sub_floor_u32(s->sum_us / s->blocks, level_base_us(s));
		s->sum_us = 0;
		s->blocks = 0;
	}
	s->gap_us[1] = s->gap_us[0];
	s->gap_us[0] = 0;
	s->gain_256 = s->p.pacing_gain + cc_random_below(&s->rng, 2 * s->p.dither + 1) - s->p.dither;
	s->round_lost = lost > 0;
	DBG("D %llx t %.3f mode %u W %.2f r %.1f q %u base %u f %u mean %u infl %u/%u noise %u loss %u\n", (unsigned long long)s, (double)v->now_us/1e6, s->mode, (double)s->w/1024, (double)s->rate/16.777, s->queue_us, level_base_us(s), level_us(s, s->rate), s->mean_us_16/16, v->inflight_pkts, s->max_inflight_pkts, s->noise_us, s->loss_ppm);
}

/*
 * q + loss. Loss costs from the first packet on: with a part that is free, a flow whose packets always find room keeps
 * a small buffer full, and another that always finds it full starves. In proportion to the level, so that 2 % of random
 * loss leave half of it at any rate; bounded for slow flows, since of two that see different losses the one that loses
 * more would shrink for good.
 */
CC_INLINE u32 level_price_us(const struct level *s, u32 level)
{
	return s->queue_us + (u32)cc_div((u64)s->loss_ppm * cc_min_u32(level, s->p.loss_most_us), s->p.loss_full);
}

/* ---- modes ---- */

CC_INLINE void level_scale(struct level *s, u32 gain_256)
{
	s->w = cc_min_u64(cc_max_u64((s->w * gain_256) >> CC_GAIN_SHIFT, LEVEL_W_LEAST), LEVEL_W_MOST);
}

/* ---- competing ---- */

/* Cube root, see level_root. */
CC_STAGE u32 level_cube_root(u64 x)
{
	u64 root = 0;
	u64 bit;

	for (bit = 1u << 20; bit; bit >>= 1) {
		u64 candidate = root | bit;
		u64 too_large = (x - candidate * candidate * candidate) >> 63;

		CC_OPAQUE(too_large);
		root |= bit & (too_large - 1);
	}
	return (u32)root;
}

/* The queue is well above what the best rate since the last drain that emptied it would steer to. */
CC_STAGE bool level_is_suspect(const struct level *s)
{
	u64 least = ((u64)level_us(s, s->best_rate) * s->p.suspect) >> CC_GAIN_SHIFT;

	return s->p.compete && (s->competing || (s->queue_us > least && s->mean_us_16 >> 4 > least &&
					 s->rate <= ((u64)s->best_rate * s->p.squeezed) >> CC_GAIN_SHIFT));
}

/* CUBIC's curve from here: W(t) = w_max + 0.4 (t - K)^3, RFC 9438. */
CC_STAGE void level_start_curve(struct level *s, const struct cc_view *v)
{
	u64 below = s->w_max > s->w ? s->w_max - s->w : 0;

	s->epoch_us = v->now_us;
	s->w_reno = s->w;
	/* K^3 = below / 0.4, t in 1/1024 s: 2^30 / 2^10 */
	s->k_us_10 = level_cube_root(cc_min_u64(below, 1ull << 34) * 5 / 2 << 20);
}

CC_STAGE void level_begin_competing(struct level *s, const struct cc_view *v)
{
	u32 rtt = level_base_us(s) + s->before_us;
	u64 fair = ((u64)s->best_rate / 2 * rtt) >> (CC_BW_SHIFT - LEVEL_W_SHIFT);

	s->competing = true;
	s->w = cc_max_u64(s->w, fair);
	s->w_max = s->w;
	s->cut = 1;
	level_start_curve(s, v);
	DBG("C %llx t %.3f compete W %.1f\n", (unsigned long long)s, (double)v->now_us/1e6, (double)s->w/1024);
}

/* A drain that all join moves the queue all the way to the quarter that it aims at. */
CC_STAGE void level_judge_drain(struct level *s, const struct cc_view *v)
{
	u32 left, joined;

	if (!s->tests || !s->before_us)
		return;
	left = cc_sub_floor_u32(s->test_sum_us / s->tests, level_base_us(s));
	joined = (u32)cc_div((u64)cc_sub_floor_u32(s->before_us, left) * CC_GAIN(1), s->before_us);
	DBG("J %llx t %.3f test %u compete %u alone %u before %u left %u joined %.2f best %.1f rate %.1f\n", (unsigned long long)s, (double)v->now_us/1e6, s->testing, s->competing, s->alone, s->before_us, left, joined/256., s->best_rate/16.777, s->rate/16.777);
	if (!s->testing || joined * 4 / 3 >= (s->shallow ? s->p.peers : s->p.peers * 8 / 9)) {
		if (!s->testing && joined < CC_GAIN(0.5))
			return;
		if (s->best_rate > s->rate)
			s->best_rate -= (u32)(((u64)(s->best_rate - s->rate) * s->p.forget) >> CC_GAIN_SHIFT);
		s->alone = 0;
		if (s->competing && ++s->joined < s->p.patience)
			return;
		s->joined = 0;
		if (s->competing)
			s->w = ((u64)s->rate * (level_base_us(s) + level_us(s, s->rate))) >> (CC_BW_SHIFT - LEVEL_W_SHIFT);
		s->competing = false;
		return;
	}
	s->joined = 0;
	s->alone = (u8)cc_min_u32(s->alone + 1u, 100);
	if (!s->competing && s->alone >= s->p.patience)
		level_begin_competing(s, v);
}

/* One round of CUBIC. */
CC_STAGE void level_compete(struct level *s, const struct cc_view *v)
{
	u64 t, offset, rise, target;

	if (s->cut) {
		s->cut--;
		return;
	}
	if (s->round_lost) {
		s->w_max = s->w < s->w_max ? s->w * 17 / 20 : s->w;
		s->w = cc_max_u64(s->w * 7 / 10, 2 << LEVEL_W_SHIFT);
		s->cut = 1;
		level_start_curve(s, v);
		return;
	}
	t = cc_min_u64(cc_mul_shift(v->now_us - s->epoch_us + level_base_us(s), 4398047, 32), 1u << 20);
	offset = t < s->k_us_10 ? s->k_us_10 - t : t - s->k_us_10;
	rise = offset * offset / 5 * 2 * offset >> 20;
	target = t >= s->k_us_10 ? s->w_max + rise : s->w_max > rise ? s->w_max - rise : 0;
	s->w_reno += (1u << LEVEL_W_SHIFT) * 53 / 100;
	target = cc_max_u64(target, s->w_reno);
	if (target > s->w && s->max_inflight_pkts + 2 >= (s->w >> LEVEL_W_SHIFT) * 7 / 8)
		s->w += cc_min_u64(target - s->w, s->w / 2);
	s->w = cc_min_u64(s->w, LEVEL_W_MOST);
}

/*
 * The path got longer, or a receiver holds its ACKs back: q stepped up, the flow gave three quarters of its window up,
 * and q did not move.
 */
CC_STAGE bool level_path_is_longer(struct level *s)
{
	u32 q = s->queue_us, moved;

	if (q < 3 * level_us(s, s->best_rate)) {
		s->high_rounds = 0;
		return false;
	}
	if (s->high_rounds < 99)
		s->high_rounds++;
	if (s->high_rounds == 3) {
		s->step_us = q;
		s->step_w = s->w;
	}
	moved = q > s->step_us ? q - s->step_us : s->step_us - q;
	if (s->high_rounds <= 3 || s->high_rounds == 100 || s->w > s->step_w / 3)
		return false;
	s->high_rounds = 100;
	if (moved > s->step_us / 4)
		return false;
	s->base_us[0] = s->base_us[1] = level_base_us(s) + q - cc_min_u32(level_us(s, s->best_rate) * 3 / 4, q);
	s->w = s->step_w / 2;
	s->high_rounds = 0;
	DBG("P %llx longer path base %u\n", (unsigned long long)s, level_base_us(s));
	return true;
}

CC_STAGE void level_enter_drain(struct level *s, const struct cc_view *v)
{
	level_enter(s, LEVEL_DRAIN);
	s->drained = 0;
	s->drained_sum_us = 0;
	s->drain_see_us = v->now_us + level_base_us(s) + s->queue_us;
	s->drain_end_us = v->now_us + level_base_us(s) + s->p.drain_us;
	s->before_us = cc_max_u32(s->competing ? s->queue_us : s->mean_us_16 >> 4, 1);
	s->testing = level_is_suspect(s);
	s->shallow = s->testing && (s->competing || s->p.shallow);
	if (s->testing)
		s->drain_end_us += s->queue_us;
	s->test_sum_us = s->tests = 0;
	s->low_rtt_us = CC_NO_RTT;
}

/* half the way, in the logarithm, to the rate that is content with the mean queue */
CC_STAGE void level_exchange(struct level *s, u32 level)
{
	u32 gain = cc_saturate_u32(cc_div((s->p.both ? (u64)s->mean_f_16 << CC_GAIN_SHIFT : (u64)level << (CC_GAIN_SHIFT + 4)), s->mean_us_16));

	DBG("X %llx exchange f %u mean %u rounds %u\n", (unsigned long long)s, level, s->mean_us_16 / 16, s->mean_rounds);
	if (s->mean_us_16 == 0)
		gain = s->p.exchange_most;
	if (s->loss_ppm > s->p.loss_full / 2)
		gain = cc_min_u32(gain, CC_GAIN_UNIT);
	if (s->p.exchange && s->mean_rounds >= s->p.exchange_rounds)
		level_scale(s, cc_max_u32(cc_min_u32(gain, s->p.exchange_most), CC_GAIN(0.75)));
	if (s->mean_rounds >= s->p.exchange_rounds)
		s->settled = gain > CC_GAIN(0.85) && gain < CC_GAIN(1.18);
	s->mean_rounds = 0;
}

CC_STAGE void level_leave_drain(struct level *s, const struct cc_view *v)
{
	level_enter(s, LEVEL_STEADY);
	level_judge_drain(s, v);
	if (!s->competing)
		level_exchange(s, level_us(s, s->rate));
	s->mean_rounds = 0;
	s->exchanged_us = v->now_us;
	s->settle_rounds = 2;
	s->low_rounds = 0;
	s->drain_interval_us = s->p.fast && ((s->alone && !s->competing) || s->joined) ? cc_max_u32(s->p.drain_first_us, 8 * level_base_us(s)) :
				       cc_min_u32(s->drain_interval_us * 2, s->p.drain_interval_us);
}

CC_STAGE void level_startup(struct level *s, const struct cc_view *v)
{
	u32 base = level_base_us(s), level;

	bool full;

	s->w += (u64)v->acked_pkts << LEVEL_W_SHIFT;
	level = level_us(s, s->rate);
	full = s->pair_us != CC_NO_RTT && s->pair_us > base + cc_max_u32(level, base / 16);
	if (!s->round_start && !full)
		return;
	if ((u64)s->rate * 4 >= (u64)s->full_rate * 5) {
		s->full_rate = s->rate;
		s->full_rounds = 0;
	} else {
		s->full_rounds++;
	}
	if (full || s->full_rounds >= 3 || s->loss_ppm > CC_PERCENT(12)) {
		if (s->p.start_sample && v->sample_delivered_pkts > 0 && v->sample_interval_us > 0)
			s->rate = cc_max_u32(s->rate, cc_saturate_u32(cc_div((u64)(u32)v->sample_delivered_pkts << CC_BW_SHIFT, (u32)v->sample_interval_us)));
		s->w = ((u64)s->rate * (base + level)) >> (CC_BW_SHIFT - LEVEL_W_SHIFT);
		s->drain_interval_us = cc_max_u32(s->p.drain_first_us, 8 * base);
		s->loss_ppm = 0;
		level_enter_drain(s, v);
	}
}

CC_STAGE void level_steer(struct level *s, const struct cc_view *v)
{
	u32 level = level_us(s, s->rate), price = level_price_us(s, level), base = level_base_us(s);
	u32 gain = s->w < (u64)s->p.half_pkts << LEVEL_W_SHIFT ? s->p.gain / 2 : s->p.gain;
	u64 step, floor;

	(void)v;
	if (s->mean_rounds < 255)
		s->mean_rounds++;
	if (s->mean_rounds <= 1)
		s->mean_us_16 = s->queue_us << 4, s->mean_f_16 = level << 4;
	else
		s->mean_us_16 += (s->queue_us << 4) / (s->p.stat2 ? s->p.mean_rounds : cc_min_u32(s->mean_rounds, s->p.mean_rounds)) - s->mean_us_16 / (s->p.stat2 ? s->p.mean_rounds : cc_min_u32(s->mean_rounds, s->p.mean_rounds));
	if (s->mean_rounds > 1) {
		u32 n = s->p.stat2 ? s->p.mean_rounds : cc_min_u32(s->mean_rounds, s->p.mean_rounds);
		s->mean_f_16 += (level << 4) / n - s->mean_f_16 / n;
		if (s->p.stat2 && s->mean_rounds < s->p.mean_rounds) {}
	}
	s->best_rate = cc_max_u32(s->best_rate, s->rate);
	if (s->competing) {
		level_compete(s, v);
		return;
	}
	if (s->p.compete && s->p.path && level_path_is_longer(s))
		return;
	s->low_rounds = (u64)price * CC_GAIN_UNIT < (u64)level * s->p.ramp_below ? (u8)cc_min_u32(s->low_rounds + 1u, s->p.ramp_most) : 0;
	if (!s->low_rounds)
		s->low_since_us = v->now_us;
	if (price <= level) {
		u64 most = s->w / 4;
		step = cc_div(((s->w * gain) >> CC_GAIN_SHIFT) * (level - price), base + level);
		step = cc_max_u64(step, (s->w * (s->p.quad ? (u64)s->low_rounds * s->low_rounds : s->low_rounds)) / s->p.ramp);
		if (s->p.again && s->low_rounds >= s->p.again_rounds && price < level / s->p.again && v->now_us - s->low_since_us > CC_MSEC(100))
			most = step = s->w;
		if (s->max_inflight_pkts + 2 >= (s->w >> LEVEL_W_SHIFT) * 7 / 8)
			s->w += cc_min_u64(step, most);
	} else {
		step = cc_div(((s->w * gain) >> CC_GAIN_SHIFT) * (price - level), base + level);
		floor = s->queue_us > level ? 0 : (((u64)s->rate * (base + s->queue_us)) >> (CC_BW_SHIFT - LEVEL_W_SHIFT)) / 8 * s->p.floor_8;
		if (floor < s->w)
			s->w -= cc_min_u64(step, cc_min_u64(s->w - floor, s->w / 4));
	}
	s->w = cc_min_u64(cc_max_u64(s->w, LEVEL_W_LEAST), LEVEL_W_MOST);
}

CC_STAGE void level_steady(struct level *s, const struct cc_view *v)
{
	u32 interval = s->drain_interval_us;
	u64 since = s->low_us;

	if (s->p.fast && !s->competing && level_is_suspect(s)) {
		interval = cc_min_u32(interval, cc_max_u32(s->p.drain_first_us, 8 * level_base_us(s)));
		since = s->p.anchor ? s->low_us : s->drain_end_us;
	}
	if (s->p.drain_interval_us && s->low_rtt_us != CC_NO_RTT && !s->settle_rounds &&
	    v->now_us + level_base_us(s) >= since + interval) {
		level_enter_drain(s, v);
		return;
	}
	if (s->p.on_empty && !s->competing && v->now_us >= s->exchanged_us + s->p.refractory_us && s->low_rtt_us != CC_NO_RTT && s->pair_fresh && s->mean_rounds >= s->p.exchange_rounds) {
		u32 level = level_us(s, s->rate);

		s->pair_fresh = 0;
		if (s->pair_us < level_base_us(s) + level / 4 && s->mean_us_16 > 8 * level) {
			level_exchange(s, level);
			s->exchanged_us = v->now_us;
			s->settle_rounds = 2;
		}
	}
	if (!s->round_start)
		return;
	if (s->settle_rounds) {
		s->settle_rounds--;
		if (!s->settle_rounds && s->drained >= 3) {
			u32 noise = s->drained_sum_us / s->drained - s->drained_least_us;

			s->noise_us = cc_min_u32(noise, cc_min_u32(s->noises_us[0], s->noises_us[1]));
			s->noises_us[1] = s->noises_us[0];
			s->noises_us[0] = noise;
			s->drained = 0;
		}
	}
	else
		level_steer(s, v);
	s->max_inflight_pkts = 0;
}

CC_STAGE void level_update_mode(struct level *s, const struct cc_view *v)
{
	if (s->mode == LEVEL_STARTUP)
		level_startup(s, v);
	else if (s->mode == LEVEL_STEADY)
		level_steady(s, v);
	else if (v->now_us >= s->drain_end_us)
		level_leave_drain(s, v);
}

/* ---- outputs ---- */

CC_STAGE void level_set_controls(struct level *s, const struct cc_view *v, struct cc_decision *d)
{
	u64 w = s->w, rate;
	u32 base = level_base_us(s), rtt = base == CC_NO_RTT ? 1000 : base + s->queue_us;
	u32 gain = s->gain_256, cwnd;

	if (s->mode == LEVEL_DRAIN) {
		if (s->shallow) {
			w = cc_div(w * (base + s->before_us / 4), base + s->before_us);
		} else {
			w = (((u64)s->rate * base) >> (CC_BW_SHIFT - LEVEL_W_SHIFT)) * s->p.drain_gain >> CC_GAIN_SHIFT;
			rtt = base;
		}
	}
	if (s->mode == LEVEL_STARTUP) {
		gain = CC_GAIN(2);
		rtt = v->srtt_us ? v->srtt_us : 1000;
	} else if (s->competing) {
		gain = CC_GAIN(1.25);
	} else if (w < (u64)s->p.few_pkts << LEVEL_W_SHIFT) {
		/*
		 * Below the least cwnd pacing limits, not the clock of ACKs. W / (T + q) is then a reaction to q of its
		 * own, whose sample is two RTTs old: gain times delay is above pi / 2, it oscillates. Half of it does not.
		 */
		gain = CC_GAIN_UNIT;
		if (s->mode == LEVEL_STEADY)
			rtt = base + (s->queue_us + level_us(s, s->rate)) / 2;
	}
	rate = cc_div(((w * v->mss_bytes * gain) >> CC_GAIN_SHIFT) * 1000, rtt); /* >> 10, and per us */
	rate = cc_mul_shift(rate, 1000, LEVEL_W_SHIFT);
	d->pacing_rate_Bps = cc_min_u64(cc_max_u64(rate, 1), v->max_pacing_rate_Bps);
	cwnd = (u32)(w >> LEVEL_W_SHIFT) + s->p.slack_pkts;
	if (s->p.gaps && s->mode == LEVEL_STEADY)
		cwnd += (u32)(((u64)s->rate *
			       cc_min_u32(s->gap_us[0] > s->gap_us[1] ? s->gap_us[1] : s->gap_us[1], CC_MSEC(100))) >>
			      CC_BW_SHIFT);
	d->cwnd_pkts = cc_max_u32(cwnd, s->p.least_pkts);
	d->min_burst_pkts = CC_MIN_BURST_PKTS;
}

/* ---- the contract ---- */

CC_STAGE void level_on_ack(struct level *s, const struct cc_view *v, struct cc_decision *d)
{
	if (s->w < 1024)
		DBG("A %llx t %.4f rtt %d acked %u infl %u prior %u cwnd %u W %.2f base %u delayed %u intv %d\n", (unsigned long long)s, (double)v->now_us/1e6, v->rtt_us, v->acked_pkts, v->inflight_pkts, v->prior_inflight_pkts, v->cwnd_pkts, (double)s->w/1024, level_base_us(s), v->is_ack_delayed, v->sample_interval_us);
	level_sample_rtt(s, v);
	level_update_round(s, v);
	level_update_mode(s, v);
	level_set_controls(s, v, d);
}

CC_INLINE void level_on_event(struct level *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)s;
	(void)event;
	(void)v;
	(void)d;
}

CC_STAGE void level_init(struct level *s, const struct level_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	s->w = (u64)cc_max_u32(v->cwnd_pkts, 1) << LEVEL_W_SHIFT;
	s->block_start_us = s->base_bin_us = s->round_start_us = s->last_ack_us = v->now_us;
	s->block_rtt_us = s->prior_block_us = s->low_rtt_us = s->pair_us = CC_NO_RTT;
	s->base_us[0] = s->base_us[1] = CC_NO_RTT;
	s->floor_us[0] = s->floor_us[1] = CC_NO_RTT;
	s->round_end_delivered_pkts = s->round_delivered_pkts = v->delivered_pkts;
	s->round_lost_pkts = v->lost_pkts;
	s->rng = cc_random_seed(v->random);
	s->mss_bytes = v->mss_bytes;
	s->gain_256 = s->p.pacing_gain;
	d->ssthresh_pkts = CC_INFINITE;
	level_set_controls(s, v, d);
}

CC_INLINE void level_observe(const struct level *s, struct cc_observation *o)
{
	o->bw_Bps = cc_mul_shift((u64)s->rate * s->mss_bytes, CC_USEC_PER_SEC, CC_BW_SHIFT);
	o->min_rtt_us = level_base_us(s);
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = s->mode == LEVEL_STARTUP ? CC_PHASE_STARTUP :
		   s->mode == LEVEL_DRAIN   ? CC_PHASE_DRAIN :
					      CC_PHASE_AVOIDANCE;
}

#endif
