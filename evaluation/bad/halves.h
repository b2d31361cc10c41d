/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC that only shrinks: after slow start it takes every loss as CUBIC does, and never grows again.
 */
#ifndef CC_HALVES_H
#define CC_HALVES_H

#include "cubic.h"
#include "frame.h"

#define halves_kind	     CC_GROWS_CWND
#define halves_title	     "Bad on purpose: halves for ever"
#define halves_parameters(P) cubic_parameters(P)

FRAME_PARAMS(halves, cubic)

struct halves {
	struct cubic sound;
};

CC_INLINE void halves_on_ack(struct halves *s, const struct cc_view *v, struct cc_decision *d)
{
	if (cc_in_slow_start(d))
		cubic_on_ack(&s->sound, v, d);
}

FRAME_INIT(halves, cubic)
FRAME_ON_EVENT(halves, cubic)
FRAME_OBSERVE(halves, cubic)

#endif
