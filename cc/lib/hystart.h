/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * HyStart and HyStart++: slow start ends at the first sign of a queue, not at the first loss. Used by reno.h and
 * cubic.h.
 *
 * Slow start doubles cwnd each round, so it overshoots by up to a whole cwnd and loses as much at once. The RTT
 * shows the queue earlier. A round lasts until what was next to send at its start has been acknowledged.
 *
 * HyStart (Ha and Rhee, "Taming the elephants", Computer Networks 55(9), 2011), as in Linux, leaves slow start for good
 * (ssthresh = cwnd) when one of two detectors triggers:
 *	ACK train  ACKs that follow each other closely span more than the round trip (half of it, without pacing);
 *	delay      the least of the first 8 RTT samples of a round is an eighth above the minimum (4 to 16 ms).
 * It takes one round of jitter for a queue, and then the climb to the full rate is long.
 *
 * HyStart++ (RFC 9406) has the second detector only, compares a round with the round before, and confirms before it
 * leaves:
 *
 *	            least RTT of a round >= that of the last + an eighth (4 to 16 ms)
 *	SLOW_START ------------------------------------------------------------------> CONSERVATIVE_SLOW_START (CSS)
 *	cwnd += acked    <--------------------------------------------------------     cwnd += acked / 4
 *	            least RTT of a round < that which led here: it was jitter             |  5 rounds later
 *	                                                                                  v  ssthresh = cwnd
 *	                                                                               AVOIDANCE
 *
 * It acts only in the first slow start, while there is no ssthresh; later ones have an end (section 4.3). Without
 * pacing an ACK counts for 8 packets at most. Departure: the RTT is examined before cwnd grows, not after.
 *
 * Sources: the two above; Linux 6.18 net/ipv4/tcp_cubic.c [Linux].
 */
#ifndef CC_HYSTART_H
#define CC_HYSTART_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "contract/window.h"

/* How slow start ends before the first loss. */
#define HYSTART_NONE	  0u
#define HYSTART_LINUX	  1u
#define HYSTART_PLUS_PLUS 2u

#define hystart_parameters(P, KIND)                                                                                    \
	P(hystart, KIND, HYSTART_NONE, HYSTART_PLUS_PLUS, CC_UNIT_COUNT,                                               \
	  "what ends slow start before the first loss; 0: nothing, 1: HyStart as in Linux, 2: HyStart++",              \
	  "Linux: 1 in CUBIC, 0 in Reno")                                                                              \
	P(hystart_ack_train, 1, 0, 1, CC_UNIT_BOOL, "HyStart: detect a full pipe by the length of ACK trains",         \
	  "on in Linux (hystart_detect 3)")                                                                            \
	P(hystart_delay, 1, 0, 1, CC_UNIT_BOOL, "HyStart: detect a queue by the RTT",                                  \
	  "on in Linux (hystart_detect 3)")                                                                            \
	P(hystart_low_window_pkts, 16, 2, 100000, CC_UNIT_PKTS, "HyStart: least cwnd at which slow start may end",     \
	  "16: a round of fewer packets has too few samples; at the maximum HyStart never acts")                       \
	P(hystart_ack_delta_us, CC_MSEC(2), 1, CC_SEC(1), CC_UNIT_US,                                                  \
	  "HyStart: ACKs closer than this belong to one train",                                                        \
	  "2 ms, as in Linux; above an RTT every ACK would belong")                                                    \
	P(css_growth_divisor, 4, 2, 16, CC_UNIT_COUNT, "HyStart++: packets acknowledged per packet of growth in CSS",  \
	  "4: RFC 9406 section 4.3, which requires at least 2; above 16, less than 6 % per round")                     \
	P(css_rounds, 5, 1, 100, CC_UNIT_ROUNDS, "HyStart++: rounds in CSS before slow start ends",                    \
	  "5: RFC 9406 section 4.3; 1 confirms nothing, 100 hardly ends CSS before the first loss")

struct hystart_params {
	hystart_parameters(CC_PARAM_FIELD, HYSTART_NONE)
};

/* RTT increase that shows a queue: an eighth, but 4 to 16 ms; over 8 samples a round. RFC 9406 section 4.3 */
#define HYSTART_DELAY_LEAST_US 4000u
#define HYSTART_DELAY_MOST_US  16000u
#define HYSTART_DELAY_SHIFT    3
#define HYSTART_SAMPLES	       8u
/* L: without pacing an ACK counts for at most this many packets. RFC 9406 section 4.3 */
#define HYSTART_ACK_MOST_PKTS 8u
/* Leeway of an ACK train for offloads: four bursts at the pacing rate, at most 1 ms. [Linux] */
#define HYSTART_BURSTS_BYTES (4u * 65536u)
#define HYSTART_LEEWAY_US    1000u

struct hystart {
	u64 round_us; /* start of the round */
	u64 train_us; /* latest ACK of the train that started with the round */
	struct hystart_params p;
	u32 phase;		   /* enum cc_phase: SLOW_START, CONSERVATIVE_SLOW_START or AVOIDANCE */
	u32 min_rtt_us;		   /* since the last reset; CC_NO_RTT: no sample yet */
	u32 round_min_rtt_us;	   /* least RTT of this round */
	u32 round_samples;	   /* samples in this round, counted up to 8 */
	u32 round_end_seq;	   /* the round ends when this is acknowledged */
	u32 last_round_min_rtt_us; /* least RTT of the round before */
	u32 css_rtt_us;		   /* round_min_rtt_us that led to CSS */
	u32 css_credit_pkts;	   /* acknowledged in CSS towards the next packet of growth */
	u8 css_rounds;
	u8 done;	/* HyStart: one exit per slow start */
	u8 reserved[2]; /* no holes: parity compares bytes */
};

/* ---- the phase ---- */

/* CSS follows slow start only. Any other phase may follow any: a timeout, idle time and an undo restart slow start. */
CC_INLINE bool hystart_may_follow(u32 before, u32 phase)
{
	if (phase == CC_PHASE_CONSERVATIVE_SLOW_START)
		return before == CC_PHASE_SLOW_START;
	return before == CC_PHASE_SLOW_START || before == CC_PHASE_CONSERVATIVE_SLOW_START ||
	       before == CC_PHASE_AVOIDANCE;
}

/* All changes of phase. */
CC_INLINE void hystart_enter(struct hystart *s, u32 phase)
{
	CC_CHECK(hystart_may_follow(s->phase, phase), "hystart: this phase may not follow the one before");
	s->phase = phase;
}

/* Updates the phase after cwnd or ssthresh has changed. */
CC_INLINE void hystart_note_window(struct hystart *s, const struct cc_decision *d)
{
	if (!cc_in_slow_start(d))
		hystart_enter(s, CC_PHASE_AVOIDANCE);
	else if (s->phase != CC_PHASE_CONSERVATIVE_SLOW_START)
		hystart_enter(s, CC_PHASE_SLOW_START);
}

/* The pipe is full: slow start ends. */
CC_INLINE void hystart_leave(struct hystart *s, struct cc_decision *d)
{
	d->ssthresh_pkts = d->cwnd_pkts;
	hystart_enter(s, CC_PHASE_AVOIDANCE);
}

/* ---- rounds ---- */

CC_INLINE void hystart_start_round(struct hystart *s, const struct cc_view *v)
{
	s->round_us = v->now_us;
	s->train_us = v->now_us;
	s->round_end_seq = v->snd_nxt;
	s->last_round_min_rtt_us = s->round_min_rtt_us;
	s->round_min_rtt_us = CC_NO_RTT;
	s->round_samples = 0;
}

/* An RTT above this one is a sign of a queue. */
CC_INLINE u64 hystart_risen_us(u32 rtt_us)
{
	return (u64)rtt_us +
	       cc_min_u32(cc_max_u32(rtt_us >> HYSTART_DELAY_SHIFT, HYSTART_DELAY_LEAST_US), HYSTART_DELAY_MOST_US);
}

/* ---- HyStart ---- */

CC_STAGE bool hystart_train_is_long(struct hystart *s, const struct cc_view *v)
{
	u64 limit_us = s->min_rtt_us;

	if (v->now_us - s->train_us > s->p.hystart_ack_delta_us)
		return false;
	s->train_us = v->now_us;
	limit_us +=
		cc_min_u64(cc_div((u64)HYSTART_BURSTS_BYTES * CC_USEC_PER_SEC, v->pacing_rate_Bps), HYSTART_LEEWAY_US);
	if (!v->paced) /* a paced cwnd leaves over half a round trip */
		limit_us >>= 1;
	return v->now_us - s->round_us > limit_us;
}

CC_STAGE bool hystart_delay_is_high(struct hystart *s, u32 rtt_us)
{
	s->round_min_rtt_us = cc_min_u32(s->round_min_rtt_us, rtt_us);
	if (s->round_samples < HYSTART_SAMPLES) {
		s->round_samples++;
		return false;
	}
	return s->round_min_rtt_us > hystart_risen_us(s->min_rtt_us);
}

CC_STAGE void hystart_detect(struct hystart *s, const struct cc_view *v, struct cc_decision *d, u32 rtt_us)
{
	bool full = false;

	if (s->done)
		return;
	if (cc_after(v->snd_una, s->round_end_seq))
		hystart_start_round(s, v);
	if (d->cwnd_pkts < s->p.hystart_low_window_pkts)
		return;
	if (s->p.hystart_ack_train)
		full |= hystart_train_is_long(s, v);
	if (s->p.hystart_delay)
		full |= hystart_delay_is_high(s, rtt_us);
	if (!full)
		return;
	s->done = true;
	hystart_leave(s, d);
}

/* ---- HyStart++ ---- */

/* HyStart++ acts in the first slow start of a connection, before ssthresh is set. */
CC_INLINE bool hystart_plus_acts(const struct hystart *s, const struct cc_decision *d)
{
	return s->p.hystart == HYSTART_PLUS_PLUS && d->ssthresh_pkts >= CC_INFINITE;
}

CC_INLINE void hystart_enter_css(struct hystart *s)
{
	hystart_enter(s, CC_PHASE_CONSERVATIVE_SLOW_START);
	s->css_rtt_us = s->round_min_rtt_us;
	s->css_rounds = 0;
	s->css_credit_pkts = 0;
}

/* RFC 9406 section 4.2. The round in which CSS starts is the first of its rounds. */
CC_STAGE void hystart_plus_detect(struct hystart *s, const struct cc_view *v, struct cc_decision *d, u32 rtt_us)
{
	bool in_css = s->phase == CC_PHASE_CONSERVATIVE_SLOW_START;

	if (cc_after(v->snd_una, s->round_end_seq)) {
		hystart_start_round(s, v);
		if (in_css && ++s->css_rounds >= s->p.css_rounds) {
			hystart_leave(s, d);
			return;
		}
	}
	s->round_min_rtt_us = cc_min_u32(s->round_min_rtt_us, rtt_us);
	s->round_samples = cc_min_u32(s->round_samples + 1, HYSTART_SAMPLES);
	if (s->round_samples < HYSTART_SAMPLES)
		return;
	if (in_css && s->round_min_rtt_us < s->css_rtt_us)
		hystart_enter(s, CC_PHASE_SLOW_START);
	else if (!in_css && s->last_round_min_rtt_us != CC_NO_RTT &&
		 s->round_min_rtt_us >= hystart_risen_us(s->last_round_min_rtt_us))
		hystart_enter_css(s);
}

/* ---- for the algorithms ---- */

/* Forgets the path. */
CC_INLINE void hystart_reset(struct hystart *s, const struct cc_view *v)
{
	s->done = false;
	s->min_rtt_us = CC_NO_RTT;
	s->round_min_rtt_us = CC_NO_RTT;
	hystart_start_round(s, v);
}

CC_INLINE void hystart_init(struct hystart *s, const struct hystart_params *p, const struct cc_view *v,
			    const struct cc_decision *d)
{
	s->p = *p;
	s->phase = CC_PHASE_SLOW_START;
	hystart_note_window(s, d);
	hystart_reset(s, v);
}

/* An RTT sample, before cwnd grows. */
CC_STAGE void hystart_on_rtt(struct hystart *s, const struct cc_view *v, struct cc_decision *d, u32 rtt_us)
{
	s->min_rtt_us = cc_min_u32(s->min_rtt_us, rtt_us);
	if (!cc_in_slow_start(d))
		return;
	if (s->p.hystart == HYSTART_LINUX)
		hystart_detect(s, v, d, rtt_us);
	if (!hystart_plus_acts(s, d))
		return;
	hystart_note_window(s, d); /* an undo may just have restarted slow start */
	hystart_plus_detect(s, v, d, rtt_us);
}

/* cwnd grows by slow start, up to ssthresh. Returns the ACKs left over. */
CC_STAGE u32 hystart_grow(struct hystart *s, const struct cc_view *v, struct cc_decision *d, u32 acked_pkts)
{
	if (!cc_in_slow_start(d))
		return acked_pkts;
	if (hystart_plus_acts(s, d) && !v->paced)
		acked_pkts = cc_min_u32(acked_pkts, HYSTART_ACK_MOST_PKTS);
	if (s->phase == CC_PHASE_CONSERVATIVE_SLOW_START) {
		u64 credit = (u64)s->css_credit_pkts + acked_pkts;
		u64 growth = cc_div(credit, s->p.css_growth_divisor);

		s->css_credit_pkts = (u32)(credit - growth * s->p.css_growth_divisor);
		acked_pkts = (u32)growth;
	}
	return cc_slow_start(d, acked_pkts);
}

#endif
