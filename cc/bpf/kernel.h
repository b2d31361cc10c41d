/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The fields of Linux that the shim reads and writes. Their offsets are those of the running kernel: clang records
 * each access and libbpf relocates it at load time (CO-RE). So these declarations need the names and types of the
 * kernel, but neither its order of fields nor its headers.
 */
#ifndef CC_BPF_KERNEL_H
#define CC_BPF_KERNEL_H

#include "contract/contract.h"

/* the names under which libbpf's helper headers expect the integer types */
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int32_t __s32;
typedef int64_t __s64;
typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint32_t __wsum;

#include <bpf_helpers.h>
#include <bpf_tracing.h>
#include <bpf_core_read.h>

/* linux/bpf.h: values of the stable user API */
#define BPF_MAP_TYPE_ARRAY	       2
#define BPF_MAP_TYPE_SK_STORAGE	       24
#define BPF_F_NO_PREALLOC	       (1u << 0)
#define BPF_LOCAL_STORAGE_GET_F_CREATE (1u << 0)

/* include/net/tcp.h */
#define TCP_INIT_CWND		10   /* RFC 6928 */
#define TCP_CONG_NON_RESTRICTED 0x1  /* any user may select it */
#define FLAG_ECE		0x40 /* cong_control's flag: this ACK carries ECE */
#define SK_PACING_NONE		0
#define SK_PACING_NEEDED	1
#define CA_EVENT_TX_START	0    /* enum tcp_ca_event before 7.1 */
#define CA_ACK_ECE		4    /* in_ack_event's flag */
#define TCP_ECN_MODE_ANY	0x11 /* ecn_flags: RFC 3168 or (from 6.18) accurate ECN was agreed on */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	unsigned long sk_pacing_rate;	  /* bytes per second */
	unsigned long sk_max_pacing_rate; /* SO_MAX_PACING_RATE */
	u32 sk_pacing_status;
	u8 sk_pacing_shift;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sack_block {
	u32 start_seq;
	u32 end_seq;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 high_seq; /* snd_nxt when the last reduction began */
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 delivered;
	u32 lost;
	u32 app_limited;
	u32 snd_una;
	u32 snd_nxt;
	u32 srtt_us; /* << 3 */
	u64 tcp_mstamp;
	u64 delivered_mstamp;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	struct minmax rtt_min;
	u8 is_cwnd_limited : 1;
	u8 tlp_retrans : 1;
	u8 ecn_flags;
	u32 tlp_high_seq;
	u32 delivered_ce;
	struct tcp_sack_block recv_sack_cache[4]; /* the last ACK's, in order, at the end */
};

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

#pragma clang attribute pop

/* a tcp_congestion_ops has cwnd_event_tx_start: here always, since libbpf skips what the kernel has not */
#define CC_KERNEL_HAS_TX_START 1

/* libbpf matches these members by name against the kernel's own struct. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*cwnd_event_tx_start)(struct sock *sk); /* 7.1 */
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#endif
