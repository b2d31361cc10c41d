/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Maximum over a sliding window of time, after Kathleen Nichols: an estimate from three samples, in constant space and
 * time. The samples are the best, the second and the third best, each newer than the one before. When the best is
 * older than the window, the second best takes its place. Linux has the same estimator in lib/win_minmax.c.
 */
#ifndef CC_MINMAX_H
#define CC_MINMAX_H

#include "contract.h"

struct cc_minmax_sample {
	u32 at; /* tick, e.g. a count of rounds; wraps */
	u32 value;
};

struct cc_minmax {
	struct cc_minmax_sample s[3];
};

CC_INLINE u32 cc_minmax_get(const struct cc_minmax *m) { return m->s[0].value; }

CC_INLINE u32 cc_minmax_reset(struct cc_minmax *m, u32 at, u32 value)
{
	const struct cc_minmax_sample sample = { at, value };

	m->s[0] = m->s[1] = m->s[2] = sample;
	return value;
}

CC_INLINE u32 cc_minmax_max(struct cc_minmax *m, u32 window, u32 at, u32 value)
{
	const struct cc_minmax_sample sample = { at, value };
	u32 age;

	if (value >= m->s[0].value || at - m->s[2].at > window)
		return cc_minmax_reset(m, at, value);

	if (value >= m->s[1].value)
		m->s[1] = m->s[2] = sample;
	else if (value >= m->s[2].value)
		m->s[2] = sample;

	age = at - m->s[0].at;
	if (age > window) {
		m->s[0] = m->s[1];
		m->s[1] = m->s[2];
		m->s[2] = sample;
		if (at - m->s[0].at > window) {
			m->s[0] = m->s[1];
			m->s[1] = m->s[2];
		}
	} else if (m->s[1].at == m->s[0].at && age > window / 4) {
		/* a quarter of the window without a second best: take one from the second quarter */
		m->s[1] = m->s[2] = sample;
	} else if (m->s[2].at == m->s[1].at && age > window / 2) {
		m->s[2] = sample;
	}
	return m->s[0].value;
}

#endif
