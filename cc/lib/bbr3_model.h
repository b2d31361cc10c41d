/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The model of BBRv3 and BBRv2: the parameters, the state of a flow, the bounds that loss and ECN set on what
 * bandwidth and RTT allow for, and the target for inflight. The state machine that uses the model is in bbr3.h.
 *
 *	bound         meaning                               measured by                          reset
 *	max_bw        greatest delivery rate                samples of this and the last cycle   cycle by cycle
 *	inflight_hi   more than this in flight is too much  loss or CE marks while probing       raised by probing
 *	bw_lo         delivery rate for now                 a round with loss, not probing       when probing starts
 *	inflight_lo   the same in packets                   a round with loss or CE marks        when probing starts
 *
 * "Too much" is a property of a flight: the packets that were in the network together with one packet when it was
 * sent. A flight is too much if more than loss_thresh of it was lost, or more than ecn_thresh of it was marked. The
 * flight is examined for each lost packet, since RACK marks losses late, and in Linux also for each ACK. The lost
 * packet shows where the loss crossed the threshold.
 *
 * bw_latest and inflight_latest describe the latest round. bw_lo and inflight_lo do not fall below them, since the
 * path has delivered that much. A round of loss starts with the first loss, so that it includes all losses of one
 * event.
 *
 * Names are those of Linux; the draft writes inflight_longterm for inflight_hi, and ..._shortterm for ..._lo.
 *
 * Sources: google/bbr, branch v3, net/ipv4/tcp_bbr.c [v3]; branch v2alpha, net/ipv4/tcp_bbr2.c [v2];
 * draft-ietf-ccwg-bbr-06 [Draft].
 */
#ifndef CC_BBR3_MODEL_H
#define CC_BBR3_MODEL_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "lib/bbr.h"

/*
 * Defaults in which BBRv3 and BBRv2 differ: from [v3] and [v2]. Everything else is the same in both.
 */
#define BBR3_STARTUP_PACING_GAIN CC_GAIN(2.773) /* 4 ln 2 */
#define BBR3_STARTUP_CWND_GAIN	 CC_GAIN(2)	/* a shorter queue than with BBRv2's */
#define BBR3_FULL_LOSS_EVENTS	 6		/* ACKs with loss in a round */
#define BBR3_PROBE_DOWN_GAIN	 CC_GAIN(0.906) /* 0.91, rounded down in [v3] */
#define BBR3_PROBE_UP_CWND_GAIN	 CC_GAIN(2.25)	/* cwnd does not limit a probe of 1.25 */
#define BBR3_TAIL_LOSS		 1		/* on */
#define BBR3_BURST_OF_ONE_Bps	 0		/* never */
#define BBR3_KEEP_GROWTH_CREDIT	 1		/* on */
#define BBR3_ECN_THRESH_INCLUDED 0		/* off */
#define BBR3_ECN_REPROBE_GAIN	 CC_GAIN(0.5)	/* the first round adds up to half of inflight_hi */

#define BBR2_STARTUP_PACING_GAIN CC_GAIN(2.887) /* 2/ln 2, rounded up, as BBRv1 */
#define BBR2_STARTUP_CWND_GAIN	 CC_GAIN(2.887) /* as BBRv1 */
#define BBR2_FULL_LOSS_EVENTS	 8		/* ACKs with loss in a round */
#define BBR2_PROBE_DOWN_GAIN	 CC_GAIN(0.75)	/* as BBRv1 */
#define BBR2_PROBE_UP_CWND_GAIN	 CC_GAIN(2)	/* as in the other phases */
#define BBR2_TAIL_LOSS		 0		/* off */
#define BBR2_BURST_OF_ONE_Bps	 CC_KBIT(1200)	/* bbr_min_tso_rate, as BBRv1 */
#define BBR2_KEEP_GROWTH_CREDIT	 0		/* off */
#define BBR2_ECN_THRESH_INCLUDED 1		/* on */
#define BBR2_ECN_REPROBE_GAIN	 0		/* off */

/*
 * The parameters of both; VERSION is BBR3 or BBR2. What [Draft] says instead is named with the parameter, and the
 * preset bbr3_draft sets all of it.
 */
#define bbr3_family_parameters(P, VERSION)                                                                             \
	P(startup_pacing_gain, VERSION##_STARTUP_PACING_GAIN, CC_GAIN_UNIT + 1, CC_GAIN(10), CC_UNIT_GAIN,             \
	  "pacing gain in STARTUP",                                                                                    \
	  "v3: 4 ln 2, the least that doubles the delivery rate each round; v2: 2/ln 2, as BBRv1")                     \
	P(startup_cwnd_gain, VERSION##_STARTUP_CWND_GAIN, CC_GAIN(1), CC_GAIN(10), CC_UNIT_GAIN,                       \
	  "cwnd gain in STARTUP and DRAIN", "v3: 2, or the queue of STARTUP would be longer; v2: 2.887, as BBRv1")     \
	P(drain_gain, CC_GAIN(0.344), CC_GAIN(0.0625), CC_GAIN_UNIT - 1, CC_UNIT_GAIN,                                 \
	  "pacing gain in DRAIN; draft: 0.5", "1/2.885, as BBRv1; below 1 to drain")                                   \
	P(drain_max_rounds, 0, 0, 1000, CC_UNIT_ROUNDS, "longest DRAIN; 0: no limit; draft: 3",                        \
	  "Linux has no limit; 1000 rounds: longer than any DRAIN")                                                    \
	P(drain_by_bw, 0, 0, 1, CC_UNIT_BOOL, "DRAIN ends at a BDP of bw; off: of max_bw; draft: on", "off in Linux")  \
	P(probe_up_gain, CC_GAIN(1.25), CC_GAIN_UNIT + 1, CC_GAIN(4), CC_UNIT_GAIN, "pacing gain in UP",               \
	  "1.25, as BBRv1; above 1 to probe")                                                                          \
	P(probe_down_gain, VERSION##_PROBE_DOWN_GAIN, CC_GAIN(0.0625), CC_GAIN_UNIT - 1, CC_UNIT_GAIN,                 \
	  "pacing gain in DOWN; draft: 0.9",                                                                           \
	  "v3: 0.91 drains slower and loses less throughput than v2's 0.75; below 1")                                  \
	P(cwnd_gain, CC_GAIN(2), CC_GAIN(1), CC_GAIN(10), CC_UNIT_GAIN, "cwnd in PROBE_BW as a multiple of the BDP",   \
	  "2 leaves room for delayed and aggregated ACKs; below 1 the pipe is not full")                               \
	P(probe_up_cwnd_gain, VERSION##_PROBE_UP_CWND_GAIN, CC_GAIN(1), CC_GAIN(10), CC_UNIT_GAIN, "cwnd gain in UP",  \
	  "v3: 2.25, so that cwnd does not limit a probe of 1.25; v2: 2; below 1 the pipe is not full")                \
	P(min_cwnd_pkts, 4, 1, 100, CC_UNIT_PKTS, "least cwnd",                                                        \
	  "4 keeps ACKs flowing from a receiver that acknowledges every other packet; 100 floods small "               \
	  "links")                                                                                                     \
	P(full_bw_gain, CC_GAIN(1.25), CC_GAIN_UNIT + 1, CC_GAIN(4), CC_UNIT_GAIN,                                     \
	  "growth of bw that shows a pipe not full", "1.25, as BBRv1; above 1")                                        \
	P(full_bw_rounds, 3, 1, 100, CC_UNIT_ROUNDS, "rounds without such growth that show a full pipe",               \
	  "3 give a growing receive window two more rounds; 1 is misled by noise, 100 hardly ends STARTUP")            \
	P(full_bw_per_round, 0, 0, 1, CC_UNIT_BOOL, "compare bw only at the start of a round; draft: on",              \
	  "Linux compares every sample")                                                                               \
	P(full_loss_events, VERSION##_FULL_LOSS_EVENTS, 0, 15, CC_UNIT_COUNT,                                          \
	  "ACKs with loss in a round that end STARTUP; 0: none",                                                       \
	  "v3: 6, v2: 8; one burst of loss is not enough; Linux counts in 4 bits")                                     \
	P(full_loss_ranges, 0, 0, 1, CC_UNIT_BOOL, "count ranges of lost packets, not ACKs; draft: on",                \
	  "Linux counts ACKs")                                                                                         \
	P(full_ecn_rounds, 2, 0, 100, CC_UNIT_ROUNDS, "rounds of marks above ecn_thresh that end STARTUP; 0: none",    \
	  "2 in a row: one can be a burst of other traffic; 100 hardly ends STARTUP")                                  \
	P(loss_thresh, CC_GAIN(0.02), 0, CC_GAIN(0.5), CC_UNIT_GAIN,                                                   \
	  "more than this part of a flight lost is too much",                                                          \
	  "2 %, which Linux rounds to 5/256; half: the rest of the range is for experiments")                          \
	P(beta, CC_GAIN(0.703), 1, CC_GAIN(1), CC_UNIT_GAIN,                                                           \
	  "least part of a bound that a reduction leaves; draft: 0.7",                                                 \
	  "1 - 0.3, as CUBIC, with 0.3 rounded down to 76/256; at 1 nothing falls")                                    \
	P(headroom, CC_GAIN(0.15), 0, CC_GAIN_UNIT - 1, CC_UNIT_GAIN,                                                  \
	  "part of inflight_hi left to others while not probing",                                                      \
	  "15 % lets new flows start without loss; with 255/256 only min_cwnd remains")                                \
	P(probe_wait_us, CC_SEC(2), CC_MSEC(1), CC_SEC(60), CC_UNIT_US, "least time from probe to probe",              \
	  "2 s: a Reno flow of 25 Mbit/s and 30 ms recovers from a loss in 2 to 3 s; a minute finds "                  \
	  "bandwidth too late")                                                                                        \
	P(probe_wait_random_us, CC_SEC(1), 0, CC_SEC(60), CC_UNIT_US, "random additional time, at most",               \
	  "1 s keeps flows from probing in step; 0: no randomness")                                                    \
	P(probe_wait_rounds, 63, 1, 255, CC_UNIT_ROUNDS,                                                               \
	  "a probe starts after this many rounds at the latest, or after as many as the BDP has packets",              \
	  "63: Reno needs as many rounds to recover 63 packets; Linux counts in 8 bits")                               \
	P(probe_wait_random_rounds, 2, 0, 255, CC_UNIT_ROUNDS,                                                         \
	  "a random number below this is subtracted from probe_wait_rounds",                                           \
	  "2: 62 or 63 rounds, so that flows do not probe in step")                                                    \
	P(min_rtt_window_us, CC_SEC(10), CC_MSEC(100), CC_SEC(600), CC_UNIT_US,                                        \
	  "min_rtt is the minimum over this time",                                                                     \
	  "10 s, twice the interval of PROBE_RTT, so that it includes one; longer than a round, "                      \
	  "shorter than routes last")                                                                                  \
	P(min_rtt_by_equal, 1, 0, 1, CC_UNIT_BOOL, "a minimum equal to min_rtt confirms it; draft: off",               \
	  "on in Linux")                                                                                               \
	P(probe_rtt_interval_us, CC_SEC(5), CC_MSEC(100), CC_SEC(600), CC_UNIT_US,                                     \
	  "time without a lower RTT until PROBE_RTT",                                                                  \
	  "5 s: at half a BDP PROBE_RTT costs less than in BBRv1, so it is more frequent; longer than "                \
	  "a round")                                                                                                   \
	P(probe_rtt_us, CC_MSEC(200), 0, CC_SEC(10), CC_UNIT_US, "least time in PROBE_RTT; 0: no PROBE_RTT",           \
	  "200 ms lets flows of different RTTs drain the queue together; 10 s would be twice the interval")            \
	P(probe_rtt_cwnd_gain, CC_GAIN(0.5), CC_GAIN(0.0625), CC_GAIN(1), CC_UNIT_GAIN,                                \
	  "cwnd in PROBE_RTT as a multiple of the BDP",                                                                \
	  "0.5 drains a queue of half a BDP per flow; above 1 drains nothing")                                         \
	P(probe_rtt_ends_cycle, 0, 0, 1, CC_UNIT_BOOL,                                                                 \
	  "PROBE_RTT ends the cycle of max_bw, if no cycle has ended since the last PROBE_RTT",                        \
	  "off in Linux and in the draft, where PROBE_RTT stops each probe if the RTT is long "                        \
	  "(docs/notes/probe-rtt-and-max-bw.md)")                                                                      \
	P(pacing_margin, CC_PERCENT(1), 0, CC_PERCENT(50), CC_UNIT_PPM, "the pacing rate is this far below gain * bw", \
	  "1 %: queues drain over time although bw is a maximum; with half, bw would collapse")                        \
	P(initial_margin, 1, 0, 1, CC_UNIT_BOOL, "the margin also applies before the first bw sample; draft: off",     \
	  "on in Linux")                                                                                               \
	P(extra_acked_gain, CC_GAIN(1), 0, CC_GAIN(10), CC_UNIT_GAIN,                                                  \
	  "cwnd added per packet of ACK aggregation; 0: none",                                                         \
	  "1: as much as was measured; 10 cwnds hold any aggregate")                                                   \
	P(extra_acked_rounds, 5, 1, 100, CC_UNIT_ROUNDS,                                                               \
	  "a bin of the aggregation filter, which keeps two; draft: one filter of 10 rounds",                          \
	  "5: the maximum is 5 to 10 rounds old; 1: of this round and the last")                                       \
	P(extra_acked_max_us, CC_MSEC(100), 0, CC_SEC(10), CC_UNIT_US,                                                 \
	  "at most bw times this is added for aggregation; draft: no bound",                                           \
	  "100 ms: longer gaps are not aggregation; 10 s is no bound")                                                 \
	P(burst_rtt_us, 512, 0, CC_MSEC(100), CC_UNIT_US,                                                              \
	  "bursts are 64 KiB longer, halved per this much min_rtt; 0 and draft: not",                                  \
	  "2^9 us, Linux's tso_rtt_shift: on a LAN a queue of 64 KiB is short; 100 ms: the 64 KiB "                    \
	  "hardly shrink on any path")                                                                                 \
	P(burst_of_one_Bps, VERSION##_BURST_OF_ONE_Bps, 0, CC_MBIT(100), CC_UNIT_BPS,                                  \
	  "below this pacing rate a burst may be one packet; else it is two at least",                                 \
	  "v2: 1.2 Mbit/s, where two packets last 20 ms; v3: 0, always two")                                           \
	P(quantised_bdp, 1, 0, 1, CC_UNIT_BOOL, "the BDP to fall back to includes room for bursts; draft: off",        \
	  "on in Linux")                                                                                               \
	P(look_ahead, 1, 0, 1, CC_UNIT_BOOL,                                                                           \
	  "compare what will be in the network at the next departure; off and draft: what is in flight "               \
	  "after the ACK",                                                                                             \
	  "on in Linux; off, DRAIN and DOWN end up to one burst (about 1 ms) later")                                   \
	P(keep_growth_credit, VERSION##_KEEP_GROWTH_CREDIT, 0, 1, CC_UNIT_BOOL,                                        \
	  "ACKs counted for the growth of inflight_hi count on when cwnd does not limit the flow", "v3: on, v2: off")  \
	P(cruise_clips, 1, 0, 1, CC_UNIT_BOOL, "CRUISE starts by lowering inflight_lo to inflight_hi; draft: off",     \
	  "on in Linux")                                                                                               \
	P(loss_on_acks, 1, 0, 1, CC_UNIT_BOOL, "also examine the flights of acknowledged packets; draft: off",         \
	  "on in Linux")                                                                                               \
	P(tail_loss, VERSION##_TAIL_LOSS, 0, 1, CC_UNIT_BOOL,                                                          \
	  "a loss that a tail loss probe repaired counts; draft: off", "v3: on, v2: off")                              \
	P(undo_to_state, 0, 0, 1, CC_UNIT_BOOL, "after a spurious loss return to the state that it ended; draft: on",  \
	  "off in Linux")                                                                                              \
	P(undo_lowers_cwnd, 1, 0, 1, CC_UNIT_BOOL,                                                                     \
	  "an undo restores cwnd, even if it has grown beyond that since; draft: off", "on in Linux")                  \
	P(fast_path, 1, 0, 1, CC_UNIT_BOOL, "skip what an application-limited ACK cannot change; draft: off",          \
	  "on in Linux")                                                                                               \
	P(ecn, 0, 0, 1, CC_UNIT_BOOL, "marks of this path mean a short queue (Linux: route feature ecn_low)",          \
	  "off: marks of RFC 3168 queues, as deep as for Reno, would cost too much rate")                              \
	P(ecn_max_rtt_us, CC_MSEC(5), 0, CC_SEC(10), CC_UNIT_US,                                                       \
	  "react to marks if min_rtt is at most this; 0: always", "5 ms: data centres; 10 s: any path")                \
	P(ecn_alpha_gain, CC_GAIN(0.0625), 1, CC_GAIN(1), CC_UNIT_GAIN,                                                \
	  "weight of the latest round in the rate of marks",                                                           \
	  "1/16: DCTCP, RFC 8257 section 3.3; 1: the latest round only")                                               \
	P(ecn_alpha_initial, CC_GAIN(1), 0, CC_GAIN(1), CC_UNIT_GAIN, "rate of marks before the first sample",         \
	  "1: the first mark cuts by ecn_factor, RFC 8257 section 3.3; 0: by nothing")                                 \
	P(ecn_factor, CC_GAIN(1.0 / 3), 0, CC_GAIN(1), CC_UNIT_GAIN,                                                   \
	  "inflight_lo falls by the rate of marks times this; 0: not",                                                 \
	  "1/3: a smaller cut than DCTCP's 1/2; at 1 a fully marked round cuts all")                                   \
	P(ecn_thresh, CC_GAIN(0.5), 0, CC_GAIN(1), CC_UNIT_GAIN,                                                       \
	  "more than this part of a flight marked is too much; 0: never",                                              \
	  "half: a shallow threshold marks some packets of every probe; at 1 none in v3, "                             \
	  "a fully marked one in v2")                                                                                  \
	P(ecn_thresh_included, VERSION##_ECN_THRESH_INCLUDED, 0, 1, CC_UNIT_BOOL,                                      \
	  "exactly ecn_thresh also counts as too much", "v3: off, v2: on")                                             \
	P(ecn_reprobe_gain, VERSION##_ECN_REPROBE_GAIN, 0, CC_GAIN(1), CC_UNIT_GAIN,                                   \
	  "marks without loss: probe at once, adding this part of inflight_hi in the first round; 0: not",             \
	  "v3: 0.5; v2: off; at 1 the first round may double inflight_hi")

#define bbr3_parameters(P) bbr3_family_parameters(P, BBR3)

struct bbr3_params {
	bbr3_parameters(CC_PARAM_FIELD)
};

/* The states. DOWN, CRUISE, REFILL and UP are the phases of PROBE_BW. */
enum bbr3_state {
	BBR3_STARTUP = 0,
	BBR3_DRAIN = 1,
	BBR3_DOWN = 2,
	BBR3_CRUISE = 3,
	BBR3_REFILL = 4,
	BBR3_UP = 5,
	BBR3_PROBE_RTT = 6,
	BBR3_STATE_COUNT = 7,
};

/* In which part of the cycle the packets were sent that are acknowledged now. [v3] bbr_ack_phase */
enum bbr3_ack_phase {
	BBR3_ACKS_INIT = 0, /* nothing special */
	BBR3_ACKS_REFILLING = 1,
	BBR3_ACKS_STARTING = 2, /* sent before probing began */
	BBR3_ACKS_FEEDBACK = 3, /* sent while probing */
	BBR3_ACKS_STOPPING = 4, /* sent while probing, which is over */
};

/* A bound that is not set. */
#define BBR3_UNSET 0xffffffffu

/* Loss events in STARTUP are counted up to this: 4 bits in [v3]. */
#define BBR3_LOSS_EVENTS_MOST 15u
/* Rounds since the last probe are counted up to this: 8 bits in [v3]. */
#define BBR3_ROUNDS_MOST 255u
/* inflight_hi grows by 2^n packets in round n of probing, n at most this. [v3] */
#define BBR3_PROBE_UP_ROUNDS_MOST 30u

struct bbr3 {
	u64 min_rtt_stamp_us;	    /* when min_rtt_us was last confirmed */
	u64 probe_rtt_min_stamp_us; /* when probe_rtt_min_us was */
	u64 probe_rtt_done_us;	    /* earliest end of PROBE_RTT; 0: inflight is still above its target */
	u64 cycle_stamp_us;	    /* start of DOWN, or of UP */
	struct bbr_aggregation aggregation;
	struct bbr3_params p;
	u32 bw_bins[2];		  /* greatest sample of the last cycle and of this one; CC_BW_UNIT packets per us */
	u32 bw_lo;		  /* same unit; BBR3_UNSET: no bound */
	u32 inflight_lo;	  /* packets; BBR3_UNSET: no bound */
	u32 inflight_hi;	  /* packets; BBR3_UNSET: no bound */
	u32 sample_bw;		  /* of this ACK; 0: none */
	u32 bw_latest;		  /* greatest sample of the latest round */
	u32 inflight_latest_pkts; /* most delivered within the time of one sample, in the latest round */
	u32 undo_bw_lo;		  /* the bounds before the losses, in case these are spurious */
	u32 undo_inflight_lo;
	u32 undo_inflight_hi;
	u32 full_bw;	      /* bw to grow from, while the pipe may not be full */
	u32 min_rtt_us;	      /* CC_NO_RTT: no sample yet */
	u32 probe_rtt_min_us; /* minimum since PROBE_RTT, or for 5 s */
	u32 round_count;      /* packet-timed round trips */
	u32 drain_round;      /* round_count at the start of DRAIN */
	u32 rounds_since_probe;
	u32 probe_wait_us;		   /* from cycle_stamp_us to the next probe */
	u32 round_end_delivered_pkts;	   /* the round ends when a packet sent after this is acknowledged */
	u32 loss_round_end_delivered_pkts; /* the same for rounds that begin with a loss */
	u32 lost_end_seq;		   /* end of the last lost packet */
	u32 probe_up_every_pkts;	   /* inflight_hi grows by one packet per this many acknowledged */
	u32 probe_up_acked_pkts;	   /* acknowledged towards the next one */
	u32 prior_cwnd_pkts;		   /* cwnd to restore after recovery or PROBE_RTT */
	u32 init_cwnd_pkts;
	u32 settled_cwnd_pkts;	  /* cwnd at its target; 0: the target may have changed since */
	u32 alpha_delivered_pkts; /* delivered_pkts and delivered_ce_pkts when ecn_alpha_256 was last updated */
	u32 alpha_delivered_ce_pkts;
	u32 ecn_alpha_256; /* smoothed rate of marks */
	u32 pacing_gain_256;
	u32 cwnd_gain_256;
	u32 rng;
	u32 mss_bytes; /* for observers */
	u8 state;      /* enum bbr3_state */
	u8 ack_phase;  /* enum bbr3_ack_phase */
	u8 undo_state; /* the state that losses ended, for undo_to_state; BBR3_STATE_COUNT: none */
	u8 prev_ca_state;
	u8 round_start;	     /* this ACK begins a round */
	u8 loss_round_start; /* likewise */
	u8 loss_in_round;
	u8 loss_in_cycle;
	u8 ecn_in_round;
	u8 ecn_in_cycle;
	u8 loss_events;	  /* in this round, while in STARTUP */
	u8 ecn_rounds;	  /* of heavy marking in a row, while in STARTUP */
	u8 ecn_eligible;  /* latched: the flow reacts to marks */
	u8 full_pipe;	  /* latched */
	u8 full_bw_now;	  /* bw has stopped growing, in STARTUP or UP */
	u8 full_bw_count; /* rounds without growth */
	u8 probe_samples; /* what is acknowledged now was sent to probe, and was not too much so far */
	u8 probe_up_rounds;
	u8 prev_probe_too_high; /* the last probe ended with too much in flight */
	u8 stopped_risky_probe; /* and this one ended early so that it would not */
	u8 probe_rtt_round_done;
	u8 idle_restart; /* sending resumed after an idle period, in which min_rtt has aged */
	u8 has_seen_rtt;
	u8 undo_saved;	/* for undo_to_state */
	u8 cycle_ended; /* since the last PROBE_RTT, for probe_rtt_ends_cycle */
	u8 reserved[7]; /* no holes: parity compares bytes */
};

CC_INLINE u32 bbr3_max_bw(const struct bbr3 *s) { return cc_max_u32(s->bw_bins[0], s->bw_bins[1]); }

CC_INLINE u32 bbr3_bw(const struct bbr3 *s) { return cc_min_u32(bbr3_max_bw(s), s->bw_lo); }

CC_INLINE u32 bbr3_part(u32 x, u32 part_256) { return (u32)(((u64)x * part_256) >> CC_GAIN_SHIFT); }

/* ---- the latest round ---- */

/* The ACK has a valid delivery rate sample. */
CC_INLINE bool bbr3_has_sample(const struct cc_view *v)
{
	return v->sample_interval_us > 0 && v->sample_delivered_pkts >= 0 && v->acked_pkts;
}

/* The sample of this ACK, and the latest round. [v3] rounds bw up, so that the lowest rates can grow. */
CC_STAGE void bbr3_update_latest(struct bbr3 *s, const struct cc_view *v)
{
	u64 delivered = (u64)(u32)v->sample_delivered_pkts << CC_BW_SHIFT;
	u32 interval_us = (u32)v->sample_interval_us;

	s->loss_round_start = false;
	s->sample_bw = 0;
	if (v->sample_interval_us > 0 && v->sample_delivered_pkts >= 0)
		s->sample_bw = cc_saturate_u32(cc_div(delivered + interval_us - 1, interval_us));
	if (!bbr3_has_sample(v))
		return;
	s->bw_latest = cc_max_u32(s->bw_latest, s->sample_bw);
	s->inflight_latest_pkts = cc_max_u32(s->inflight_latest_pkts, (u32)v->sample_delivered_pkts);
	if (!cc_before(v->sample_prior_delivered_pkts, s->loss_round_end_delivered_pkts)) {
		s->loss_round_end_delivered_pkts = v->delivered_pkts;
		s->loss_round_start = true;
	}
}

/*
 * When a round is over, the next one starts with this sample, unless the ACK is that of a tail loss probe: if the
 * probe has repaired a loss, the values of before are still needed. [v3] bbr_advance_latest_delivery_signals
 */
CC_INLINE void bbr3_advance_latest(struct bbr3 *s, const struct cc_view *v)
{
	if (!s->loss_round_start || (s->p.tail_loss && v->is_probe_ack))
		return;
	s->bw_latest = s->sample_bw;
	s->inflight_latest_pkts = (u32)v->sample_delivered_pkts;
}

/* At the start of DRAIN or DOWN: what happened before was caused by probing. */
CC_INLINE void bbr3_forget_signals(struct bbr3 *s)
{
	s->loss_in_round = false;
	s->ecn_in_round = false;
	s->loss_in_cycle = false;
	s->ecn_in_cycle = false;
	s->bw_latest = 0;
	s->inflight_latest_pkts = 0;
}

/* ---- ECN ---- */

/* The rate of marks, smoothed over rounds (RFC 8257 section 3.3). Returns that of the latest round, in 1/256. */
CC_STAGE u32 bbr3_update_ecn_alpha(struct bbr3 *s, const struct cc_view *v)
{
	u32 delivered = v->delivered_pkts - s->alpha_delivered_pkts;
	u32 marked = v->delivered_ce_pkts - s->alpha_delivered_ce_pkts;
	u64 rate;

	if (v->ecn && s->p.ecn && s->p.ecn_factor && s->min_rtt_us != CC_NO_RTT &&
	    (!s->p.ecn_max_rtt_us || s->min_rtt_us <= s->p.ecn_max_rtt_us))
		s->ecn_eligible = true;
	if (!s->ecn_eligible || !delivered)
		return 0;
	rate = cc_min_u64(cc_div((u64)marked << CC_GAIN_SHIFT, delivered), CC_GAIN_UNIT);
	s->ecn_alpha_256 = cc_min_u32(bbr3_part(s->ecn_alpha_256, CC_GAIN_UNIT - s->p.ecn_alpha_gain) +
					      bbr3_part((u32)rate, s->p.ecn_alpha_gain),
				      CC_GAIN_UNIT);
	s->alpha_delivered_pkts = v->delivered_pkts;
	s->alpha_delivered_ce_pkts = v->delivered_ce_pkts;
	return (u32)rate;
}

/* ---- short-term bounds: bw_lo, inflight_lo ---- */

/*
 * A round with loss or marks: the bounds fall towards what the path delivered in it, by 30 % at most. The first
 * time, they fall from the values in use. [Draft] "When not Probing for Bandwidth"
 */
CC_STAGE void bbr3_lower_bounds(struct bbr3 *s, const struct cc_view *v)
{
	u32 ecn_inflight_lo = BBR3_UNSET;

	if (s->inflight_lo == BBR3_UNSET && (s->loss_in_round || (s->ecn_in_round && s->p.ecn_factor)))
		s->inflight_lo = v->cwnd_pkts;
	if (s->ecn_in_round && s->p.ecn_factor)
		ecn_inflight_lo =
			bbr3_part(s->inflight_lo, CC_GAIN_UNIT - bbr3_part(s->ecn_alpha_256, s->p.ecn_factor));
	if (s->loss_in_round) {
		if (s->bw_lo == BBR3_UNSET)
			s->bw_lo = bbr3_max_bw(s);
		s->bw_lo = cc_max_u32(s->bw_latest, bbr3_part(s->bw_lo, s->p.beta));
		s->inflight_lo = cc_max_u32(s->inflight_latest_pkts, bbr3_part(s->inflight_lo, s->p.beta));
	}
	s->inflight_lo = cc_min_u32(s->inflight_lo, ecn_inflight_lo);
	s->bw_lo = cc_max_u32(s->bw_lo, 1);
}

CC_INLINE void bbr3_forget_lower_bounds(struct bbr3 *s)
{
	s->bw_lo = BBR3_UNSET;
	s->inflight_lo = BBR3_UNSET;
}

/* max_bw, and once per round the short-term bounds, unless the flow is probing and risks loss on purpose. */
CC_STAGE void bbr3_update_signals(struct bbr3 *s, const struct cc_view *v, bool probing)
{
	if (!bbr3_has_sample(v))
		return;
	if (!v->is_app_limited || s->sample_bw >= bbr3_max_bw(s))
		s->bw_bins[1] = cc_max_u32(s->bw_bins[1], s->sample_bw);
	if (v->losses_pkts)
		s->loss_in_round = true;
	if (!s->loss_round_start)
		return;
	if (!probing)
		bbr3_lower_bounds(s, v);
	s->loss_in_round = false;
	s->ecn_in_round = false;
}

/* A loss. The first one in a round starts a round of loss, which ends when packets sent after it are acknowledged. */
CC_INLINE void bbr3_note_loss(struct bbr3 *s, const struct cc_view *v)
{
	if (!s->loss_in_round)
		s->loss_round_end_delivered_pkts = v->delivered_pkts;
	s->loss_in_round = true;
	s->loss_in_cycle = true;
}

/* A cycle is over: drop the samples of the cycle before it, unless this cycle has none. */
CC_INLINE void bbr3_advance_max_bw(struct bbr3 *s)
{
	if (!s->bw_bins[1])
		return;
	s->bw_bins[0] = s->bw_bins[1];
	s->bw_bins[1] = 0;
}

/* ---- the long-term bound: inflight_hi ---- */

/* The flight of one packet: what has happened since it was sent to the packets that were in flight with it. */
struct bbr3_flight {
	u32 inflight_pkts; /* when it was sent, itself included; 0: unknown */
	u32 lost_pkts;
	u32 delivered_pkts;
	u32 marked_pkts;
};

/*
 * The flight of the packet that was sent last among those that this ACK acknowledges. If its inflight is unknown
 * (0), what has left the network since stands for it.
 */
CC_INLINE void bbr3_flight_of_ack(struct bbr3_flight *f, const struct cc_view *v)
{
	bool valid = v->sample_delivered_pkts >= 0;
	bool known = v->sample_inflight_pkts != 0;

	f->delivered_pkts = valid ? (u32)v->sample_delivered_pkts : 0;
	f->marked_pkts = valid ? v->sample_delivered_ce_pkts : 0;
	f->lost_pkts = valid ? cc_max_u32(v->sample_lost_pkts, known ? 0 : v->losses_pkts) : 0;
	f->inflight_pkts = known && valid ? v->sample_inflight_pkts : f->delivered_pkts + f->lost_pkts;
}

/* The flight of a lost packet. Inflight unknown: what the path delivered in the latest round, and what it lost. */
CC_INLINE void bbr3_flight_of_loss(struct bbr3_flight *f, const struct bbr3 *s, const struct cc_view *v)
{
	f->delivered_pkts = 0;
	f->marked_pkts = 0;
	f->lost_pkts = cc_max_u32(v->sample_lost_pkts, v->losses_pkts);
	f->inflight_pkts = v->sample_inflight_pkts ? v->sample_inflight_pkts : s->inflight_latest_pkts + f->lost_pkts;
}

/* The flight of a packet that a tail loss probe replaced. It was not marked lost, so it is added here. */
CC_INLINE void bbr3_flight_of_tail_loss(struct bbr3_flight *f, const struct bbr3 *s)
{
	f->delivered_pkts = 0;
	f->marked_pkts = 0;
	f->lost_pkts = 1;
	f->inflight_pkts = s->inflight_latest_pkts + 1;
}

/*
 * Whether the flight was too much. With up to 51 packets in flight one lost packet is: 2 % of them are less than
 * one.
 */
CC_INLINE bool bbr3_is_too_much(const struct bbr3 *s, const struct bbr3_flight *f)
{
	if (f->lost_pkts && f->inflight_pkts && f->lost_pkts > bbr3_part(f->inflight_pkts, s->p.loss_thresh))
		return true;
	return s->ecn_eligible && s->p.ecn_thresh && f->marked_pkts && f->delivered_pkts &&
	       (u64)f->marked_pkts + s->p.ecn_thresh_included > bbr3_part(f->delivered_pkts, s->p.ecn_thresh);
}

/*
 * The number of packets in flight at which the loss became too much. Without the last `pkts` it was not, so solve
 *
 *	lost_before + x = loss_thresh * (inflight_before + x)
 *
 * for x, the number of the last ones that may be lost. [Draft] "Probing for Bandwidth In ProbeBW"; there x may be
 * negative.
 */
CC_INLINE u32 bbr3_inflight_at_loss(const struct bbr3 *s, const struct bbr3_flight *f, u32 pkts)
{
	u32 inflight_before = cc_sub_floor_u32(f->inflight_pkts, pkts);
	u32 lost_before = cc_sub_floor_u32(f->lost_pkts, pkts);
	u64 budget = ((u64)inflight_before * s->p.loss_thresh + CC_GAIN_UNIT - 1) >> CC_GAIN_SHIFT;
	u64 x = budget > lost_before ? budget - lost_before : 0;

	return cc_saturate_u32(inflight_before + cc_div(x << CC_GAIN_SHIFT, CC_GAIN_UNIT - s->p.loss_thresh));
}

/* inflight_hi, less the headroom for other flows. */
CC_INLINE u32 bbr3_inflight_with_headroom(const struct bbr3 *s)
{
	u32 headroom = cc_max_u32(bbr3_part(s->inflight_hi, s->p.headroom), 1);

	if (s->inflight_hi == BBR3_UNSET)
		return BBR3_UNSET;
	return cc_max_u32(cc_sub_floor_u32(s->inflight_hi, headroom), s->p.min_cwnd_pkts);
}

/* In round n of probing inflight_hi grows by 2^n packets, evenly over the round. */
CC_INLINE void bbr3_steepen_inflight_hi(struct bbr3 *s, const struct cc_view *v)
{
	u32 rounds = cc_min_u32(s->probe_up_rounds, BBR3_PROBE_UP_ROUNDS_MOST);

	s->probe_up_every_pkts = cc_max_u32(v->cwnd_pkts >> rounds, 1);
	s->probe_up_rounds = (u8)cc_min_u32(rounds + 1, BBR3_PROBE_UP_ROUNDS_MOST);
}

/* inflight_hi limits the flow. */
CC_INLINE bool bbr3_is_bound_by_inflight_hi(const struct bbr3 *s, const struct cc_view *v)
{
	return v->cwnd_limited && v->cwnd_pkts >= s->inflight_hi;
}

CC_STAGE void bbr3_raise_inflight_hi(struct bbr3 *s, const struct cc_view *v)
{
	u64 grown;

	if (!bbr3_is_bound_by_inflight_hi(s, v)) {
		if (!s->p.keep_growth_credit)
			s->probe_up_acked_pkts = 0;
		return;
	}
	s->probe_up_acked_pkts = cc_saturate_u32((u64)s->probe_up_acked_pkts + v->acked_pkts);
	if (s->probe_up_every_pkts && s->probe_up_acked_pkts >= s->probe_up_every_pkts) {
		grown = cc_div(s->probe_up_acked_pkts, s->probe_up_every_pkts);
		s->probe_up_acked_pkts -= (u32)grown * s->probe_up_every_pkts;
		s->inflight_hi = (u32)cc_min_u64(s->inflight_hi + grown, BBR3_UNSET - 1);
		s->settled_cwnd_pkts = 0;
	}
	if (s->round_start)
		bbr3_steepen_inflight_hi(s, v);
}

/*
 * Too much: inflight_hi falls to what the flight shows as safe, but not below 70 % of `target`; once per probe. An
 * application-limited flight does not show how much is safe.
 */
CC_INLINE void bbr3_lower_inflight_hi(struct bbr3 *s, u32 inflight_pkts, u32 target_pkts, bool app_limited)
{
	s->prev_probe_too_high = true;
	s->probe_samples = false;
	if (!app_limited)
		s->inflight_hi = cc_max_u32(inflight_pkts, bbr3_part(target_pkts, s->p.beta));
}

/* ---- undo ---- */

CC_INLINE void bbr3_save_bounds(struct bbr3 *s)
{
	s->undo_state = BBR3_STATE_COUNT;
	s->undo_bw_lo = s->bw_lo;
	s->undo_inflight_lo = s->inflight_lo;
	s->undo_inflight_hi = s->inflight_hi;
}

/* The losses were spurious: no bound is lower than before them. */
CC_INLINE void bbr3_restore_bounds(struct bbr3 *s)
{
	s->loss_in_round = false;
	s->bw_lo = cc_max_u32(s->bw_lo, s->undo_bw_lo);
	s->inflight_lo = cc_max_u32(s->inflight_lo, s->undo_inflight_lo);
	s->inflight_hi = cc_max_u32(s->inflight_hi, s->undo_inflight_hi);
}

/* ---- the target for inflight ---- */

/* At tiny min_rtts a burst may have 64 KiB more, since a queue of that size is soon gone. [v3] tso_rtt_shift */
#define BBR3_BURST_LAN_BYTES 65536u
/* After 17 halvings nothing is left of 2^16 bytes. */
#define BBR3_BURST_HALVINGS 17u
/* Room for a burst in the sender's queue, one on the wire and one in the receiver's offload. */
#define BBR3_BURSTS_IN_FLIGHT 3u

CC_INLINE u32 bbr3_bdp_pkts(const struct bbr3 *s, u32 bw, u32 gain_256)
{
	return s->min_rtt_us == CC_NO_RTT ? s->init_cwnd_pkts : bbr_bdp_pkts(bw, s->min_rtt_us, gain_256);
}

/* The smallest burst. [v2] bbr_min_tso_segs */
CC_INLINE u32 bbr3_min_burst_pkts(const struct bbr3 *s, const struct cc_decision *d)
{
	return d->pacing_rate_Bps < s->p.burst_of_one_Bps ? 1 : CC_MIN_BURST_PKTS;
}

CC_INLINE u32 bbr3_burst_pkts(const struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	u64 halvings = cc_div(s->min_rtt_us, s->p.burst_rtt_us);
	u32 more = s->p.burst_rtt_us && halvings < BBR3_BURST_HALVINGS ? BBR3_BURST_LAN_BYTES >> halvings : 0;

	return bbr_burst_pkts(v, d, more, bbr3_min_burst_pkts(s, d));
}

/*
 * At least what bursts need, and min_cwnd; two more while probing, since a gain of 1.25 on a tiny BDP rounds to
 * nothing. [v3] bbr_quantization_budget
 */
CC_INLINE u32 bbr3_quantise_pkts(const struct bbr3 *s, u32 pkts, const struct cc_view *v, const struct cc_decision *d)
{
	pkts = cc_max_u32(cc_min_u32(pkts, CC_INFINITE), BBR3_BURSTS_IN_FLIGHT * bbr3_burst_pkts(s, v, d));
	pkts = cc_max_u32(pkts, s->p.min_cwnd_pkts);
	return s->state == BBR3_UP ? pkts + 2 : pkts;
}

/* Packets in flight for `gain` times the BDP at `bw`. [v3] bbr_inflight */
CC_STAGE u32 bbr3_inflight_pkts(const struct bbr3 *s, u32 bw, u32 gain_256, const struct cc_view *v,
				const struct cc_decision *d)
{
	return bbr3_quantise_pkts(s, bbr3_bdp_pkts(s, bw, gain_256), v, d);
}

/* The BDP that a bound falls to. */
CC_STAGE u32 bbr3_fallback_pkts(const struct bbr3 *s, u32 bw, const struct cc_view *v, const struct cc_decision *d)
{
	return s->p.quantised_bdp ? bbr3_inflight_pkts(s, bw, CC_GAIN_UNIT, v, d) : bbr3_bdp_pkts(s, bw, CC_GAIN_UNIT);
}

/* The target for inflight: a BDP, or cwnd if congestion has cut it below. [Draft] TargetInflight */
CC_INLINE u32 bbr3_target_inflight_pkts(const struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	return cc_min_u32(bbr3_fallback_pkts(s, bbr3_bw(s), v, d), d->cwnd_pkts);
}

/*
 * Packets in the network when the next one may leave, of those in flight; while probing, with the burst that is about
 * to be sent.
 */
CC_STAGE u32 bbr3_in_network_pkts(const struct bbr3 *s, u32 inflight, const struct cc_view *v,
				  const struct cc_decision *d)
{
	if (!s->p.look_ahead)
		return inflight;
	if (s->pacing_gain_256 > CC_GAIN_UNIT)
		inflight += bbr3_burst_pkts(s, v, d);
	return bbr_in_network_pkts(inflight, bbr3_bw(s), v);
}

/* The same before this ACK. [Draft] has no such rule and compares what is in flight after the ACK. */
CC_INLINE u32 bbr3_in_network_before_pkts(const struct bbr3 *s, const struct cc_view *v, const struct cc_decision *d)
{
	return bbr3_in_network_pkts(s, s->p.look_ahead ? v->prior_inflight_pkts : v->inflight_pkts, v, d);
}

#endif
