/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The programs that read the true numbers of a flow's packets, included by truth.h. A tracepoint records each packet as
 * it leaves; truth_record_pending() walks the socket's retransmission queue and records the packets that are marked
 * lost.
 *
 * Tracepoints and struct_ops only: kernel functions cannot be traced on every kernel, and from 7.0 on some of those
 * that would be needed are inlined. One flow at a time: there is one `truth_sk`.
 */
#ifndef TRUTH_PROGRAMS_H
#define TRUTH_PROGRAMS_H

#include <bpf_endian.h>

#define TCPCB_SACKED_ACKED   0x01 /* include/net/tcp.h */
/* bits of tcp_skb_cb.sacked, include/net/tcp.h */
#define TCPCB_SACKED_RETRANS 0x02
#define TCPCB_LOST	     0x04
#define TRUTH_SKBS	     4096 /* in the queue, at most */
#define TRUTH_DEPTH	     26	  /* of a red-black tree with as many nodes */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct tcp_congestion_ops___registered {
	char name[16];
};

struct inet_connection_sock___ops {
	struct tcp_congestion_ops___registered *icsk_ca_ops;
};

struct sock___queue {
	struct rb_root tcp_rtx_queue;
};

struct sk_buff {
	struct sock *sk;
	u32 len;
	char cb[48];
	__u16 transport_header;
	u32 end;
	unsigned char *head;
	unsigned char *data;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
};

struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
	__u16 tcp_gso_segs;
	__u16 tcp_gso_size;
	__u8 sacked;
};

#pragma clang attribute pop

/* RFC 9293 */
struct truth_tcp_header {
	__be16 ports[2];
	__be32 seq;
	__be32 ack_seq;
	__u8 offset;
};

/* One burst that left, or one packet buffer that is marked lost. */
struct truth_packets {
	u32 kind;
	u32 seq;
	u32 end_seq;
	u32 mss_bytes;
	u32 inflight_pkts; /* of a burst: before it was sent */
	u32 lost_pkts;
	u32 delivered_pkts;
};

/* The watched flow's socket. */
u64 truth_sk SEC(".data.truth");

static __always_inline struct truth_packets *truth_reserve(u32 kind)
{
	struct truth_packets *r = bpf_ringbuf_reserve(&truth_records, sizeof(*r), 0);

	if (r)
		r->kind = kind;
	else
		__sync_fetch_and_add(&truth_missed, 1);
	return r;
}

/* The name under which the algorithm was loaded. */
const volatile char truth_name[16] SEC(".rodata.truth");

static __always_inline bool truth_is_ours(const struct sock *sk)
{
	const struct inet_connection_sock___ops *icsk = (const void *)sk;
	char name[16];

	BPF_CORE_READ_INTO(&name, icsk, icsk_ca_ops, name);
	for (int i = 0; i < 16; i++) {
		if (name[i] != truth_name[i])
			return false;
		if (!name[i])
			break;
	}
	return true;
}

/* A packet, or a burst of them, of any socket leaves. */
SEC("tp_btf/net_dev_queue")
int BPF_PROG(truth_sent, const struct sk_buff *skb)
{
	const struct tcp_sock *tp = (const void *)skb->sk;
	const unsigned char *transport = skb->head + skb->transport_header;
	const struct skb_shared_info *shared = (const void *)(skb->head + skb->end);
	struct truth_tcp_header tcp;
	struct truth_packets *r;
	u32 payload_bytes;

	if (!tp || !truth_is_ours((const struct sock *)tp) || bpf_probe_read_kernel(&tcp, sizeof(tcp), transport))
		return 0;
	payload_bytes = skb->len - (u32)(transport - skb->data) - (tcp.offset >> 4) * 4;
	if (!payload_bytes)
		return 0;
	truth_sk = (u64)tp;
	r = truth_reserve(TRUTH_SENT);
	if (!r)
		return 0;
	r->seq = bpf_ntohl(tcp.seq);
	r->end_seq = r->seq + payload_bytes;
	r->mss_bytes = BPF_CORE_READ(shared, gso_size);
	r->inflight_pkts = BPF_CORE_READ(tp, packets_out) - BPF_CORE_READ(tp, sacked_out) -
			   BPF_CORE_READ(tp, lost_out) + BPF_CORE_READ(tp, retrans_out);
	r->lost_pkts = BPF_CORE_READ(tp, lost);
	r->delivered_pkts = BPF_CORE_READ(tp, delivered);
	bpf_ringbuf_submit(r, 0);
	return 0;
}

/* The first buffer of the queue after `seq`: the queue is a search tree by sequence number. */
static __always_inline const struct sk_buff *truth_next(const struct rb_node *node, u32 seq)
{
	const struct sk_buff *next = NULL;

	for (int depth = 0; depth < TRUTH_DEPTH && node; depth++) {
		const struct sk_buff *skb = (const void *)node; /* its node is its first member */
		const struct tcp_skb_cb *cb = (const void *)&skb->cb;

		if (cc_after(BPF_CORE_READ(cb, seq), seq)) {
			next = skb;
			node = BPF_CORE_READ(node, rb_left);
		} else {
			node = BPF_CORE_READ(node, rb_right);
		}
	}
	return next;
}

struct truth_walk {
	const struct rb_node *root;
	u32 seq;
};

static long truth_step(u32 i, struct truth_walk *walk)
{
	const struct sk_buff *skb = truth_next(walk->root, walk->seq);
	const struct tcp_skb_cb *cb = (const void *)&skb->cb;
	struct truth_packets *r;
	u8 marks;

	if (!skb)
		return 1;
	walk->seq = BPF_CORE_READ(cb, seq);
	marks = BPF_CORE_READ(cb, sacked) & (TCPCB_SACKED_ACKED | TCPCB_LOST | TCPCB_SACKED_RETRANS);
	if (marks != TCPCB_LOST)
		return 0;
	r = truth_reserve(TRUTH_PENDING);
	if (!r)
		return 1;
	r->seq = walk->seq;
	r->end_seq = BPF_CORE_READ(cb, end_seq);
	r->mss_bytes = BPF_CORE_READ(cb, tcp_gso_size);
	bpf_ringbuf_submit(r, 0);
	return 0;
}

static __always_inline void truth_record_pending(void)
{
	const struct sock___queue *sk = (const void *)truth_sk;
	const struct tcp_sock *tp = (const void *)truth_sk;
	struct truth_walk walk;

	if (!sk)
		return;
	walk.root = BPF_CORE_READ(sk, tcp_rtx_queue.rb_node);
	walk.seq = BPF_CORE_READ(tp, snd_una) - 1; /* the first may have been acknowledged in part */
	bpf_loop(TRUTH_SKBS, truth_step, &walk, 0);
}

#endif
