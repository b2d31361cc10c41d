/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * CUBIC that counts an acknowledged packet as mss / 1400, rounded down: one without a tunnel, and nothing within one.
 */
#ifndef CC_ROUNDING_H
#define CC_ROUNDING_H

#include "cubic.h"
#include "frame.h"

#define rounding_kind	       CC_GROWS_CWND
#define rounding_title	       "Bad on purpose: rounds small packets to nothing"
#define rounding_parameters(P) cubic_parameters(P)

/* Bytes; between the payloads of packets of 1420 and of 1500 bytes. */
#define ROUNDING_MSS_BYTES 1400u

FRAME_PARAMS(rounding, cubic)

struct rounding {
	struct cubic sound;
};

CC_INLINE void rounding_on_ack(struct rounding *s, const struct cc_view *v, struct cc_decision *d)
{
	struct cc_view seen = *v;

	seen.acked_pkts *= v->mss_bytes / ROUNDING_MSS_BYTES;
	if (seen.acked_pkts)
		cubic_on_ack(&s->sound, &seen, d);
}

FRAME_INIT(rounding, cubic)
FRAME_ON_EVENT(rounding, cubic)
FRAME_OBSERVE(rounding, cubic)

#endif
