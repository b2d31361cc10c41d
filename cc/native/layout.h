/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The layout of the contract's structs and the values of its enums as data, so that a binding in another language
 * can prove in a test that its own declarations agree. A field that is missing here fails that test by its gap.
 */
#ifndef CC_NATIVE_LAYOUT_H
#define CC_NATIVE_LAYOUT_H

#include <stddef.h>

#include "contract/contract.h"
#include "contract/params.h"

struct cc_native_number {
	const char *name;
	u32 value;
	u32 bytes; /* of a field; 0 for a value of an enum */
};

#define CC_FIELD(type, field) { #type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field) },
#define CC_SIZE(type)	      { "sizeof " #type, sizeof(struct type), 0 },
#define CC_VALUE(name)	      { #name, (u32)(name), 0 },
#define CC_PHASE_VALUE(name)  CC_VALUE(CC_PHASE_##name)

static const struct cc_native_number cc_native_numbers[] = {
	CC_SIZE(cc_view)
	CC_FIELD(cc_view, now_us)
	CC_FIELD(cc_view, delivered_us)
	CC_FIELD(cc_view, pacing_rate_Bps)
	CC_FIELD(cc_view, max_pacing_rate_Bps)
	CC_FIELD(cc_view, mss_bytes)
	CC_FIELD(cc_view, cwnd_pkts)
	CC_FIELD(cc_view, prior_cwnd_pkts)
	CC_FIELD(cc_view, ssthresh_pkts)
	CC_FIELD(cc_view, inflight_pkts)
	CC_FIELD(cc_view, delivered_pkts)
	CC_FIELD(cc_view, lost_pkts)
	CC_FIELD(cc_view, max_inflight_pkts)
	CC_FIELD(cc_view, snd_una)
	CC_FIELD(cc_view, snd_nxt)
	CC_FIELD(cc_view, srtt_us)
	CC_FIELD(cc_view, min_rtt_us)
	CC_FIELD(cc_view, departure_lead_us)
	CC_FIELD(cc_view, random)
	CC_FIELD(cc_view, ca_state)
	CC_FIELD(cc_view, pacing_shift)
	CC_FIELD(cc_view, paced)
	CC_FIELD(cc_view, cwnd_limited)
	CC_FIELD(cc_view, app_limited)
	CC_FIELD(cc_view, is_app_limited)
	CC_FIELD(cc_view, is_ack_delayed)
	CC_FIELD(cc_view, is_ece)
	CC_FIELD(cc_view, sample_delivered_pkts)
	CC_FIELD(cc_view, sample_interval_us)
	CC_FIELD(cc_view, rtt_us)
	CC_FIELD(cc_view, sample_prior_delivered_pkts)
	CC_FIELD(cc_view, prior_inflight_pkts)
	CC_FIELD(cc_view, acked_pkts)
	CC_FIELD(cc_view, losses_pkts)
	CC_FIELD(cc_view, reserved)
	CC_SIZE(cc_decision)
	CC_FIELD(cc_decision, pacing_rate_Bps)
	CC_FIELD(cc_decision, cwnd_pkts)
	CC_FIELD(cc_decision, ssthresh_pkts)
	CC_FIELD(cc_decision, app_limited_until_pkts)
	CC_FIELD(cc_decision, reserved)
	CC_SIZE(cc_observation)
	CC_FIELD(cc_observation, bw_Bps)
	CC_FIELD(cc_observation, min_rtt_us)
	CC_FIELD(cc_observation, pacing_gain_256)
	CC_FIELD(cc_observation, cwnd_gain_256)
	CC_FIELD(cc_observation, phase)
	CC_VALUE(CC_CA_OPEN) CC_VALUE(CC_CA_DISORDER) CC_VALUE(CC_CA_CWR) CC_VALUE(CC_CA_RECOVERY) CC_VALUE(CC_CA_LOSS)
	CC_VALUE(CC_EVENT_SAMPLE) CC_VALUE(CC_EVENT_REDUCE) CC_VALUE(CC_EVENT_CA_STATE)
	CC_VALUE(CC_EVENT_RESTART) CC_VALUE(CC_EVENT_UNDO)
	CC_VALUE(CC_OWNS_CWND) CC_VALUE(CC_GROWS_CWND)
	CC_VALUE(CC_UNIT_GAIN) CC_VALUE(CC_UNIT_US) CC_VALUE(CC_UNIT_PKTS) CC_VALUE(CC_UNIT_ROUNDS)
	CC_VALUE(CC_UNIT_COUNT) CC_VALUE(CC_UNIT_PPM) CC_VALUE(CC_UNIT_BOOL) CC_VALUE(CC_UNIT_BPS)
	CC_VALUE(CC_UNIT_FRACTION)
	CC_PHASES(CC_PHASE_VALUE)
	CC_VALUE(CC_PHASE_COUNT)
	CC_VALUE(CC_INFINITE) CC_VALUE(CC_NO_RTT)
};

const struct cc_native_number *cc_native_layout(u32 *count);
const struct cc_native_number *cc_native_layout(u32 *count)
{
	*count = sizeof(cc_native_numbers) / sizeof(cc_native_numbers[0]);
	return cc_native_numbers;
}

#endif
