/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * LEVEL that learns for 0.9 s and keeps for ever what it has then. Each later flow finds less room.
 */
#ifndef CC_FIRSTWINS_H
#define CC_FIRSTWINS_H

#include "level.h"
#include "frame.h"

#define firstwins_kind		CC_OWNS_CWND
#define firstwins_title		"Bad on purpose: who is first stays first"
#define firstwins_parameters(P) level_parameters(P)

/* Microseconds; less than the time between starts in most criteria. */
#define FIRSTWINS_LEARNS_US CC_MSEC(900)

FRAME_PARAMS(firstwins, level)

struct firstwins {
	struct level sound;
	u64 start_us;
};

CC_INLINE void firstwins_init(struct firstwins *s, const struct firstwins_params *p, const struct cc_view *v,
			      struct cc_decision *d)
{
	level_init(&s->sound, &p->sound, v, d);
	s->start_us = v->now_us;
}

CC_INLINE void firstwins_on_ack(struct firstwins *s, const struct cc_view *v, struct cc_decision *d)
{
	if (v->now_us - s->start_us < FIRSTWINS_LEARNS_US)
		level_on_ack(&s->sound, v, d);
}

FRAME_ON_EVENT(firstwins, level)
FRAME_OBSERVE(firstwins, level)

#endif
