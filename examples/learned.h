/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A policy trained by the notebook train-and-judge-a-controller
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

/* As agent, of which this is one: lib/clamp.h. */
#define learned_paces_below_a_packet 1

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
		{ 162, 95, 64, -317, 464, -28, -307, 123 },
		{ -49, -212, 106, 159, -254, -246, -40, 281 },
		{ 167, 5, 265, -23, -592, -800, 604, -187 },
		{ -867, -1663, -254, 22, 676, 316, 49, -284 },
		{ 274, 512, 651, -28, 80, -263, -288, -618 },
		{ -143, -220, 18, 69, -152, -32, -324, 507 },
		{ -154, 326, 16, 51, -106, -64, 729, 172 },
		{ 722, -253, 183, 208, -166, 224, -257, -469 },
		{ -319, 152, 421, 70, -417, 371, 390, -264 },
		{ -148, -238, 371, 77, 712, -637, 276, 129 },
		{ -110, 477, -18, -683, -55, 210, 21, 134 },
		{ -116, 109, 371, -194, -167, 550, 130, -65 },
		{ 36, 110, 96, -118, -649, 519, 364, -543 },
		{ -29, -390, 411, -674, 416, 133, 58, -302 },
		{ 366, 509, -664, -176, -59, -10, 201, -117 },
		{ -209, -181, -441, 195, 1022, -381, 71, 185 },
	},
	.second = {
		{ 210, 356, 47, -972, -72, -214, -846, -477, -716, -519, 301, -93, 251, 434, 571, -456, -45 },
		{ -615, -375, -111, 112, -242, 87, -603, -91, 285, -198, 596, -415, 173, 6, 160, -667, -321 },
		{ -115, -62, -170, -144, 445, 154, -45, -627, 0, 389, 555, -454, -87, 286, -142, -172, 275 },
		{ 491, -353, 266, 332, 937, 719, -196, -318, -675, -45, -667, -553, 366, 443, -573, 163, -347 },
		{ 279, -136, 321, -203, 904, -263, -274, -71, 496, 16, -464, 279, -417, 252, -311, 185, -344 },
		{ -245, 226, -20, 770, 349, -918, -139, -32, 174, -460, -420, -1122, -258, -394, 294, -240, -588 },
		{ -208, 334, -992, -407, 905, 321, -583, 1162, -17, -193, -406, 125, 183, 238, -425, -263, 222 },
		{ 23, -8, -170, 14, 132, -317, -53, 26, -275, -57, 71, 233, -572, -183, 342, -189, -400 },
		{ 318, -1307, 236, 220, 287, 244, 104, 130, -599, 705, -129, -141, 350, 93, -351, 143, 252 },
		{ 68, -360, 695, -212, -155, -580, -360, 1, -292, -433, -719, -320, 265, -594, 62, -200, -150 },
		{ 275, -316, -61, -681, 413, 133, -459, -441, 384, 88, 404, 233, 157, 194, 524, 65, 84 },
		{ 337, -480, -389, -163, -141, 370, -830, -738, -407, 55, -112, -327, -58, 65, -100, 330, 97 },
		{ 460, -43, 198, -115, 297, 24, -523, -508, -284, 232, 540, -50, -753, 237, 354, -114, -23 },
		{ 218, 215, -228, -41, 49, 190, -753, 93, -395, 331, -183, 126, 180, -404, -91, 398, 223 },
		{ 29, -653, -355, -451, 915, -237, -341, 300, -476, -652, -185, 323, -145, 477, 60, 578, -604 },
		{ 68, 360, 151, -641, -318, -177, 333, -152, -272, -369, 371, 185, 320, -62, 47, -707, 527 },
	},
	.last = { -106, 345, -11, 361, -519, -71, 342, -163, 298, -477, -219, 132, 48, -216, 64, -443, 83 },
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
