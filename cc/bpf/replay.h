/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The functions of an algorithm on a view from user space, so that a test can compare each result with that of the
 * build for user space. Included behind hooks.h by both hosts that are in a kernel. No flow calls this.
 */
enum cc_replay_kind { CC_REPLAY_INIT = 0, CC_REPLAY_ON_ACK = 1, CC_REPLAY_ON_EVENT = 2, CC_REPLAY_CLAMP = 3 };

/* crates/kernel/src/replay.rs has its offsets. */
struct cc_replay {
	u32 call;    /* enum cc_replay_kind */
	u32 event;   /* of CC_REPLAY_CLAMP: a set of enum cc_bounds */
	u32 clamped; /* out: as cc_clamp() returns it */
	u32 reserved;
	struct cc_view view;
	struct cc_decision decision; /* in: the values in force; out: the decision */
	struct CC_NAME state;
};

static __always_inline void cc_replay_call(struct cc_replay *r, const CC_PARAMS *params)
{
	u32 bounds = CC_BOUNDS | (r->call == CC_REPLAY_ON_EVENT ? cc_bounds_of_event(r->event) : 0);

	if (r->call == CC_REPLAY_CLAMP) {
		r->clamped = cc_clamp(&r->view, &r->decision, r->event);
		return;
	}
	if (r->call == CC_REPLAY_INIT)
		CC_FN(init)(&r->state, params, &r->view, &r->decision);
	else if (r->call == CC_REPLAY_ON_ACK)
		CC_FN(on_ack)(&r->state, &r->view, &r->decision);
	else
		CC_FN(on_event)(&r->state, r->event, &r->view, &r->decision);
	r->clamped = cc_clamp(&r->view, &r->decision, bounds);
}
