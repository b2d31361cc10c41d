/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What contract.h includes of C11, in a kernel. */
#include <linux/types.h>
