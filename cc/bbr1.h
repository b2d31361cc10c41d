/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv1: congestion control by a model of the path, as in mainline Linux.
 *
 * The idea. A path has a bottleneck bandwidth and a propagation RTT. Their product, the BDP, is the amount of data
 * in flight that uses the path fully and builds no queue. BBR estimates both and sends at
 *
 *	pacing_rate = pacing_gain * bw * 0.99		bw      = max delivery rate over 10 round trips
 *	cwnd        = cwnd_gain * bw * min_rtt + ...	min_rtt = min RTT over 10 s
 *
 * The two cannot be measured at the same time: a higher bandwidth shows only with more than a BDP in flight, the
 * propagation RTT only without a queue. So the gains alternate:
 *
 *	     +---- STARTUP     gain 2.89: the rate doubles each round, until bw has not grown by 25 % for
 *	     |        |                   3 rounds ("the pipe is full")
 *	     |        v
 *	     |      DRAIN      gain 0.34: until the queue of STARTUP is gone
 *	     |        |
 *	     |        v
 *	     +--->PROBE_BW     gains 1.25, 0.75, 1, 1, 1, 1, 1, 1, each for about one min_rtt:
 *	     |      ^ |                   probe, drain, cruise
 *	     |      | v  no lower RTT for 10 s
 *	     +---PROBE_RTT     cwnd 4 for 200 ms and a round trip, then back (to STARTUP if the pipe was never full)
 *
 * Loss does not change the model. It bounds cwnd for one round (packet conservation), so that the sender does not
 * burst; and two intervals of heavy loss at the same delivery rate reveal a policer, whose rate is then used for 48
 * rounds.
 *
 * Known defects, which the variants beside this file address: a flow with a longer RTT starves one with a shorter
 * RTT (bbq.h); several flows hold a standing queue of about one BDP (bbr1_drain.h); buffers below a BDP lose many
 * packets (bbr3.h).
 *
 * Sources: Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016 [Queue]; Linux 6.18
 * net/ipv4/tcp_bbr.c [Linux], which decides where the article is silent or differs.
 *
 * Departures from [Linux]: times are microseconds of the ACK clock instead of jiffies (4 ms at HZ=250); the flow
 * has its own random generator; a pacing rate of zero is not installed (in Linux it turns pacing off); the
 * policer's arithmetic is 64 bits wide where Linux's wraps above a difference of 12 Gbit/s, and its clock does not
 * wrap after 71 minutes; the counter of aggregated ACKs has 32 bits instead of 16. Departures of bbr1_49 from 4.9:
 * pacing is not reduced by the 0.9 % that sch_fq's count of link headers took (see bbr1_later_parameters); with it a
 * standing queue is a third shorter (docs/variants.md); gains are set on every ACK, so that a policer's rate is paced
 * at gain 1 in PROBE_BW only, and always there; the host is that of 6.18 (burst size by RTT, pacing by departure
 * time), which matters below an RTT of about 3 ms.
 */
#ifndef CC_BBR1_H
#define CC_BBR1_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/minmax.h"
#include "contract/params.h"
#include "lib/bbr.h"
#include "lib/variant.h"

/* After timeouts bandwidth samples are below a packet per RTT: 1/6 of one was seen. */
#define bbr1_paces_below_a_packet 1

/* ---- parameters ---- */

/* The model and its gains. [Linux] names the same constants bbr_high_gain, bbr_drain_gain, ... */
#define bbr1_model_parameters(P)                                                                                       \
	P(startup_gain, CC_GAIN(2.887), CC_GAIN_UNIT + 1, CC_GAIN(10), CC_UNIT_GAIN,                                   \
	  "pacing and cwnd gain in STARTUP",                                                                           \
	  "2/ln 2, rounded up: by the article the least that doubles the rate each round; 4 ln 2 "                     \
	  "suffices, see lib/bbr3_model.h; above 1 to grow")                                                           \
	P(drain_gain, CC_GAIN(0.344), CC_GAIN(0.0625), CC_GAIN_UNIT - 1, CC_UNIT_GAIN, "pacing gain in DRAIN",         \
	  "1/2.885 drains in one round what STARTUP queued; below 1 to drain")                                         \
	P(probe_up_gain, CC_GAIN(1.25), CC_GAIN_UNIT + 1, CC_GAIN(4), CC_UNIT_GAIN, "pacing gain while probing",       \
	  "1.25 finds a quarter more bandwidth per cycle and queues a quarter BDP; above 1 to probe; "                 \
	  "4 is more than STARTUP's 2.887")                                                                            \
	P(probe_down_gain, CC_GAIN(0.75), CC_GAIN(0.0625), CC_GAIN_UNIT - 1, CC_UNIT_GAIN,                             \
	  "pacing gain of the phase after probing", "0.75 drains in one min_rtt what 1.25 queued; below 1 to drain")   \
	P(cwnd_gain, CC_GAIN(2), CC_GAIN(1), CC_GAIN(10), CC_UNIT_GAIN, "cwnd in PROBE_BW as a multiple of the BDP",   \
	  "2 leaves room for delayed and aggregated ACKs; below 1 the pipe is not full, above 10 cwnd "                \
	  "is no bound")                                                                                               \
	P(bw_window_rounds, 10, 1, 1000, CC_UNIT_ROUNDS, "bw is the maximum over this many rounds",                    \
	  "10 is longer than a gain cycle of 8, so that each maximum contains a probe; at least the "                  \
	  "current round")                                                                                             \
	P(min_rtt_window_us, CC_SEC(10), CC_MSEC(100), CC_SEC(600), CC_UNIT_US,                                        \
	  "time without a lower RTT until PROBE_RTT",                                                                  \
	  "10 s: PROBE_RTT then costs 2 % of the rate, and most traffic pauses more often; longer than "               \
	  "a round")                                                                                                   \
	P(probe_rtt_us, CC_MSEC(200), CC_MSEC(1), CC_SEC(10), CC_UNIT_US, "least time in PROBE_RTT",                   \
	  "200 ms lets flows of different RTTs drain the queue together; a round is the least anyway; "                \
	  "10 s would be half the time")                                                                               \
	P(min_cwnd_pkts, 4, 1, 100, CC_UNIT_PKTS, "least cwnd",                                                        \
	  "4 keeps ACKs flowing from a receiver that acknowledges every other packet; 100 floods small "               \
	  "links")                                                                                                     \
	P(full_bw_gain, CC_GAIN(1.25), CC_GAIN_UNIT + 1, CC_GAIN(4), CC_UNIT_GAIN,                                     \
	  "growth of bw that shows a pipe not full",                                                                   \
	  "1.25: STARTUP doubles the rate, so less than a quarter of growth means that the path limits "               \
	  "it; above 1")                                                                                               \
	P(full_bw_rounds, 3, 1, 100, CC_UNIT_ROUNDS, "rounds without such growth that show a full pipe",               \
	  "3 give a growing receive window two more rounds; 1 is misled by noise, 100 hardly ends STARTUP")            \
	P(pacing_margin, CC_PERCENT(1), 0, CC_PERCENT(50), CC_UNIT_PPM, "the pacing rate is this far below gain * bw", \
	  "1 %, since Linux 4.20: queues drain over time although bw is a maximum; 0 is 4.9; with "                    \
	  "half, bw would collapse")                                                                                   \
	P(extra_acked_gain, CC_GAIN(1), 0, CC_GAIN(10), CC_UNIT_GAIN,                                                  \
	  "cwnd added per packet of ACK aggregation; 0: none",                                                         \
	  "1: as much as was measured; 0 is Linux before 5.1; 10 cwnds hold any aggregate")                            \
	P(extra_acked_max_us, CC_MSEC(100), 0, CC_SEC(1), CC_UNIT_US,                                                  \
	  "at most bw times this is added for aggregation",                                                            \
	  "100 ms: longer gaps between ACKs are not aggregation; 0: nothing is added; above 1 s bw is "                \
	  "out of date")                                                                                               \
	P(lt_bw, 1, 0, 1, CC_UNIT_BOOL, "detect token-bucket policers and use their rate", "on in every Linux")        \
	P(burst_room, 3, 0, 10, CC_UNIT_COUNT, "bursts for which cwnd and the inflight targets have room",             \
	  "3: one in the sender's queue, one on the wire, one in the receiver's offload, in every Linux; 0: "          \
	  "a host that sends and receives packet by packet, as in ns-3; above 10 cwnd is no bound")

/*
 * What Linux has changed since 4.9, when BBR was first merged. The default is today's behaviour, the other value
 * that of 4.9, which the papers of the variants measured; the preset bbr1_49 sets all of them. When each change was
 * made:
 *
 *	first_rtt_sets_rate, keep_rate_until_full   4.13   before, the rate started from an RTT of 1 ms
 *	undo_forgets                                4.15   with a latch for "the pipe is full"; before, a round count
 *	                                                   stood for it, which nothing had reset
 *	lt_cycle, min_rtt_by_delayed                4.16
 *	export_ssthresh, idle_until_delivered       4.17
 *	probe_rtt_caps_always, idle_ends_probe_rtt  4.19
 *	probe_more_pkts                             4.19   for cwnd, 5.4 for the inflight targets
 *	look_ahead, pacing_margin                   4.20   with pacing by departure time. Before, the pacer (sch_fq)
 *	                                                   counted link headers against a rate computed without them: a
 *	                                                   margin of 0.9 % on Ethernet, 14 bytes of 1514
 *	extra_acked_gain                            5.1
 *	min_rtt_by_equal                            5.10
 *	lt_clock_us                                 first jiffies, 4 ms at HZ=250
 */
#define bbr1_later_parameters(P)                                                                                       \
	P(first_rtt_sets_rate, 1, 0, 1, CC_UNIT_BOOL, "the first RTT sample restarts the pacing rate",                 \
	  "on since 4.13")                                                                                             \
	P(keep_rate_until_full, 1, 0, 1, CC_UNIT_BOOL,                                                                 \
	  "the pacing rate does not fall before the pipe was full; off: it may not fall in STARTUP only",              \
	  "on since 4.13")                                                                                             \
	P(probe_more_pkts, 2, 0, 100, CC_UNIT_PKTS, "added to cwnd and to inflight targets while probing",             \
	  "2 since 4.19: on a tiny BDP 1.25 rounds to nothing; 0 is 4.9")                                              \
	P(look_ahead, 1, 0, 1, CC_UNIT_BOOL,                                                                           \
	  "compare what will be in the network at the next departure; off: what was in flight before the "             \
	  "ACK (in DRAIN: after it)",                                                                                  \
	  "on since 4.20")                                                                                             \
	P(min_rtt_by_equal, 0, 0, 1, CC_UNIT_BOOL, "an RTT equal to min_rtt confirms it", "off since 5.10")            \
	P(min_rtt_by_delayed, 0, 0, 1, CC_UNIT_BOOL, "a delayed ACK may replace an expired min_rtt", "off since 4.16") \
	P(idle_until_delivered, 1, 0, 1, CC_UNIT_BOOL, "an idle period ends with a delivery; off: with any ACK",       \
	  "on since 4.17")                                                                                             \
	P(idle_ends_probe_rtt, 1, 0, 1, CC_UNIT_BOOL, "PROBE_RTT may end when sending resumes after an idle period",   \
	  "on since 4.19")                                                                                             \
	P(probe_rtt_caps_always, 1, 0, 1, CC_UNIT_BOOL,                                                                \
	  "PROBE_RTT caps cwnd on every ACK; off: on ACKs that acknowledge something", "on since 4.19")                \
	P(undo_forgets, 1, 0, 1, CC_UNIT_BOOL, "an undo resets the measured growth of bw and the policer detector",    \
	  "on since 4.15")                                                                                             \
	P(export_ssthresh, 1, 0, 1, CC_UNIT_BOOL,                                                                      \
	  "ssthresh shows the BDP at the end of STARTUP; nothing depends on it", "on since 4.17")                      \
	P(lt_cycle, 1, 0, 1, CC_UNIT_BOOL, "the phases of the gain cycle advance while a policer's rate is in use",    \
	  "on since 4.16; the gain is 1 in all of them")                                                               \
	P(lt_clock_us, CC_MSEC(1), 1, CC_MSEC(100), CC_UNIT_US, "resolution of the policer detector's clock",          \
	  "1 ms since Linux counts time in us; 4 ms is a jiffy at HZ=250")

#define bbr1_parameters(P) bbr1_model_parameters(P) bbr1_later_parameters(P)

struct bbr1_params {
	bbr1_parameters(CC_PARAM_FIELD)
};

/* ---- constants and state ---- */

/* The states. */
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
/* PROBE_BW starts in a random phase, so that flows probe at different times; not in DOWN, so 7 phases. */
#define BBR1_CYCLE_START 7u

/* Stands for the BDP until the first RTT sample: the initial cwnd of RFC 6928. */
#define BBR1_INIT_CWND_PKTS 10u

/* Below this rate, at which two packets last 20 ms, a burst may be one packet. [Linux] bbr_min_tso_rate */
#define BBR1_BURST_OF_TWO_Bps (1200000u / 8u)
#define BBR1_BURST_MAX_PKTS   127u

/* ACK aggregation: two bins of 5 rounds, so that the maximum is 5 to 10 rounds old. [Linux] bbr_extra_acked_win_rtts */
#define BBR1_EXTRA_ACKED_ROUNDS 5u

#define BBR1_POLICER_MIN_ROUNDS 4u   /* least length of an interval; [Linux] lt_intvl_min_rtts */
#define BBR1_POLICER_MAX_ROUNDS 16u  /* greatest length; [Linux]: 4 times the least */
#define BBR1_POLICER_LOSS_256	50u  /* least lost/delivered, 19.5 %; [Linux] lt_loss_thresh */
#define BBR1_POLICER_AGREE_256	32u  /* two rates agree within 1/8 ... */
#define BBR1_POLICER_AGREE_Bps	500u /* ... or within 4 kbit/s */
#define BBR1_POLICER_USE_ROUNDS 48u  /* the rate of a policer is used for this long */

struct bbr1_policer {
	u64 stamp_us;	    /* start of the interval */
	u32 delivered_pkts; /* delivered_pkts then */
	u32 lost_pkts;	    /* lost_pkts then */
	u32 rounds;	    /* in the interval, or since the rate is in use */
	u32 bw;		    /* rate of the last interval, or in use; 0: none */
	u32 clock_us;	    /* parameter: resolution of the interval's clock */
	u32 margin_ppm;	    /* parameter: pacing margin */
	u8 sampling;	    /* an interval is open */
	u8 in_use;	    /* a policer was detected: bw is its rate */
	u8 reserved[6];	    /* no holes: parity compares bytes */
};

struct bbr1 {
	u64 min_rtt_stamp_us;  /* when min_rtt_us was last confirmed */
	u64 probe_rtt_done_us; /* earliest end of PROBE_RTT; 0: inflight is still above 4 */
	u64 cycle_stamp_us;    /* start of the phase in the gain cycle */
	struct bbr_aggregation aggregation;
	struct bbr1_policer policer;
	struct bbr1_params p;
	struct cc_minmax max_bw;      /* clocked by round_count, CC_BW_UNIT packets per us */
	u32 min_rtt_us;		      /* CC_NO_RTT: no sample yet */
	u32 round_count;	      /* packet-timed round trips */
	u32 round_end_delivered_pkts; /* the round ends when a packet sent after this is acknowledged */
	u32 prior_cwnd_pkts;	      /* cwnd to restore after recovery or PROBE_RTT */
	u32 full_bw;		      /* bw to grow from, while in STARTUP */
	u32 pacing_gain_256;
	u32 cwnd_gain_256;
	u32 rng;
	u32 mss_bytes; /* for observers */
	u8 mode;       /* enum bbr1_mode */
	u8 cycle_index;
	u8 full_bw_count;
	u8 prev_ca_state;
	u8 full_pipe;		/* latched: bw has stopped growing in STARTUP */
	u8 round_start;		/* this ACK begins a round */
	u8 idle_restart;	/* sending resumed after an idle period, in which min_rtt has aged */
	u8 packet_conservation; /* first round of recovery: send one packet per packet delivered */
	u8 probe_rtt_round_done;
	u8 has_seen_rtt;
	u8 reserved[6]; /* no holes: parity compares bytes */
};

/* ---- the model ---- */

CC_INLINE u32 bbr1_max_bw(const struct bbr1 *s) { return cc_minmax_get(&s->max_bw); }

CC_INLINE u32 bbr1_bw(const struct bbr1 *s) { return s->policer.in_use ? s->policer.bw : bbr1_max_bw(s); }

/* bw * min_rtt * gain in packets. */
CC_INLINE u32 bbr1_bdp_pkts(const struct bbr1 *s, u32 bw, u32 gain_256)
{
	return s->min_rtt_us == CC_NO_RTT ? BBR1_INIT_CWND_PKTS : bbr_bdp_pkts(bw, s->min_rtt_us, gain_256);
}

/* The smallest burst. [Linux] bbr_min_tso_segs */
CC_INLINE u32 bbr1_min_burst_pkts(const struct cc_decision *d)
{
	return d->pacing_rate_Bps < BBR1_BURST_OF_TWO_Bps ? 1 : CC_MIN_BURST_PKTS;
}

CC_INLINE u32 bbr1_burst_pkts(const struct cc_view *v, const struct cc_decision *d)
{
	return cc_min_u32(bbr_burst_pkts(v, d, 0, bbr1_min_burst_pkts(d)), BBR1_BURST_MAX_PKTS);
}

/*
 * Room for `cwnd` packets on a real host: one burst in the sender's queue, one on the wire and one in the
 * receiver's offload. Even, since receivers acknowledge every other packet. Two more while probing, since a gain of
 * 1.25 on a tiny BDP rounds to nothing. [Linux] bbr_quantization_budget
 */
CC_INLINE u32 bbr1_quantise_pkts(const struct bbr1 *s, u32 cwnd, const struct cc_view *v, const struct cc_decision *d)
{
	cwnd = cc_min_u32(cwnd, CC_INFINITE / 2) + s->p.burst_room * bbr1_burst_pkts(v, d);
	cwnd = (cwnd + 1) & ~1u;
	if (s->mode == BBR1_PROBE_BW && s->cycle_index == BBR1_CYCLE_UP)
		cwnd += s->p.probe_more_pkts;
	return cwnd;
}

/* Packets in flight for `gain` times the BDP at max_bw. [Linux] bbr_inflight */
CC_STAGE u32 bbr1_inflight_pkts(const struct bbr1 *s, u32 gain_256, const struct cc_view *v,
				const struct cc_decision *d)
{
	return bbr1_quantise_pkts(s, bbr1_bdp_pkts(s, bbr1_max_bw(s), gain_256), v, d);
}

/* Packets in the network when the next one may leave; while probing, with the burst that is about to be sent. */
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

/*
 * The diagram at the top. PROBE_BW restarts when the rate of a policer has expired; PROBE_RTT may interrupt any
 * mode.
 */
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
	else /* cwnd is already reduced: keep the greatest */
		s->prior_cwnd_pkts = cc_max_u32(s->prior_cwnd_pkts, d->cwnd_pkts);
}

CC_INLINE void bbr1_leave_probe_rtt(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	s->min_rtt_stamp_us = v->now_us; /* what was measured is the minimum for the next 10 s */
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
 * Detection of token-bucket policers ("long-term bandwidth", lt_bw in Linux).
 *
 * A policer lets a burst pass at any rate and then drops what exceeds its rate. BBR takes the rate of the burst for
 * bw, and loses a large share of what it sends until the sample expires. But with an empty bucket the policer
 * delivers exactly its rate. So measure the delivery rate from loss to loss:
 *
 *	interval  4 to 16 rounds that start and end with a loss, with at least 19.5 % loss in between
 *	found     two consecutive intervals have the same rate (within 1/8 or 4 kbit/s): use their mean instead of bw
 *	expired   after 48 rounds of PROBE_BW: measure again, the policer may be gone
 *
 * Source: [Linux] bbr_lt_bw_sampling; there is no publication.
 */

CC_INLINE void bbr1_policer_open_interval(struct bbr1_policer *l, const struct cc_view *v)
{
	l->stamp_us = v->delivered_us;
	l->delivered_pkts = v->delivered_pkts;
	l->lost_pkts = v->lost_pkts;
	l->rounds = 0;
}

/* No policer is known. */
CC_INLINE void bbr1_policer_reset(struct bbr1_policer *l, const struct cc_view *v)
{
	l->bw = 0;
	l->in_use = false;
	l->sampling = false;
	bbr1_policer_open_interval(l, v);
}

/* Whether the rate has been in use for long enough. */
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

/* The interval is complete. True: it is the second one at this rate. */
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

/* An ACK with `losses`. True: it reveals a policer. Application-limited rates say nothing about one. */
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

/* The detector on this ACK; or, while a rate is in use, its expiry, which restarts PROBE_BW. */
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

/* ---- the stages of on_ack ---- */

/* Rounds, and bw as the maximum of delivery rate samples. An application-limited sample can only raise it. */
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

/* The model of the path, by this ACK. */
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

/* The goal of probing: 1.25 BDP is in flight. */
CC_INLINE bool bbr1_is_filled(const struct bbr1 *s, const struct cc_view *v, const struct cc_decision *d)
{
	return bbr1_in_network_pkts(s, v->prior_inflight_pkts, v, d) >= bbr1_inflight_pkts(s, s->p.probe_up_gain, v, d);
}

/* The goal of draining: at most one BDP is in flight, by the current estimates. */
CC_INLINE bool bbr1_is_drained(const struct bbr1 *s, const struct cc_view *v, const struct cc_decision *d)
{
	return bbr1_in_network_pkts(s, v->prior_inflight_pkts, v, d) <= bbr1_inflight_pkts(s, CC_GAIN_UNIT, v, d);
}

/*
 * Whether the phase of the gain cycle is over. Probing lasts for at least one min_rtt, until 1.25 BDP is in flight or a
 * packet is lost; draining for at most one min_rtt, less if the queue is gone earlier. [Linux] bbr_is_next_cycle_phase
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
	if (bbr_has_grown(&s->full_bw, bbr1_max_bw(s), s->p.full_bw_gain))
		s->full_bw_count = 0;
	else
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

/* PROBE_RTT: hold inflight at 4 packets, so that the queue of this flow is gone, and measure the RTT. */
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

/* Whether the RTT sample replaces min_rtt or confirms it. A delayed ACK says nothing about a longer path. */
CC_INLINE bool bbr1_is_min_rtt(const struct bbr1 *s, const struct cc_view *v, bool expired)
{
	u32 rtt_us = (u32)v->rtt_us;

	if (v->rtt_us < 0)
		return false;
	if (expired && (!v->is_ack_delayed || s->p.min_rtt_by_delayed))
		return true;
	return rtt_us < s->min_rtt_us || (s->p.min_rtt_by_equal && rtt_us == s->min_rtt_us);
}

/* min_rtt, and PROBE_RTT when nothing has confirmed it for 10 s. */
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

/* Changes of mode. */
CC_INLINE void bbr1_change_mode(struct bbr1 *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_check_full_pipe(s, v);
	bbr1_check_drain(s, v, d);
	bbr1_update_min_rtt(s, v, d);
}

/* Changes of mode, and the gains of the mode. */
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
 * Recovery. In its first round send one packet per packet delivered, then what the model says. Afterwards restore cwnd,
 * since losses do not change the model. True: packet conservation sets cwnd on this ACK. [Linux]
 * bbr_set_cwnd_to_recover_or_restore
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

/* cwnd moves to its target as fast as data is delivered. */
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

/* The decision. */
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
	case CC_EVENT_REDUCE: /* no reduction; save cwnd for the end of the episode */
		bbr1_save_cwnd(s, d);
		break;
	case CC_EVENT_CA_STATE:
		if (v->ca_state != CC_CA_LOSS)
			break;
		/*
		 * After a timeout bw may have changed: measure its growth again. The policer detector counts one
		 * loss.
		 */
		s->prev_ca_state = CC_CA_LOSS;
		s->full_bw = 0;
		s->round_start = true;
		bbr1_check_policer(s, v, 1, false);
		break;
	case CC_EVENT_RESTART:
		if (!v->app_limited)
			break;
		/* The pipe is empty: pace at bw, so that the first burst builds no queue. */
		s->idle_restart = true;
		bbr_restart_aggregation(&s->aggregation, v);
		if (s->mode == BBR1_PROBE_BW)
			bbr1_set_pacing_rate(s, v, d, CC_GAIN_UNIT);
		else if (s->mode == BBR1_PROBE_RTT && s->p.idle_ends_probe_rtt)
			bbr1_check_probe_rtt_done(s, v, d);
		break;
	case CC_EVENT_UNDO: /* nothing was lost: reset what the loss has taught; cwnd is restored when recovery ends */
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
