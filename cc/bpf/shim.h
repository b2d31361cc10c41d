/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The translation between Linux and the contract, for any algorithm: from the fields of a socket to a cc_view, and
 * from a cc_decision to the fields of a socket. Every function is inlined into the hooks: a call would cost as much
 * as the work.
 */
#ifndef CC_BPF_SHIM_H
#define CC_BPF_SHIM_H

#ifdef __KERNEL__
#include "linux/access.h"
#else
#include "kernel.h"
#endif
#include "lib/clamp.h"
#include "contract/maths.h"

#define CC_NSEC_PER_USEC 1000u	    /* the pacer counts ns, the contract us */
#define CC_SRTT_SHIFT	 3	    /* tcp_sock keeps srtt_us times 8 */
#define CC_S32_MAX	 0x7fffffff /* the largest s32 */

/* The `struct sock *` of a hook is a tcp_sock, and the verifier treats it as one. */
CC_INLINE struct tcp_sock *cc_tcp_sock(struct sock *sk) { return (struct tcp_sock *)sk; }

CC_INLINE u32 cc_inflight_pkts(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* The pacer schedules departures in ns ahead of the clock that it read last (earliest departure time). */
CC_INLINE u32 cc_departure_lead_us(const struct tcp_sock *tp)
{
	u64 departure_ns = tp->tcp_wstamp_ns;
	u64 now_ns = tp->tcp_clock_cache;

	if (departure_ns <= now_ns)
		return 0;
	return cc_saturate_u32((departure_ns - now_ns) / CC_NSEC_PER_USEC);
}

/* The part of the view about the connection, and the decision with the values in force. */
CC_INLINE void cc_fill_connection(struct cc_view *v, struct cc_decision *d, const struct tcp_sock *tp)
{
	const struct inet_connection_sock *icsk = &tp->inet_conn;
	const struct sock *sk = &icsk->icsk_inet.sk;

	__builtin_memset(v, 0, sizeof(*v));
	v->now_us = tp->tcp_mstamp;
	v->delivered_us = tp->delivered_mstamp;
	v->pacing_rate_Bps = sk->sk_pacing_rate;
	v->max_pacing_rate_Bps = sk->sk_max_pacing_rate;
	v->mss_bytes = tp->mss_cache;
	v->cwnd_pkts = tp->snd_cwnd;
	v->prior_cwnd_pkts = tp->prior_cwnd;
	v->ssthresh_pkts = tp->snd_ssthresh;
	v->inflight_pkts = cc_inflight_pkts(tp);
	v->delivered_pkts = tp->delivered;
	v->lost_pkts = tp->lost;
	v->max_inflight_pkts = tp->max_packets_out;
	v->snd_una = tp->snd_una;
	v->snd_nxt = tp->snd_nxt;
	v->srtt_us = tp->srtt_us >> CC_SRTT_SHIFT;
	v->min_rtt_us = tp->rtt_min.s[0].v;
	v->departure_lead_us = cc_departure_lead_us(tp);
	v->ca_state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	v->pacing_shift = sk->sk_pacing_shift;
	v->paced = sk->sk_pacing_status != SK_PACING_NONE;
	v->cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	v->app_limited = tp->app_limited != 0;
	v->sample_delivered_pkts = -1;
	v->sample_interval_us = -1;
	v->rtt_us = -1;

	d->pacing_rate_Bps = v->pacing_rate_Bps;
	d->cwnd_pkts = v->cwnd_pkts;
	d->ssthresh_pkts = v->ssthresh_pkts;
	d->app_limited_until_pkts = 0;
	d->min_burst_pkts = CC_MIN_BURST_PKTS;
}

/* The kernel has longs where the contract has 32 bits, which hold 36 minutes. */
CC_INLINE s32 cc_clamp_s32(long us) { return us > CC_S32_MAX ? CC_S32_MAX : (s32)us; }

/* The part of the view about this ACK, from Linux's rate sample. */
CC_INLINE void cc_fill_sample(struct cc_view *v, const struct rate_sample *rs)
{
	v->is_app_limited = rs->is_app_limited;
	v->is_ack_delayed = rs->is_ack_delayed;
	v->sample_delivered_pkts = rs->delivered;
	v->sample_interval_us = cc_clamp_s32(rs->interval_us);
	v->rtt_us = cc_clamp_s32(rs->rtt_us);
	v->sample_prior_delivered_pkts = rs->prior_delivered;
	v->prior_inflight_pkts = rs->prior_in_flight;
	v->acked_pkts = rs->acked_sacked;
	v->losses_pkts = (u32)rs->losses;
}

/* Fields of the connection that only CC_TRACKS_SENDS needs, and headers that define CC_READS_MARKS. */
CC_INLINE void cc_fill_ecn(struct cc_view *v, const struct tcp_sock *tp)
{
	v->delivered_ce_pkts = tp->delivered_ce;
	v->ecn = (tp->ecn_flags & TCP_ECN_MODE_ANY) != 0;
}

/* Fields by which the ring finds the packet of the rate sample. */
CC_INLINE void cc_fill_sampled_packet(struct cc_view *v, const struct rate_sample *rs)
{
	v->is_app_limited = rs->is_app_limited;
	v->sample_prior_delivered_pkts = rs->prior_delivered;
	v->sample_end_seq = rs->last_end_seq;
}

/*
 * The end of the last lost packet: after a timeout the last packet of all; else the highest hole below the SACK
 * blocks of the last ACK, which is wrong while RACK still waits for that one because of reordering; without SACK
 * the first packet.
 */
CC_INLINE u32 cc_last_lost_end(const struct tcp_sock *tp)
{
	const struct tcp_sack_block *highest = &tp->recv_sack_cache[3];
	u32 first_end = tp->snd_una + tp->mss_cache;

	if (tp->packets_out == tp->sacked_out + tp->lost_out && highest->end_seq != tp->snd_nxt)
		return tp->snd_nxt;
	return cc_after(highest->start_seq, first_end) && !cc_after(highest->start_seq, tp->snd_nxt) ?
		       highest->start_seq :
		       first_end;
}

/*
 * Linux keeps cwnd between 1 and the clamp of the socket, which the contract does not show to algorithms. No connection
 * of Linux has more in flight than CC_MOST_TCP_CWND_PKTS.
 */
CC_INLINE u32 cc_allowed_cwnd(const struct tcp_sock *tp, u32 cwnd_pkts)
{
	return cc_max_u32(cc_min_u32(cwnd_pkts, cc_min_u32(tp->snd_cwnd_clamp, CC_MOST_TCP_CWND_PKTS)), 1);
}

/* Writes only the fields that the decision, which is within its bounds, changes: most ACKs change two. */
CC_INLINE void cc_apply(struct tcp_sock *tp, const struct cc_view *v, const struct cc_decision *d,
			bool may_set_app_limited)
{
	struct sock *sk = (struct sock *)tp;

	if (d->cwnd_pkts != v->cwnd_pkts)
		tp->snd_cwnd = cc_allowed_cwnd(tp, d->cwnd_pkts);
	if (d->ssthresh_pkts != v->ssthresh_pkts)
		tp->snd_ssthresh = d->ssthresh_pkts;
	if (d->pacing_rate_Bps != v->pacing_rate_Bps) /* no algorithm exceeds the application's limit */
		sk->sk_pacing_rate = cc_min_u64(d->pacing_rate_Bps, v->max_pacing_rate_Bps);
	if (may_set_app_limited && d->app_limited_until_pkts)
		tp->app_limited = d->app_limited_until_pkts;
}

/* TCP paces by itself unless the fq queue discipline already does (SK_PACING_FQ). */
CC_INLINE void cc_request_pacing(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;

	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/*
 * When the kernel has no memory for the state of a flow: additive increase and multiplicative decrease on the
 * fields of the socket alone, so that the flow makes progress and reacts to loss.
 */
CC_INLINE void cc_fallback_grow(struct tcp_sock *tp, u32 acked_pkts)
{
	u32 cwnd = tp->snd_cwnd;
	u32 credit = tp->snd_cwnd_cnt + acked_pkts;

	if (cwnd < tp->snd_ssthresh) {
		cwnd = cc_min_u32(cwnd + acked_pkts, tp->snd_ssthresh);
	} else if (credit >= cwnd) {
		credit = cc_min_u32(credit - cwnd, cwnd);
		cwnd++;
		tp->snd_cwnd_cnt = credit;
	} else {
		tp->snd_cwnd_cnt = credit;
	}
	tp->snd_cwnd = cc_allowed_cwnd(tp, cwnd);
}

/* The same for CC_OWNS_CWND, where recovery and pacing are part of the algorithm. */
CC_INLINE void cc_fallback_control(struct tcp_sock *tp, u32 acked_pkts)
{
	struct sock *sk = (struct sock *)tp;
	u32 srtt_us = tp->srtt_us >> CC_SRTT_SHIFT;
	u8 ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);

	if (ca_state == CC_CA_CWR || ca_state == CC_CA_RECOVERY)
		tp->snd_cwnd = cc_allowed_cwnd(tp, cc_min_u32(tp->snd_cwnd, tp->snd_ssthresh));
	else if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		cc_fallback_grow(tp, acked_pkts);
	/* Linux paces other algorithms at 1.2 to 2 times cwnd per RTT; 2 does not limit the flow below cwnd */
	if (srtt_us)
		sk->sk_pacing_rate = cc_min_u64(2ull * tp->snd_cwnd * tp->mss_cache * CC_USEC_PER_SEC / srtt_us,
						sk->sk_max_pacing_rate);
}

/* RFC 5681 equation 4 */
CC_INLINE u32 cc_fallback_ssthresh(u32 cwnd_pkts) { return cc_max_u32(cwnd_pkts / 2, CC_MIN_SSTHRESH_PKTS); }

/*
 * Some kernels skip programs of a congestion control and take what lies on the stack for their result
 * (docs/notes/skipped-programs.md). Whether ssthresh is such a value: in a reduction, if the hook did not run when it
 * began (Linux sets high_seq in tcp_init_cwnd_reduction, before the hook; `reduction_seq` is what the hook saw); else,
 * if it is no number that Linux or a decision within its bounds has.
 */
CC_INLINE bool cc_is_foreign_ssthresh(const struct tcp_sock *tp, u32 reduction_seq)
{
	u8 ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);

	if ((ca_state == CC_CA_CWR || ca_state == CC_CA_RECOVERY) && tp->high_seq != reduction_seq)
		return true;
	return tp->snd_ssthresh < CC_MIN_SSTHRESH_PKTS || tp->snd_ssthresh > CC_INFINITE;
}

/* The same for cwnd, which undo_cwnd returns, and which becomes ssthresh at the end of a reduction. */
CC_INLINE bool cc_is_foreign_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd - 1 >= CC_MOST_TCP_CWND_PKTS; }

#endif
