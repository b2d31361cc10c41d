/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Growth of cwnd in loss-based algorithms: slow start, additive increase, and the test whether cwnd was used, without
 * which it must not grow. Units are whole packets; an ACK for n packets counts as n ACKs for one packet. The results
 * equal those of Linux's tcp_slow_start, tcp_cong_avoid_ai and tcp_is_cwnd_limited.
 */
#ifndef CC_WINDOW_H
#define CC_WINDOW_H

#include "contract.h"
#include "maths.h"

/* RFC 5681 section 3.1, equation 4: no reduction takes ssthresh below two segments. */
#define CC_MIN_SSTHRESH_PKTS 2u

CC_INLINE bool cc_in_slow_start(const struct cc_decision *d) { return d->cwnd_pkts < d->ssthresh_pkts; }

/*
 * A cwnd that the sender does not fill must not grow (RFC 9002 section 7.8; RFC 7661). In slow start cwnd may be up to
 * twice what was outstanding: TSO sends in bursts, and growth must not wait for the last burst of a cwnd.
 */
CC_INLINE bool cc_window_is_used(const struct cc_view *v, const struct cc_decision *d)
{
	return v->cwnd_limited || (cc_in_slow_start(d) && d->cwnd_pkts / 2 < v->max_inflight_pkts);
}

/* Slow start: cwnd grows by one packet per packet acknowledged, up to ssthresh. Returns the ACKs left over. */
CC_INLINE u32 cc_slow_start(struct cc_decision *d, u32 acked_pkts)
{
	const u32 room = cc_sub_floor_u32(d->ssthresh_pkts, d->cwnd_pkts);
	const u32 growth = cc_min_u32(acked_pkts, room);

	d->cwnd_pkts += growth;
	return acked_pkts - growth;
}

/*
 * Additive increase: cwnd grows by one packet per `every_pkts` acknowledged; *credit carries the remainder over to the
 * next ACK. Credit that exceeds a smaller new every_pkts counts as one packet only, so that a sudden fall of
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
