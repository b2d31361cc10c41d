/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Window growth that the loss-based algorithms share: slow start, additive increase, and the test whether the
 * window has earned growth at all. Units are whole packets; an ACK for several packets counts as that many
 * ACKs for one. The results equal those of Linux's tcp_slow_start, tcp_cong_avoid_ai and tcp_is_cwnd_limited.
 */
#ifndef CC_WINDOW_H
#define CC_WINDOW_H

#include "contract.h"
#include "maths.h"

/* RFC 5681 section 3.1, equation 4: no reduction takes ssthresh below two segments. */
#define CC_MIN_SSTHRESH_PKTS 2u

CC_INLINE bool cc_in_slow_start(const struct cc_decision *d) { return d->cwnd_pkts < d->ssthresh_pkts; }

/*
 * A window that the sender does not fill must not grow (RFC 9002 section 7.8; RFC 7661). In slow start a window
 * of up to twice what was outstanding passes: TSO sends in lumps, and growth must not wait for the last one.
 */
CC_INLINE bool cc_window_is_used(const struct cc_view *v, const struct cc_decision *d)
{
	return v->cwnd_limited || (cc_in_slow_start(d) && d->cwnd_pkts / 2 < v->max_inflight_pkts);
}

/* Slow start: one packet more for each one acknowledged, up to ssthresh. Returns the ACKs left over. */
CC_INLINE u32 cc_slow_start(struct cc_decision *d, u32 acked_pkts)
{
	const u32 room = cc_sub_floor_u32(d->ssthresh_pkts, d->cwnd_pkts);
	const u32 growth = cc_min_u32(acked_pkts, room);

	d->cwnd_pkts += growth;
	return acked_pkts - growth;
}

/*
 * Additive increase: one packet more for each `every_pkts` acknowledged; *credit carries the remainder over to
 * the next ACK. Credit from a time when growth was slower is worth one packet only, so that a sudden fall of
 * every_pkts causes no burst.
 */
CC_INLINE void cc_additive_increase(struct cc_decision *d, u32 *credit_pkts, u32 every_pkts, u32 acked_pkts)
{
	const u32 every = cc_max_u32(every_pkts, 1);
	u64 cwnd = d->cwnd_pkts;
	u64 credit = *credit_pkts;

	if (credit >= every) {
		credit = 0;
		cwnd++;
	}
	credit += acked_pkts;
	cwnd += credit / every;
	*credit_pkts = (u32)(credit % every);
	d->cwnd_pkts = (u32)cc_min_u64(cwnd, CC_INFINITE);
}

#endif
