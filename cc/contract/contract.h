/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The contract between a congestion control algorithm and its host.
 *
 * A host is anything that carries a transport connection: the simulator, a Linux kernel
 * (through eBPF), a QUIC stack. On every ACK the host writes what it knows into one `cc_view`;
 * the algorithm reads it, updates its own state and writes one `cc_decision`. Data flows one way
 * through each of them, so a recording of views replays an algorithm exactly, anywhere.
 *
 * An algorithm NAME is one header that defines
 *
 *   NAME_parameters(P)       its tunables, see params.h
 *   struct NAME_params       the same as a struct
 *   struct NAME              the state of one flow: plain data in which any bytes are valid (u8, no bool; no pointers)
 *                            and no holes; zeroed by the host before init
 *   NAME_init(s, p, v, d)    start on a connection, which may be in mid-flight already
 *   NAME_on_ack(s, v, d)     one ACK: the algorithm's table of contents
 *   NAME_on_event(s, e, v, d)
 *   NAME_observe(s, o)       what an onlooker may see
 *
 * and one line in algorithms.def. Rules, so that one source serves every host: C11, freestanding;
 * no floating point, no signed division, no 128-bit arithmetic, no function pointers, no globals;
 * at most five arguments, no struct returns, no recursion, bounded loops; all divisions by a
 * variable through cc_div(). Names carry their unit as the last word. A flow keeps the parameters
 * that it started with: they are copied into its state. Every change of state goes through one function that
 * names the legal ones in a CC_CHECK.
 */
#ifndef CC_CONTRACT_H
#define CC_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

/* Leaf arithmetic is inlined everywhere. */
#define CC_INLINE static inline __attribute__((always_inline, unused))
/*
 * A stage is one step of an algorithm. In BPF a stage must stay a function of its own: inlined into
 * one body, the paths through a large algorithm multiply until the verifier gives up.
 */
#ifdef __bpf__
#define CC_STAGE static __attribute__((noinline, unused))
#else
#define CC_STAGE static inline __attribute__((unused))
#endif
/*
 * Keeps the compiler from turning arithmetic that avoids a branch back into the branch. The verifier follows both
 * sides of a branch with what each implies: in a loop of n steps up to 2^n ways, and kernels before 6.8 try them all.
 */
#ifdef __bpf__
#define CC_OPAQUE(x) __asm__ volatile("" : "+r"(x))
#else
#define CC_OPAQUE(x) (void)(x)
#endif

/*
 * What must hold if the algorithm is right, such as that a change of state is a legal one. Native builds for tests
 * end the process with `what` when it does not; elsewhere it costs nothing, and a wrong algorithm goes on.
 */
#ifdef CC_CHECKS
void cc_native_check_failed(const char *what);
#define CC_CHECK(holds, what) ((holds) ? (void)0 : cc_native_check_failed(what))
#else
#define CC_CHECK(holds, what) (void)(holds)
#endif

/* Loss recovery states of the host, in rising severity: Linux's TCP_CA_*, with its values. */
enum cc_ca_state {
	CC_CA_OPEN = 0,
	CC_CA_DISORDER = 1,
	CC_CA_CWR = 2,
	CC_CA_RECOVERY = 3,
	CC_CA_LOSS = 4,
};

/*
 * What the host knows. Fields under "this ACK" hold only for on_ack (and SAMPLE, and as far as it says there, LOST); in
 * other events they are zero, and -1 where -1 says "none". FIDELITY.md says per host how exact each field is.
 * u32 counters of packets and sequence numbers wrap: compare them with cc_before().
 */
struct cc_view {
	/* the connection, after this ACK has been processed */
	u64 now_us;		 /* the host's clock; never goes back */
	u64 delivered_us;	 /* when delivered_pkts last grew, same clock */
	u64 pacing_rate_Bps;	 /* in force now; ~0: none set */
	u64 max_pacing_rate_Bps; /* the application's limit; ~0: none */
	u32 mss_bytes;		 /* payload of a full segment */
	u32 cwnd_pkts;		 /* in force now */
	u32 prior_cwnd_pkts;	 /* before the last reduction by the host */
	u32 ssthresh_pkts;	 /* in force now; CC_INFINITE: none */
	u32 inflight_pkts;	 /* sent, neither acknowledged nor believed lost */
	u32 delivered_pkts;	 /* acknowledged or SACKed so far */
	u32 lost_pkts;		 /* ever marked lost */
	u32 delivered_ce_pkts;	 /* delivered with a congestion mark (ECN CE) */
	u32 max_inflight_pkts;	 /* the most outstanding during the last window of data */
	u32 snd_una;		 /* oldest unacknowledged sequence number, bytes */
	u32 snd_nxt;		 /* next sequence number to send, bytes */
	u32 srtt_us;		 /* smoothed RTT; 0: no sample yet */
	u32 min_rtt_us;		 /* the host's own minimum; CC_NO_RTT: no sample yet */
	u32 departure_lead_us;	 /* how far ahead of now the pacer has scheduled the next departure */
	u32 random;		 /* fresh bits; read at init only, to seed the flow's own generator */
	u8 ca_state;		 /* enum cc_ca_state */
	u8 pacing_shift;	 /* a TSO burst holds pacing_rate >> pacing_shift bytes; Linux: 10, about 1 ms */
	bool paced;		 /* the host paces this connection */
	bool cwnd_limited;	 /* cwnd stopped the sender during the last window of data */
	bool app_limited;	 /* the sender has run out of data (or just did) */
	bool ecn;		 /* both ends agreed on ECN */

	/* this ACK: the delivery-rate sample, draft-ietf-ccwg-bbr "Delivery Rate Samples" */
	u8 is_app_limited;	   /* bool: the sampled packet was sent in an app-limited period */
	u8 is_ack_delayed;	   /* bool: the receiver probably delayed this ACK */
	u8 is_ece;		   /* bool: this ACK echoes congestion (ECN) */
	u8 is_probe_ack;	   /* bool: it acknowledges a tail loss probe that was an old packet sent again */
	u8 reserved[2];		   /* keeps the layout free of holes */
	s32 sample_delivered_pkts; /* delivered since the sampled packet was sent; -1: no valid sample */
	s32 sample_interval_us;	   /* over this time; -1 or 0: no valid sample */
	s32 rtt_us;		   /* RTT of the newest packet acknowledged, never one that was resent; -1: none */
	u32 sample_prior_delivered_pkts; /* delivered_pkts when the sampled packet was sent */
	u32 prior_inflight_pkts;	 /* inflight before this ACK */
	u32 acked_pkts;			 /* newly acknowledged or SACKed by this ACK */
	u32 losses_pkts;		 /* newly marked lost on this ACK */

	/* more on the sampled packet, only for algorithms of kind CC_TRACKS_SENDS; in LOST on the packet that was lost */
	u32 sample_inflight_pkts;     /* inflight just after it was sent, itself included */
	u32 sample_lost_pkts;	      /* marked lost since then */
	u32 sample_delivered_ce_pkts; /* delivered with a congestion mark since then */
	u32 sample_end_seq;	      /* sequence number after its last byte */
	u32 reserved_2;
};

/* What the algorithm wants. The host fills it with the values in force before each call. */
struct cc_decision {
	u64 pacing_rate_Bps;	    /* ~0: do not pace */
	u32 cwnd_pkts;		    /* at least 1 */
	u32 ssthresh_pkts;	    /* CC_INFINITE: none */
	u32 app_limited_until_pkts; /* not 0: treat samples as app-limited until delivered_pkts has passed this */
	u32 min_burst_pkts;	    /* the smallest full TSO burst; the host's default is CC_MIN_BURST_PKTS */
};

/* What happens between ACKs. */
enum cc_event {
	CC_EVENT_SAMPLE = 0,   /* an ACK arrived, in any state (only for algorithms that the host calls to grow) */
	CC_EVENT_REDUCE = 1,   /* an episode of loss or ECN begins: set ssthresh. v->ca_state is still the old state */
	CC_EVENT_CA_STATE = 2, /* the recovery state is about to become v->ca_state */
	CC_EVENT_RESTART = 3,  /* sending again with nothing in flight */
	CC_EVENT_UNDO = 4,     /* the last reduction was spurious: set cwnd */
	/*
	 * Only for CC_TRACKS_SENDS. LOST: packets were marked lost, before on_ack of the same ACK; losses_pkts says how
	 * many, the sample_ fields and is_app_limited tell of the sending of the last of them, sample_lost_pkts counts
	 * them in. PROBE_REPAIRED: one packet was lost at the tail and a probe replaced it, which marks
	 * nothing lost; is_app_limited is that of its first sending.
	 */
	CC_EVENT_LOST = 5,
	CC_EVENT_PROBE_REPAIRED = 6,
};

/*
 * Who decides about cwnd in recovery.
 * CC_OWNS_CWND:  on_ack runs on every ACK, and the algorithm alone sets cwnd (Linux: cong_control).
 * CC_GROWS_CWND: the host reduces cwnd (PRR, RFC 9937) towards ssthresh and calls on_ack only for growth
 *                (Linux: cong_avoid); CC_EVENT_SAMPLE runs on every ACK before that.
 * CC_TRACKS_SENDS: as CC_OWNS_CWND, and wants to know for each packet what was in flight when it was sent.
 */
enum cc_kind {
	CC_OWNS_CWND = 0,
	CC_GROWS_CWND = 1,
	CC_TRACKS_SENDS = 2,
};

/* Phases as an onlooker knows them; one vocabulary for all algorithms. */
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
	X(CONSERVATIVE_SLOW_START)
#define CC_PHASE_ENUM(name) CC_PHASE_##name,
enum cc_phase { CC_PHASES(CC_PHASE_ENUM) CC_PHASE_COUNT };

/* What an onlooker may see of a flow: the same in a simulation trace and in a dump of live sockets. */
struct cc_observation {
	u64 bw_Bps;	     /* estimated bottleneck bandwidth; 0: the algorithm has no such idea */
	u32 min_rtt_us;	     /* estimated propagation RTT; CC_INFINITE: none */
	u32 pacing_gain_256; /* 256 = 1.0; 0: not paced by gain */
	u32 cwnd_gain_256;   /* 256 = 1.0; 0: none */
	u32 phase;	     /* enum cc_phase */
};

#define CC_INFINITE 0x7fffffffu /* as TCP_INFINITE_SSTHRESH */
#define CC_NO_RATE  (~0ull)
#define CC_NO_RTT   0xffffffffu
/* Packets, as Linux's tcp_min_tso_segs. An eBPF host keeps it: the hook min_tso_segs would run at every transmission. */
#define CC_MIN_BURST_PKTS 2u

#endif
