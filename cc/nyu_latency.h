/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The first half of NYU's improved BBR: drain to target, and two phases that end as soon as they have achieved
 * their goal.
 *
 * The idea (section IV.B of the paper), on top of bbr1_drain.h:
 *
 *	UP         ends as soon as 1.25 BDP is in flight	before: not before one min_rtt
 *	PROBE_RTT  ends as soon as a lower RTT was measured	before: after 200 ms
 *
 * When bw is overestimated, 1.25 BDP is in flight long before one min_rtt is over, and the rest of the phase only
 * adds to the queue. While a flow pauses for 200 ms in PROBE_RTT, the others take its bandwidth, and the queue
 * jumps when it returns.
 *
 * Choices where the paper says nothing:
 * - The early end of UP is added to the rules of bbr1_drain.h; what ended UP there still ends it.
 * - "Lower RTT" needs a reference. PROBE_RTT starts because min_rtt has expired, which any sample then replaces.
 *   With a falling queue already the next ACK is lower, although it says nothing about the path without the flow's
 *   own queue. Therefore PROBE_RTT ends when a packet has been acknowledged that was sent after inflight had come
 *   down to 4, and min_rtt is lower than before that. This takes at least two round trips, as the paper reports. A
 *   flow that measures no lower RTT, for example because there is no queue, stays for 200 ms.
 *
 * Source: Zhang, Mezzavilla, Rangan, Panwar, "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018.
 */
#ifndef CC_NYU_LATENCY_H
#define CC_NYU_LATENCY_H

#include "bbr1_drain.h"

/* As bbr1_drain. */
#define nyu_latency_paces_below_a_packet 1

#define nyu_latency_parameters(P) bbr1_drain_parameters(P)
CC_VARIANT_PARAMS_OF_PARENT(nyu_latency, bbr1_drain)

struct nyu_latency {
	union {
		struct bbr1 bbr1;
		struct bbr1_drain bbr1_drain;
	};
	u32 full_rtt_us; /* least RTT of packets that were sent before inflight came down in PROBE_RTT */
	u32 reserved;
};

/* UP ends at once when the pipe is full. All other phases end as in the parent. */
CC_STAGE void nyu_latency_update_cycle(struct nyu_latency *s, const struct cc_view *v, const struct cc_decision *d)
{
	if (s->bbr1_drain.in_cycle && s->bbr1.cycle_index == BBR1_CYCLE_UP && bbr1_is_filled(&s->bbr1, v, d))
		bbr1_drain_enter_phase(&s->bbr1_drain, BBR1_CYCLE_DOWN);
	else
		bbr1_drain_update_cycle(&s->bbr1_drain, v, d);
}

/* PROBE_RTT ends when it has measured a lower RTT. */
CC_STAGE void nyu_latency_check_probe_rtt(struct nyu_latency *s, const struct cc_view *v, struct cc_decision *d)
{
	struct bbr1 *b = &s->bbr1;

	if (b->mode != BBR1_PROBE_RTT)
		return;
	if (!b->probe_rtt_done_us || !b->probe_rtt_round_done)
		s->full_rtt_us = b->min_rtt_us;
	else if (b->min_rtt_us < s->full_rtt_us)
		bbr1_leave_probe_rtt(b, v, d);
}

/* Mode and gains. */
CC_STAGE void nyu_latency_update_mode(struct nyu_latency *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_change_mode(&s->bbr1, v, d);
	nyu_latency_check_probe_rtt(s, v, d);
	bbr1_drain_enter_cycle(&s->bbr1_drain, v);
}

CC_STAGE void nyu_latency_on_ack(struct nyu_latency *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_update_model(&s->bbr1, v);
	nyu_latency_update_cycle(s, v, d);
	nyu_latency_update_mode(s, v, d);
	bbr1_set_controls(&s->bbr1, v, d);
}

CC_VARIANT_WITHOUT_PARAMETERS(nyu_latency, bbr1_drain)

#endif
