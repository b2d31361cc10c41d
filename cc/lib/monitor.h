/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Statistics of monitor intervals, from the views of ACKs.
 *
 * A learned controller decides once per monitor interval, from what the ACKs of the interval said (Dong et al., PCC,
 * NSDI 2015; Jay et al., Aurora, ICML 2019; Abbasloo et al., Orca, SIGCOMM 2020). Here the intervals are a grid on the
 * host's clock: interval k is from k * interval_us on, before (k + 1) * interval_us.
 *
 *	if (cc_monitor_on_ack(&s->monitor, v, &interval))
 *		...			a decision from `interval`, which is in force from this ACK on
 *
 * An interval is over on the first ACK after it. That ACK does not count: the statistics are those of all ACKs before.
 * Intervals without an ACK belong to the next one that has any, whose duration_us covers them. So a host that stops at
 * the end of each interval, reads its statistics (cc_monitor_read) and hands in an action for the next ACK gets the
 * decisions that the algorithm makes by itself. crates/gym is such a host.
 *
 * Counts are of packets, from the counters of the view; they wrap, and so only differences of them are used.
 */
#ifndef CC_LIB_MONITOR_H
#define CC_LIB_MONITOR_H

#include "contract/contract.h"
#include "contract/maths.h"

/* The statistics of one interval. Without an ACK in it, its counts are 0. */
struct cc_interval {
	u64 rtt_sum_us;	    /* of the RTT samples */
	u32 rtt_samples;    /* their number */
	u32 rtt_least_us;   /* the least of them; CC_NO_RTT: none */
	u32 min_rtt_us;	    /* the host's minimum RTT, by the last ACK; CC_NO_RTT: none */
	u32 duration_us;    /* of this interval and of those without an ACK before it; at least 1 */
	u32 acks;	    /* ACKs that arrived */
	u32 delivered_pkts; /* acknowledged or SACKed */
	u32 lost_pkts;	    /* marked lost */
	u32 ce_pkts;	    /* delivered with a congestion mark */
	u32 sent_pkts;	    /* sent, retransmissions included; see cc_monitor_fill */
	u32 inflight_pkts;  /* in flight after the last ACK, before what it allowed to send */
	u32 mss_bytes;	    /* payload of a full segment */
	u32 reserved;	    /* no holes */
};

/* Counters of the view after an ACK. */
struct cc_monitor_mark {
	u32 delivered_pkts;
	u32 lost_pkts;
	u32 ce_pkts;
	u32 inflight_pkts;
};

struct cc_monitor {
	u64 began_us;		       /* when the last interval with an ACK ended; at first, when monitoring began */
	u64 ends_us;		       /* when the interval of the last ACK ends */
	u64 rtt_sum_us;		       /* of this interval, as the next three */
	u32 rtt_samples;	       /* RTT samples */
	u32 rtt_least_us;	       /* CC_NO_RTT: none */
	u32 acks;		       /* ACKs */
	u32 interval_us;	       /* length of an interval */
	struct cc_monitor_mark before; /* the last ACK before this interval */
	struct cc_monitor_mark last;   /* the last ACK */
	u32 min_rtt_us;		       /* of the host, at the last ACK */
	u32 mss_bytes;		       /* at the last ACK */
};

/* The end of the interval that now_us is in. */
CC_INLINE u64 cc_monitor_end(u32 interval_us, u64 now_us) { return (cc_div(now_us, interval_us) + 1) * interval_us; }

CC_INLINE void cc_monitor_mark(struct cc_monitor_mark *m, const struct cc_view *v)
{
	m->delivered_pkts = v->delivered_pkts;
	m->lost_pkts = v->lost_pkts;
	m->ce_pkts = v->delivered_ce_pkts;
	m->inflight_pkts = v->inflight_pkts;
}

/* Starts at the time of the view, in the middle of an interval. interval_us is at least 1. */
CC_INLINE void cc_monitor_start(struct cc_monitor *m, u32 interval_us, const struct cc_view *v)
{
	m->began_us = v->now_us;
	m->ends_us = cc_monitor_end(interval_us, v->now_us);
	m->rtt_sum_us = 0;
	m->rtt_samples = 0;
	m->rtt_least_us = CC_NO_RTT;
	m->acks = 0;
	m->interval_us = interval_us;
	cc_monitor_mark(&m->before, v);
	cc_monitor_mark(&m->last, v);
	m->min_rtt_us = v->min_rtt_us;
	m->mss_bytes = v->mss_bytes;
}

/*
 * The statistics of the ACKs since the last interval ended. What was sent follows from a balance: each packet that was
 * sent has been delivered, was marked lost, or is in flight. It counts what left between the last ACK before the
 * interval and the last one in it. A packet that was marked lost and then arrives after all counts as sent once more.
 */
CC_INLINE void cc_monitor_fill(const struct cc_monitor *m, struct cc_interval *i)
{
	u32 sent;

	i->rtt_sum_us = m->rtt_sum_us;
	i->rtt_samples = m->rtt_samples;
	i->rtt_least_us = m->rtt_least_us;
	i->min_rtt_us = m->min_rtt_us;
	i->duration_us = cc_max_u32(cc_saturate_u32(m->ends_us - m->began_us), 1);
	i->acks = m->acks;
	i->delivered_pkts = m->last.delivered_pkts - m->before.delivered_pkts;
	i->lost_pkts = m->last.lost_pkts - m->before.lost_pkts;
	i->ce_pkts = m->last.ce_pkts - m->before.ce_pkts;
	sent = i->delivered_pkts + i->lost_pkts + (m->last.inflight_pkts - m->before.inflight_pkts);
	i->sent_pkts = cc_before(sent, 0) ? 0 : sent;
	i->inflight_pkts = m->last.inflight_pkts;
	i->mss_bytes = m->mss_bytes;
	i->reserved = 0;
}

/* Counts an ACK. True: it is the first after an interval that had ACKs; *i then has their statistics. */
CC_INLINE bool cc_monitor_on_ack(struct cc_monitor *m, const struct cc_view *v, struct cc_interval *i)
{
	bool is_over = false;

	if (v->now_us >= m->ends_us) {
		is_over = m->acks != 0;
		if (is_over) {
			cc_monitor_fill(m, i);
			m->began_us = m->ends_us;
			m->before = m->last;
			m->rtt_sum_us = 0;
			m->rtt_samples = 0;
			m->rtt_least_us = CC_NO_RTT;
			m->acks = 0;
		}
		m->ends_us = cc_monitor_end(m->interval_us, v->now_us);
	}
	m->acks++;
	cc_monitor_mark(&m->last, v);
	m->min_rtt_us = v->min_rtt_us;
	m->mss_bytes = v->mss_bytes;
	if (v->rtt_us >= 0) {
		m->rtt_sum_us += (u32)v->rtt_us;
		m->rtt_samples++;
		m->rtt_least_us = cc_min_u32(m->rtt_least_us, (u32)v->rtt_us);
	}
	return is_over;
}

/*
 * For a host that stops at now_us, when all ACKs before have been counted: the statistics of the interval that ends
 * then, or, in the middle of one, of what there is of it.
 */
CC_INLINE void cc_monitor_read(const struct cc_monitor *m, u64 now_us, struct cc_interval *i)
{
	const struct cc_interval none = { .rtt_least_us = CC_NO_RTT, .min_rtt_us = m->min_rtt_us };

	if (m->acks != 0 && now_us <= m->ends_us) {
		cc_monitor_fill(m, i);
		return;
	}
	*i = none;
	i->duration_us = m->interval_us;
	i->inflight_pkts = m->last.inflight_pkts;
	i->mss_bytes = m->mss_bytes;
}

#endif
