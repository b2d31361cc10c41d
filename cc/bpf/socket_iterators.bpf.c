/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The sockets of loaded algorithms: who uses them, and a way to move them to another algorithm. Two BPF iterators,
 * which run when the loader reads from them; nothing of this runs for packets.
 *
 * Reading `users`, attached to the socket storage of one loaded algorithm, gives a record for each socket that has
 * state in it: of any network namespace, with or without a process.
 *
 * Reading `move`, opened in a network namespace, gives each of its TCP sockets that uses one of the names of
 * move_config the algorithm `to`, and a record for it. Listening sockets are among them: what they accept inherits
 * their algorithm.
 */
#include "bpf/kernel.h"

#define SOL_TCP		    6  /* linux/socket.h */
#define TCP_CONGESTION	    13 /* linux/tcp.h */
#define TCP_CA_NAME_MAX	    16 /* include/net/tcp.h */
#define MOVE_FROM_NAMES_MAX 64 /* names of algorithms at once; every listed one with two settings fits */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	possible_net_t skc_net;
	unsigned char skc_state; /* TCP_ESTABLISHED and so on */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

/* What is read for each socket. */
struct socket_record {
	u32 namespace_inode; /* of its network namespace */
	u32 state;	     /* enum of include/net/tcp_states.h */
	s32 error;	     /* of `move`: 0, or a negative errno */
};

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The name of an algorithm with zeros behind it, as two words: the verifier follows each comparison. */
struct name {
	u64 first, last;
};
_Static_assert(sizeof(struct name) == TCP_CA_NAME_MAX, "a name is two words");

/* Set by the loader before load. */
struct move_config {
	u64 names; /* used entries of `from` */
	struct name from[MOVE_FROM_NAMES_MAX];
	struct name to;
};

const volatile struct move_config move_config SEC(".rodata.config") = {};

static __always_inline void record(struct bpf_iter_meta *meta, struct sock_common *sk, s32 error)
{
	struct socket_record r = {
		/* read directly: a kernel in lockdown (confidentiality) forbids bpf_probe_read_kernel */
		.namespace_inode = sk->skc_net.net->ns.inum,
		.state = sk->skc_state,
		.error = error,
	};

	bpf_seq_write(meta->seq, &r, sizeof(r));
}

SEC("iter/bpf_sk_storage_map")
int users(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;

	if (sk && ctx->value) /* both are NULL at the end */
		record(ctx->meta, (struct sock_common *)sk, 0);
	return 0;
}

static __always_inline bool is_to_be_moved(const struct name *name)
{
	for (u32 i = 0; i < MOVE_FROM_NAMES_MAX && i < move_config.names; i++)
		if (move_config.from[i].first == name->first && move_config.from[i].last == name->last)
			return true;
	return false;
}

SEC("iter/tcp")
int move(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct name name = {}, to;
	struct tcp_sock *tp;

	if (!common) /* the end */
		return 0;
	tp = bpf_skc_to_tcp_sock(common); /* NULL for what has no algorithm: requests and TIME_WAIT */
	if (!tp || bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, &name, sizeof(name)) || !is_to_be_moved(&name))
		return 0;
	to.first = move_config.to.first;
	to.last = move_config.to.last;
	record(ctx->meta, common, bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, &to, sizeof(to)));
	return 0;
}
