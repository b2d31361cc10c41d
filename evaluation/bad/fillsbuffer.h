/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * LEVEL that steers to 32 times the queueing delay.
 */
#ifndef CC_FILLSBUFFER_H
#define CC_FILLSBUFFER_H

#include "level.h"
#include "frame.h"

#define fillsbuffer_kind	  CC_OWNS_CWND
#define fillsbuffer_title	  "Bad on purpose: fills any buffer"
#define fillsbuffer_parameters(P) level_parameters(P)

/* Times the parameter `level`; 65 ms for a flow of 4096 packets/s. */
#define FILLSBUFFER_TIMES 32u

FRAME_PARAMS(fillsbuffer, level)

struct fillsbuffer {
	struct level sound;
};

CC_INLINE void fillsbuffer_init(struct fillsbuffer *s, const struct fillsbuffer_params *p, const struct cc_view *v,
				struct cc_decision *d)
{
	level_init(&s->sound, &p->sound, v, d);
	s->sound.p.level = p->sound.level * FILLSBUFFER_TIMES;
}

FRAME_ON_ACK(fillsbuffer, level)
FRAME_ON_EVENT(fillsbuffer, level)
FRAME_OBSERVE(fillsbuffer, level)

#endif
