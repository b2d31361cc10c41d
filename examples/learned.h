/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The policy that the notebook train-and-judge-a-controller trains, of 25 November 2026: docs/learned.md judges it.
 *
 * Written by fairpace.gym.Policy.export. Once per monitor interval the network of lib/policy.h makes the exponent of a
 * factor on the pacing rate of what the ACKs of the interval said; cwnd follows from the rate (lib/action.h).
 */
#ifndef CC_LEARNED_H
#define CC_LEARNED_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "lib/action.h"
#include "lib/monitor.h"
#include "lib/policy.h"

#define learned_kind CC_OWNS_CWND

#define learned_parameters(P) \
	P(interval_us, 50000, CC_MSEC(1), CC_SEC(10), CC_UNIT_US, "length of a monitor interval", \
	  "as in training") \
	P(cwnd_gain, CC_GAIN(2), CC_GAIN(1), CC_GAIN(16), CC_UNIT_GAIN, "cwnd in rate * srtt", "as in training")

struct learned_params {
	learned_parameters(CC_PARAM_FIELD)
};

struct learned {
	struct cc_monitor monitor;
	struct learned_params p;
	u32 rate_Bps;
	u32 cwnd_pkts;
};

/* In 1/1024; the last number of a row is its bias. */
static const struct cc_policy_weights learned_weights = {
	.first = {
		{ -83, 232, 1165, -403, 504, -216, -403, -49 },
		{ -201, -349, -227, 281, -524, -353, 217, 114 },
		{ 221, -622, -2, -387, -635, -367, 486, -242 },
		{ -1215, -2011, 385, -495, 787, 67, 208, 234 },
		{ 114, -51, 536, 849, -185, -816, -311, -1395 },
		{ -294, -618, -126, 672, 110, -802, -406, 460 },
		{ 106, 966, 183, -344, -153, 203, 5, 340 },
		{ 435, -319, 151, -41, -674, 804, -752, -94 },
		{ -163, 462, 569, 855, -1031, 450, 732, -277 },
		{ -431, -65, 758, 279, 613, -708, -139, 457 },
		{ 792, 219, -550, -593, -197, 672, -248, 202 },
		{ 120, 702, 421, 281, -305, 116, 109, 581 },
		{ 224, 715, -841, -384, -76, 138, 604, -920 },
		{ -227, -867, 351, -967, 366, 44, -161, -665 },
		{ 142, 102, -61, -571, -497, 57, -21, -282 },
		{ 185, -261, -1096, 1162, 1222, -741, -258, 891 },
	},
	.second = {
		{ 963, 301, -845, -534, -800, 604, -1231, -680, 208, -859, -142, -101, 314, 1005, -80, 54, -234 },
		{ -274, -405, -292, 405, -313, -527, -1139, -269, -55, -1237, 427, -605, 1099, -403, -722, -687, 82 },
		{ -985, 238, 510, 694, 823, -303, 42, -1196, -231, 515, 51, -297, -231, -32, 59, -493, 166 },
		{ 495, -226, 660, -212, 1088, 146, -1212, -230, -577, -110, -1100, -273, 187, 260, -640, 291, -448 },
		{ 33, -133, 486, -530, 644, -889, -968, 19, 268, 337, -645, -264, -430, -285, -389, -31, 160 },
		{ -277, 324, -332, 269, 348, 210, -315, -626, 1123, -408, -573, -490, -686, -943, 105, 326, -586 },
		{ 565, 407, -1036, -928, 1158, -139, -541, 1043, -878, -7, -73, 355, 861, 236, -205, 56, -180 },
		{ -977, -456, 346, 380, 206, -510, 437, 607, -558, -129, -415, 21, -1018, -446, 776, -138, -357 },
		{ 29, -1101, 472, 637, 19, 272, 97, 488, -788, 823, -26, 29, 282, 68, -869, 618, 33 },
		{ 1011, -425, 135, -281, 381, -638, -269, 601, -323, -262, -922, -547, 769, -247, -761, -268, -530 },
		{ 493, -356, 98, -830, 603, -202, 246, -695, 575, 448, 740, 169, -674, 233, -247, -624, 177 },
		{ 18, -238, 13, 240, -181, -492, -647, -327, -4, 240, -356, -44, -546, 564, 298, 1117, 104 },
		{ -744, -165, -70, -101, 877, 376, -544, -794, -327, 247, 874, -58, -1281, -292, 388, -35, 167 },
		{ -53, -642, -513, 8, -806, 289, -608, 39, -425, 155, -835, -154, 304, -693, -206, 60, 286 },
		{ 173, -654, -403, -281, 705, 229, 128, -146, -648, -532, -25, -120, 67, 667, -125, 988, -662 },
		{ 16, 936, 206, -438, -543, -396, 288, 751, -48, 109, 294, -75, 189, -3, 58, -862, 694 },
	},
	.last = { -440, 6, 466, 660, -552, -57, 214, -353, 563, -873, -409, -229, -129, -181, -367, -49, 37 },
};

CC_INLINE void learned_decide(const struct learned *s, const struct cc_view *v, struct cc_decision *d)
{
	d->cwnd_pkts = s->cwnd_pkts;
	d->pacing_rate_Bps = cc_min_u64(s->rate_Bps, v->max_pacing_rate_Bps);
}

/* A monitor interval is over: the network decides. */
CC_INLINE void learned_act(struct learned *s, const struct cc_interval *i, const struct cc_view *v)
{
	s32 features[CC_FEATURES];
	s32 exponent;

	cc_features(i, s->rate_Bps, features);
	exponent = cc_policy(&learned_weights, features);
	s->rate_Bps = cc_rate_times(s->rate_Bps, exponent * (CC_EXPONENT_UNIT / CC_POLICY_ONE));
	s->cwnd_pkts = cc_cwnd_of_rate(s->rate_Bps, s->p.cwnd_gain, v);
}

CC_INLINE void learned_on_ack(struct learned *s, const struct cc_view *v, struct cc_decision *d)
{
	struct cc_interval interval;

	if (cc_monitor_on_ack(&s->monitor, v, &interval))
		learned_act(s, &interval, v);
	learned_decide(s, v, d);
}

CC_INLINE void learned_on_event(struct learned *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)event;
	learned_decide(s, v, d);
}

CC_INLINE void learned_init(struct learned *s, const struct learned_params *p, const struct cc_view *v,
			   struct cc_decision *d)
{
	s->p = *p;
	s->cwnd_pkts = v->cwnd_pkts;
	s->rate_Bps = cc_first_rate(v);
	cc_monitor_start(&s->monitor, p->interval_us, v);
	d->ssthresh_pkts = CC_INFINITE;
	learned_decide(s, v, d);
}

CC_INLINE void learned_observe(const struct learned *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = s->monitor.min_rtt_us;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = CC_PHASE_FIXED;
}

#endif
