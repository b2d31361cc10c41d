/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv1: congestion control by a model of the path, as mainline Linux has it.
 *
 * The idea. A path has a bottleneck bandwidth and a propagation RTT; their product, the BDP, is what has to
 * be in flight to use the path without a queue. BBR estimates both, and sends at
 *
 *	pacing_rate = pacing_gain * bw * 0.99		bw      = max delivery rate over 10 round trips
 *	cwnd        = cwnd_gain * bw * min_rtt + ...	min_rtt = min RTT over 10 s
 *
 * The two cannot be measured at the same time: more bandwidth shows only when more is in flight than the
 * BDP, the propagation RTT only when there is no queue. So the gains take turns:
 *
 *	     +---- STARTUP     gain 2.89: rate doubles each round, until bw has not grown by 25 % for
 *	     |        |                   3 rounds ("the pipe is full")
 *	     |        v
 *	     |      DRAIN      gain 0.34: until the queue that STARTUP built is gone
 *	     |        |
 *	     |        v
 *	     +--->PROBE_BW     gains 1.25, 0.75, 1, 1, 1, 1, 1, 1, each for about one min_rtt:
 *	     |      ^ |                   probe, give back, cruise
 *	     |      | v  min_rtt not seen for 10 s
 *	     +---PROBE_RTT     cwnd 4 for 200 ms and a round trip, then back (to STARTUP if the pipe was never full)
 *
 * Loss is no signal. It bounds cwnd for a round (packet conservation) so that the sender does not burst,
 * and two stretches of heavy loss at one rate reveal a policer, whose rate is then used for 48 rounds.
 *
 * Known defects, which the variants beside this file address: a flow with a longer RTT starves one with a
 * shorter RTT (bbq.h); several flows hold a standing queue of about one BDP; buffers below a BDP see heavy loss.
 *
 * Sources: Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016 [Queue];
 * Linux 6.18 net/ipv4/tcp_bbr.c [Linux], whose behaviour decides where the article is silent or differs. What has changed
 * there since it was first merged, in 4.9, can be undone by parameters; the preset bbr1_49 undoes it all.
 * Departures from [Linux]: times are microseconds of the ACK clock instead of jiffies (4 ms at HZ=250); the flow has its
 * own random generator; a pacing rate that comes out as zero is not installed (Linux would stop pacing). From 4.9: gains are
 * set on every ACK, so that a policer's rate is paced at gain 1 in PROBE_BW only, and always there.
 */
#ifndef CC_BBR1_H
#define CC_BBR1_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/minmax.h"
#include "contract/params.h"
#include "lib/bbr.h"

/* ---- parameters ---- */

/*
 * What can be set about BBRv1 and its variants: the model and its gains, and what Linux has changed since 4.9.
 *
 * The second list makes bbr1.h the algorithm of any kernel in between, and shows what each change does. The papers that the
 * variants come from measured 4.9. When the changes came:
 *
 *	first_rtt_sets_rate, keep_rate_until_full   4.13   before, the rate began with an RTT of 1 ms
 *	undo_forgets                                4.15   together with a latch for "the pipe is full"; before, the
 *	                                                   count of rounds, which nothing had reset, stood for it
 *	lt_cycle, min_rtt_by_delayed                4.16
 *	export_ssthresh, idle_until_delivered       4.17
 *	probe_rtt_caps_always, idle_ends_probe_rtt  4.19
 *	probe_more_pkts                             4.19   for the window, 5.4 for what is to be in flight
 *	look_ahead, pacing_margin                   4.20   with pacing by departure time. Before, the pacer (sch_fq) counted
 *	                                                   the link's headers against a rate that had been computed
 *	                                                   without them: a margin of 0.9 % on Ethernet, 14 bytes of 1514
 *	extra_acked_gain                            5.1
 *	min_rtt_by_equal                            5.10
 *	lt_clock_us                                 jiffies at first, 4 ms at HZ=250
 */
#define bbr1_model_parameters(P)                                                                                       \
	P(startup_gain, 739, 257, 2560, CC_UNIT_GAIN,                                                                  \
	  "pacing and cwnd gain in STARTUP; 2/ln 2 is the least that doubles the delivery rate each round")            \
	P(drain_gain, 88, 16, 255, CC_UNIT_GAIN,                                                                       \
	  "pacing gain in DRAIN; 1/startup_gain drains STARTUP's queue in a round")                                    \
	P(probe_up_gain, 320, 257, 1024, CC_UNIT_GAIN, "pacing gain while probing for bandwidth")                      \
	P(probe_down_gain, 192, 16, 255, CC_UNIT_GAIN, "pacing gain of the phase after probing")                       \
	P(cwnd_gain, 512, 256, 2560, CC_UNIT_GAIN,                                                                     \
	  "cwnd in PROBE_BW as a multiple of the BDP; 2 leaves room for delayed and aggregated ACKs")                  \
	P(bw_window_rounds, 10, 1, 1000, CC_UNIT_ROUNDS,                                                               \
	  "rounds over which bw is the maximum; more than one gain cycle")                                             \
	P(min_rtt_window_us, 10000000, 100000, 600000000, CC_UNIT_US, "time without a new minimum before PROBE_RTT")   \
	P(probe_rtt_us, 200000, 1000, 10000000, CC_UNIT_US, "least time in PROBE_RTT")                                 \
	P(min_cwnd_pkts, 4, 1, 100, CC_UNIT_PKTS, "least cwnd; 4 keeps ACKs flowing past a receiver that delays them") \
	P(full_bw_gain, 320, 257, 1024, CC_UNIT_GAIN, "growth of bw that shows that the pipe is not full")             \
	P(full_bw_rounds, 3, 1, 100, CC_UNIT_ROUNDS, "rounds without such growth that show that it is")                \
	P(pacing_margin, 10000, 0, 500000, CC_UNIT_PPM, "pace this much below bw, so that queues drain over time")     \
	P(extra_acked_gain, 256, 0, 2560, CC_UNIT_GAIN, "cwnd added per packet of ACK aggregation seen; 0: none")      \
	P(extra_acked_max_us, 100000, 0, 1000000, CC_UNIT_US, "no more than bw times this is added for aggregation")   \
	P(lt_bw, 1, 0, 1, CC_UNIT_BOOL, "detect token-bucket policers and use their rate")

/* Linux 4.9 to 6.18: the default is how it is now. */
#define bbr1_later_parameters(P)                                                                                       \
	P(first_rtt_sets_rate, 1, 0, 1, CC_UNIT_BOOL, "begin anew with pacing when the first RTT is known")            \
	P(keep_rate_until_full, 1, 0, 1, CC_UNIT_BOOL,                                                                 \
	  "until the pipe has been full the pacing rate never falls; 0: in STARTUP it does not")                       \
	P(probe_more_pkts, 2, 0, 100, CC_UNIT_PKTS,                                                                    \
	  "added to the window and to what is to be in flight while probing, for tiny BDPs")                           \
	P(look_ahead, 1, 0, 1, CC_UNIT_BOOL,                                                                           \
	  "count what will be in the network at the next departure; 0: what is in flight")                             \
	P(min_rtt_by_equal, 0, 0, 1, CC_UNIT_BOOL, "an RTT equal to min_rtt confirms it")                              \
	P(min_rtt_by_delayed, 0, 0, 1, CC_UNIT_BOOL,                                                                   \
	  "an expired min_rtt is replaced even by an ACK that the receiver held back")                                 \
	P(idle_until_delivered, 1, 0, 1, CC_UNIT_BOOL, "idle time ends when something is delivered; 0: with any ACK")  \
	P(idle_ends_probe_rtt, 1, 0, 1, CC_UNIT_BOOL, "PROBE_RTT may end when sending resumes after idle time")        \
	P(probe_rtt_caps_always, 1, 0, 1, CC_UNIT_BOOL,                                                                \
	  "PROBE_RTT bounds cwnd on every ACK; 0: on those that acknowledge something")                                \
	P(undo_forgets, 1, 0, 1, CC_UNIT_BOOL, "an undo forgets the growth of bw and policers")                        \
	P(export_ssthresh, 1, 0, 1, CC_UNIT_BOOL,                                                                      \
	  "ssthresh shows the BDP at the end of STARTUP; nothing depends on it")                                       \
	P(lt_cycle, 1, 0, 1, CC_UNIT_BOOL, "the gain cycle goes on, unseen, while a policer's rate is in use")         \
	P(lt_clock_us, 1000, 1, 100000, CC_UNIT_US, "resolution of the clock of policer detection")

#define bbr1_parameters(P) bbr1_model_parameters(P) bbr1_later_parameters(P)

struct bbr1_params {
	bbr1_parameters(CC_PARAM_FIELD)
};

/* ---- constants and state ---- */

enum bbr1_mode {
	BBR1_STARTUP = 0,
	BBR1_DRAIN = 1,
	BBR1_PROBE_BW = 2,
	BBR1_PROBE_RTT = 3,
};

/* Phases of the gain cycle in PROBE_BW. [Queue] "ProbeBW" */
#define BBR1_CYCLE_UP	  0u
#define BBR1_CYCLE_DOWN	  1u
#define BBR1_CYCLE_CRUISE 2u /* and all after it */
#define BBR1_CYCLE_LEN	  8u
/* PROBE_BW starts in any phase but DOWN, so that flows probe at different times: 7 to choose from. */
#define BBR1_CYCLE_START 7u

/* Instead of a BDP until the first RTT sample (RFC 6928). */
#define BBR1_INIT_CWND_PKTS 10u

/* Bursts: below 1.2 Mbit/s one of two packets would last 20 ms, then one; and 127 at most. */
#define BBR1_BURST_OF_TWO_Bps (1200000u / 8u)
#define BBR1_BURST_MAX_PKTS   127u

/* ACK aggregation: two bins of 5 rounds, so that the maximum is 5 to 10 rounds old. */
#define BBR1_EXTRA_ACKED_ROUNDS 5u

#define BBR1_POLICER_MIN_ROUNDS 4u
#define BBR1_POLICER_MAX_ROUNDS (4u * BBR1_POLICER_MIN_ROUNDS)
#define BBR1_POLICER_LOSS_256	50u  /* least lost/delivered, 19.5 % */
#define BBR1_POLICER_AGREE_256	32u  /* two rates agree within 1/8 ... */
#define BBR1_POLICER_AGREE_Bps	500u /* ... or within 4 kbit/s */
#define BBR1_POLICER_USE_ROUNDS 48u

struct bbr1_policer {
	u64 stamp_us;	    /* start of the interval */
	u32 delivered_pkts; /* delivered_pkts then */
	u32 lost_pkts;	    /* lost_pkts then */
	u32 rounds;	    /* in the interval; or since the rate is in use */
	u32 bw;		    /* rate of the last interval, or in use; 0: none */
	u32 clock_us;	    /* parameter: resolution of the interval's clock */
	u32 margin_ppm;	    /* parameter: pacing margin */
	u8 sampling;	    /* an interval is open */
	u8 in_use;	    /* a policer was found: bw is its rate */
	u8 reserved[6];	    /* no holes: parity compares bytes */
};

struct bbr1 {
	u64 min_rtt_stamp_us;  /* when min_rtt_us was last confirmed */
	u64 probe_rtt_done_us; /* earliest end of PROBE_RTT; 0: inflight has not come down yet */
	u64 cycle_stamp_us;    /* start of the phase in the gain cycle */
	struct bbr_aggregation aggregation;
	struct bbr1_policer policer;
	struct bbr1_params p;
	struct cc_minmax max_bw;      /* clocked by round_count, CC_BW_UNIT packets per us */
	u32 min_rtt_us;		      /* CC_NO_RTT: no sample yet */
	u32 round_count;	      /* packet-timed round trips */
	u32 round_end_delivered_pkts; /* the round ends when a packet sent after this is acknowledged */
	u32 prior_cwnd_pkts;	      /* cwnd to come back to after recovery or PROBE_RTT */
	u32 full_bw;		      /* bw to grow from, while in STARTUP */
	u32 pacing_gain_256;
	u32 cwnd_gain_256;
	u32 rng;
	u32 mss_bytes; /* for onlookers */
	u8 mode;       /* enum bbr1_mode */
	u8 cycle_index;
	u8 full_bw_count;
	u8 prev_ca_state;
	u8 full_pipe;		/* latched */
	u8 round_start;		/* this ACK begins a round */
	u8 idle_restart;	/* sending resumed after idle: that ACKs are old says nothing about the path */
	u8 packet_conservation; /* first round of recovery: send only what is delivered */
	u8 probe_rtt_round_done;
	u8 has_seen_rtt;
	u8 reserved[2]; /* no holes: parity compares bytes */
};

/* ---- the model as other stages see it ---- */

CC_INLINE u32 bbr1_max_bw(const struct bbr1 *s) { return cc_minmax_get(&s->max_bw); }

CC_INLINE u32 bbr1_bw(const struct bbr1 *s) { return s->policer.in_use ? s->policer.bw : bbr1_max_bw(s); }

/* bw * min_rtt * gain in packets. */
CC_INLINE u32 bbr1_bdp_pkts(const struct bbr1 *s, u32 bw, u32 gain_256)
{
	return s->min_rtt_us == CC_NO_RTT ? BBR1_INIT_CWND_PKTS : bbr_bdp_pkts(bw, s->min_rtt_us, gain_256);
}

/* Linux: bbr_min_tso_segs. */
CC_INLINE u32 bbr1_min_burst_pkts(const struct cc_decision *d)
{
	return d->pacing_rate_Bps < BBR1_BURST_OF_TWO_Bps ? 1 : CC_MIN_BURST_PKTS;
}

CC_INLINE u32 bbr1_burst_pkts(const struct cc_view *v, const struct cc_decision *d)
{
	return cc_min_u32(bbr_burst_pkts(v, d, 0, bbr1_min_burst_pkts(d)), BBR1_BURST_MAX_PKTS);
}

/*
 * A window for `cwnd` packets on a real host: room for a burst in the sender's queue, one on the wire and one
 * in the receiver's offload; even, since receivers acknowledge every other packet; two more to probe with,
 * or a gain of 1.25 on a tiny BDP would come to nothing.
 */
CC_INLINE u32 bbr1_quantise_pkts(const struct bbr1 *s, u32 cwnd, const struct cc_view *v, const struct cc_decision *d)
{
	cwnd = cc_min_u32(cwnd, CC_INFINITE / 2) + 3 * bbr1_burst_pkts(v, d);
	cwnd = (cwnd + 1) & ~1u;
	if (s->mode == BBR1_PROBE_BW && s->cycle_index == BBR1_CYCLE_UP)
		cwnd += s->p.probe_more_pkts;
	return cwnd;
}

/* What must be in flight for `gain` times the BDP. */
CC_STAGE u32 bbr1_inflight_pkts(const struct bbr1 *s, u32 gain_256, const struct cc_view *v,
				const struct cc_decision *d)
{
	return bbr1_quantise_pkts(s, bbr1_bdp_pkts(s, bbr1_max_bw(s), gain_256), v, d);
}

/* What will be in the network when the next packet may leave; a burst that is about to be sent counts while probing. */
CC_STAGE u32 bbr1_in_network_pkts(const struct bbr1 *s, u32 inflight, const struct cc_view *v,
				  const struct cc_decision *d)
{
	if (!s->p.look_ahead)
		return inflight;
	if (s->pacing_gain_256 > CC_GAIN_UNIT)
		inflight += bbr1_burst_pkts(v, d);
	return bbr_in_network_pkts(inflight, bbr1_bw(s), v);
}

/* ---- changes of mode ---- */

CC_INLINE void bbr1_start_round(struct bbr1 *s, const struct cc_view *v)
{
	s->round_end_delivered_pkts = v->delivered_pkts;
}

/* The diagram at the top. PROBE_BW begins anew when a policer has expired; PROBE_RTT may interrupt any other mode. */
CC_INLINE bool bbr1_may_follow(u32 before, u32 mode)
{
	switch (mode) {
	case BBR1_STARTUP:
		return before == BBR1_PROBE_RTT;
	case BBR1_DRAIN:
		return before == BBR1_STARTUP;
	case BBR1_PROBE_BW:
		return before == BBR1_DRAIN || before == BBR1_PROBE_RTT || before == BBR1_PROBE_BW;
	default:
		return before == BBR1_STARTUP || before == BBR1_DRAIN || before == BBR1_PROBE_BW;
	}
}

/* All changes of mode. */
CC_INLINE void bbr1_enter(struct bbr1 *s, u8 mode)
{
	CC_CHECK(bbr1_may_follow(s->mode, mode), "bbr1: this mode may not follow the one before");
	CC_CHECK(mode == BBR1_PROBE_RTT || (mode == BBR1_STARTUP) == !s->full_pipe,
		 "bbr1: STARTUP is for a pipe that is not full, DRAIN and PROBE_BW for one that is");
	s->mode = mode;
}

/* All changes of phase in the gain cycle. */
CC_INLINE void bbr1_enter_phase(struct bbr1 *s, u8 index, const struct cc_view *v)
{
	CC_CHECK(s->mode == BBR1_PROBE_BW && index < BBR1_CYCLE_LEN, "bbr1: only PROBE_BW has phases, 8 of them");
	s->cycle_index = index;
	s->cycle_stamp_us = v->delivered_us;
}

CC_INLINE void bbr1_next_phase(struct bbr1 *s, const struct cc_view *v)
{
	bbr1_enter_phase(s, (u8)((s->cycle_index + 1u) % BBR1_CYCLE_LEN), v);
}

CC_STAGE void bbr1_enter_probe_bw(struct bbr1 *s, const struct cc_view *v)
{
	u32 index = BBR1_CYCLE_LEN - cc_random_below(&s->rng, BBR1_CYCLE_START); /* 8, which is 0, to 2 */

	bbr1_enter(s, BBR1_PROBE_BW);
	bbr1_enter_phase(s, (u8)(index % BBR1_CYCLE_LEN), v);
}

CC_INLINE void bbr1_save_cwnd(struct bbr1 *s, const struct cc_decision *d)
{
	if (s->prev_ca_state < CC_CA_RECOVERY && s->mode != BBR1_PROBE_RTT)
		s->prior_cwnd_pkts = d->cwnd_pkts;
	else /* cwnd is low already: remember the best */
		s->prior_cwnd_pkts = cc_max_u32(s->prior_cwnd_pkts, d->cwnd_pkts);
}

CC_INLINE void bbr1_leave_probe_rtt(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	s->min_rtt_stamp_us = v->now_us; /* what was seen is the minimum for the next 10 s */
	d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, s->prior_cwnd_pkts);
	if (s->full_pipe)
		bbr1_enter_probe_bw(s, v);
	else
		bbr1_enter(s, BBR1_STARTUP);
}

CC_STAGE void bbr1_check_probe_rtt_done(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	if (s->probe_rtt_done_us && v->now_us > s->probe_rtt_done_us)
		bbr1_leave_probe_rtt(s, v, d);
}

/* ---- policers ---- */

/*
 * BBRv1's detector of token-bucket policers ("long-term bandwidth", lt_bw in Linux). Not an algorithm.
 *
 * A policer lets a burst pass at any rate and then drops what exceeds its rate. BBR takes the rate of the burst for bw,
 * and loses a large share of what it sends for as long as it remembers it. But when the bucket is empty it lets through
 * exactly its rate: so measure from one loss to another,
 *
 *	interval  4 to 16 rounds that begin and end with a loss, at least 19.5 % of what was delivered lost in between
 *	found     two intervals in a row have the same rate (within 1/8 or 4 kbit/s): use their mean instead of bw
 *	expired   after 48 rounds of PROBE_BW: try again whether there is more
 *
 * Source: Linux 6.18 net/ipv4/tcp_bbr.c; there is no published one. Departure: the arithmetic is 64 bits wide where
 * Linux's wraps above a difference of 12 Gbit/s.
 */
CC_INLINE void bbr1_policer_open_interval(struct bbr1_policer *l, const struct cc_view *v)
{
	l->stamp_us = v->delivered_us;
	l->delivered_pkts = v->delivered_pkts;
	l->lost_pkts = v->lost_pkts;
	l->rounds = 0;
}

/* There is none, as far as is known. */
CC_INLINE void bbr1_policer_reset(struct bbr1_policer *l, const struct cc_view *v)
{
	l->bw = 0;
	l->in_use = false;
	l->sampling = false;
	bbr1_policer_open_interval(l, v);
}

/* While the rate is in use: is it time to try for more? */
CC_INLINE bool bbr1_policer_expired(struct bbr1_policer *l, bool round_start)
{
	return round_start && ++l->rounds >= BBR1_POLICER_USE_ROUNDS;
}

CC_INLINE bool bbr1_policer_agrees(const struct bbr1_policer *l, u32 mss_bytes, u32 bw)
{
	u32 diff = bw > l->bw ? bw - l->bw : l->bw - bw;

	return l->bw && ((u64)diff * CC_GAIN_UNIT <= (u64)l->bw * BBR1_POLICER_AGREE_256 ||
			 bbr_rate_Bps(mss_bytes, diff, CC_GAIN_UNIT, l->margin_ppm) <= BBR1_POLICER_AGREE_Bps);
}

/* The interval is complete; is it the second at this rate? */
CC_STAGE bool bbr1_policer_close_interval(struct bbr1_policer *l, const struct cc_view *v, u32 bw)
{
	if (bbr1_policer_agrees(l, v->mss_bytes, bw)) {
		l->bw = (u32)(((u64)bw + l->bw) >> 1);
		l->in_use = true;
		l->rounds = 0;
		return true;
	}
	l->bw = bw;
	bbr1_policer_open_interval(l, v);
	return false;
}

/* An ACK with so many losses. Has it revealed a policer? A rate that the application limited says nothing about one. */
CC_STAGE bool bbr1_policer_sample(struct bbr1_policer *l, const struct cc_view *v, u32 losses, bool app_limited,
				  bool round_start)
{
	u32 lost, delivered;
	u64 elapsed_us;

	if (!l->sampling) {
		if (!losses)
			return false;
		bbr1_policer_open_interval(l, v);
		l->sampling = true;
	}
	if (app_limited) {
		bbr1_policer_reset(l, v);
		return false;
	}
	if (round_start)
		l->rounds++;
	if (l->rounds < BBR1_POLICER_MIN_ROUNDS)
		return false;
	if (l->rounds > BBR1_POLICER_MAX_ROUNDS) {
		bbr1_policer_reset(l, v);
		return false;
	}
	lost = v->lost_pkts - l->lost_pkts;
	delivered = v->delivered_pkts - l->delivered_pkts;
	if (!losses || !delivered || ((u64)lost << 8) < (u64)BBR1_POLICER_LOSS_256 * delivered)
		return false;
	elapsed_us = (cc_div(v->delivered_us, l->clock_us) - cc_div(l->stamp_us, l->clock_us)) * l->clock_us;
	if (!elapsed_us)
		return false;
	return bbr1_policer_close_interval(l, v, cc_saturate_u32(cc_div((u64)delivered << CC_BW_SHIFT, elapsed_us)));
}
CC_STAGE void bbr1_check_policer(struct bbr1 *s, const struct cc_view *v, u32 losses, bool app_limited)
{
	if (!s->p.lt_bw)
		return;
	if (!s->policer.in_use) {
		if (bbr1_policer_sample(&s->policer, v, losses, app_limited, s->round_start != 0))
			s->pacing_gain_256 = CC_GAIN_UNIT; /* try to avoid drops */
	} else if (s->mode == BBR1_PROBE_BW && bbr1_policer_expired(&s->policer, s->round_start != 0)) {
		bbr1_policer_reset(&s->policer, v);
		bbr1_enter_probe_bw(s, v);
	}
}

/* ---- on_ack, stage by stage ---- */

/* Rounds, and bw as the maximum of delivery-rate samples. A sample that the application limited can only raise it. */
CC_STAGE void bbr1_update_bw(struct bbr1 *s, const struct cc_view *v)
{
	u32 bw;

	s->round_start = false;
	if (v->sample_delivered_pkts < 0 || v->sample_interval_us <= 0)
		return;
	if (!cc_before(v->sample_prior_delivered_pkts, s->round_end_delivered_pkts)) {
		bbr1_start_round(s, v);
		s->round_count++;
		s->round_start = true;
		s->packet_conservation = false;
	}
	bbr1_check_policer(s, v, v->losses_pkts, v->is_app_limited != 0);
	bw = cc_saturate_u32(cc_div((u64)(u32)v->sample_delivered_pkts << CC_BW_SHIFT, (u32)v->sample_interval_us));
	if (!v->is_app_limited || bw >= bbr1_max_bw(s))
		cc_minmax_max(&s->max_bw, s->p.bw_window_rounds, s->round_count, bw);
}

CC_STAGE void bbr1_update_extra_acked(struct bbr1 *s, const struct cc_view *v)
{
	if (s->p.extra_acked_gain)
		bbr_update_aggregation(&s->aggregation, v, bbr1_bw(s), BBR1_EXTRA_ACKED_ROUNDS, s->round_start);
}

/* What this flow has learnt of the path from the ACK. */
CC_STAGE void bbr1_update_model(struct bbr1 *s, const struct cc_view *v)
{
	s->mss_bytes = v->mss_bytes;
	bbr1_update_bw(s, v);
	bbr1_update_extra_acked(s, v);
}

/* Time since the phase of the gain cycle began, by the clock of deliveries. */
CC_INLINE u64 bbr1_phase_us(const struct bbr1 *s, const struct cc_view *v)
{
	return v->delivered_us > s->cycle_stamp_us ? v->delivered_us - s->cycle_stamp_us : 0;
}

/* Probing: the pipe holds what probing asks for, 1.25 BDP. */
CC_INLINE bool bbr1_is_filled(const struct bbr1 *s, const struct cc_view *v, const struct cc_decision *d)
{
	return bbr1_in_network_pkts(s, v->prior_inflight_pkts, v, d) >= bbr1_inflight_pkts(s, s->p.probe_up_gain, v, d);
}

/* Giving back: no more than a BDP is left, by the estimates of now. */
CC_INLINE bool bbr1_is_drained(const struct bbr1 *s, const struct cc_view *v, const struct cc_decision *d)
{
	return bbr1_in_network_pkts(s, v->prior_inflight_pkts, v, d) <= bbr1_inflight_pkts(s, CC_GAIN_UNIT, v, d);
}

/*
 * Is the phase of the gain cycle over? Probing goes on until the pipe holds 1.25 BDP or overflows, for one min_rtt at
 * least; giving back for one min_rtt at most, less if the queue is gone before.
 */
CC_STAGE bool bbr1_phase_over(const struct bbr1 *s, const struct cc_view *v, const struct cc_decision *d)
{
	bool full_length = bbr1_phase_us(s, v) > s->min_rtt_us;

	if (s->mode != BBR1_PROBE_BW || (s->policer.in_use && !s->p.lt_cycle))
		return false;
	if (s->pacing_gain_256 == CC_GAIN_UNIT)
		return full_length;
	if (s->pacing_gain_256 > CC_GAIN_UNIT)
		return full_length && (v->losses_pkts || bbr1_is_filled(s, v, d));
	return full_length || bbr1_is_drained(s, v, d);
}

/* The pipe is full when bw has stopped growing although the sender offered more. [Queue] "Startup" */
CC_STAGE void bbr1_check_full_pipe(struct bbr1 *s, const struct cc_view *v)
{
	if (s->full_pipe || !s->round_start || v->is_app_limited)
		return;
	if (bbr1_max_bw(s) >= ((u64)s->full_bw * s->p.full_bw_gain) >> CC_GAIN_SHIFT) {
		s->full_bw = bbr1_max_bw(s);
		s->full_bw_count = 0;
		return;
	}
	s->full_pipe = ++s->full_bw_count >= s->p.full_bw_rounds;
}

CC_STAGE void bbr1_check_drain(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	if (s->mode == BBR1_STARTUP && s->full_pipe) {
		bbr1_enter(s, BBR1_DRAIN);
		if (s->p.export_ssthresh)
			d->ssthresh_pkts = bbr1_inflight_pkts(s, CC_GAIN_UNIT, v, d);
	}
	if (s->mode == BBR1_DRAIN &&
	    bbr1_in_network_pkts(s, v->inflight_pkts, v, d) <= bbr1_inflight_pkts(s, CC_GAIN_UNIT, v, d))
		bbr1_enter_probe_bw(s, v);
}

/* PROBE_RTT: hold inflight at 4 packets so that every queue this flow built is gone, and look at the RTT. */
CC_STAGE void bbr1_run_probe_rtt(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr_mark_app_limited(v, d);
	if (!s->probe_rtt_done_us) {
		if (v->inflight_pkts <= s->p.min_cwnd_pkts) {
			s->probe_rtt_done_us = v->now_us + s->p.probe_rtt_us;
			s->probe_rtt_round_done = false;
			bbr1_start_round(s, v);
		}
		return;
	}
	if (s->round_start)
		s->probe_rtt_round_done = true;
	if (s->probe_rtt_round_done)
		bbr1_check_probe_rtt_done(s, v, d);
}

/* Does an RTT sample replace min_rtt, or confirm it? An ACK that was held back is no measure of a longer path. */
CC_INLINE bool bbr1_is_min_rtt(const struct bbr1 *s, const struct cc_view *v, bool expired)
{
	u32 rtt_us = (u32)v->rtt_us;

	if (v->rtt_us < 0)
		return false;
	if (expired && (!v->is_ack_delayed || s->p.min_rtt_by_delayed))
		return true;
	return rtt_us < s->min_rtt_us || (s->p.min_rtt_by_equal && rtt_us == s->min_rtt_us);
}

/* min_rtt, and the visit to PROBE_RTT when nothing has confirmed it for 10 s. */
CC_STAGE void bbr1_update_min_rtt(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	bool expired = v->now_us > s->min_rtt_stamp_us + s->p.min_rtt_window_us;

	if (bbr1_is_min_rtt(s, v, expired)) {
		s->min_rtt_us = (u32)v->rtt_us;
		s->min_rtt_stamp_us = v->now_us;
	}
	if (expired && !s->idle_restart && s->mode != BBR1_PROBE_RTT) {
		bbr1_enter(s, BBR1_PROBE_RTT);
		bbr1_save_cwnd(s, d);
		s->probe_rtt_done_us = 0;
	}
	if (s->mode == BBR1_PROBE_RTT)
		bbr1_run_probe_rtt(s, v, d);
	if (v->sample_delivered_pkts > 0 || !s->p.idle_until_delivered)
		s->idle_restart = false;
}

CC_INLINE u32 bbr1_cycle_gain_256(const struct bbr1 *s)
{
	if (s->policer.in_use)
		return CC_GAIN_UNIT;
	if (s->cycle_index == BBR1_CYCLE_UP)
		return s->p.probe_up_gain;
	return s->cycle_index == BBR1_CYCLE_DOWN ? s->p.probe_down_gain : CC_GAIN_UNIT;
}

CC_STAGE void bbr1_update_gains(struct bbr1 *s)
{
	switch (s->mode) {
	case BBR1_STARTUP:
		s->pacing_gain_256 = s->p.startup_gain;
		s->cwnd_gain_256 = s->p.startup_gain;
		break;
	case BBR1_DRAIN:
		s->pacing_gain_256 = s->p.drain_gain;
		s->cwnd_gain_256 = s->p.startup_gain;
		break;
	case BBR1_PROBE_BW:
		s->pacing_gain_256 = bbr1_cycle_gain_256(s);
		s->cwnd_gain_256 = s->p.cwnd_gain;
		break;
	default:
		s->pacing_gain_256 = CC_GAIN_UNIT;
		s->cwnd_gain_256 = CC_GAIN_UNIT;
		break;
	}
}

/* Which mode comes next. */
CC_INLINE void bbr1_change_mode(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_check_full_pipe(s, v);
	bbr1_check_drain(s, v, d);
	bbr1_update_min_rtt(s, v, d);
}

/* And its gains. */
CC_STAGE void bbr1_update_mode(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_change_mode(s, v, d);
	bbr1_update_gains(s);
}

CC_STAGE void bbr1_set_pacing_rate(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d, u32 gain_256)
{
	u64 rate = bbr_rate_Bps(v->mss_bytes, bbr1_bw(s), gain_256, s->p.pacing_margin);
	bool may_fall = s->p.keep_rate_until_full ? s->full_pipe : s->mode != BBR1_STARTUP;

	if (!s->has_seen_rtt && v->srtt_us && s->p.first_rtt_sets_rate) {
		s->has_seen_rtt = true;
		bbr_init_pacing_rate(v, d, s->p.startup_gain, s->p.pacing_margin);
	}
	bbr_set_pacing_rate(v, d, rate, may_fall);
	d->min_burst_pkts = bbr1_min_burst_pkts(d);
}

/*
 * Recovery: in its first round send one packet for each one delivered, then as the model says. Afterwards go back to the
 * cwnd of before, since the losses were no news about the path. True: this settles cwnd for now.
 */
CC_STAGE bool bbr1_recover_or_restore_cwnd(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	u8 before = s->prev_ca_state, state = v->ca_state;
	u32 conserved = v->inflight_pkts + v->acked_pkts;

	if (v->losses_pkts)
		d->cwnd_pkts = cc_max_u32(cc_sub_floor_u32(d->cwnd_pkts, v->losses_pkts), 1);
	if (state == CC_CA_RECOVERY && before != CC_CA_RECOVERY) {
		s->packet_conservation = true;
		bbr1_start_round(s, v);
		d->cwnd_pkts = conserved;
	} else if (before >= CC_CA_RECOVERY && state < CC_CA_RECOVERY) {
		s->packet_conservation = false;
		d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, s->prior_cwnd_pkts);
	}
	s->prev_ca_state = state;
	if (s->packet_conservation)
		d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, conserved);
	return s->packet_conservation;
}

CC_INLINE u32 bbr1_extra_acked_cwnd_pkts(const struct bbr1 *s)
{
	if (!s->full_pipe)
		return 0;
	return bbr_aggregation_cwnd_pkts(&s->aggregation, bbr1_bw(s), s->p.extra_acked_gain, s->p.extra_acked_max_us);
}

/* cwnd follows its target as fast as data is delivered. */
CC_STAGE void bbr1_set_cwnd(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	u32 target;

	if (v->acked_pkts && !bbr1_recover_or_restore_cwnd(s, v, d)) {
		target = bbr1_bdp_pkts(s, bbr1_bw(s), s->cwnd_gain_256);
		target = cc_saturate_u32((u64)target + bbr1_extra_acked_cwnd_pkts(s));
		target = bbr1_quantise_pkts(s, target, v, d);
		if (s->full_pipe)
			d->cwnd_pkts = cc_min_u32(d->cwnd_pkts + v->acked_pkts, target);
		else if (d->cwnd_pkts < target || v->delivered_pkts < BBR1_INIT_CWND_PKTS)
			d->cwnd_pkts += v->acked_pkts;
		d->cwnd_pkts = cc_max_u32(d->cwnd_pkts, s->p.min_cwnd_pkts);
	}
	if (s->mode == BBR1_PROBE_RTT && (v->acked_pkts || s->p.probe_rtt_caps_always))
		d->cwnd_pkts = cc_min_u32(d->cwnd_pkts, s->p.min_cwnd_pkts);
}

/* What the host shall do. */
CC_STAGE void bbr1_set_controls(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_set_pacing_rate(s, v, d, s->pacing_gain_256);
	bbr1_set_cwnd(s, v, d);
}

/* ---- the contract ---- */

CC_STAGE void bbr1_on_ack(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(s, v);
	if (bbr1_phase_over(s, v, d))
		bbr1_next_phase(s, v);
	bbr1_update_mode(s, v, d);
	bbr1_set_controls(s, v, d);
}

CC_STAGE void bbr1_on_event(struct bbr1 *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (event) {
	case CC_EVENT_REDUCE: /* no reduction; but remember what to come back to */
		bbr1_save_cwnd(s, d);
		break;
	case CC_EVENT_CA_STATE:
		if (v->ca_state != CC_CA_LOSS)
			break;
		/* After a timeout bw may have changed: measure the growth anew, and count it as a loss for the policer. */
		s->prev_ca_state = CC_CA_LOSS;
		s->full_bw = 0;
		s->round_start = true;
		bbr1_check_policer(s, v, 1, false);
		break;
	case CC_EVENT_RESTART:
		if (!v->app_limited)
			break;
		/* The pipe is empty: pace at bw, so that the first burst does not build a queue. */
		s->idle_restart = true;
		bbr_restart_aggregation(&s->aggregation, v);
		if (s->mode == BBR1_PROBE_BW)
			bbr1_set_pacing_rate(s, v, d, CC_GAIN_UNIT);
		else if (s->mode == BBR1_PROBE_RTT && s->p.idle_ends_probe_rtt)
			bbr1_check_probe_rtt_done(s, v, d);
		break;
	case CC_EVENT_UNDO: /* the loss was none: forget what it taught; cwnd comes back when recovery ends */
		if (!s->p.undo_forgets)
			break;
		s->full_bw = 0;
		s->full_bw_count = 0;
		bbr1_policer_reset(&s->policer, v);
		break;
	default:
		break;
	}
}

CC_STAGE void bbr1_init(struct bbr1 *s, const struct bbr1_params *p, const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	s->rng = cc_random_seed(v->random);
	s->min_rtt_us = v->min_rtt_us;
	s->min_rtt_stamp_us = v->now_us;
	bbr_restart_aggregation(&s->aggregation, v);
	s->prev_ca_state = CC_CA_OPEN;
	s->mode = BBR1_STARTUP;
	bbr1_start_round(s, v);
	s->policer.clock_us = p->lt_clock_us;
	s->policer.margin_ppm = p->pacing_margin;
	bbr1_policer_reset(&s->policer, v);
	bbr1_update_gains(s);
	d->ssthresh_pkts = CC_INFINITE;
	s->has_seen_rtt = v->srtt_us != 0;
	bbr_init_pacing_rate(v, d, s->p.startup_gain, s->p.pacing_margin);
	d->min_burst_pkts = bbr1_min_burst_pkts(d);
}

CC_INLINE u32 bbr1_phase(const struct bbr1 *s)
{
	switch (s->mode) {
	case BBR1_STARTUP:
		return CC_PHASE_STARTUP;
	case BBR1_DRAIN:
		return CC_PHASE_DRAIN;
	case BBR1_PROBE_RTT:
		return CC_PHASE_PROBE_RTT;
	default:
		if (s->pacing_gain_256 == CC_GAIN_UNIT)
			return CC_PHASE_PROBE_BW_CRUISE;
		return s->pacing_gain_256 > CC_GAIN_UNIT ? CC_PHASE_PROBE_BW_UP : CC_PHASE_PROBE_BW_DOWN;
	}
}

CC_INLINE void bbr1_observe(const struct bbr1 *s, struct cc_observation *o)
{
	o->bw_Bps = bbr_rate_Bps(s->mss_bytes, bbr1_bw(s), CC_GAIN_UNIT, 0);
	o->min_rtt_us = s->min_rtt_us;
	o->pacing_gain_256 = s->pacing_gain_256;
	o->cwnd_gain_256 = s->cwnd_gain_256;
	o->phase = bbr1_phase(s);
}

#endif
