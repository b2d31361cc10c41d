/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Fixed-point units, and arithmetic that gives the same result in a native build, in eBPF and on every machine. */
#ifndef CC_MATHS_H
#define CC_MATHS_H

#include "contract.h"

/* Gains have 8 fraction bits, as in Linux (BBR_SCALE): 1.25 is 320. */
#define CC_GAIN_SHIFT 8
#define CC_GAIN_UNIT  (1u << CC_GAIN_SHIFT)

/* Bandwidth is packets per microsecond << 24, as in Linux (BW_SCALE): with 1500-byte packets one step is 715 bit/s. */
#define CC_BW_SHIFT 24
#define CC_BW_UNIT  (1ull << CC_BW_SHIFT)

/* Fractions that need more precision than a gain have 10 fraction bits, as in Linux's CUBIC: 0.7 is 717. */
#define CC_FRACTION_SHIFT 10
#define CC_FRACTION_UNIT  (1u << CC_FRACTION_SHIFT)

#define CC_USEC_PER_SEC 1000000u /* microseconds */

/*
 * Values as people write them, rounded to the nearest step. Only for constants: the compiler folds them, and clang
 * refuses to compile what is left of floating point for eBPF.
 */
#define CC_GAIN(x)     ((u32)((x)*CC_GAIN_UNIT + 0.5))	   /* CC_GAIN(1.25) is 320 */
#define CC_FRACTION(x) ((u32)((x)*CC_FRACTION_UNIT + 0.5)) /* CC_FRACTION(0.7) is 717 */
#define CC_PERCENT(x)  ((u32)((x)*10000 + 0.5))		   /* parts per million: CC_PERCENT(1) is 10000 */
#define CC_MSEC(x)     ((x)*1000u)			   /* microseconds */
#define CC_SEC(x)      ((x)*CC_USEC_PER_SEC)		   /* microseconds */
#define CC_MBIT(x)     ((x)*125000u)			   /* bytes per second */
#define CC_KBIT(x)     ((x)*125u)			   /* bytes per second */

CC_INLINE u32 cc_min_u32(u32 a, u32 b) { return a < b ? a : b; }
CC_INLINE u32 cc_max_u32(u32 a, u32 b) { return a > b ? a : b; }
CC_INLINE u64 cc_min_u64(u64 a, u64 b) { return a < b ? a : b; }
CC_INLINE u64 cc_max_u64(u64 a, u64 b) { return a > b ? a : b; }

/* x / 0 is 0 in BPF and a trap in a native build: here it is 0 everywhere. */
CC_INLINE u64 cc_div(u64 dividend, u64 divisor) { return divisor ? dividend / divisor : 0; }

/* x * factor >> shift, exact; needs factor < 2^(64 - shift) and a result below 2^64. */
CC_INLINE u64 cc_mul_shift(u64 x, u64 factor, u32 shift)
{
	return (x >> shift) * factor + (((x & ((1ull << shift) - 1)) * factor) >> shift);
}

/* x * fraction, rounded down. */
CC_INLINE u32 cc_fraction_of(u32 x, u32 fraction)
{
	u64 product = ((u64)x * fraction) >> CC_FRACTION_SHIFT;

	return product > 0xffffffffull ? 0xffffffffu : (u32)product;
}

/* a - b, but never below zero. */
CC_INLINE u32 cc_sub_floor_u32(u32 a, u32 b) { return a > b ? a - b : 0; }

/* Order of wrapping counters and sequence numbers. */
CC_INLINE bool cc_before(u32 a, u32 b) { return ((a - b) & 0x80000000u) != 0; }
CC_INLINE bool cc_after(u32 a, u32 b) { return cc_before(b, a); }

/* x, or the largest u32 if x does not fit. */
CC_INLINE u32 cc_saturate_u32(u64 x) { return x > 0xffffffffull ? 0xffffffffu : (u32)x; }

/* A flow's own generator (xorshift32, Marsaglia 2003); the state is seeded from v->random and never zero. */
CC_INLINE u32 cc_random_seed(u32 random) { return random ? random : 0x9e3779b9u; }
CC_INLINE u32 cc_random_next(u32 *state)
{
	u32 x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}
/* Uniform in 0 .. n-1. */
CC_INLINE u32 cc_random_below(u32 *state, u32 n) { return (u32)(((u64)cc_random_next(state) * n) >> 32); }

#endif
