/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What all versions of BBR share: arithmetic on the model of the path, and the estimator of ACK aggregation.
 *
 *	bw           delivery rate of the bottleneck, packets per us << CC_BW_SHIFT
 *	pacing_rate  = gain * bw * (1 - margin)
 *	BDP          = gain * bw * min_rtt, rounded up
 *	burst        what a host sends at once: about 1 ms at the pacing rate
 *
 * How the model is measured, and which gains apply when, is in bbr1.h and bbr3.h. Functions take numbers instead of
 * a flow, so that each call shows which bw and which gain it uses.
 *
 * Sources: Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016 [Queue];
 * draft-ietf-ccwg-bbr-06 [Draft]; Linux 6.18 net/ipv4/tcp_bbr.c [Linux].
 */
#ifndef CC_BBR_H
#define CC_BBR_H

#include "contract/contract.h"
#include "contract/maths.h"

/* Until the first RTT sample the initial window is paced over 1 ms. [Draft] "Initial Pacing Rate" */
#define BBR_FIRST_RTT_US 1000u

/* Linux bounds a burst by 64 KiB, headers included. */
#define BBR_BURST_MAX_BYTES (65536u - 1u - 320u)

/*
 * ACK aggregation: an epoch ends at 2^20 packets, so that its counter does not wrap. [Linux]
 * bbr_ack_epoch_acked_reset_thresh
 */
#define BBR_AGGREGATION_EPOCH_PKTS (1u << 20)

/* ---- rate, BDP, burst ---- */

/* bw * gain in bytes per second, less the margin. */
CC_INLINE u64 bbr_rate_Bps(u32 mss_bytes, u64 bw, u32 gain_256, u32 margin_ppm)
{
	u64 rate = (bw * mss_bytes * gain_256) >> CC_GAIN_SHIFT;

	return cc_mul_shift(rate, CC_USEC_PER_SEC - margin_ppm, CC_BW_SHIFT);
}

/* bw * min_rtt * gain in packets, rounded up. */
CC_INLINE u32 bbr_bdp_pkts(u32 bw, u32 min_rtt_us, u32 gain_256)
{
	u64 bdp = cc_min_u64((u64)bw * min_rtt_us, ~0ull >> 12); /* leaves room for a gain below 16 */

	return cc_saturate_u32((((bdp * gain_256) >> CC_GAIN_SHIFT) + CC_BW_UNIT - 1) >> CC_BW_SHIFT);
}

/* Packets that `bw` delivers within a time, rounded down. */
CC_INLINE u64 bbr_delivered_pkts(u64 time_us, u32 bw) { return cc_mul_shift(time_us, bw, CC_BW_SHIFT); }

/* Packets in one TSO burst at the pacing rate in force, with `more_bytes` beyond the host's own burst size. */
CC_INLINE u32 bbr_burst_pkts(const struct cc_view *v, const struct cc_decision *d, u32 more_bytes, u32 least_pkts)
{
	u64 bytes = cc_min_u64(d->pacing_rate_Bps >> (v->pacing_shift & 63), BBR_BURST_MAX_BYTES);

	bytes = cc_min_u64(bytes + more_bytes, BBR_BURST_MAX_BYTES);
	return cc_max_u32((u32)cc_div(bytes, v->mss_bytes), least_pkts);
}

/*
 * The part of `inflight` that will still be in the network when the next packet may leave: the pacer schedules
 * departures ahead of time, and the network delivers until then. [Linux] bbr_packets_in_net_at_edt
 */
CC_INLINE u32 bbr_in_network_pkts(u32 inflight, u32 bw, const struct cc_view *v)
{
	u64 delivered = ((u64)bw * v->departure_lead_us) >> CC_BW_SHIFT;

	return delivered >= inflight ? 0 : inflight - (u32)delivered;
}

/* ---- pacing ---- */

/* Before the first bw sample: the initial cwnd per RTT, or per millisecond before the first RTT sample. */
CC_INLINE void bbr_init_pacing_rate(const struct cc_view *v, struct cc_decision *d, u32 gain_256, u32 margin_ppm)
{
	u32 rtt_us = v->srtt_us ? v->srtt_us : BBR_FIRST_RTT_US;
	u64 bw = cc_saturate_u32(cc_div((u64)d->cwnd_pkts << CC_BW_SHIFT, rtt_us));
	u64 rate = bbr_rate_Bps(v->mss_bytes, bw, gain_256, margin_ppm);

	d->pacing_rate_Bps = cc_min_u64(cc_max_u64(rate, 1), v->max_pacing_rate_Bps); /* 0 would mean no pacing */
}

/* Until the pipe is full the rate only grows: early samples are low because the flow has just started. */
CC_INLINE void bbr_set_pacing_rate(const struct cc_view *v, struct cc_decision *d, u64 rate_Bps, bool full_pipe)
{
	u64 rate = cc_min_u64(rate_Bps, v->max_pacing_rate_Bps);

	if (rate && (full_pipe || rate > d->pacing_rate_Bps)) /* 0: below one packet in 16 s, which is no estimate */
		d->pacing_rate_Bps = rate;
}

/* Whether bw has grown by `gain` since the last growth, which is then the bw to grow from. [Queue] "Startup" */
CC_INLINE bool bbr_has_grown(u32 *full_bw, u32 bw, u32 gain_256)
{
	if (bw < ((u64)*full_bw * gain_256) >> CC_GAIN_SHIFT)
		return false;
	*full_bw = bw;
	return true;
}

/* Until what is in flight now has been delivered, low rates say nothing about the path. */
CC_INLINE void bbr_mark_app_limited(const struct cc_view *v, struct cc_decision *d)
{
	u32 until = v->delivered_pkts + v->inflight_pkts;

	d->app_limited_until_pkts = until ? until : 1;
}

/* ---- ACK aggregation ---- */

/*
 * Wi-Fi, cellular links and offloads aggregate ACKs: many arrive at once, and none until the next burst. cwnd must
 * cover that gap. The estimate is the greatest number of packets acknowledged beyond what bw delivers. An epoch
 * lasts while ACKs arrive faster than bw. The maximum is kept in two bins of some rounds each, so it is one to two
 * bins old. [Draft] section 5.5.9
 */
struct bbr_aggregation {
	u64 epoch_us;	   /* start of the epoch */
	u32 epoch_pkts;	   /* acknowledged in it */
	u32 extra_pkts[2]; /* most acknowledged beyond bw * time, this bin and the one before */
	u8 rounds;	   /* in this bin */
	u8 bin;
	u8 reserved[2];
};

CC_INLINE void bbr_restart_aggregation(struct bbr_aggregation *a, const struct cc_view *v)
{
	a->epoch_us = v->now_us;
	a->epoch_pkts = 0;
}

/* Processes one ACK at the estimate `bw`; a bin lasts for bin_rounds. */
CC_INLINE void bbr_update_aggregation(struct bbr_aggregation *a, const struct cc_view *v, u32 bw, u32 bin_rounds,
				      bool round_start)
{
	u64 expected;
	u32 extra, *bin;

	if (!v->acked_pkts || v->sample_delivered_pkts < 0 || v->sample_interval_us <= 0)
		return;
	if (round_start && ++a->rounds >= bin_rounds) {
		a->rounds = 0;
		a->bin ^= 1;
		a->extra_pkts[a->bin & 1] = 0;
	}
	expected = v->delivered_us > a->epoch_us ? bbr_delivered_pkts(v->delivered_us - a->epoch_us, bw) : 0;
	if (a->epoch_pkts <= expected || (u64)a->epoch_pkts + v->acked_pkts >= BBR_AGGREGATION_EPOCH_PKTS) {
		a->epoch_pkts = 0;
		a->epoch_us = v->delivered_us;
		expected = 0;
	}
	a->epoch_pkts = (u32)cc_min_u64((u64)a->epoch_pkts + v->acked_pkts, BBR_AGGREGATION_EPOCH_PKTS - 1);
	extra = cc_min_u32(a->epoch_pkts - cc_min_u32((u32)expected, a->epoch_pkts), v->cwnd_pkts);
	bin = &a->extra_pkts[a->bin & 1];
	*bin = cc_max_u32(*bin, extra);
}

/* The allowance in cwnd for aggregation: at most what `bw` delivers in `most_us`. */
CC_INLINE u32 bbr_aggregation_cwnd_pkts(const struct bbr_aggregation *a, u32 bw, u32 gain_256, u32 most_us)
{
	u64 most = ((u64)bw * most_us) >> CC_BW_SHIFT;
	u64 extra = cc_max_u32(a->extra_pkts[0], a->extra_pkts[1]);

	return cc_saturate_u32(cc_min_u64((extra * gain_256) >> CC_GAIN_SHIFT, most));
}

#endif
