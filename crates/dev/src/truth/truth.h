/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * BBRv3 that records each view it gets, and beside it the true numbers, in one ring buffer in the order of events. Only
 * for BPF and only for tests. programs.h reads the true numbers from the socket and from each packet that leaves.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include "bbr3.h"
#include "bpf/kernel.h"

#define BPF_MAP_TYPE_RINGBUF 27 /* enum bpf_map_type, linux/bpf.h */

#define truth_params	    bbr3_params
#define truth_parameters(P) bbr3_parameters(P)

struct truth {
	struct bbr3 bbr3;
};

/* What a record of the ring is. */
enum truth_kind { TRUTH_SENT = 0, TRUTH_PENDING = 1, TRUTH_ACK = 2, TRUTH_EVENT = 3 };

struct truth_view {
	u32 kind;
	u32 event; /* enum cc_event */
	struct cc_view view;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} truth_records SEC(".maps");

/* Records that found no room: they make the rest worthless. */
u64 truth_missed SEC(".data.truth");

/* Records every packet that is marked lost at the moment and was not retransmitted: in programs.h. */
static __always_inline void truth_record_pending(void);

static __always_inline void truth_record_view(const struct cc_view *v, u32 kind, u32 event)
{
	struct truth_view *r = bpf_ringbuf_reserve(&truth_records, sizeof(*r), 0);

	if (!r) {
		__sync_fetch_and_add(&truth_missed, 1);
		return;
	}
	r->kind = kind;
	r->event = event;
	r->view = *v;
	bpf_ringbuf_submit(r, 0);
}

static __always_inline void truth_init(struct truth *s, const struct truth_params *p, const struct cc_view *v,
				       struct cc_decision *d)
{
	bbr3_init(&s->bbr3, p, v, d);
}

static __always_inline void truth_on_ack(struct truth *s, const struct cc_view *v, struct cc_decision *d)
{
	truth_record_view(v, TRUTH_ACK, 0);
	bbr3_on_ack(&s->bbr3, v, d);
}

static __always_inline void truth_on_event(struct truth *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	if (event == CC_EVENT_LOST)
		truth_record_pending();
	truth_record_view(v, TRUTH_EVENT, event);
	bbr3_on_event(&s->bbr3, event, v, d);
}

#include "programs.h"

#endif
