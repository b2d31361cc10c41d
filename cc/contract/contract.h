/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The contract between a congestion control algorithm and its host.
 *
 * A host is a program that carries a transport connection: the simulator, the Linux kernel (through eBPF), a QUIC
 * stack. On every ACK the host fills one `cc_view` with the state of the connection. The algorithm reads the view,
 * updates the state of its flow and writes one `cc_decision`, which the host applies within the bounds of lib/clamp.h.
 * An algorithm has no other input and no other output. Therefore a recording of views replays an algorithm exactly, on
 * any host.
 *
 *	host                           algorithm NAME
 *	----                           --------------
 *	a connection starts      --->  NAME_init      copies the parameters, seeds the generator, sets the first cwnd
 *	an ACK arrives           --->  NAME_on_ack    updates the model, writes cwnd and pacing rate
 *	loss, timeout, idle, ... --->  NAME_on_event  see enum cc_event
 *	a trace or a dump        --->  NAME_observe   estimates and phase, read-only
 *
 * An algorithm NAME is one header cc/NAME.h and one line in algorithms.def. The header defines
 *
 *	NAME_parameters(P)	the tunable parameters, see params.h
 *	struct NAME_params	the same parameters as a struct
 *	struct NAME		the state of one flow, zeroed by the host before NAME_init. Plain data: no pointers, no
 *				bool (any byte must be a valid value), no holes (tests compare bytes).
 *	NAME_init(s, p, v, d)	starts on a connection, which may already have data in flight
 *	NAME_on_ack(s, v, d)	processes one ACK; reads as the table of contents of the algorithm
 *	NAME_on_event(s, e, v, d)
 *	NAME_observe(s, o)
 *	NAME_paces_below_a_packet
 *				optional: 1 if the pacing rate may be below a packet per RTT on purpose, see lib/clamp.h
 *
 * Rules that let one source run on every host:
 *
 *   - C11, freestanding. No floating point except in constants (CC_GAIN in maths.h), no signed division, no 128-bit
 *     arithmetic, no function pointers, no globals: eBPF has none of them.
 *   - At most five arguments per function, no struct returns, no recursion, only bounded loops: the same reason.
 *   - Every division by a variable goes through cc_div(), because x / 0 is 0 in eBPF and a trap elsewhere.
 *   - A flow copies its parameters into its state, so that a change of defaults does not affect running flows.
 *   - Every change of phase goes through one function, whose CC_CHECK lists the legal changes.
 *   - The unit is the last word of a name: min_rtt_us, pacing_rate_Bps (bytes per second), gain_256 (1/256).
 */
#ifndef CC_CONTRACT_H
#define CC_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

/* Small functions are inlined on every host. */
#define CC_INLINE static inline __attribute__((always_inline, unused))
/*
 * A stage is one step of an algorithm. In eBPF a stage stays a function of its own: inlined into one body, the paths
 * through a large algorithm multiply until the verifier gives up.
 */
#ifdef __bpf__
#define CC_STAGE static __attribute__((noinline, unused))
#else
#define CC_STAGE static inline __attribute__((unused))
#endif
/*
 * Keeps the compiler from turning branch-free arithmetic back into a branch. The verifier follows both sides of a
 * branch, so a branch in a loop of n steps costs up to 2^n paths; kernels before 6.8 follow all of them.
 */
#ifdef __bpf__
#define CC_OPAQUE(x) __asm__ volatile("" : "+r"(x))
#else
#define CC_OPAQUE(x) (void)(x)
#endif

/*
 * An invariant of the algorithm, for example that a change of phase is legal. In native debug builds a false `holds`
 * becomes a Rust panic with the message `what`. Other builds evaluate and ignore it.
 */
#ifdef CC_CHECKS
void cc_native_check_failed(const char *what);
#define CC_CHECK(holds, what) ((holds) ? (void)0 : cc_native_check_failed(what))
#else
#define CC_CHECK(holds, what) (void)(holds)
#endif

/* Loss recovery states of the host, in rising severity. Names and values are those of Linux's TCP_CA_*. */
enum cc_ca_state {
	CC_CA_OPEN = 0,	    /* no sign of trouble */
	CC_CA_DISORDER = 1, /* duplicate ACKs or SACKs, no packet marked lost */
	CC_CA_CWR = 2,	    /* reducing cwnd after an ECN echo */
	CC_CA_RECOVERY = 3, /* fast recovery */
	CC_CA_LOSS = 4,	    /* after a retransmission timeout */
};

/* Values for "none". */
#define CC_INFINITE 0x7fffffffu /* no ssthresh; the value of TCP_INFINITE_SSTHRESH */
#define CC_NO_RATE  (~0ull)	/* no pacing, or no limit */
#define CC_NO_RTT   0xffffffffu /* no RTT sample yet */

/* Linux's tcp_min_tso_segs. An eBPF host always uses it: the hook min_tso_segs would run at every transmission. */
#define CC_MIN_BURST_PKTS 2u

/*
 * The state of the connection. Fields under "this ACK" are valid in on_ack and in CC_EVENT_SAMPLE, and partly in
 * CC_EVENT_LOST. In other events they are 0, or -1 where -1 means "none". FIDELITY.md says how exact each host fills
 * each field. u32 counters of packets and sequence numbers wrap: compare them with cc_before().
 */
struct cc_view {
	/* the connection, after this ACK has been processed */
	u64 now_us;		 /* the host's clock; never goes back */
	u64 delivered_us;	 /* when delivered_pkts last grew, same clock */
	u64 pacing_rate_Bps;	 /* in force; CC_NO_RATE: not paced */
	u64 max_pacing_rate_Bps; /* the application's limit; CC_NO_RATE: none */
	u32 mss_bytes;		 /* payload of a full segment */
	u32 cwnd_pkts;		 /* in force */
	u32 prior_cwnd_pkts;	 /* before the last reduction by the host */
	u32 ssthresh_pkts;	 /* in force; CC_INFINITE: none */
	u32 inflight_pkts;	 /* sent and neither acknowledged nor marked lost */
	u32 delivered_pkts;	 /* acknowledged or SACKed since the start */
	u32 lost_pkts;		 /* marked lost since the start */
	u32 delivered_ce_pkts;	 /* delivered with a congestion mark (ECN CE) since the start */
	u32 max_inflight_pkts;	 /* maximum outstanding during the last cwnd of data */
	u32 snd_una;		 /* oldest unacknowledged sequence number, bytes */
	u32 snd_nxt;		 /* next sequence number to send, bytes */
	u32 srtt_us;		 /* smoothed RTT; 0: no sample yet */
	u32 min_rtt_us;		 /* the host's own minimum RTT; CC_NO_RTT: no sample yet */
	u32 departure_lead_us;	 /* time from now to the next departure that the pacer has scheduled */
	u32 random;		 /* random bits, only for init, which seeds the flow's generator with them */
	u8 ca_state;		 /* enum cc_ca_state */
	u8 pacing_shift;	 /* a TSO burst holds pacing_rate >> pacing_shift bytes; Linux: 10, about 1 ms */
	bool paced;		 /* the host paces this connection */
	bool cwnd_limited;	 /* cwnd stopped the sender during the last cwnd of data */
	bool app_limited;	 /* the application has no more data to send */
	bool ecn;		 /* both ends negotiated ECN */

	/* this ACK: the delivery rate sample, draft-ietf-ccwg-bbr-06 section 4.1 */
	u8 is_app_limited;	   /* bool: the sampled packet was sent in an application-limited period */
	u8 is_ack_delayed;	   /* bool: the receiver probably delayed this ACK */
	u8 is_ece;		   /* bool: this ACK echoes congestion (ECN) */
	u8 is_probe_ack;	   /* bool: this ACK acknowledges a tail loss probe that was a retransmission */
	u8 reserved[2];		   /* keeps the layout free of holes */
	s32 sample_delivered_pkts; /* delivered since the sampled packet was sent; -1: no valid sample */
	s32 sample_interval_us;	   /* time in which they were delivered; -1 or 0: no valid sample */
	s32 rtt_us;		   /* RTT of the newest packet acknowledged that was not retransmitted; -1: none */
	u32 sample_prior_delivered_pkts; /* delivered_pkts when the sampled packet was sent */
	u32 prior_inflight_pkts;	 /* inflight before this ACK */
	u32 acked_pkts;			 /* newly acknowledged or SACKed by this ACK */
	u32 losses_pkts;		 /* newly marked lost on this ACK */

	/* only for CC_TRACKS_SENDS; in CC_EVENT_LOST these describe the lost packet instead of the sampled one */
	u32 sample_inflight_pkts;     /* inflight just after it was sent, itself included; 0: unknown */
	u32 sample_lost_pkts;	      /* marked lost since it was sent */
	u32 sample_delivered_ce_pkts; /* delivered with a congestion mark since it was sent */
	u32 sample_end_seq;	      /* sequence number after its last byte */
	u32 reserved_2;
};

/*
 * The output of an algorithm. Before each call the host fills it with the values in force: those of the view,
 * min_burst_pkts of the last decision, and 0 for app_limited_until_pkts.
 */
struct cc_decision {
	u64 pacing_rate_Bps;	    /* CC_NO_RATE: do not pace */
	u32 cwnd_pkts;		    /* at least 1 */
	u32 ssthresh_pkts;	    /* at least 2; CC_INFINITE: none */
	u32 app_limited_until_pkts; /* not 0: samples are application-limited until delivered_pkts exceeds this */
	u32 min_burst_pkts;	    /* 1 or 2: a TSO burst has at least as many packets, if they wait and cwnd allows */
};

/* Events between ACKs. */
enum cc_event {
	CC_EVENT_SAMPLE = 0,   /* an ACK arrived, in any recovery state; only for CC_GROWS_CWND */
	CC_EVENT_REDUCE = 1,   /* an episode of loss or ECN begins: set ssthresh. ca_state is still the old state */
	CC_EVENT_CA_STATE = 2, /* the recovery state is about to become v->ca_state */
	CC_EVENT_RESTART = 3,  /* the sender sends again with nothing in flight */
	CC_EVENT_UNDO = 4,     /* the last reduction was spurious: set cwnd */
	/*
	 * Only for CC_TRACKS_SENDS: packets were marked lost. Comes before on_ack of the same ACK. losses_pkts is their
	 * number; the sample_ fields and is_app_limited describe the transmission of the last of them, and
	 * sample_lost_pkts includes them.
	 */
	CC_EVENT_LOST = 5,
	/*
	 * Only for CC_TRACKS_SENDS: a tail loss probe replaced a lost packet (RFC 8985 section 7.4), which marks no
	 * packet lost. is_app_limited describes the first transmission of that packet.
	 */
	CC_EVENT_PROBE_REPAIRED = 6,
};

/* How the host and the algorithm share the control of cwnd. */
enum cc_kind {
	CC_OWNS_CWND = 0,    /* on_ack runs on every ACK and alone sets cwnd (Linux: cong_control) */
	CC_GROWS_CWND = 1,   /* the host reduces cwnd to ssthresh (PRR, RFC 9937); CC_EVENT_SAMPLE runs on every
			      * ACK, then on_ack on ACKs that may grow cwnd (Linux: cong_avoid) */
	CC_TRACKS_SENDS = 2, /* as CC_OWNS_CWND; needs for each packet what was in flight when it was sent */
};

/* Phases as an observer sees them: one vocabulary for all algorithms. */
#define CC_PHASES(X)                                                                                                   \
	X(STARTUP)                                                                                                     \
	X(DRAIN)                                                                                                       \
	X(PROBE_BW_UP)                                                                                                 \
	X(PROBE_BW_DOWN)                                                                                               \
	X(PROBE_BW_CRUISE)                                                                                             \
	X(PROBE_BW_REFILL)                                                                                             \
	X(PROBE_RTT)                                                                                                   \
	X(SLOW_START)                                                                                                  \
	X(AVOIDANCE)                                                                                                   \
	X(FIXED)                                                                                                       \
	X(CONSERVATIVE_SLOW_START)                                                                                     \
	X(COMPETITIVE)
#define CC_PHASE_ENUM(name) CC_PHASE_##name,
enum cc_phase { CC_PHASES(CC_PHASE_ENUM) CC_PHASE_COUNT };

/* What an observer sees of a flow: the same in a simulation trace and in a dump of live sockets. */
struct cc_observation {
	u64 bw_Bps;	     /* estimated bottleneck bandwidth; 0: the algorithm estimates none */
	u32 min_rtt_us;	     /* estimated propagation RTT; CC_NO_RTT: none */
	u32 pacing_gain_256; /* 256 = 1.0; 0: the pacing rate does not follow from a gain */
	u32 cwnd_gain_256;   /* 256 = 1.0; 0: none */
	u32 phase;	     /* enum cc_phase */
};

#endif
