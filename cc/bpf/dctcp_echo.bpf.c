/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The receiving end of DCTCP, RFC 8257 section 3.2: ECE on an ACK says exactly whether the packets that it acknowledges
 * were marked. The ECN of RFC 3168, which Linux does otherwise, repeats ECE until the sender answers.
 *
 * Linux leaves the echo to the congestion control of the receiving socket: it passes the ECN field of each packet with
 * data to a congestion control that needs ECN (tcp_data_ecn_check), and sends ECE while TCP_ECN_DEMAND_CWR is set. So
 * this is a congestion control that receives. What its socket sends, if anything, is under the shim's fallback.
 *
 * With TCP_CONG_NEEDS_ECN all packets of the socket are ECN-capable, its ACKs too (RFC 8257 section 3.1).
 */
#include "bpf/shim.h"

#define TCP_CONG_NEEDS_ECN 0x2 /* include/net/tcp.h: the socket's packets are ECN-capable */
#define TCP_ECN_DEMAND_CWR 0x4 /* ecn_flags: ACKs have ECE */
#define ICSK_ACK_TIMER	   2   /* include/net/inet_connection_sock.h: an ACK is delayed */
#define ICSK_ACK_NOW	   16  /* an ACK must be sent when this packet has been processed */

/* A flavour: the values change with 7.1, which passes CA_EVENT_TX_START to another hook. */
enum tcp_ca_event___echo {
	CA_EVENT_ECN_NO_CE___echo = 4,
	CA_EVENT_ECN_IS_CE___echo = 5,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Flavours: other objects do not need these fields. */
struct inet_connection_sock___echo {
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[2]; /* zeroed when a socket takes this algorithm */
};

struct tcp_sock___echo {
	u32 rcv_nxt;
};

#pragma clang attribute pop

/* Places in icsk_ca_priv. */
enum echo_state {
	ECHO_IS_CE = 0,	  /* DCTCP.CE of the RFC: the last packet was marked */
	ECHO_RCV_NXT = 1, /* rcv_nxt when the last packet had arrived: what a delayed ACK acknowledges */
};

/* GPL-compatible, as the verifier demands of a tcp_congestion_ops */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

CC_INLINE void echo_say(struct tcp_sock *tp, bool is_ce)
{
	tp->ecn_flags = is_ce ? tp->ecn_flags | TCP_ECN_DEMAND_CWR : tp->ecn_flags & ~TCP_ECN_DEMAND_CWR;
}

/* A packet with data and ECT or CE has arrived. */
CC_INLINE void echo_note(struct tcp_sock *tp, bool is_ce)
{
	struct inet_connection_sock___echo *icsk = (void *)tp;
	bool was_ce = icsk->icsk_ca_priv[ECHO_IS_CE] != 0;

	if (was_ce != is_ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			/* no ACK acknowledges both marked and unmarked packets */
			echo_say(tp, was_ce);
			bpf_tcp_send_ack(tp, (u32)icsk->icsk_ca_priv[ECHO_RCV_NXT]);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	icsk->icsk_ca_priv[ECHO_IS_CE] = is_ce;
	icsk->icsk_ca_priv[ECHO_RCV_NXT] = ((struct tcp_sock___echo *)tp)->rcv_nxt;
	echo_say(tp, is_ce);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, u32 event)
{
	if (event == bpf_core_enum_value(enum tcp_ca_event___echo, CA_EVENT_ECN_IS_CE___echo))
		echo_note(cc_tcp_sock(sk), true);
	else if (event == bpf_core_enum_value(enum tcp_ca_event___echo, CA_EVENT_ECN_NO_CE___echo))
		echo_note(cc_tcp_sock(sk), false);
}

SEC("struct_ops")
u32 BPF_PROG(ssthresh, struct sock *sk) { return cc_fallback_ssthresh(cc_tcp_sock(sk)->snd_cwnd); }

SEC("struct_ops")
u32 BPF_PROG(undo_cwnd, struct sock *sk) { return cc_max_u32(cc_tcp_sock(sk)->snd_cwnd, cc_tcp_sock(sk)->prior_cwnd); }

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	if (BPF_CORE_READ_BITFIELD(cc_tcp_sock(sk), is_cwnd_limited))
		cc_fallback_grow(cc_tcp_sock(sk), acked);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops fp_dctcp_echo = {
	.name = "fp_dctcp_echo",
	.flags = TCP_CONG_NEEDS_ECN,
	.ssthresh = (void *)ssthresh,
	.undo_cwnd = (void *)undo_cwnd,
	.cwnd_event = (void *)cwnd_event,
	.cong_avoid = (void *)cong_avoid,
};
