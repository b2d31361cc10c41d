/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The model of BBRv3 and BBRv2: the parameters, the state of a flow, the bounds that loss and ECN set on what bandwidth
 * and RTT allow for, and how much must be in flight. The state machine that uses the model is in bbr3.h.
 *
 *	bound         says                                  learnt from                          forgotten
 *	max_bw        the most that the path delivered      samples of this and the last cycle   cycle by cycle
 *	inflight_hi   more than this in flight is too much  loss or CE marks while probing       raised by probing
 *	bw_lo         what is to be had for now             a round with loss, not probing       when probing begins
 *	inflight_lo   the same in packets                   a round with loss or CE marks        when probing begins
 *
 * What "too much" means is asked of a flight: the packets that were in the network together with one packet, when it
 * was sent. It is too much if more than loss_thresh of the flight was lost, or ecn_thresh of it was marked. For each
 * packet that is lost (not for each ACK: with RACK the loss is noticed late) the flight tells at which packet the
 * threshold was crossed.
 *
 * The latest round trip, bw_latest and inflight_latest, is what bw_lo and inflight_lo do not fall below: it is what the
 * path did deliver. A round of loss begins with the first loss, so that it sees all that was lost with it.
 *
 * Names are Linux's; the draft says inflight_longterm for inflight_hi, and ..._shortterm for ..._lo.
 *
 * Sources: google/bbr, branch v3, net/ipv4/tcp_bbr.c [v3]; draft-ietf-ccwg-bbr-06 [Draft].
 */
#ifndef CC_BBR3_MODEL_H
#define CC_BBR3_MODEL_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "lib/bbr.h"

/*
 * What bbr3 and bbr2 are tuned with. The arguments are the defaults in which the two differ. What [Draft] has
 * otherwise is said with each parameter; the preset bbr3_draft sets all of it.
 */
#define bbr3_family_parameters(P, startup_pacing, startup_cwnd, loss_events, down, up_cwnd, tail, ecn_equal, reprobe)  \
	P(startup_pacing_gain, startup_pacing, 257, 2560, CC_UNIT_GAIN,                                                \
	  "pacing gain in STARTUP; 4 ln 2 is the least with which the delivery rate can double each round")            \
	P(startup_cwnd_gain, startup_cwnd, 256, 2560, CC_UNIT_GAIN, "cwnd gain in STARTUP and DRAIN")                  \
	P(drain_gain, 88, 16, 255, CC_UNIT_GAIN, "pacing gain in DRAIN; draft: 0.5")                                   \
	P(drain_max_rounds, 0, 0, 1000, CC_UNIT_ROUNDS, "leave DRAIN after more than this; 0: no limit; draft: 3")     \
	P(probe_up_gain, 320, 257, 1024, CC_UNIT_GAIN, "pacing gain while probing for bandwidth")                      \
	P(probe_down_gain, down, 16, 255, CC_UNIT_GAIN, "pacing gain after probing; draft: 0.9")                       \
	P(cwnd_gain, 512, 256, 2560, CC_UNIT_GAIN, "cwnd in PROBE_BW as a multiple of the BDP")                        \
	P(probe_up_cwnd_gain, up_cwnd, 256, 2560, CC_UNIT_GAIN, "the same while probing")                              \
	P(min_cwnd_pkts, 4, 1, 100, CC_UNIT_PKTS, "least cwnd; 4 keeps ACKs flowing past a receiver that delays them") \
	P(full_bw_gain, 320, 257, 1024, CC_UNIT_GAIN, "growth of bw that shows that the pipe is not full")             \
	P(full_bw_rounds, 3, 1, 100, CC_UNIT_ROUNDS, "rounds without such growth that show that it is")                \
	P(full_bw_per_round, 0, 0, 1, CC_UNIT_BOOL, "look for growth only at the start of a round; draft: on")         \
	P(full_loss_events, loss_events, 0, 15, CC_UNIT_COUNT, "ACKs with loss in a round that end STARTUP; 0: none")  \
	P(full_loss_ranges, 0, 0, 1, CC_UNIT_BOOL, "count ranges of lost packets, not ACKs; draft: on")                \
	P(full_ecn_rounds, 2, 0, 100, CC_UNIT_ROUNDS, "rounds of marks above ecn_thresh that end STARTUP; 0: none")    \
	P(loss_thresh, 5, 0, 128, CC_UNIT_GAIN, "more than this part of a flight lost is too much")                    \
	P(beta, 180, 1, 256, CC_UNIT_GAIN, "a bound falls to no less than this part of itself; draft: 0.7")            \
	P(headroom, 38, 0, 255, CC_UNIT_GAIN, "part of inflight_hi that is left to others while not probing")          \
	P(probe_wait_us, 2000000, 1000, 60000000, CC_UNIT_US, "least time from probe to probe")                        \
	P(probe_wait_random_us, 1000000, 0, 60000000, CC_UNIT_US, "at random up to this much more")                    \
	P(probe_wait_rounds, 63, 1, 255, CC_UNIT_ROUNDS, "or this many rounds; or as many as packets in a BDP")        \
	P(probe_wait_random_rounds, 2, 0, 255, CC_UNIT_ROUNDS, "at random down to one less than this fewer")           \
	P(min_rtt_window_us, 10000000, 100000, 600000000, CC_UNIT_US, "time over which min_rtt is the minimum")        \
	P(probe_rtt_interval_us, 5000000, 100000, 600000000, CC_UNIT_US, "time without a new minimum to PROBE_RTT")    \
	P(probe_rtt_us, 200000, 0, 10000000, CC_UNIT_US, "least time in PROBE_RTT; 0: never go there")                 \
	P(probe_rtt_cwnd_gain, 128, 16, 256, CC_UNIT_GAIN, "cwnd in PROBE_RTT as a multiple of the BDP")               \
	P(pacing_margin, 10000, 0, 500000, CC_UNIT_PPM, "pace this much below bw, so that queues drain over time")     \
	P(initial_margin, 1, 0, 1, CC_UNIT_BOOL, "before there is a bw, too; draft: off")                              \
	P(extra_acked_gain, 256, 0, 2560, CC_UNIT_GAIN, "cwnd added per packet of ACK aggregation seen; 0: none")      \
	P(extra_acked_rounds, 5, 1, 100, CC_UNIT_ROUNDS, "remembered for one to two times this; draft: 10 in all")     \
	P(extra_acked_max_us, 100000, 0, 10000000, CC_UNIT_US, "at most bw times this is added; draft: no bound")      \
	P(burst_rtt_us, 512, 0, 100000, CC_UNIT_US,                                                                    \
	  "bursts may be 64 KiB longer, half of that for each such time of min_rtt; 0: not; draft: not")               \
	P(quantised_bdp, 1, 0, 1, CC_UNIT_BOOL, "a BDP to fall back to makes room for bursts; draft: off")             \
	P(loss_on_acks, 1, 0, 1, CC_UNIT_BOOL, "ask the flight of acknowledged packets, too, whether it was too much") \
	P(tail_loss, tail, 0, 1, CC_UNIT_BOOL, "a loss that a tail loss probe repaired counts; draft: off")            \
	P(undo_to_state, 0, 0, 1, CC_UNIT_BOOL, "after a spurious loss go back to probing; draft: on")                 \
	P(fast_path, 1, 0, 1, CC_UNIT_BOOL, "leave out what an app-limited ACK cannot change; draft: off")             \
	P(ecn, 0, 0, 1, CC_UNIT_BOOL, "marks of this path mean a short queue (Linux: route feature ecn_low)")          \
	P(ecn_max_rtt_us, 5000, 0, 10000000, CC_UNIT_US, "and only if min_rtt is at most this; 0: any")                \
	P(ecn_alpha_gain, 16, 1, 256, CC_UNIT_GAIN, "weight of the latest round in the rate of marks")                 \
	P(ecn_alpha_initial, 256, 0, 256, CC_UNIT_GAIN, "rate of marks before there is one")                           \
	P(ecn_factor, 85, 0, 256, CC_UNIT_GAIN, "inflight_lo falls by the rate of marks times this; 0: not")           \
	P(ecn_thresh, 128, 0, 256, CC_UNIT_GAIN, "more than this part of a flight marked is too much; 0: none is")     \
	P(ecn_thresh_included, ecn_equal, 0, 1, CC_UNIT_BOOL, "and so is just this part")                              \
	P(ecn_reprobe_gain, reprobe, 0, 256, CC_UNIT_GAIN,                                                             \
	  "marks without loss: probe again at once, for this part of inflight_hi in the first round; 0: not")

/* 2.7734, 2.0; 6 events; 0.90625; 2.25; tail losses count; ECN above the threshold; reprobe for half of inflight_hi */
#define bbr3_parameters(P) bbr3_family_parameters(P, 710, 512, 6, 232, 576, 1, 0, 128)

struct bbr3_params {
	bbr3_parameters(CC_PARAM_FIELD)
};

enum bbr3_state {
	BBR3_STARTUP = 0,
	BBR3_DRAIN = 1,
	BBR3_DOWN = 2, /* this and the next three are PROBE_BW */
	BBR3_CRUISE = 3,
	BBR3_REFILL = 4,
	BBR3_UP = 5,
	BBR3_PROBE_RTT = 6,
	BBR3_STATE_COUNT = 7,
};

/* What the packets were sent for that are being acknowledged now. */
enum bbr3_ack_phase {
	BBR3_ACKS_INIT = 0, /* nothing special */
	BBR3_ACKS_REFILLING = 1,
	BBR3_ACKS_STARTING = 2, /* sent before probing began */
	BBR3_ACKS_FEEDBACK = 3, /* sent while probing */
	BBR3_ACKS_STOPPING = 4, /* sent while probing, which is over */
};

/* A bound that is not set. */
#define BBR3_UNSET 0xffffffffu

/* Events that end STARTUP are counted up to this. */
#define BBR3_LOSS_EVENTS_MOST 15u
/* Rounds since the last probe are counted up to this. */
#define BBR3_ROUNDS_MOST 255u
/* inflight_hi grows by 2^n packets in round n of probing, n at most this. */
#define BBR3_PROBE_UP_ROUNDS_MOST 30u

struct bbr3 {
	u64 min_rtt_stamp_us;	    /* when min_rtt_us was last confirmed */
	u64 probe_rtt_min_stamp_us; /* when probe_rtt_min_us was */
	u64 probe_rtt_done_us;	    /* earliest end of PROBE_RTT; 0: inflight has not come down yet */
	u64 cycle_stamp_us;	    /* start of DOWN, or of UP */
	struct bbr_aggregation aggregation;
	struct bbr3_params p;
	u32 bw_bins[2];		  /* most delivered in the last cycle, and in this; CC_BW_UNIT packets per us */
	u32 bw_lo;		  /* likewise; BBR3_UNSET: none */
	u32 inflight_lo;	  /* packets */
	u32 inflight_hi;	  /* packets */
	u32 sample_bw;		  /* of this ACK; 0: none */
	u32 bw_latest;		  /* greatest sample of the latest round */
	u32 inflight_latest_pkts; /* most delivered within the time of one sample, in the latest round */
	u32 undo_bw_lo;		  /* bounds before the losses, should they turn out to be none */
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
	u32 probe_up_every_pkts;	   /* inflight_hi grows by one for so many acknowledged */
	u32 probe_up_acked_pkts;	   /* of those */
	u32 prior_cwnd_pkts;		   /* cwnd to come back to after recovery or PROBE_RTT */
	u32 init_cwnd_pkts;
	u32 settled_cwnd_pkts;	  /* cwnd when it was where it shall be; 0: something has changed since */
	u32 alpha_delivered_pkts; /* delivered_pkts and delivered_ce_pkts when ecn_alpha_256 was last updated */
	u32 alpha_delivered_ce_pkts;
	u32 ecn_alpha_256; /* smoothed rate of marks */
	u32 pacing_gain_256;
	u32 cwnd_gain_256;
	u32 rng;
	u32 mss_bytes; /* for onlookers */
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
	u8 ecn_eligible;  /* latched: marks of this path are heeded */
	u8 full_pipe;	  /* latched */
	u8 full_bw_now;	  /* bw has stopped growing, in STARTUP or UP */
	u8 full_bw_count; /* rounds without growth */
	u8 probe_samples; /* what is acknowledged now was sent to probe, and has not been too much yet */
	u8 probe_up_rounds;
	u8 prev_probe_too_high; /* the last probe ended with too much in flight */
	u8 stopped_risky_probe; /* and so this one ended before it could be again */
	u8 probe_rtt_round_done;
	u8 idle_restart; /* sending resumed after idle: that ACKs are old says nothing about the path */
	u8 has_seen_rtt;
	u8 settled;	/* cwnd is where it shall be, and nothing has changed since */
	u8 undo_saved;	/* for undo_to_state */
	u8 reserved[7]; /* no holes: parity compares bytes */
};

CC_INLINE u32 bbr3_max_bw(const struct bbr3 *s) { return cc_max_u32(s->bw_bins[0], s->bw_bins[1]); }

CC_INLINE u32 bbr3_bw(const struct bbr3 *s) { return cc_min_u32(bbr3_max_bw(s), s->bw_lo); }

CC_INLINE u32 bbr3_part(u32 x, u32 part_256) { return (u32)(((u64)x * part_256) >> CC_GAIN_SHIFT); }

/* ---- the latest round ---- */

/* An ACK that tells how fast the path delivers. */
CC_INLINE bool bbr3_has_sample(const struct cc_view *v)
{
	return v->sample_interval_us > 0 && v->sample_delivered_pkts >= 0 && v->acked_pkts;
}

/* [v3] rounds up, so that the lowest rates can grow at all. */
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
 * When a round is over, the next one begins with the sample at hand. Not with one from a tail loss probe: should that
 * turn out to have repaired a loss, then what the path delivered before it is still needed.
 */
CC_INLINE void bbr3_advance_latest(struct bbr3 *s, const struct cc_view *v)
{
	if (!s->loss_round_start || (s->p.tail_loss && v->is_probe_ack))
		return;
	s->bw_latest = s->sample_bw;
	s->inflight_latest_pkts = (u32)v->sample_delivered_pkts;
}

/* What happened before DRAIN or DOWN, happened because of probing. */
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

/* The rate of marks, smoothed over rounds (RFC 8257 section 3.3). Returns that of the latest round, 1/256. */
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
 * A round with loss or marks: fall towards what the path delivered in it, by 30 % at most. The first time, fall from
 * what is in use. [Draft] "When not Probing for Bandwidth"
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

/* max_bw, and once per round the short-term bounds, which do not concern a flow that risks loss on purpose. */
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

/* A loss. The first one in a round begins a round of loss, which ends when packets sent after it are acknowledged. */
CC_INLINE void bbr3_note_loss(struct bbr3 *s, const struct cc_view *v)
{
	if (!s->loss_in_round)
		s->loss_round_end_delivered_pkts = v->delivered_pkts;
	s->loss_in_round = true;
	s->loss_in_cycle = true;
}

/* A cycle is over: forget the samples of the one before it. Without any in this one, go on remembering. */
CC_INLINE void bbr3_advance_max_bw(struct bbr3 *s)
{
	if (!s->bw_bins[1])
		return;
	s->bw_bins[0] = s->bw_bins[1];
	s->bw_bins[1] = 0;
}

/* ---- the long-term bound: inflight_hi ---- */

/* What happened to the packets that were in flight together with one packet, from when that was sent until now. */
struct bbr3_flight {
	u32 inflight_pkts; /* when it was sent, itself included; 0: unknown */
	u32 lost_pkts;
	u32 delivered_pkts;
	u32 marked_pkts;
};

/*
 * Of the packet that was sent last among those that this ACK acknowledges. A host that cannot tell what was in flight
 * tells 0: then take what has left the network since.
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

/* Of a packet that was lost. Unknown: what the path delivered in the latest round, and what it lost. */
CC_INLINE void bbr3_flight_of_loss(struct bbr3_flight *f, const struct bbr3 *s, const struct cc_view *v)
{
	f->delivered_pkts = 0;
	f->marked_pkts = 0;
	f->lost_pkts = cc_max_u32(v->sample_lost_pkts, v->losses_pkts);
	f->inflight_pkts = v->sample_inflight_pkts ? v->sample_inflight_pkts : s->inflight_latest_pkts + f->lost_pkts;
}

/* Of one that was lost at the tail and is replaced: nothing was marked lost, so count it by hand. */
CC_INLINE void bbr3_flight_of_tail_loss(struct bbr3_flight *f, const struct bbr3 *s)
{
	f->delivered_pkts = 0;
	f->marked_pkts = 0;
	f->lost_pkts = 1;
	f->inflight_pkts = s->inflight_latest_pkts + 1;
}

/* Was it too much? With up to 51 packets in flight one lost packet is, since 2 % of that is less than two. */
CC_INLINE bool bbr3_is_too_much(const struct bbr3 *s, const struct bbr3_flight *f)
{
	if (f->lost_pkts && f->inflight_pkts && f->lost_pkts > bbr3_part(f->inflight_pkts, s->p.loss_thresh))
		return true;
	return s->ecn_eligible && s->p.ecn_thresh && f->marked_pkts && f->delivered_pkts &&
	       (u64)f->marked_pkts + s->p.ecn_thresh_included > bbr3_part(f->delivered_pkts, s->p.ecn_thresh);
}

/*
 * At how many packets in flight did the loss become too much? It was not before the last `pkts` of the flight: solve
 *
 *	lost_before + x = loss_thresh * (inflight_before + x)
 *
 * for x, those of the last ones that may be lost. [Draft] "Probing for Bandwidth In ProbeBW"; there x may come out
 * below zero.
 */
CC_INLINE u32 bbr3_inflight_at_loss(const struct bbr3 *s, const struct bbr3_flight *f, u32 pkts)
{
	u32 inflight_before = cc_sub_floor_u32(f->inflight_pkts, pkts);
	u32 lost_before = cc_sub_floor_u32(f->lost_pkts, pkts);
	u64 budget = ((u64)inflight_before * s->p.loss_thresh + CC_GAIN_UNIT - 1) >> CC_GAIN_SHIFT;
	u64 x = budget > lost_before ? budget - lost_before : 0;

	return cc_saturate_u32(inflight_before + cc_div(x << CC_GAIN_SHIFT, CC_GAIN_UNIT - s->p.loss_thresh));
}

/* inflight_hi with room for others. */
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

/* inflight_hi is what holds this flow back. */
CC_INLINE bool bbr3_is_bound_by_inflight_hi(const struct bbr3 *s, const struct cc_view *v)
{
	return v->cwnd_limited && v->cwnd_pkts >= s->inflight_hi;
}

CC_STAGE void bbr3_raise_inflight_hi(struct bbr3 *s, const struct cc_view *v)
{
	u64 grown;

	if (!bbr3_is_bound_by_inflight_hi(s, v))
		return;
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
 * Too much: keep what the flight says was safe, or 70 % of `target`; once per probe. When the application did not send
 * enough to try, nothing is known about how much is safe.
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

/* The losses were none: no bound shall be lower than before. */
CC_INLINE void bbr3_restore_bounds(struct bbr3 *s)
{
	s->loss_in_round = false;
	s->bw_lo = cc_max_u32(s->bw_lo, s->undo_bw_lo);
	s->inflight_lo = cc_max_u32(s->inflight_lo, s->undo_inflight_lo);
	s->inflight_hi = cc_max_u32(s->inflight_hi, s->undo_inflight_hi);
}

/* ---- what must be in flight ---- */

/* At tiny min_rtts hosts send up to 64 KiB more at once, since a queue of that is soon gone. [v3]: tso_rtt_shift */
#define BBR3_BURST_LAN_BYTES  65536u
#define BBR3_BURST_LEAST_PKTS 2u
/* Below this many bits the allowance is nothing. */
#define BBR3_BURST_HALVINGS 17u
/* Room for a burst in the sender's queue, one on the wire and one in the receiver's offload. */
#define BBR3_BURSTS_IN_FLIGHT 3u

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

#endif
