/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * An algorithm that does what TRUTH_OF does, and records each view that it is given. Only for BPF, only for tests: see
 * truth.bpf.c, which says what is done with the records.
 */
#include "bpf/kernel.h"

#define BPF_MAP_TYPE_RINGBUF 27
#define TRUTH_PASTE_(a, b)   a##b
#define TRUTH_PASTE(a, b)    TRUTH_PASTE_(a, b)
#define TRUTH_FN(name)	     TRUTH_PASTE(TRUTH_OF, _##name)

/* the settings are those of TRUTH_OF */
#define truth_params	    TRUTH_FN(params)
#define truth_parameters(P) TRUTH_FN(parameters)(P)

struct truth {
	struct TRUTH_OF of;
};

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

/* Tells of every packet that is marked lost at the moment and was not sent again: in truth.bpf.c. */
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
	TRUTH_FN(init)(&s->of, p, v, d);
}

static __always_inline void truth_on_ack(struct truth *s, const struct cc_view *v, struct cc_decision *d)
{
	truth_record_view(v, TRUTH_ACK, 0);
	TRUTH_FN(on_ack)(&s->of, v, d);
}

static __always_inline void truth_on_event(struct truth *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	if (event == CC_EVENT_LOST)
		truth_record_pending();
	truth_record_view(v, TRUTH_EVENT, event);
	TRUTH_FN(on_event)(&s->of, event, v, d);
}
