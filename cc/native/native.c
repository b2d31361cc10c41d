/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * All algorithms as one translation unit with a plain C interface: the table of what exists, and one function per
 * entry point that dispatches on the algorithm's number with a switch. Everything here is derived from
 * algorithms.def. A macro cannot generate an #include, so the build adds one `-include NAME.h` per line of the
 * list to the compiler's command line.
 *
 * The caller owns the state: CC_NATIVE_STATE_BYTES bytes, aligned to 8, zeroed before init.
 */
#include <stddef.h>

#include "contract/contract.h"
#include "contract/params.h"

#include "layout.h"

enum cc_native_id {
#define CC_ALGORITHM(name, kind, title, source) CC_NATIVE_##name,
#include "algorithms.def"
#undef CC_ALGORITHM
	CC_NATIVE_COUNT
};

struct cc_native_parameter {
	const char *name;
	const char *what;
	u32 dflt;
	u32 least;
	u32 most;
	u32 unit; /* enum cc_unit */
};

struct cc_native_algorithm {
	const char *name;
	const char *title;
	const char *source;
	const struct cc_native_parameter *parameters;
	u32 parameter_count;
	u32 state_bytes;
	u32 kind; /* enum cc_kind */
};

/* What the caller's fixed sizes must hold, and the layout that makes parameters an array of u32. */
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	_Static_assert(sizeof(struct name) <= CC_NATIVE_STATE_BYTES, #name ": state too large");                       \
	_Static_assert(_Alignof(struct name) <= 8, #name ": state needs an alignment above 8");                        \
	_Static_assert(sizeof(struct name##_params) <= CC_NATIVE_MAX_PARAMETERS * sizeof(u32),                         \
		       #name ": too many parameters");
#include "algorithms.def"
#undef CC_ALGORITHM

#define CC_PARAM_ROW(name, dflt, least, most, unit, what) { #name, what, dflt, least, most, unit },
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	static const struct cc_native_parameter name##_rows[] = { name##_parameters(CC_PARAM_ROW) };                   \
	_Static_assert(sizeof(name##_rows) / sizeof(name##_rows[0]) * sizeof(u32) == sizeof(struct name##_params),     \
		       #name ": struct " #name "_params is not its parameter list");
#include "algorithms.def"
#undef CC_ALGORITHM

static const struct cc_native_algorithm algorithms[] = {
#define CC_ALGORITHM(name_, kind_, title_, source_)                                                                    \
	{                                                                                                              \
		.name = #name_,                                                                                        \
		.title = title_,                                                                                       \
		.source = source_,                                                                                     \
		.parameters = name_##_rows,                                                                            \
		.parameter_count = sizeof(name_##_rows) / sizeof(name_##_rows[0]),                                     \
		.state_bytes = sizeof(struct name_),                                                                   \
		.kind = (u32)(kind_),                                                                                  \
	},
#include "algorithms.def"
#undef CC_ALGORITHM
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
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	case CC_NATIVE_##name:                                                                                         \
		name##_init(state, (const struct name##_params *)params, v, d);                                        \
		break;
#include "algorithms.def"
#undef CC_ALGORITHM
	}
}

void cc_native_on_ack(u32 id, void *state, const struct cc_view *v, struct cc_decision *d)
{
	switch (id) {
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	case CC_NATIVE_##name:                                                                                         \
		name##_on_ack(state, v, d);                                                                            \
		break;
#include "algorithms.def"
#undef CC_ALGORITHM
	}
}

void cc_native_on_event(u32 id, void *state, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	switch (id) {
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	case CC_NATIVE_##name:                                                                                         \
		name##_on_event(state, event, v, d);                                                                   \
		break;
#include "algorithms.def"
#undef CC_ALGORITHM
	}
}

void cc_native_observe(u32 id, const void *state, struct cc_observation *o)
{
	switch (id) {
#define CC_ALGORITHM(name, kind, title, source)                                                                        \
	case CC_NATIVE_##name:                                                                                         \
		name##_observe(state, o);                                                                              \
		break;
#include "algorithms.def"
#undef CC_ALGORITHM
	}
}
