/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The hooks of a tcp_congestion_ops, for any algorithm. Two hosts run this text: eBPF programs (object.bpf.c), and a
 * kernel into which the algorithms are built (../linux/algorithm.c). Before it they define, beside flow.h:
 *
 *	cc_config.may_set_app_limited, cc_config.testing
 *	cc_counters			a struct cc_counters
 *	cc_params(sk)			the parameters of a new flow
 *	cc_storage(sk, flags)		the flow; NULL: there is none, and it is not to be created or there is no memory
 *	cc_storage_delete(sk)
 */
#ifndef CC_BPF_HOOKS_H
#define CC_BPF_HOOKS_H

/* Puts right what a kernel that skips programs has taken for the result of a hook. */
static __always_inline void cc_heal(struct sock *sk, struct cc_flow *flow)
{
	struct tcp_sock *tp = cc_tcp_sock(sk);

	if (cc_config.testing & CC_TESTING_NO_CLAMPS)
		return;
	if (cc_is_foreign_ssthresh(tp, flow->reduction_seq)) {
		/* the ssthresh of an algorithm that owns cwnd is for its own use, and is what it decided last */
		tp->snd_ssthresh = CC_OWNS ? flow->decision.ssthresh_pkts : cc_fallback_ssthresh(tp->prior_cwnd);
		flow->reduction_seq = tp->high_seq;
		__sync_fetch_and_add(&cc_counters.heals, 1);
	}
	if (cc_is_foreign_cwnd(tp)) {
		tp->snd_cwnd = cc_allowed_cwnd(tp, flow->decision.cwnd_pkts);
		__sync_fetch_and_add(&cc_counters.heals, 1);
	}
}

/* View and decision with the values in force. */
static __always_inline void cc_fill_view(struct sock *sk, struct cc_flow *flow)
{
	cc_heal(sk, flow);
	cc_fill_connection(&flow->view, &flow->decision, cc_tcp_sock(sk));
#if CC_TRACKS || defined(CC_READS_MARKS)
	cc_fill_ecn(&flow->view, cc_tcp_sock(sk));
#endif
}

/* Out of line, as no listed algorithm gets here. Without branches, which would multiply the verifier's paths. */
static __noinline void cc_count_clamps(u32 clamped)
{
	for (u32 field = 0; field < CC_CLAMP_COUNT; field++)
		__sync_fetch_and_add(&cc_counters.clamps[field], clamped >> field & 1);
}

/* enum cc_bounds of this algorithm */
#define CC_BOUNDS ((CC_OWNS ? 0 : CC_BOUNDS_GROWS) | (CC_IS_1(CC_FN(paces_below_a_packet)) ? CC_BOUNDS_SLOW : 0))

/* `event`: enum cc_bounds beside that of the algorithm. */
static __always_inline void cc_apply_decision(struct sock *sk, struct cc_flow *flow, u32 event)
{
	if (!(cc_config.testing & CC_TESTING_NO_CLAMPS)) {
		u32 clamped = cc_clamp(&flow->view, &flow->decision, CC_BOUNDS | event);

		if (clamped)
			cc_count_clamps(clamped);
	}
	cc_apply(cc_tcp_sock(sk), &flow->view, &flow->decision, cc_config.may_set_app_limited);
}

/* Passes an event to the algorithm and applies its decision. The view is filled. */
static __always_inline void cc_pass(struct sock *sk, struct cc_flow *flow, u32 event)
{
	CC_FN(on_event)(&flow->CC_NAME, event, &flow->view, &flow->decision);
	cc_apply_decision(sk, flow, cc_bounds_of_event(event));
}

/* The start of a flow, on a new or an established connection. Out of line: hooks need it only when init has not run. */
static __noinline struct cc_flow *cc_adopt(struct sock *sk)
{
	struct cc_flow *flow = cc_storage(sk, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!flow)
		return NULL;
	__builtin_memset(flow, 0, CC_FLOW_HEAD_BYTES);
	flow->reduction_seq = cc_tcp_sock(sk)->high_seq;
	flow->decision.cwnd_pkts = TCP_INIT_CWND;
	flow->decision.ssthresh_pkts = CC_INFINITE;
	cc_fill_view(sk, flow);
#if CC_TRACKS
	cc_sends_start(&flow->sends, &flow->view);
#endif
	flow->view.random = bpf_get_prandom_u32();
	flow->since_us = flow->view.now_us;
	CC_FN(init)(&flow->CC_NAME, cc_params(sk), &flow->view, &flow->decision);
	cc_apply_decision(sk, flow, 0);
	if (CC_OWNS && flow->decision.pacing_rate_Bps != CC_NO_RATE)
		cc_request_pacing(cc_tcp_sock(sk));
	return flow;
}

static __always_inline struct cc_flow *cc_flow(struct sock *sk)
{
	struct cc_flow *flow = cc_storage(sk, 0);

	return flow ? flow : cc_adopt(sk);
}

#if CC_TRACKS

/*
 * Reports packets marked lost since the last report. Runs in every hook that may be the first to see them: on an
 * ACK, reductions and changes of state come before cong_control, and timers mark losses between ACKs. `rs` is NULL
 * outside of cong_control.
 */
static __noinline void cc_report_losses(struct sock *sk, struct cc_flow *flow, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = cc_tcp_sock(sk);
	struct cc_view *v = &flow->view;
	u32 end_seq = cc_last_lost_end(tp);

	if (tp->lost == flow->sends.lost_pkts)
		return;
	cc_fill_view(sk, flow);
	if (rs) {
		cc_fill_sampled_packet(v, rs);
	} else {
		v->is_app_limited = v->app_limited;
		cc_sends_note_losses(&flow->sends, v);
	}
	cc_sends_lost(&flow->sends, v, end_seq, rs && rs->is_retrans);
	cc_pass(sk, flow, CC_EVENT_LOST);
}

#endif

/* The same for an event of which the view has no more to say. NULL: the flow has no state. */
static __always_inline struct cc_flow *cc_event(struct sock *sk, u32 event)
{
	struct cc_flow *flow = cc_flow(sk);

	if (!flow)
		return NULL;
	if (event == CC_EVENT_REDUCE)
		flow->reduction_seq = cc_tcp_sock(sk)->high_seq;
#if CC_TRACKS
	if (event == CC_EVENT_REDUCE)
		cc_report_losses(sk, flow, NULL);
#endif
	cc_fill_view(sk, flow);
	cc_pass(sk, flow, event);
	return flow;
}

#if CC_TRACKS

/*
 * The ACK shows that only one of two copies arrived: the last packet, or its retransmission as a tail loss probe
 * (RFC 8985 section 7.4.2). Linux has then cleared tlp_high_seq and enters CWR, which otherwise only congestion
 * marks cause during an ACK.
 */
static __always_inline bool cc_probe_has_repaired(const struct cc_flow *flow, const struct tcp_sock *tp, u8 new_state)
{
	return new_state == CC_CA_CWR && flow->probe_seq && !tp->tlp_high_seq && cc_after(tp->snd_una, flow->probe_seq);
}

#endif

/*
 * For tests: whether this call is one that a kernel would skip. What the hook returns then is `*garbage`: of all that
 * may lie on a stack only what Linux does not warn of.
 */
static __always_inline bool cc_is_skipped(u32 *garbage)
{
	if (!(cc_config.testing & CC_TESTING_SKIPS) || bpf_get_prandom_u32() % 4)
		return false;
	*garbage = (bpf_get_prandom_u32() | CC_MOST_TCP_CWND_PKTS << 1) & (CC_INFINITE >> 1);
	return true;
}

/* ---- hooks that all algorithms have ---- */

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk) { cc_adopt(sk); }

SEC("struct_ops")
void BPF_PROG(release, struct sock *sk) { cc_storage_delete(sk); }

SEC("struct_ops")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	u32 garbage;

	if (cc_is_skipped(&garbage))
		return garbage;
	const struct cc_flow *flow = cc_event(sk, CC_EVENT_REDUCE);

	return flow ? flow->decision.ssthresh_pkts : cc_fallback_ssthresh(cc_tcp_sock(sk)->snd_cwnd);
}

SEC("struct_ops")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = cc_tcp_sock(sk);
	u32 garbage;

	if (cc_is_skipped(&garbage))
		return garbage;
	const struct cc_flow *flow = cc_event(sk, CC_EVENT_UNDO);

	return flow ? cc_allowed_cwnd(tp, flow->decision.cwnd_pkts) : cc_max_u32(tp->snd_cwnd, tp->prior_cwnd);
}

/* runs just before icsk_ca_state changes */
SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, u8 new_state)
{
	struct cc_flow *flow = cc_flow(sk);

	if (!flow)
		return;
#if CC_TRACKS
	cc_report_losses(sk, flow, NULL);
	if (cc_probe_has_repaired(flow, cc_tcp_sock(sk), new_state)) {
		flow->probe_seq = 0;
		cc_fill_view(sk, flow);
		flow->view.is_app_limited = flow->view.app_limited; /* current: that of the packet is unknown */
		cc_pass(sk, flow, CC_EVENT_PROBE_REPAIRED);
	}
#endif
	cc_fill_view(sk, flow);
	flow->view.ca_state = new_state;
	cc_pass(sk, flow, CC_EVENT_CA_STATE);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, u32 event)
{
	if (event == CA_EVENT_TX_START)
		cc_event(sk, CC_EVENT_RESTART);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event_tx_start, struct sock *sk) { cc_event(sk, CC_EVENT_RESTART); }

#if CC_OWNS

/* ---- hooks of an algorithm that owns cwnd ---- */

#if CC_TRACKS

/* The part of the view about this ACK that comes from the ring. */
static __always_inline void cc_fill_tracked(struct cc_flow *flow, const struct tcp_sock *tp,
					    const struct rate_sample *rs)
{
	struct cc_view *v = &flow->view;

	v->is_probe_ack = flow->probe_seq && tp->tlp_high_seq == flow->probe_seq && tp->snd_una == flow->probe_seq;
	flow->probe_seq = 0;
	flow->is_ece = 0;
	if (v->sample_delivered_pkts < 0)
		return;
	v->sample_delivered_ce_pkts = (u32)rs->delivered_ce;
	cc_fill_sampled_packet(v, rs);
	cc_sends_sample(&flow->sends, v, rs->is_retrans);
}

/* Runs on every ACK, before Linux processes tail loss probes and losses. cong_control clears what it stores. */
SEC("struct_ops")
void BPF_PROG(in_ack_event, struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = cc_tcp_sock(sk);
	struct cc_flow *flow;

	if (!tp->tlp_high_seq && !(flags & CA_ACK_ECE))
		return; /* nearly always; finding the flow would cost more than the rest */
	flow = cc_flow(sk);
	if (!flow)
		return;
	flow->probe_seq = BPF_CORE_READ_BITFIELD(tp, tlp_retrans) ? tp->tlp_high_seq : 0;
	flow->is_ece = (flags & CA_ACK_ECE) != 0;
}

#endif

static __always_inline void cc_control(struct sock *sk, const struct rate_sample *rs, bool is_ece)
{
	struct cc_flow *flow = cc_flow(sk);

	if (!flow) {
		__sync_fetch_and_add(&cc_counters.fallbacks, 1);
		cc_fallback_control(cc_tcp_sock(sk), rs->acked_sacked);
		return;
	}
	flow->acks++;
	cc_fill_view(sk, flow);
#if CC_TRACKS
	cc_sends_note(&flow->sends, &flow->view, flow->view.delivered_pkts - rs->acked_sacked,
		      flow->view.lost_pkts - (u32)rs->losses, rs->prior_in_flight);
	if (flow->view.lost_pkts != flow->sends.lost_pkts) {
		cc_report_losses(sk, flow, rs);
		cc_fill_view(sk, flow);
	}
	is_ece |= flow->is_ece != 0;
#endif
	cc_fill_sample(&flow->view, rs);
	flow->view.is_ece = is_ece;
#if CC_TRACKS
	cc_fill_tracked(flow, cc_tcp_sock(sk), rs);
#endif
	CC_FN(on_ack)(&flow->CC_NAME, &flow->view, &flow->decision);
	cc_apply_decision(sk, flow, 0);
}

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	cc_control(sk, rs, flag & FLAG_ECE);
}

/* before 6.10; ECE comes from in_ack_event */
SEC("?struct_ops")
void BPF_PROG(cong_control_2, struct sock *sk, const struct rate_sample *rs) { cc_control(sk, rs, false); }

/*
 * Linux multiplies cwnd by this for the size of the send buffer. Its default, 2, assumes that cwnd at most doubles
 * in a round of recovery. BBR may probe in recovery, hence 3, as in tcp_bbr.
 */
SEC("struct_ops")
u32 BPF_PROG(sndbuf_expand, struct sock *sk) { return 3; }

#else

/* ---- hooks of an algorithm that only grows cwnd ---- */

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct cc_flow *flow = cc_flow(sk);
	struct tcp_sock *tp = cc_tcp_sock(sk);

	if (!flow) {
		__sync_fetch_and_add(&cc_counters.fallbacks, 1);
		if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
			cc_fallback_grow(tp, acked);
		return;
	}
	flow->acks++;
	cc_fill_view(sk, flow);
	flow->view.acked_pkts = acked;
	CC_FN(on_ack)(&flow->CC_NAME, &flow->view, &flow->decision);
	cc_apply_decision(sk, flow, 0);
}

/* Runs on every ACK, before the kernel decides about recovery and growth; excludes packets that were SACKed before. */
SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cc_flow *flow = cc_flow(sk);

	if (!flow)
		return;
	cc_fill_view(sk, flow);
	flow->view.acked_pkts = sample->pkts_acked;
	flow->view.rtt_us = sample->rtt_us;
	cc_pass(sk, flow, CC_EVENT_SAMPLE);
}

#endif

/* Whether any user may select it (net/ipv4/tcp_cong.c: tcp_set_congestion_control). */
#ifdef CC_RESTRICTED
#define CC_FLAGS 0
#else
#define CC_FLAGS TCP_CONG_NON_RESTRICTED
#endif

SEC(".struct_ops.link")
struct tcp_congestion_ops CC_KERNEL_NAME = {
	.name = CC_STRING(CC_KERNEL_NAME),
	.flags = CC_FLAGS,
	.init = (void *)init,
	.release = (void *)release,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
#ifdef CC_KERNEL_HAS_TX_START
	.cwnd_event_tx_start = (void *)cwnd_event_tx_start,
#endif
#if CC_TRACKS
	.in_ack_event = (void *)in_ack_event,
#endif
#if CC_OWNS
	.cong_control = (void *)cong_control,
	.sndbuf_expand = (void *)sndbuf_expand,
#else
	.cong_avoid = (void *)cong_avoid,
	.pkts_acked = (void *)pkts_acked,
#endif
};

#endif
