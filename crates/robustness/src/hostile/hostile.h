/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * An algorithm whose decisions no host should apply as they are. `values` and `seed` say what it decides, `calls` on
 * which calls; on the others it is slow start without an end, halved by losses. The same parameters decide the same on
 * every host.
 */
#ifndef CC_HOSTILE_H
#define CC_HOSTILE_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"

#define HOSTILE_ON_ACK 30 /* what comes from on_ack, where other calls have their enum cc_event */
#define HOSTILE_INIT   31 /* the same for init */

#define hostile_parameters(P)                                                                                          \
	P(values, 4, 0, 4, CC_UNIT_COUNT, "0: all fields are 0; 1: all 1; 2: 2^32 - 1; 3: 2^31 - 2; 4: random",        \
	  "random values are of all kinds")                                                                            \
	P(seed, 1, 0, 0xffffffffu, CC_UNIT_COUNT, "of the random values", "any")                                       \
	P(calls, 0xffffffffu, 0, 0xffffffffu, CC_UNIT_COUNT,                                                           \
	  "calls with such values: a bit for each event, 2^30 for on_ack, 2^31 for init", "all")

struct hostile_params {
	hostile_parameters(CC_PARAM_FIELD)
};

struct hostile {
	struct hostile_params p;
	u32 count;
};

/* Bits that depend on all bits of x (MurmurHash3's finalizer). */
CC_INLINE u32 hostile_mix(u32 x)
{
	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = (x ^ (x >> 13)) * 0xc2b2ae35u;
	return x ^ (x >> 16);
}

/*
 * A field's value in a call. Of random ones half are the same in every call of this kind. Small and large ones are
 * equally likely, edges of types more so, and an eighth are what is in force.
 */
CC_STAGE u32 hostile_value(const struct hostile *s, u32 call, u32 field, u32 in_force)
{
	u32 bits = hostile_mix(s->p.seed ^ hostile_mix(call * 16 + field));

	switch (s->p.values) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return 0xffffffffu;
	case 3:
		return 0x7ffffffeu;
	default:
		break;
	}
	if (bits & 8)
		bits = hostile_mix(bits ^ s->count);
	switch (bits & 7) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return 0xffffffffu - (bits >> 3 & 1);
	case 3:
		return 0x7ffffffeu + (bits >> 3 & 3);
	case 4:
		return in_force;
	case 5:
		return hostile_mix(bits);
	default:
		return hostile_mix(bits) >> (bits >> 4 & 31);
	}
}

CC_STAGE void hostile_decide(struct hostile *s, u32 call, const struct cc_view *v, struct cc_decision *d)
{
	u64 rate = d->pacing_rate_Bps;

	s->count++;
	d->cwnd_pkts = hostile_value(s, call, 0, v->cwnd_pkts);
	d->ssthresh_pkts = hostile_value(s, call, 1, v->ssthresh_pkts);
	d->app_limited_until_pkts = hostile_value(s, call, 2, 0);
	d->min_burst_pkts = hostile_value(s, call, 3, d->min_burst_pkts);
	d->pacing_rate_Bps = hostile_value(s, call, 4, (u32)rate);
	/* also rates of more than 32 bits, and none at all */
	if (hostile_mix(s->p.seed + call) % 4 == 0)
		d->pacing_rate_Bps |= (u64)hostile_value(s, call, 5, (u32)(rate >> 32)) << 32;
}

CC_INLINE void hostile_call(struct hostile *s, u32 call, const struct cc_view *v, struct cc_decision *d)
{
	if (s->p.calls >> call & 1) {
		hostile_decide(s, call, v, d);
		return;
	}
	switch (call) {
	case HOSTILE_ON_ACK:
		d->cwnd_pkts = v->cwnd_pkts + v->acked_pkts;
		break;
	case CC_EVENT_REDUCE:
		d->ssthresh_pkts = cc_max_u32(v->cwnd_pkts / 2, 2);
		break;
	case CC_EVENT_UNDO:
		d->cwnd_pkts = cc_max_u32(v->cwnd_pkts, v->prior_cwnd_pkts);
		break;
	default:
		break;
	}
}

CC_INLINE void hostile_on_ack(struct hostile *s, const struct cc_view *v, struct cc_decision *d)
{
	hostile_call(s, HOSTILE_ON_ACK, v, d);
}

CC_INLINE void hostile_on_event(struct hostile *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	hostile_call(s, event & 7, v, d);
}

CC_INLINE void hostile_init(struct hostile *s, const struct hostile_params *p, const struct cc_view *v,
			    struct cc_decision *d)
{
	s->p = *p;
	d->pacing_rate_Bps = cc_min_u64((u64)v->cwnd_pkts * v->mss_bytes * 1000, v->max_pacing_rate_Bps);
	hostile_call(s, HOSTILE_INIT, v, d);
}

CC_INLINE void hostile_observe(const struct hostile *s, struct cc_observation *o)
{
	(void)s;
	o->bw_Bps = 0;
	o->min_rtt_us = CC_NO_RTT;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = CC_PHASE_FIXED;
}

#endif
