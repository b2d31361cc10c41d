/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBR (bbr1_drain) that sends at the greatest rate of a thousand rounds instead of ten, whatever is in flight.
 */
#ifndef CC_OLDRATE_H
#define CC_OLDRATE_H

#include "bbr1_drain.h"
#include "frame.h"

#define oldrate_kind	      CC_OWNS_CWND
#define oldrate_title	      "Bad on purpose: believes an old rate"
#define oldrate_parameters(P) bbr1_drain_parameters(P)

/* Rounds; a minute and more where a round takes 60 ms or more. */
#define OLDRATE_WINDOW_ROUNDS 1000u
/* cwnd in BDP: cwnd does not limit the flow. */
#define OLDRATE_CWND_GAIN CC_GAIN(10)

FRAME_PARAMS(oldrate, bbr1_drain)

struct oldrate {
	struct bbr1_drain sound;
};

CC_INLINE void oldrate_init(struct oldrate *s, const struct oldrate_params *p, const struct cc_view *v,
			    struct cc_decision *d)
{
	bbr1_drain_init(&s->sound, &p->sound, v, d);
	s->sound.bbr1.p.bw_window_rounds = OLDRATE_WINDOW_ROUNDS;
	s->sound.bbr1.p.cwnd_gain = OLDRATE_CWND_GAIN;
}

CC_INLINE void oldrate_on_ack(struct oldrate *s, const struct cc_view *v, struct cc_decision *d)
{
	bbr1_drain_on_ack(&s->sound, v, d);
}

FRAME_ON_EVENT(oldrate, bbr1_drain)
FRAME_OBSERVE(oldrate, bbr1_drain)

#endif
