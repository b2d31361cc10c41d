/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What can be set about BBRv1 and its variants: the model and its gains, and what Linux has changed since 4.9.
 *
 * The second list makes bbr1.h the algorithm of any kernel in between, and shows what each change does. The papers that the
 * variants come from measured 4.9. When the changes came:
 *
 *	first_rtt_sets_rate, keep_rate_until_full   4.13   before, the rate began with an RTT of 1 ms
 *	undo_forgets                                4.15   together with a latch for "the pipe is full"; before, the
 *	                                                   count of rounds, which nothing had reset, stood for it
 *	lt_cycle, min_rtt_by_delayed                4.16
 *	export_ssthresh, idle_until_delivered       4.17
 *	probe_rtt_caps_always, idle_ends_probe_rtt  4.19
 *	probe_more_pkts                             4.19   for the window, 5.4 for what is to be in flight
 *	look_ahead, pacing_margin                   4.20   with pacing by departure time. Before, the pacer (sch_fq) counted
 *	                                                   the link's headers against a rate that had been computed
 *	                                                   without them: a margin of 0.9 % on Ethernet, 14 bytes of 1514
 *	extra_acked_gain                            5.1
 *	min_rtt_by_equal                            5.10
 *	lt_clock_us                                 jiffies at first, 4 ms at HZ=250
 */
#ifndef CC_BBR1_PARAMETERS_H
#define CC_BBR1_PARAMETERS_H

#include "contract/params.h"

#define bbr1_model_parameters(P)                                                                                       \
	P(startup_gain, 739, 257, 2560, CC_UNIT_GAIN,                                                                  \
	  "pacing and cwnd gain in STARTUP; 2/ln 2 is the least that doubles the delivery rate each round")            \
	P(drain_gain, 88, 16, 255, CC_UNIT_GAIN,                                                                       \
	  "pacing gain in DRAIN; 1/startup_gain drains STARTUP's queue in a round")                                    \
	P(probe_up_gain, 320, 257, 1024, CC_UNIT_GAIN, "pacing gain while probing for bandwidth")                      \
	P(probe_down_gain, 192, 16, 255, CC_UNIT_GAIN, "pacing gain of the phase after probing")                       \
	P(cwnd_gain, 512, 256, 2560, CC_UNIT_GAIN,                                                                     \
	  "cwnd in PROBE_BW as a multiple of the BDP; 2 leaves room for delayed and aggregated ACKs")                  \
	P(bw_window_rounds, 10, 1, 1000, CC_UNIT_ROUNDS,                                                               \
	  "rounds over which bw is the maximum; more than one gain cycle")                                             \
	P(min_rtt_window_us, 10000000, 100000, 600000000, CC_UNIT_US, "time without a new minimum before PROBE_RTT")   \
	P(probe_rtt_us, 200000, 1000, 10000000, CC_UNIT_US, "least time in PROBE_RTT")                                 \
	P(min_cwnd_pkts, 4, 1, 100, CC_UNIT_PKTS, "least cwnd; 4 keeps ACKs flowing past a receiver that delays them") \
	P(full_bw_gain, 320, 257, 1024, CC_UNIT_GAIN, "growth of bw that shows that the pipe is not full")             \
	P(full_bw_rounds, 3, 1, 100, CC_UNIT_ROUNDS, "rounds without such growth that show that it is")                \
	P(pacing_margin, 10000, 0, 500000, CC_UNIT_PPM, "pace this much below bw, so that queues drain over time")     \
	P(extra_acked_gain, 256, 0, 2560, CC_UNIT_GAIN, "cwnd added per packet of ACK aggregation seen; 0: none")      \
	P(extra_acked_max_us, 100000, 0, 1000000, CC_UNIT_US, "no more than bw times this is added for aggregation")   \
	P(lt_bw, 1, 0, 1, CC_UNIT_BOOL, "detect token-bucket policers and use their rate")

/* Linux 4.9 to 6.18: the default is how it is now. */
#define bbr1_later_parameters(P)                                                                                       \
	P(first_rtt_sets_rate, 1, 0, 1, CC_UNIT_BOOL, "begin anew with pacing when the first RTT is known")            \
	P(keep_rate_until_full, 1, 0, 1, CC_UNIT_BOOL,                                                                 \
	  "until the pipe has been full the pacing rate never falls; 0: in STARTUP it does not")                       \
	P(probe_more_pkts, 2, 0, 100, CC_UNIT_PKTS,                                                                    \
	  "added to the window and to what is to be in flight while probing, for tiny BDPs")                           \
	P(look_ahead, 1, 0, 1, CC_UNIT_BOOL,                                                                           \
	  "count what will be in the network at the next departure; 0: what is in flight")                             \
	P(min_rtt_by_equal, 0, 0, 1, CC_UNIT_BOOL, "an RTT equal to min_rtt confirms it")                              \
	P(min_rtt_by_delayed, 0, 0, 1, CC_UNIT_BOOL,                                                                   \
	  "an expired min_rtt is replaced even by an ACK that the receiver held back")                                 \
	P(idle_until_delivered, 1, 0, 1, CC_UNIT_BOOL, "idle time ends when something is delivered; 0: with any ACK")  \
	P(idle_ends_probe_rtt, 1, 0, 1, CC_UNIT_BOOL, "PROBE_RTT may end when sending resumes after idle time")        \
	P(probe_rtt_caps_always, 1, 0, 1, CC_UNIT_BOOL,                                                                \
	  "PROBE_RTT bounds cwnd on every ACK; 0: on those that acknowledge something")                                \
	P(undo_forgets, 1, 0, 1, CC_UNIT_BOOL, "an undo forgets the growth of bw and policers")                        \
	P(export_ssthresh, 1, 0, 1, CC_UNIT_BOOL,                                                                      \
	  "ssthresh shows the BDP at the end of STARTUP; nothing depends on it")                                       \
	P(lt_cycle, 1, 0, 1, CC_UNIT_BOOL, "the gain cycle goes on, unseen, while a policer's rate is in use")         \
	P(lt_clock_us, 1000, 1, 100000, CC_UNIT_US, "resolution of the clock of policer detection")

#define bbr1_parameters(P) bbr1_model_parameters(P) bbr1_later_parameters(P)

struct bbr1_params {
	bbr1_parameters(CC_PARAM_FIELD)
};

#endif
