/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The bounds of decisions for a host in Rust. A translation unit of its own: with one function more in native.c, GCC
 * inlines less of the algorithms (5 instructions per packet of bbr1).
 */
#include "lib/clamp.h"

u32 cc_native_clamp(const struct cc_view *v, struct cc_decision *d, u32 bounds);

u32 cc_native_clamp(const struct cc_view *v, struct cc_decision *d, u32 bounds) { return cc_clamp(v, d, bounds); }
