/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Parameters: declared once, as a list, from which the struct, the documentation, the command line and the
 * range checks are derived. One line each:
 *
 *   P(name, default, least, most, unit, "what it does")
 *
 * Every parameter is a u32. The unit says how people write the value: a gain of 320/256 is written "1.25",
 * 3000 us "3ms", 10000 ppm "1%".
 */
#ifndef CC_PARAMS_H
#define CC_PARAMS_H

#include "contract.h"

enum cc_unit {
	CC_UNIT_GAIN = 0,     /* 1/256: 256 is 1.0 */
	CC_UNIT_US = 1,	      /* microseconds */
	CC_UNIT_PKTS = 2,     /* packets of one MSS */
	CC_UNIT_ROUNDS = 3,   /* round trips */
	CC_UNIT_COUNT = 4,    /* a plain number */
	CC_UNIT_PPM = 5,      /* millionths: 10000 is 1 % */
	CC_UNIT_BOOL = 6,     /* 0 or 1 */
	CC_UNIT_BPS = 7,      /* bytes per second */
	CC_UNIT_FRACTION = 8, /* 1/1024: 717 is 0.7 */
};

#define CC_PARAM_FIELD(name, dflt, least, most, unit, what) u32 name;

#endif
