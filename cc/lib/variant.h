/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A variant: an algorithm that replaces some stages of another one, its parent, and passes the rest on.
 *
 * A variant defines its own parameters, the stages that it replaces, and NAME_on_ack, which calls them among the stages
 * of its parent. These macros generate what is the same in every variant:
 *
 *	#define bbq_own_parameters(P)	P(alpha_us, ...) ...
 *	#define bbq_parameters(P)	bbr1_parameters(P) bbq_own_parameters(P)
 *	CC_VARIANT_PARAMS(bbq, bbr1)
 *
 *	struct bbq {
 *		struct bbr1 bbr1;		the state of the parent comes first and has its name
 *		struct bbq_own_params own;	then the variant's parameters
 *		...				then its state, which starts as zeros
 *	};
 *	... stages, bbq_on_ack ...
 *	CC_VARIANT(bbq, bbr1)			bbq_on_event, bbq_init, bbq_observe
 *
 * A variant of a variant puts its parents into a union. They all start at the same address, so that each can be named:
 * s->bbr1 and s->bbr1_drain are the same flow.
 *
 * The generated functions are inlined: an eBPF call chain has room for eight functions, and the parent needs them.
 */
#ifndef CC_VARIANT_H
#define CC_VARIANT_H

#include "contract/contract.h"
#include "contract/params.h"

/* struct NAME_params: the parameters of the parent, then NAME_own_parameters. */
#define CC_VARIANT_PARAMS(name, parent)                                                                                \
	struct name##_own_params {                                                                                     \
		name##_own_parameters(CC_PARAM_FIELD)                                                                  \
	};                                                                                                             \
	struct name##_params {                                                                                         \
		struct parent##_params parent;                                                                         \
		struct name##_own_params own;                                                                          \
	};

#define CC_VARIANT_ON_EVENT(name, parent)                                                                              \
	CC_INLINE void name##_on_event(struct name *s, u32 event, const struct cc_view *v, struct cc_decision *d)      \
	{                                                                                                              \
		parent##_on_event(&s->parent, event, v, d);                                                            \
	}

#define CC_VARIANT_INIT(name, parent)                                                                                  \
	CC_INLINE void name##_init(struct name *s, const struct name##_params *p, const struct cc_view *v,             \
				   struct cc_decision *d)                                                              \
	{                                                                                                              \
		s->own = p->own;                                                                                       \
		parent##_init(&s->parent, &p->parent, v, d);                                                           \
	}

#define CC_VARIANT_OBSERVE(name, parent)                                                                               \
	CC_INLINE void name##_observe(const struct name *s, struct cc_observation *o)                                  \
	{                                                                                                              \
		parent##_observe(&s->parent, o);                                                                       \
	}

/* All three. */
#define CC_VARIANT(name, parent)                                                                                       \
	CC_VARIANT_ON_EVENT(name, parent)                                                                              \
	CC_VARIANT_INIT(name, parent)                                                                                  \
	CC_VARIANT_OBSERVE(name, parent)

/* For a variant without parameters of its own: the same, with the parameters of the parent. */
#define CC_VARIANT_PARAMS_OF_PARENT(name, parent)                                                                      \
	struct name##_params {                                                                                         \
		struct parent##_params parent;                                                                         \
	};
#define CC_VARIANT_WITHOUT_PARAMETERS(name, parent)                                                                    \
	CC_VARIANT_ON_EVENT(name, parent)                                                                              \
	CC_INLINE void name##_init(struct name *s, const struct name##_params *p, const struct cc_view *v,             \
				   struct cc_decision *d)                                                              \
	{                                                                                                              \
		parent##_init(&s->parent, &p->parent, v, d);                                                           \
	}                                                                                                              \
	CC_VARIANT_OBSERVE(name, parent)

#endif
