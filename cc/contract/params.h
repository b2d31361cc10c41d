/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Tunable parameters. An algorithm declares each parameter once, in a list; the struct, the range checks, the command
 * line and docs/reference/algorithms.md derive from the list. One entry:
 *
 *	P(name, default, least, most, unit, "what it does", "why this default and this range")
 *
 * Every parameter is a u32. The unit says how users write it: a gain of 320/256 is "1.25", 3000 us "3ms", 10000 ppm
 * "1%". Lists write values with the macros of maths.h, which show them: CC_GAIN(1.25), CC_MSEC(3), CC_PERCENT(1).
 */
#ifndef CC_PARAMS_H
#define CC_PARAMS_H

#include "contract.h"
#include "maths.h"

enum cc_unit {
	CC_UNIT_GAIN = 0,     /* 1/256: 256 is 1.0 */
	CC_UNIT_US = 1,	      /* microseconds */
	CC_UNIT_PKTS = 2,     /* packets of one MSS */
	CC_UNIT_ROUNDS = 3,   /* packet-timed round trips */
	CC_UNIT_COUNT = 4,    /* a plain number */
	CC_UNIT_PPM = 5,      /* millionths: 10000 is 1 % */
	CC_UNIT_BOOL = 6,     /* 0 or 1 */
	CC_UNIT_BPS = 7,      /* bytes per second */
	CC_UNIT_FRACTION = 8, /* 1/1024: 717 is 0.7 */
};

/* An entry of the list as a field of struct NAME_params. */
#define CC_PARAM_FIELD(name, dflt, least, most, unit, what, why) u32 name;

#endif
