/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One algorithm as a tcp_congestion_ops for the running kernel. Compiled once per line of algorithms.def:
 *
 *   clang -target bpf -include NAME.h -DCC_NAME=NAME -DCC_LISTED_NAME=NAME -DCC_OWNS=1 -DCC_TRACKS=0
 *
 * CC_OWNS is 0 for CC_GROWS_CWND, CC_TRACKS is 1 for CC_TRACKS_SENDS. For a preset CC_NAME is the algorithm that it
 * sets, CC_LISTED_NAME its own name, and CC_SETTINGS(S) the defaults that it changes: S(parameter, raw value) for each.
 *
 * The state of a flow is in socket storage, for every algorithm: it has room for any state, observers can read it
 * (`ss --bpf-maps`), and it is freed with the socket. It is created by init, or by the first ACK if that comes
 * before init (the ACK of a SYN-ACK can), and deleted when the socket changes its algorithm.
 *
 * Two hooks have two signatures, for kernels before and after a change. The loader keeps the one that matches the
 * BTF of the running kernel.
 */
#include "shim.h"
#if CC_TRACKS
#include "lib/sends.h"
#endif

#define CC_PASTE_(a, b)					     a##b
#define CC_PASTE(a, b)					     CC_PASTE_(a, b)
#define CC_STRING_(a)					     #a
#define CC_STRING(a)					     CC_STRING_(a)
#define CC_FN(name)					     CC_PASTE(CC_NAME, _##name)
#define CC_KERNEL_NAME					     CC_PASTE(fp_, CC_LISTED_NAME)
#define CC_FLOWS					     CC_PASTE(CC_KERNEL_NAME, _flow)
#define CC_PARAMS					     struct CC_PASTE(CC_NAME, _params)
#define CC_DEFAULT(name, dflt, least, most, unit, what, why) (dflt),
#define CC_PARAMETERS(P)				     CC_PASTE(CC_NAME, _parameters)(P)
#define CC_SETTING(name, raw)				     .name = (u32)((raw) + 0.5),
#ifndef CC_SETTINGS
#define CC_SETTINGS(S)
#endif

/* For CC_SETTINGS: the raw values of 1 and of 1 %, which depend on the unit of the parameter. */
#define CC_UNIT_OF(name, dflt, least, most, unit, what, why) CC_UNIT_OF_##name = (unit),
enum { CC_PARAMETERS(CC_UNIT_OF) };
#define CC_ONE(name)                                                                                                   \
	(CC_UNIT_OF_##name == CC_UNIT_GAIN     ? 1.0 * CC_GAIN_UNIT :                                                  \
	 CC_UNIT_OF_##name == CC_UNIT_FRACTION ? 1.0 * CC_FRACTION_UNIT :                                              \
						 1.0)
#define CC_ONE_PERCENT(name) (CC_UNIT_OF_##name == CC_UNIT_PPM ? 10000.0 : CC_ONE(name) / 100)

/* GPL-compatible, as the verifier demands of a tcp_congestion_ops */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The parameters as the flat list that the loader finds in BTF; CC_PARAMS nests those of a parent. */
struct cc_params {
	CC_PARAMETERS(CC_PARAM_FIELD)
};
_Static_assert(sizeof(struct cc_params) == sizeof(CC_PARAMS), "a NAME_params is its parameter list");

/* What only tests ask for, as bits. */
enum cc_testing {
	CC_TESTING_NO_STORAGE = 1, /* every allocation of a flow's state fails */
	CC_TESTING_NO_CLAMPS = 2,  /* decisions are applied whatever they are, and nothing is healed */
	CC_TESTING_SKIPS = 4,	   /* like a kernel that skips every fourth call of a hook that returns a value */
};

/* Set by the loader before load. The verifier sees constants and drops the branches that they exclude. */
struct cc_config {
	u32 may_set_app_limited; /* this kernel lets BPF write tcp_sock.app_limited (6.4) */
	u32 testing;		 /* enum cc_testing */
	struct cc_params params;
};
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winitializer-overrides" /* a setting replaces the default before it */
const volatile struct cc_config cc_config SEC(".rodata.config") = {
	.may_set_app_limited = 1,
	.params = { CC_PARAMETERS(CC_DEFAULT) CC_SETTINGS(CC_SETTING) },
};
#pragma clang diagnostic pop

/* What should not happen, over all flows. `fairpace status` shows it. */
struct cc_counters {
	u64 fallbacks;		    /* ACKs handled without state */
	u64 heals;		    /* values of cwnd and ssthresh that nothing decided, and that were put right */
	u64 clamps[CC_CLAMP_COUNT]; /* decisions outside of their bounds, by enum cc_clamp */
};
struct cc_counters cc_counters;

/*
 * One flow in socket storage. view and decision are those of the last call. They are here because of the verifier:
 * on the stack it tracks the value of each field on each path, and goes through 54,000 instructions of bbr1. It
 * does not track this memory, so that paths merge: 5,000 instructions.
 */
struct cc_flow {
	u64 since_us; /* when it started under this algorithm, the socket's clock */
	u64 acks;     /* handled so far */
	struct cc_view view;
	struct cc_decision decision;
	struct CC_NAME CC_NAME;
	u32 reduction_seq; /* high_seq when the hook ssthresh ran last */
#if CC_TRACKS
	u32 probe_seq; /* during an ACK: tlp_high_seq as it was before, if the probe was an old packet; else 0 */
	u32 is_ece;    /* bool, during an ACK: it echoes congestion */
	struct cc_sends sends;
#endif
};
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct cc_flow);
} CC_FLOWS SEC(".maps");

/* The bytes that start as zeros: all but the ring, which cc_sends_start() fills. */
#if CC_TRACKS
#define CC_FLOW_HEAD_BYTES __builtin_offsetof(struct cc_flow, sends)
#else
#define CC_FLOW_HEAD_BYTES sizeof(struct cc_flow)
#endif

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

static __always_inline const CC_PARAMS *cc_params(void)
{
	const CC_PARAMS *params = (const CC_PARAMS *)&cc_config.params;

	barrier_var(params); /* or the compiler would fold the defaults at build time */
	return params;
}

static __always_inline struct cc_flow *cc_storage(struct sock *sk, u64 flags)
{
	if (cc_config.testing & CC_TESTING_NO_STORAGE)
		return NULL;
	return bpf_sk_storage_get(&CC_FLOWS, sk, NULL, flags);
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
	CC_FN(init)(&flow->CC_NAME, cc_params(), &flow->view, &flow->decision);
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
void BPF_PROG(release, struct sock *sk) { bpf_sk_storage_delete(&CC_FLOWS, sk); }

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
	.cwnd_event_tx_start = (void *)cwnd_event_tx_start,
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

/*
 * ---- the test of parity ----
 *
 * Runs the same functions on a view from user space, so that a test can compare each result with the native build.
 * Not loaded in production.
 */
enum cc_replay_call { CC_REPLAY_INIT = 0, CC_REPLAY_ON_ACK = 1, CC_REPLAY_ON_EVENT = 2, CC_REPLAY_CLAMP = 3 };

struct cc_replay {
	u32 call;    /* enum cc_replay_call */
	u32 event;   /* of CC_REPLAY_CLAMP: a set of enum cc_bounds */
	u32 clamped; /* out: as cc_clamp() returns it */
	u32 reserved;
	struct cc_view view;
	struct cc_decision decision; /* in: the values in force; out: the decision */
	struct CC_NAME state;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cc_replay);
} cc_replay_map SEC(".maps");

SEC("?syscall")
int replay(void *ctx)
{
	u32 key = 0;
	struct cc_replay *r = bpf_map_lookup_elem(&cc_replay_map, &key);

	if (!r)
		return 1;
	u32 bounds = CC_BOUNDS | (r->call == CC_REPLAY_ON_EVENT ? cc_bounds_of_event(r->event) : 0);

	if (r->call == CC_REPLAY_CLAMP) {
		r->clamped = cc_clamp(&r->view, &r->decision, r->event);
		return 0;
	}
	if (r->call == CC_REPLAY_INIT)
		CC_FN(init)(&r->state, cc_params(), &r->view, &r->decision);
	else if (r->call == CC_REPLAY_ON_ACK)
		CC_FN(on_ack)(&r->state, &r->view, &r->decision);
	else
		CC_FN(on_event)(&r->state, r->event, &r->view, &r->decision);
	r->clamped = cc_clamp(&r->view, &r->decision, bounds);
	return 0;
}
