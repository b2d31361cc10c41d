/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * An algorithm of this folder is a sound one with one fault. NAME has the parameters, and as `sound` the state, of the
 * algorithm PARENT; what is not the fault comes from here and only calls PARENT.
 */
#ifndef BAD_FRAME_H
#define BAD_FRAME_H

#include "contract/contract.h"

#define FRAME_PARAMS(name, parent)                                                                                     \
	struct name##_params {                                                                                         \
		struct parent##_params sound;                                                                          \
	};

#define FRAME_INIT(name, parent)                                                                                       \
	CC_INLINE void name##_init(struct name *s, const struct name##_params *p, const struct cc_view *v,             \
				   struct cc_decision *d)                                                              \
	{                                                                                                              \
		parent##_init(&s->sound, &p->sound, v, d);                                                             \
	}

#define FRAME_ON_ACK(name, parent)                                                                                     \
	CC_INLINE void name##_on_ack(struct name *s, const struct cc_view *v, struct cc_decision *d)                   \
	{                                                                                                              \
		parent##_on_ack(&s->sound, v, d);                                                                      \
	}

#define FRAME_ON_EVENT(name, parent)                                                                                   \
	CC_INLINE void name##_on_event(struct name *s, u32 event, const struct cc_view *v, struct cc_decision *d)      \
	{                                                                                                              \
		parent##_on_event(&s->sound, event, v, d);                                                             \
	}

#define FRAME_OBSERVE(name, parent)                                                                                    \
	CC_INLINE void name##_observe(const struct name *s, struct cc_observation *o)                                  \
	{                                                                                                              \
		parent##_observe(&s->sound, o);                                                                        \
	}

#endif
