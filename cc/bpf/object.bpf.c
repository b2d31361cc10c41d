/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One algorithm as a tcp_congestion_ops for the running kernel. Compiled once per line of algorithms.def:
 *
 *   clang -target bpf -include NAME.h -DCC_NAME=NAME -DCC_LISTED_NAME=NAME -DCC_OWNS=1 -DCC_TRACKS=0
 *
 * CC_OWNS is 0 for CC_GROWS_CWND, CC_TRACKS is 1 for CC_TRACKS_SENDS. For a preset CC_NAME is the algorithm that it
 * sets, CC_LISTED_NAME its own name, and CC_SETTINGS(S) the defaults that it changes: S(parameter, raw value) for each.
 *
 * The state of a flow is in socket storage, for every algorithm: it has room for any state, observers can read it
 * (`ss --bpf-maps`), and it is freed with the socket. It is created by init, or by the first ACK if that comes
 * before init (the ACK of a SYN-ACK can), and deleted when the socket changes its algorithm.
 *
 * Two hooks have two signatures, for kernels before and after a change. The loader keeps the one that matches the
 * BTF of the running kernel.
 */
#include "flow.h"

#define CC_SETTING(name, raw) .name = (u32)((raw) + 0.5),
#ifndef CC_SETTINGS
#define CC_SETTINGS(S)
#endif

/* For CC_SETTINGS: the raw values of 1 and of 1 %, which depend on the unit of the parameter. */
#define CC_UNIT_OF(name, dflt, least, most, unit, what, why) CC_UNIT_OF_##name = (unit),
enum { CC_PARAMETERS(CC_UNIT_OF) };
#define CC_ONE(name)                                                                                                   \
	(CC_UNIT_OF_##name == CC_UNIT_GAIN     ? 1.0 * CC_GAIN_UNIT :                                                  \
	 CC_UNIT_OF_##name == CC_UNIT_FRACTION ? 1.0 * CC_FRACTION_UNIT :                                              \
						 1.0)
#define CC_ONE_PERCENT(name) (CC_UNIT_OF_##name == CC_UNIT_PPM ? 10000.0 : CC_ONE(name) / 100)

/* GPL-compatible, as the verifier demands of a tcp_congestion_ops */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the loader before load. The verifier sees constants and drops the branches that they exclude. */
struct cc_config {
	u32 may_set_app_limited; /* this kernel lets BPF write tcp_sock.app_limited (6.4) */
	u32 testing;		 /* enum cc_testing */
	struct cc_params params;
};
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winitializer-overrides" /* a setting replaces the default before it */
const volatile struct cc_config cc_config SEC(".rodata.config") = {
	.may_set_app_limited = 1,
	.params = { CC_PARAMETERS(CC_DEFAULT) CC_SETTINGS(CC_SETTING) },
};
#pragma clang diagnostic pop

struct cc_counters cc_counters;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct cc_flow);
} CC_FLOWS SEC(".maps");

static __always_inline const CC_PARAMS *cc_params(struct sock *sk)
{
	const CC_PARAMS *params = (const CC_PARAMS *)&cc_config.params;

	barrier_var(params); /* or the compiler would fold the defaults at build time */
	return params;
}

static __always_inline struct cc_flow *cc_storage(struct sock *sk, u64 flags)
{
	if (cc_config.testing & CC_TESTING_NO_STORAGE)
		return NULL;
	return bpf_sk_storage_get(&CC_FLOWS, sk, NULL, flags);
}

static __always_inline void cc_storage_delete(struct sock *sk) { bpf_sk_storage_delete(&CC_FLOWS, sk); }

#include "hooks.h"

/* ---- the test of parity ---- */
#include "replay.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cc_replay);
} cc_replay_map SEC(".maps");

SEC("?syscall")
int replay(void *ctx)
{
	u32 key = 0;
	struct cc_replay *r = bpf_map_lookup_elem(&cc_replay_map, &key);

	if (!r)
		return 1;
	cc_replay_call(r, cc_params(NULL));
	return 0;
}
