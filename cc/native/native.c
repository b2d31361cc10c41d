/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * All algorithms as one translation unit with a plain C interface: the table of algorithms, and one function per
 * entry point that dispatches on the number of the algorithm. Everything is derived from algorithms.def. A macro
 * cannot generate an #include, so the build adds one `-include NAME.h` per line of the list to the command line of
 * the compiler.
 *
 * The caller owns the state of a flow: CC_NATIVE_STATE_BYTES bytes, aligned to 8, zeroed before init.
 */
#include <stddef.h>

#include "lib/clamp.h"
#include "contract/contract.h"
#include "contract/params.h"

#include "lib/sends.h"
#include "layout.h"

enum cc_native_id {
#define CC_ALGORITHM(name, kind, title, source)		    CC_NATIVE_##name,
#define CC_PRESET(name, algorithm, title, source, settings) CC_NATIVE_##name,
#include "algorithms.def"
	CC_NATIVE_COUNT
};

struct cc_native_parameter {
	const char *name;
	const char *what;
	const char *why;
	u32 dflt;
	u32 least;
	u32 most;
	u32 unit; /* enum cc_unit */
};

struct cc_native_algorithm {
	const char *name;
	const char *title;
	const char *source;
	const char *algorithm; /* of a preset; its own name otherwise */
	const char *settings;  /* of a preset: parameter=value, separated by spaces */
	const struct cc_native_parameter *parameters;
	u32 parameter_count;
	u32 state_bytes;
	u32 kind;   /* enum cc_kind */
	u32 bounds; /* a set of enum cc_bounds */
};

/* The sizes that the caller reserves must suffice. */
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	_Static_assert(sizeof(struct name) <= CC_NATIVE_STATE_BYTES, #name ": state too large");                       \
	_Static_assert(_Alignof(struct name) <= 8, #name ": state needs an alignment above 8");                        \
	_Static_assert(sizeof(struct name##_params) <= CC_NATIVE_MAX_PARAMETERS * sizeof(u32),                         \
		       #name ": too many parameters");
#include "algorithms.def"

#define CC_PARAM_ROW(name, dflt, least, most, unit, what, why) { #name, what, why, dflt, least, most, unit },
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	static const struct cc_native_parameter name##_rows[] = { name##_parameters(CC_PARAM_ROW) };                   \
	_Static_assert(sizeof(name##_rows) / sizeof(name##_rows[0]) * sizeof(u32) == sizeof(struct name##_params),     \
		       #name ": struct " #name "_params is not its parameter list");
#include "algorithms.def"

enum {
#define CC_ALGORITHM(name, kind, title, source) CC_KIND_##name = (kind),
#include "algorithms.def"
};
enum {
#define CC_ALGORITHM(name, kind, title, source) CC_SLOW_##name = CC_IS_1(name##_paces_below_a_packet),
#include "algorithms.def"
};

#define CC_ROW(name_, algorithm_, title_, source_, settings_)                                                          \
	{                                                                                                              \
		.name = #name_,                                                                                        \
		.title = title_,                                                                                       \
		.source = source_,                                                                                     \
		.algorithm = #algorithm_,                                                                              \
		.settings = settings_,                                                                                 \
		.parameters = algorithm_##_rows,                                                                       \
		.parameter_count = sizeof(algorithm_##_rows) / sizeof(algorithm_##_rows[0]),                           \
		.state_bytes = sizeof(struct algorithm_),                                                              \
		.kind = (u32)CC_KIND_##algorithm_,                                                                     \
		.bounds = ((int)CC_KIND_##algorithm_ == CC_GROWS_CWND ? CC_BOUNDS_GROWS : 0u) |                        \
			  (CC_SLOW_##algorithm_ ? CC_BOUNDS_SLOW : 0u),                                                \
	},
static const struct cc_native_algorithm algorithms[] = {
#define CC_ALGORITHM(name, kind, title, source)		    CC_ROW(name, name, title, source, "")
#define CC_PRESET(name, algorithm, title, source, settings) CC_ROW(name, algorithm, title, source, settings)
#include "algorithms.def"
};

const struct cc_native_algorithm *cc_native_algorithms(u32 *count);
void cc_native_init(u32 id, void *state, const u32 *params, const struct cc_view *v, struct cc_decision *d);
void cc_native_on_ack(u32 id, void *state, const struct cc_view *v, struct cc_decision *d);
void cc_native_on_event(u32 id, void *state, u32 event, const struct cc_view *v, struct cc_decision *d);
void cc_native_observe(u32 id, const void *state, struct cc_observation *o);

const struct cc_native_algorithm *cc_native_algorithms(u32 *count)
{
	*count = CC_NATIVE_COUNT;
	return algorithms;
}

void cc_native_init(u32 id, void *state, const u32 *params, const struct cc_view *v, struct cc_decision *d)
{
	switch (id) {
#define CC_CASE(name, algorithm)                                                                                       \
	case CC_NATIVE_##name:                                                                                         \
		algorithm##_init(state, (const struct algorithm##_params *)params, v, d);                              \
		break;
#define CC_ALGORITHM(name, kind, title, source)		    CC_CASE(name, name)
#define CC_PRESET(name, algorithm, title, source, settings) CC_CASE(name, algorithm)
#include "algorithms.def"
#undef CC_CASE
	}
}

/* Functions of their own: the switch below is a jump then, and saves no registers for all that any of them may need. */
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	static __attribute__((noinline)) void name##_on_ack_alone(struct name *s, const struct cc_view *v,             \
								  struct cc_decision *d)                               \
	{                                                                                                              \
		name##_on_ack(s, v, d);                                                                                \
	}
#define CC_PRESET(name, algorithm, title, source, settings)
#include "algorithms.def"

void cc_native_on_ack(u32 id, void *state, const struct cc_view *v, struct cc_decision *d)
{
	switch (id) {
#define CC_CASE(name, algorithm)                                                                                       \
	case CC_NATIVE_##name:                                                                                         \
		algorithm##_on_ack_alone(state, v, d);                                                                 \
		break;
#define CC_ALGORITHM(name, kind, title, source)		    CC_CASE(name, name)
#define CC_PRESET(name, algorithm, title, source, settings) CC_CASE(name, algorithm)
#include "algorithms.def"
#undef CC_CASE
	}
}

void cc_native_on_event(u32 id, void *state, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (id) {
#define CC_CASE(name, algorithm)                                                                                       \
	case CC_NATIVE_##name:                                                                                         \
		algorithm##_on_event(state, event, v, d);                                                              \
		break;
#define CC_ALGORITHM(name, kind, title, source)		    CC_CASE(name, name)
#define CC_PRESET(name, algorithm, title, source, settings) CC_CASE(name, algorithm)
#include "algorithms.def"
#undef CC_CASE
	}
}

void cc_native_observe(u32 id, const void *state, struct cc_observation *o)
{
	switch (id) {
#define CC_CASE(name, algorithm)                                                                                       \
	case CC_NATIVE_##name:                                                                                         \
		algorithm##_observe(state, o);                                                                         \
		break;
#define CC_ALGORITHM(name, kind, title, source)		    CC_CASE(name, name)
#define CC_PRESET(name, algorithm, title, source, settings) CC_CASE(name, algorithm)
#include "algorithms.def"
#undef CC_CASE
	}
}

/* ---- agent: what its environment reads and hands in; a library of one header has no agent ---- */

#ifdef CC_AGENT_H
void cc_native_agent_read(const struct agent *s, u64 now_us, struct cc_interval *i);
void cc_native_agent_act(struct agent *s, const struct cc_action *a);
void cc_native_agent_features(const struct agent *s, const struct cc_interval *i, s32 *features);

void cc_native_agent_read(const struct agent *s, u64 now_us, struct cc_interval *i)
{
	cc_monitor_read(&s->monitor, now_us, i);
}

void cc_native_agent_act(struct agent *s, const struct cc_action *a) { s->action = *a; }

/* features has CC_FEATURES numbers. */
void cc_native_agent_features(const struct agent *s, const struct cc_interval *i, s32 *features)
{
	cc_features(i, s->rate_Bps, features);
}
#endif

/* ---- the ring of lib/sends.h ---- */

_Static_assert(sizeof(struct cc_sends) == CC_NATIVE_SENDS_BYTES,
	       "the caller reserves another size for struct cc_sends");

void cc_native_sends_start(struct cc_sends *r, const struct cc_view *v);
void cc_native_sends_note(struct cc_sends *r, const struct cc_view *v, u32 delivered_pkts, u32 lost_pkts,
			  u32 inflight_pkts);
void cc_native_sends_note_losses(struct cc_sends *r, const struct cc_view *v);
void cc_native_sends_sample(const struct cc_sends *r, struct cc_view *v, bool retransmitted);
void cc_native_sends_lost(struct cc_sends *r, struct cc_view *v, u32 end_seq, bool sample_retransmitted);
bool cc_native_sends_is_retransmitted(const struct cc_sends *r, const struct cc_view *v);

void cc_native_sends_start(struct cc_sends *r, const struct cc_view *v) { cc_sends_start(r, v); }

void cc_native_sends_note(struct cc_sends *r, const struct cc_view *v, u32 delivered_pkts, u32 lost_pkts,
			  u32 inflight_pkts)
{
	cc_sends_note(r, v, delivered_pkts, lost_pkts, inflight_pkts);
}

void cc_native_sends_note_losses(struct cc_sends *r, const struct cc_view *v) { cc_sends_note_losses(r, v); }

void cc_native_sends_sample(const struct cc_sends *r, struct cc_view *v, bool retransmitted)
{
	cc_sends_sample(r, v, retransmitted);
}

void cc_native_sends_lost(struct cc_sends *r, struct cc_view *v, u32 end_seq, bool sample_retransmitted)
{
	cc_sends_lost(r, v, end_seq, sample_retransmitted);
}

/*
 * Whether the sampled packet was retransmitted, by a view v with exact sample_ fields. Linux reports it; for the
 * simulator it follows from the ring: by the retransmission more had left the network than at the ACK after the
 * first transmission.
 */
bool cc_native_sends_is_retransmitted(const struct cc_sends *r, const struct cc_view *v)
{
	u32 position = cc_min_u32(cc_sends_search(r, v->sample_end_seq, true) + 1, CC_SENDS_ENTRIES - 1);
	const struct cc_sends_entry *e = CC_SENDS_AT(r, r->newest + 1 + position);

	return cc_after(v->sample_prior_delivered_pkts, e->delivered_pkts) ||
	       cc_after(v->lost_pkts - v->sample_lost_pkts, e->lost_pkts);
}
