/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The layout of the contract's structs and the values of its enums as data, so that a binding in another language
 * can test its own declarations against them. A field that is missing here shows in that test as a gap.
 */
#ifndef CC_NATIVE_LAYOUT_H
#define CC_NATIVE_LAYOUT_H

#include <stddef.h>

#include "lib/clamp.h"
#include "contract/contract.h"
#include "contract/params.h"

#include "lib/action.h"
#include "lib/monitor.h"
#include "lib/policy.h"

#define CC_VIEW_FIELDS(X)                                                                                              \
	X(cc_view, now_us)                                                                                             \
	X(cc_view, delivered_us)                                                                                       \
	X(cc_view, pacing_rate_Bps)                                                                                    \
	X(cc_view, max_pacing_rate_Bps)                                                                                \
	X(cc_view, mss_bytes)                                                                                          \
	X(cc_view, cwnd_pkts)                                                                                          \
	X(cc_view, prior_cwnd_pkts)                                                                                    \
	X(cc_view, ssthresh_pkts)                                                                                      \
	X(cc_view, inflight_pkts)                                                                                      \
	X(cc_view, delivered_pkts)                                                                                     \
	X(cc_view, lost_pkts)                                                                                          \
	X(cc_view, delivered_ce_pkts)                                                                                  \
	X(cc_view, max_inflight_pkts)                                                                                  \
	X(cc_view, snd_una)                                                                                            \
	X(cc_view, snd_nxt)                                                                                            \
	X(cc_view, srtt_us)                                                                                            \
	X(cc_view, min_rtt_us)                                                                                         \
	X(cc_view, departure_lead_us)                                                                                  \
	X(cc_view, random)                                                                                             \
	X(cc_view, ca_state)                                                                                           \
	X(cc_view, pacing_shift)                                                                                       \
	X(cc_view, paced)                                                                                              \
	X(cc_view, cwnd_limited)                                                                                       \
	X(cc_view, app_limited)                                                                                        \
	X(cc_view, ecn)                                                                                                \
	X(cc_view, is_app_limited)                                                                                     \
	X(cc_view, is_ack_delayed)                                                                                     \
	X(cc_view, is_ece)                                                                                             \
	X(cc_view, is_probe_ack)                                                                                       \
	X(cc_view, reserved)                                                                                           \
	X(cc_view, sample_delivered_pkts)                                                                              \
	X(cc_view, sample_interval_us)                                                                                 \
	X(cc_view, rtt_us)                                                                                             \
	X(cc_view, sample_prior_delivered_pkts)                                                                        \
	X(cc_view, prior_inflight_pkts)                                                                                \
	X(cc_view, acked_pkts)                                                                                         \
	X(cc_view, losses_pkts)                                                                                        \
	X(cc_view, sample_inflight_pkts)                                                                               \
	X(cc_view, sample_lost_pkts)                                                                                   \
	X(cc_view, sample_delivered_ce_pkts)                                                                           \
	X(cc_view, sample_end_seq)                                                                                     \
	X(cc_view, reserved_2)
#define CC_DECISION_FIELDS(X)                                                                                          \
	X(cc_decision, pacing_rate_Bps)                                                                                \
	X(cc_decision, cwnd_pkts)                                                                                      \
	X(cc_decision, ssthresh_pkts)                                                                                  \
	X(cc_decision, app_limited_until_pkts)                                                                         \
	X(cc_decision, min_burst_pkts)
#define CC_OBSERVATION_FIELDS(X)                                                                                       \
	X(cc_observation, bw_Bps)                                                                                      \
	X(cc_observation, min_rtt_us)                                                                                  \
	X(cc_observation, pacing_gain_256)                                                                             \
	X(cc_observation, cwnd_gain_256)                                                                               \
	X(cc_observation, phase)
#define CC_INTERVAL_FIELDS(X)                                                                                          \
	X(cc_interval, rtt_sum_us)                                                                                     \
	X(cc_interval, rtt_samples)                                                                                    \
	X(cc_interval, rtt_least_us)                                                                                   \
	X(cc_interval, min_rtt_us)                                                                                     \
	X(cc_interval, duration_us)                                                                                    \
	X(cc_interval, acks)                                                                                           \
	X(cc_interval, delivered_pkts)                                                                                 \
	X(cc_interval, lost_pkts)                                                                                      \
	X(cc_interval, ce_pkts)                                                                                        \
	X(cc_interval, sent_pkts)                                                                                      \
	X(cc_interval, inflight_pkts)                                                                                  \
	X(cc_interval, mss_bytes)                                                                                      \
	X(cc_interval, reserved)
#define CC_ACTION_FIELDS(X)                                                                                            \
	X(cc_action, form)                                                                                             \
	X(cc_action, rate_Bps)                                                                                         \
	X(cc_action, cwnd_pkts)                                                                                        \
	X(cc_action, exponent)
#define CC_VALUES(X)                                                                                                   \
	X(CC_CA_OPEN)                                                                                                  \
	X(CC_CA_DISORDER)                                                                                              \
	X(CC_CA_CWR)                                                                                                   \
	X(CC_CA_RECOVERY)                                                                                              \
	X(CC_CA_LOSS)                                                                                                  \
	X(CC_EVENT_SAMPLE)                                                                                             \
	X(CC_EVENT_REDUCE)                                                                                             \
	X(CC_EVENT_CA_STATE)                                                                                           \
	X(CC_EVENT_RESTART)                                                                                            \
	X(CC_EVENT_UNDO)                                                                                               \
	X(CC_EVENT_LOST)                                                                                               \
	X(CC_EVENT_PROBE_REPAIRED)                                                                                     \
	X(CC_OWNS_CWND)                                                                                                \
	X(CC_GROWS_CWND)                                                                                               \
	X(CC_TRACKS_SENDS)                                                                                             \
	X(CC_UNIT_GAIN)                                                                                                \
	X(CC_UNIT_US)                                                                                                  \
	X(CC_UNIT_PKTS)                                                                                                \
	X(CC_UNIT_ROUNDS)                                                                                              \
	X(CC_UNIT_COUNT)                                                                                               \
	X(CC_UNIT_PPM)                                                                                                 \
	X(CC_UNIT_BOOL)                                                                                                \
	X(CC_UNIT_BPS)                                                                                                 \
	X(CC_UNIT_FRACTION)                                                                                            \
	X(CC_PHASE_COUNT)                                                                                              \
	X(CC_INFINITE)                                                                                                 \
	X(CC_NO_RTT)                                                                                                   \
	X(CC_MIN_BURST_PKTS)                                                                                           \
	X(CC_MOST_TCP_CWND_PKTS)                                                                                       \
	X(CC_FLOOR_MOST_BPS)                                                                                           \
	X(CC_BOUNDS_GROWS)                                                                                             \
	X(CC_BOUNDS_SLOW)                                                                                              \
	X(CC_BOUNDS_REDUCES)                                                                                           \
	X(CC_BOUNDS_RESTARTS)                                                                                          \
	X(CC_CLAMP_CWND)                                                                                               \
	X(CC_CLAMP_SSTHRESH)                                                                                           \
	X(CC_CLAMP_PACING)                                                                                             \
	X(CC_CLAMP_BURST)                                                                                              \
	X(CC_CLAMP_APP_LIMITED)                                                                                        \
	X(CC_CLAMP_COUNT)                                                                                              \
	X(CC_ACTION_NONE)                                                                                              \
	X(CC_ACTION_ABSOLUTE)                                                                                          \
	X(CC_ACTION_FACTOR)                                                                                            \
	X(CC_EXPONENT_UNIT)                                                                                            \
	X(CC_ACTION_LEAST_BPS)                                                                                         \
	X(CC_ACTION_MOST_BPS)                                                                                          \
	X(CC_ACTION_MOST_CWND_PKTS)                                                                                    \
	X(CC_FEATURES)

struct cc_native_number {
	const char *name;
	u32 value; /* an offset, a size, or the value of a constant */
	u32 bytes; /* of a field; 0 otherwise */
};

static const struct cc_native_number cc_native_numbers[] = {
#define CC_FIELD(type, field) { #type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field) },
#define CC_SIZE(type)	      { "sizeof " #type, sizeof(struct type), 0 },
#define CC_VALUE(name)	      { #name, (u32)(name), 0 },
#define CC_PHASE_VALUE(name)  CC_VALUE(CC_PHASE_##name)
	CC_VIEW_FIELDS(CC_FIELD) CC_SIZE(cc_view) CC_DECISION_FIELDS(CC_FIELD) CC_SIZE(cc_decision)
		CC_OBSERVATION_FIELDS(CC_FIELD) CC_SIZE(cc_observation) CC_INTERVAL_FIELDS(CC_FIELD)
			CC_SIZE(cc_interval) CC_ACTION_FIELDS(CC_FIELD) CC_SIZE(cc_action) CC_VALUES(CC_VALUE)
				CC_PHASES(CC_PHASE_VALUE)
};

const struct cc_native_number *cc_native_layout(u32 *count);
const struct cc_native_number *cc_native_layout(u32 *count)
{
	*count = sizeof(cc_native_numbers) / sizeof(cc_native_numbers[0]);
	return cc_native_numbers;
}

#endif
