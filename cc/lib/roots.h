/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Integer square and cube roots, used by cubic.h and level.h: one binary digit per step, from the top. There is no
 * branch in the loops: the verifier would follow both ways of each step, see CC_OPAQUE.
 */
#ifndef CC_ROOTS_H
#define CC_ROOTS_H

#include "contract/contract.h"

/* The largest integer whose square is at most x, for x below 2^46. */
CC_INLINE u32 cc_square_root(u64 x)
{
	u64 root = 0;
	u64 bit;

	for (bit = 1u << 22; bit; bit >>= 1) {
		u64 candidate = root | bit;
		u64 too_large = (x - candidate * candidate) >> 63; /* the sign: 1 or 0 */

		CC_OPAQUE(too_large);
		root |= bit & (too_large - 1);
	}
	return (u32)root;
}

/* The largest integer whose cube is at most x, for x below 2^63, the cube of 2^21. */
CC_INLINE u32 cc_cube_root(u64 x)
{
	u64 root = 0;
	u64 bit;

	for (bit = 1u << 20; bit; bit >>= 1) {
		u64 candidate = root | bit;
		u64 too_large = (x - candidate * candidate * candidate) >> 63; /* the sign: 1 or 0 */

		CC_OPAQUE(too_large);
		root |= bit & (too_large - 1);
	}
	return (u32)root;
}

#endif
