/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What an algorithm that is built into a kernel (algorithm.c) tells the rest (tcp_fairpace.c). */
#ifndef CC_LINUX_FAIRPACE_H
#define CC_LINUX_FAIRPACE_H

#include <linux/list.h>
#include <net/tcp.h>

/* A congestion control that sockets can select, and the parameters of its flows, in the order of NAME_parameters. */
struct cc_instance {
	struct tcp_congestion_ops ops;
	u32 parameters[];
};

/* An algorithm of algorithms.def. */
struct cc_listed {
	struct list_head list;
	const char *name;
	const struct tcp_congestion_ops *ops; /* its kernel name, fp_NAME, included */
	const u32 *defaults;		      /* of its parameters */
	u32 parameter_count;
	const u64 *counters; /* struct cc_counters, which consists of u64 */
	u32 counter_count;
	/* a call of struct cc_replay (../bpf/replay.h) with these parameters, for replay.c */
	void (*replay)(void *of, const u32 *parameters);
	u32 replay_bytes;
};

/* Lists an algorithm, and registers an instance of it with its defaults under its kernel name. */
int cc_list(struct cc_listed *listed);

/* The algorithm of a name; NULL: there is none. */
const struct cc_listed *cc_by_name(const char *name);

#endif
