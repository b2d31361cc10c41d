/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One algorithm as a tcp_congestion_ops for the running kernel. Compiled once per line of algorithms.def:
 *
 *   clang -target bpf -include NAME.h -DCC_NAME=NAME -DCC_LISTED_NAME=NAME -DCC_OWNS=1 -DCC_TRACKS=0
 *
 * CC_OWNS is 0 for CC_GROWS_CWND, CC_TRACKS is 1 for CC_TRACKS_SENDS. For a preset CC_NAME is the algorithm that it
 * sets, CC_LISTED_NAME its own name.
 *
 * A flow's state lives in socket storage, for every algorithm alike: there is room for any state, an onlooker can
 * read it (`ss --bpf-maps`), and it goes away with the socket. It is created by init, or by the first ACK when
 * that comes before init (a SYN-ACK's ACK can), and deleted when the socket leaves the algorithm.
 *
 * Two hooks exist in two shapes, for kernels before and after a change; the loader keeps the one that the running
 * kernel's BTF asks for.
 */
#include "shim.h"

#define CC_PASTE_(a, b)					a##b
#define CC_PASTE(a, b)					CC_PASTE_(a, b)
#define CC_STRING_(a)					#a
#define CC_STRING(a)					CC_STRING_(a)
#define CC_FN(name)					CC_PASTE(CC_NAME, _##name)
#define CC_KERNEL_NAME					CC_PASTE(fp_, CC_LISTED_NAME)
#define CC_FLOWS					CC_PASTE(CC_KERNEL_NAME, _flow)
#define CC_PARAMS					struct CC_PASTE(CC_NAME, _params)
#define CC_DEFAULT(name, dflt, least, most, unit, what) (dflt),
#define CC_PARAMETERS(P)				CC_PASTE(CC_NAME, _parameters)(P)

/* GPL-compatible, as the verifier demands of a tcp_congestion_ops */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What the loader decides before load; constants to the verifier, which then drops what they rule out. */
struct cc_config {
	u32 may_set_app_limited;		     /* this kernel lets BPF write tcp_sock.app_limited (6.4) */
	u32 deny_storage;			     /* for tests: behave as if there was no memory */
	u32 params[sizeof(CC_PARAMS) / sizeof(u32)]; /* a NAME_params is an array of u32 */
};
const volatile struct cc_config cc_config SEC(".rodata.config") = {
	.may_set_app_limited = 1,
	.params = { CC_PARAMETERS(CC_DEFAULT) },
};

/* ACKs that were handled without state, over all flows. */
u64 cc_fallbacks;

/*
 * One flow in socket storage. view and decision are those of the last call: an onlooker may like them, but they
 * are here for the verifier. On the stack it tracks what each field may hold on each path, and goes through
 * 54,000 instructions of bbr1; memory that it does not track lets paths meet again: 5,000.
 */
struct cc_flow {
	u64 since_us; /* when it started under this algorithm, the socket's clock */
	u64 acks;     /* handled so far */
	struct cc_view view;
	struct cc_decision decision;
	struct CC_NAME CC_NAME;
};
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct cc_flow);
} CC_FLOWS SEC(".maps");

static __always_inline void cc_look(struct sock *sk, struct cc_flow *flow)
{
	cc_fill_connection(&flow->view, &flow->decision, cc_tcp_sock(sk));
}

static __always_inline void cc_act(struct sock *sk, const struct cc_flow *flow)
{
	cc_apply(cc_tcp_sock(sk), &flow->view, &flow->decision, cc_config.may_set_app_limited);
}

static __always_inline const CC_PARAMS *cc_params(void)
{
	const CC_PARAMS *params = (const CC_PARAMS *)cc_config.params;

	barrier_var(params); /* or the compiler would read the defaults at build time */
	return params;
}

static __always_inline struct cc_flow *cc_storage(struct sock *sk, u64 flags)
{
	if (cc_config.deny_storage)
		return NULL;
	return bpf_sk_storage_get(&CC_FLOWS, sk, NULL, flags);
}

/* The start of a flow, fresh or in mid-connection. Out of line: hooks need it only when init has not run. */
static __noinline struct cc_flow *cc_adopt(struct sock *sk)
{
	struct cc_flow *flow = cc_storage(sk, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!flow)
		return NULL;
	__builtin_memset(flow, 0, sizeof(*flow));
	cc_look(sk, flow);
	flow->view.random = bpf_get_prandom_u32();
	flow->since_us = flow->view.now_us;
	CC_FN(init)(&flow->CC_NAME, cc_params(), &flow->view, &flow->decision);
	cc_act(sk, flow);
	if (CC_OWNS && flow->decision.pacing_rate_Bps != CC_NO_RATE)
		cc_request_pacing(cc_tcp_sock(sk));
	return flow;
}

static __always_inline struct cc_flow *cc_flow(struct sock *sk)
{
	struct cc_flow *flow = cc_storage(sk, 0);

	return flow ? flow : cc_adopt(sk);
}

/* Tells the algorithm, and carries out what it decides. NULL: the flow has no state. */
static __always_inline struct cc_flow *cc_event(struct sock *sk, u32 event)
{
	struct cc_flow *flow = cc_flow(sk);

	if (!flow)
		return NULL;
	cc_look(sk, flow);
	CC_FN(on_event)(&flow->CC_NAME, event, &flow->view, &flow->decision);
	cc_act(sk, flow);
	return flow;
}

/* ---- hooks that all algorithms have ---- */

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk) { cc_adopt(sk); }

SEC("struct_ops")
void BPF_PROG(release, struct sock *sk) { bpf_sk_storage_delete(&CC_FLOWS, sk); }

SEC("struct_ops")
u32 BPF_PROG(ssthresh, struct sock *sk)
{
	const struct cc_flow *flow = cc_event(sk, CC_EVENT_REDUCE);

	return flow ? flow->decision.ssthresh_pkts : cc_fallback_ssthresh(cc_tcp_sock(sk));
}

SEC("struct_ops")
u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = cc_tcp_sock(sk);
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
	cc_look(sk, flow);
	flow->view.ca_state = new_state;
	CC_FN(on_event)(&flow->CC_NAME, CC_EVENT_CA_STATE, &flow->view, &flow->decision);
	cc_act(sk, flow);
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

static __always_inline void cc_control(struct sock *sk, const struct rate_sample *rs, bool is_ece)
{
	struct cc_flow *flow = cc_flow(sk);

	if (!flow) {
		__sync_fetch_and_add(&cc_fallbacks, 1);
		cc_fallback_control(cc_tcp_sock(sk), rs->acked_sacked);
		return;
	}
	flow->acks++;
	cc_look(sk, flow);
	cc_fill_sample(&flow->view, rs);
	flow->view.is_ece = is_ece;
	CC_FN(on_ack)(&flow->CC_NAME, &flow->view, &flow->decision);
	cc_act(sk, flow);
}

SEC("struct_ops")
void BPF_PROG(cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	cc_control(sk, rs, flag & FLAG_ECE);
}

/* before 6.10; it does not tell of ECE */
SEC("?struct_ops")
void BPF_PROG(cong_control_2, struct sock *sk, const struct rate_sample *rs) { cc_control(sk, rs, false); }

/*
 * Linux multiplies cwnd by this for the send buffer. It assumes that cwnd at most doubles in a round that began
 * with loss; these algorithms may go on probing in recovery, hence one more.
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
		__sync_fetch_and_add(&cc_fallbacks, 1);
		if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
			cc_fallback_grow(tp, acked);
		return;
	}
	flow->acks++;
	cc_look(sk, flow);
	flow->view.acked_pkts = acked;
	CC_FN(on_ack)(&flow->CC_NAME, &flow->view, &flow->decision);
	cc_act(sk, flow);
}

/* on every ACK, before the kernel decides about recovery and growth; excludes what SACK told before */
SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cc_flow *flow = cc_flow(sk);

	if (!flow)
		return;
	cc_look(sk, flow);
	flow->view.acked_pkts = sample->pkts_acked;
	flow->view.rtt_us = sample->rtt_us;
	CC_FN(on_event)(&flow->CC_NAME, CC_EVENT_SAMPLE, &flow->view, &flow->decision);
	cc_act(sk, flow);
}

#endif

SEC(".struct_ops.link")
struct tcp_congestion_ops CC_KERNEL_NAME = {
	.name = CC_STRING(CC_KERNEL_NAME),
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)init,
	.release = (void *)release,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.cwnd_event_tx_start = (void *)cwnd_event_tx_start,
#if CC_OWNS
	.cong_control = (void *)cong_control,
	.sndbuf_expand = (void *)sndbuf_expand,
#else
	.cong_avoid = (void *)cong_avoid,
	.pkts_acked = (void *)pkts_acked,
#endif
};

/*
 * ---- the proof of parity ----
 *
 * Runs the very same functions on a view that user space made up, so that a test can hold each result against the
 * native build. Not loaded in production.
 */
enum cc_replay_call { CC_REPLAY_INIT = 0, CC_REPLAY_ON_ACK = 1, CC_REPLAY_ON_EVENT = 2 };

struct cc_replay {
	u32 call; /* enum cc_replay_call */
	u32 event;
	struct cc_view view;
	struct cc_decision decision; /* in: as in force; out: what the algorithm wants */
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
	if (r->call == CC_REPLAY_INIT)
		CC_FN(init)(&r->state, cc_params(), &r->view, &r->decision);
	else if (r->call == CC_REPLAY_ON_ACK)
		CC_FN(on_ack)(&r->state, &r->view, &r->decision);
	else
		CC_FN(on_event)(&r->state, r->event, &r->view, &r->decision);
	return 0;
}
