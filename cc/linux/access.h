/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The shim and its hooks (../bpf) in a kernel into which they are built: fields of Linux are read as they are, and a
 * hook is a function. The counterpart for eBPF is ../bpf/kernel.h.
 */
#ifndef CC_LINUX_ACCESS_H
#define CC_LINUX_ACCESS_H

#include <linux/random.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/tcp.h>

#include "contract/contract.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#error "cong_control has other arguments before Linux 6.10"
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
/* a tcp_congestion_ops has cwnd_event_tx_start */
#define CC_KERNEL_HAS_TX_START 1
#endif

#define SEC(name)		      static __maybe_unused
#define BPF_PROG(name, ...)	      name(__VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(p, of) ((p)->of)
#define bpf_get_prandom_u32	      get_random_u32
#ifndef __noinline
#define __noinline noinline
#endif

/* names of net/ipv4/tcp_input.c, and of later kernels, as in ../bpf/kernel.h */
#define FLAG_ECE   0x40
#define CA_ACK_ECE CA_ACK_ECE
#ifndef TCP_ECN_MODE_ANY
#define TCP_ECN_MODE_ANY TCP_ECN_OK
#endif

#endif
