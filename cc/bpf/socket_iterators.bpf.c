/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The sockets of loaded algorithms: who uses them, and a way to move them to another algorithm. Three BPF iterators,
 * which run when the loader reads from them; nothing of this runs for packets.
 *
 * Reading `users`, attached to the socket storage of one loaded algorithm, gives a record for each socket that has
 * state in it: of any network namespace, with or without a process.
 *
 * Reading `move`, opened in a network namespace, gives each of its TCP sockets that uses one of the names of
 * move_config another algorithm, and a record for it. It is the only one that walks iter/tcp, which can panic some
 * kernels (crates/kernel/src/tcp_iterator.rs).
 *
 * Reading `descriptors` gives a record for each socket that a process has a descriptor of, in any network namespace,
 * and changes nothing.
 *
 * A listener that never chose (icsk_ca_setsockopt is 0) gives what it accepts not its own algorithm, but the default of
 * the namespace (tcp_ca_openreq_child). To move it sets that bit, which nothing clears: from then on it passes on its
 * own. So such a listener is left alone, and only counted, unless its algorithm must be freed; then it gets the default.
 */
#include "bpf/kernel.h"

#define SOL_TCP		    6  /* linux/socket.h */
#define TCP_CONGESTION	    13 /* linux/tcp.h */
#define TCP_LISTEN	    10 /* include/net/tcp_states.h */
#define AF_INET		    2  /* linux/socket.h */
#define AF_INET6	    10
#define SOCK_STREAM	    1  /* linux/net.h */
#define IPPROTO_TCP	    6  /* linux/in.h */
#define TCP_CA_NAME_MAX	    16 /* include/net/tcp.h */
#define MOVE_FROM_NAMES_MAX 64 /* names of algorithms at once; every listed one with two settings fits */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

/* A flavour: kernel.h has the struct for libbpf, which matches it without CO-RE. */
struct tcp_congestion_ops___name {
	char name[16]; /* TCP_CA_NAME_MAX */
};

struct netns_ipv4 {
	const struct tcp_congestion_ops___name *tcp_congestion_control; /* the default */
};

struct net {
	struct ns_common ns;
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	possible_net_t skc_net;
	unsigned short skc_family;
	unsigned char skc_state; /* TCP_ESTABLISHED and so on */
};

/* Flavours: kernel.h has what the algorithms need. */
struct sock___walked {
	struct sock_common __sk_common;
	unsigned short sk_type;
	unsigned short sk_protocol;
};

struct inet_connection_sock___walked {
	const struct tcp_congestion_ops___name *icsk_ca_ops;
	u8 icsk_ca_setsockopt : 1; /* it chose: by setsockopt, or accepted by a listener that had */
};

struct tcp_sock___walked {
	struct inet_connection_sock___walked inet_conn;
};

struct inode {
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

struct socket {
	struct sock *sk;
};

struct seq_file;
struct task_struct;

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

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The name of an algorithm with zeros behind it, as two words: the verifier follows each comparison. */
struct name {
	u64 first, last;
};
_Static_assert(sizeof(struct name) == TCP_CA_NAME_MAX, "a name is two words");

/* What is read for each socket of `users` and `move`. */
struct socket_record {
	u32 namespace_inode; /* of its network namespace */
	u32 kind;	     /* of `move`: a value below */
	u32 from;	     /* of `move`: which of move_config.from it had */
	s32 error;	     /* of `move`: 0, or a negative errno */
};

#define KIND_SOCKET	   0 /* any but: */
#define KIND_LISTENER	   1 /* a listener that never chose, moved */
#define KIND_LISTENER_LEFT 2 /* one that was left alone */

/* What is read for each socket of `descriptors`. */
struct descriptor_record {
	u64 socket_inode;	 /* of the socket's file: the number in /proc/PID/fd */
	u32 namespace_inode;	 /* of its network namespace */
	unsigned short protocol; /* IPPROTO_TCP, IPPROTO_MPTCP; 0: any other */
	u8 state;		 /* enum of include/net/tcp_states.h */
	u8 never_chose;		 /* TCP */
	struct name name;	 /* of its algorithm; TCP */
	struct name assumed;	 /* the default of its namespace */
};

/* Set by the loader before load. */
struct move_config {
	u32 names; /* used entries of `from` */
	u32 frees; /* listeners that never chose are moved, too */
	struct name from[MOVE_FROM_NAMES_MAX];
	struct name to;
};

const volatile struct move_config move_config SEC(".rodata.config") = {};

static __always_inline void record(struct bpf_iter_meta *meta, struct sock_common *sk, u32 kind, u32 from, s32 error)
{
	struct socket_record r = {
		/* read directly: a kernel in lockdown (confidentiality) forbids bpf_probe_read_kernel */
		.namespace_inode = sk->skc_net.net->ns.inum,
		.kind = kind,
		.from = from,
		.error = error,
	};

	bpf_seq_write(meta->seq, &r, sizeof(r));
}

/* Its two words; `ops` can be NULL. */
static __always_inline void read_name(struct name *name, const struct tcp_congestion_ops___name *ops)
{
	if (ops) {
		name->first = *(const u64 *)&ops->name[0];
		name->last = *(const u64 *)&ops->name[8];
	}
}

SEC("iter/bpf_sk_storage_map")
int users(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;

	if (sk && ctx->value) /* both are NULL at the end */
		record(ctx->meta, (struct sock_common *)sk, KIND_SOCKET, 0, 0);
	return 0;
}

/* The entry of move_config.from; MOVE_FROM_NAMES_MAX: none. */
static __always_inline u32 find(const struct name *name)
{
	for (u32 i = 0; i < MOVE_FROM_NAMES_MAX && i < move_config.names; i++)
		if (move_config.from[i].first == name->first && move_config.from[i].last == name->last)
			return i;
	return MOVE_FROM_NAMES_MAX;
}

static __always_inline bool is_listener_without_choice(struct sock_common *common, struct tcp_sock *tp)
{
	struct inet_connection_sock___walked *icsk = &((struct tcp_sock___walked *)tp)->inet_conn;

	return common->skc_state == TCP_LISTEN && !BPF_CORE_READ_BITFIELD(icsk, icsk_ca_setsockopt);
}

SEC("iter/tcp")
int move(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct name name = {}, to;
	u32 kind = KIND_SOCKET, from;
	struct tcp_sock *tp;

	if (!common) /* the end */
		return 0;
	tp = bpf_skc_to_tcp_sock(common); /* NULL for what has no algorithm: requests and TIME_WAIT */
	if (!tp || bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, &name, sizeof(name)))
		return 0;
	from = find(&name);
	if (from == MOVE_FROM_NAMES_MAX)
		return 0;
	to.first = move_config.to.first;
	to.last = move_config.to.last;
	if (is_listener_without_choice(common, tp)) {
		struct name assumed = {};

		if (!move_config.frees) {
			record(ctx->meta, common, KIND_LISTENER_LEFT, from, 0);
			return 0;
		}
		kind = KIND_LISTENER;
		read_name(&assumed, common->skc_net.net->ipv4.tcp_congestion_control);
		if (find(&assumed) == MOVE_FROM_NAMES_MAX)
			to = assumed;
	}
	record(ctx->meta, common, kind, from, bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, &to, sizeof(to)));
	return 0;
}

SEC("iter/task_file")
int descriptors(struct bpf_iter__task_file *ctx)
{
	/* each pointer is read once: the verifier knows of this value, and of no other, that it is not NULL */
	struct bpf_iter_meta *meta = ctx->meta;
	struct file *file = ctx->file;
	struct descriptor_record r = {};
	struct sock___walked *sk;
	struct socket *socket;
	struct tcp_sock *tp;

	if (!file) /* the end */
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket) /* another kind of file */
		return 0;
	sk = (struct sock___walked *)socket->sk;
	if (!sk) /* it is being closed */
		return 0;
	r.socket_inode = file->f_inode->i_ino;
	r.namespace_inode = sk->__sk_common.skc_net.net->ns.inum;
	r.state = sk->__sk_common.skc_state;
	read_name(&r.assumed, sk->__sk_common.skc_net.net->ipv4.tcp_congestion_control);
	if (sk->sk_type == SOCK_STREAM &&
	    (sk->__sk_common.skc_family == AF_INET || sk->__sk_common.skc_family == AF_INET6))
		r.protocol = sk->sk_protocol;
	tp = r.protocol == IPPROTO_TCP ? bpf_skc_to_tcp_sock(sk) : NULL;
	if (tp) {
		struct inet_connection_sock___walked *icsk = &((struct tcp_sock___walked *)tp)->inet_conn;

		r.never_chose = !BPF_CORE_READ_BITFIELD(icsk, icsk_ca_setsockopt);
		read_name(&r.name, icsk->icsk_ca_ops);
	}
	bpf_seq_write(meta->seq, &r, sizeof(r));
	return 0;
}
