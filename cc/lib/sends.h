/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What was in flight when a packet was sent, for hosts that do not store it with the packet.
 *
 * BBRv2 and BBRv3 judge a loss by what was in flight when the lost packet was sent. Google's kernels store that
 * with each packet. A stock kernel stores only `delivered`, and reports the sequence number at the end of the
 * sampled packet. But all packets that leave between two ACKs have the same `delivered` and `lost`, and the
 * inflight after the last of them is what the next ACK finds. So one entry per ACK, written when it arrives,
 * describes all packets sent since the ACK before:
 *
 *     ACK       p   q   r       ACK finds: delivered, lost, inflight (that of r), snd_nxt (the end of r)
 *   ---|--------|---|---|--------|---> time      inflight at q = inflight - packets between the end of q and snd_nxt
 *
 * Counting back from the next ACK, not forward from the last, includes retransmissions, which leave before new data.
 *
 * A packet that was sent once is found by its sequence number, a retransmission by the `delivered` stored with it.
 * Both only grow from entry to entry, so the search is binary. The ring is always full: at the start all entries
 * are equal. A packet that was sent before the oldest entry gets an estimate that needs no entry.
 *
 * When `lost` grows between ACKs (timers), an extra entry separates the packets sent before from those sent after.
 *
 * eBPF and native hosts use the same ring: the simulator runs it to show what this knowledge costs
 * (docs/kernel-view.md).
 */
#ifndef CC_SENDS_H
#define CC_SENDS_H

#include "contract/maths.h"

/*
 * 128 entries; 3 kB per flow. With at least 1/64 of a window between two entries the ring reaches back two
 * windows: the packets in flight, and as many that were lost or sent again.
 */
#define CC_SENDS_ENTRIES_LOG2 7
#define CC_SENDS_ENTRIES      (1u << CC_SENDS_ENTRIES_LOG2)
#define CC_SENDS_PER_WINDOW   64u

/* The state of the connection before an ACK changed it. */
struct cc_sends_entry {
	u32 delivered_pkts;
	u32 lost_pkts;
	u32 inflight_pkts;
	u32 snd_nxt;
	/* if the entry stands for several ACKs that are close together: the state before the first of them */
	u32 first_delivered_pkts;
	u32 first_lost_pkts;
};

struct cc_sends {
	u32 newest;	    /* number of the newest entry; counts on, wraps */
	u32 lost_pkts;	    /* the host's lost_pkts when losses were last reported */
	u32 delivered_pkts; /* the host's delivered_pkts when the last entry was written */
	u32 lost_end_seq;   /* no packet after this was reported lost; kept near snd_una, since sequence numbers wrap */
	struct cc_sends_entry entries[CC_SENDS_ENTRIES];
};

#define CC_SENDS_AT(sends, number) (&(sends)->entries[(number) & (CC_SENDS_ENTRIES - 1)])

/* The start of a flow. Nothing is known about what is already in flight. */
CC_STAGE void cc_sends_start(struct cc_sends *r, const struct cc_view *v)
{
	r->newest = 0;
	r->lost_pkts = v->lost_pkts;
	r->delivered_pkts = v->delivered_pkts;
	r->lost_end_seq = v->snd_una;
	for (u32 i = 0; i < CC_SENDS_ENTRIES; i++) {
		struct cc_sends_entry *e = CC_SENDS_AT(r, i);

		e->delivered_pkts = v->delivered_pkts;
		e->lost_pkts = v->lost_pkts;
		e->inflight_pkts = v->inflight_pkts;
		e->snd_nxt = v->snd_nxt;
		e->first_delivered_pkts = v->delivered_pkts;
		e->first_lost_pkts = v->lost_pkts;
	}
}

/* An entry with the state before an ACK or a timer; v is the state after it. */
CC_STAGE void cc_sends_note(struct cc_sends *r, const struct cc_view *v, u32 delivered_pkts, u32 lost_pkts,
			    u32 inflight_pkts)
{
	struct cc_sends_entry *e = CC_SENDS_AT(r, r->newest);
	const struct cc_sends_entry *before = CC_SENDS_AT(r, r->newest - 1);
	u32 left_pkts = e->delivered_pkts - before->delivered_pkts + e->lost_pkts - before->lost_pkts;
	bool new_interval = delivered_pkts != e->delivered_pkts || lost_pkts != e->lost_pkts;

	if (new_interval && left_pkts >= v->cwnd_pkts / CC_SENDS_PER_WINDOW) {
		e = CC_SENDS_AT(r, ++r->newest); /* the oldest */
		if (cc_before(r->lost_end_seq, e->snd_nxt))
			r->lost_end_seq = e->snd_nxt;
		e->first_delivered_pkts = delivered_pkts;
		e->first_lost_pkts = lost_pkts;
	}
	e->delivered_pkts = delivered_pkts;
	e->lost_pkts = lost_pkts;
	e->inflight_pkts = inflight_pkts;
	e->snd_nxt = v->snd_nxt;
	r->delivered_pkts = v->delivered_pkts;
}

/*
 * The same when losses are reported before the rate sample of the ACK exists, or without an ACK: inflight is
 * inferred.
 */
CC_INLINE void cc_sends_note_losses(struct cc_sends *r, const struct cc_view *v)
{
	u32 left_pkts = v->delivered_pkts - r->delivered_pkts + v->lost_pkts - r->lost_pkts;

	cc_sends_note(r, v, r->delivered_pkts, r->lost_pkts, v->inflight_pkts + left_pkts);
}

/*
 * Position, from the oldest on, of the last entry whose sequence number or `delivered` is before `key`; 0 if none is.
 * The steps are sums, not branches, for the sake of the verifier.
 */
CC_INLINE u32 cc_sends_search(const struct cc_sends *r, u32 key, bool by_seq)
{
	u32 first = r->newest + 1, position = 0;

	for (u32 bit = CC_SENDS_ENTRIES_LOG2; bit-- > 0;) {
		const struct cc_sends_entry *e = CC_SENDS_AT(r, first + position + (1u << bit));
		u32 before = ((by_seq ? e->snd_nxt : e->delivered_pkts) - key) >> 31;

		CC_OPAQUE(before);
		position += before << bit;
	}
	return position;
}

/*
 * Fills the view for the packet that ends at v->sample_end_seq and was sent before the ACK of this entry. If the
 * entry stands for several ACKs, part / whole of what left the network between them had not left when the packet
 * was sent.
 */
CC_INLINE void cc_sends_fill(const struct cc_sends *r, struct cc_view *v, u32 position, u32 part, u32 whole)
{
	const struct cc_sends_entry *e = CC_SENDS_AT(r, r->newest + 1 + position);
	const struct cc_sends_entry *before = CC_SENDS_AT(r, r->newest + cc_max_u32(position, 1));
	u32 delivered_later = (u32)cc_div((u64)(e->delivered_pkts - e->first_delivered_pkts) * part, whole);
	u32 lost_later = (u32)cc_div((u64)(e->lost_pkts - e->first_lost_pkts) * part, whole);
	u32 from_seq = v->sample_end_seq;
	u32 sent_later;

	if (cc_before(from_seq, before->snd_nxt))
		from_seq = before->snd_nxt; /* a retransmission: all new data came later */
	sent_later = (u32)cc_div((u64)(e->snd_nxt - from_seq) + v->mss_bytes - 1, v->mss_bytes);
	v->sample_inflight_pkts =
		cc_max_u32(cc_sub_floor_u32(e->inflight_pkts + delivered_later + lost_later, sent_later), 1);
	v->sample_lost_pkts = v->lost_pkts - e->lost_pkts + lost_later;
}

/* Fills the view for the packet of the rate sample. The other sample_ fields and sample_end_seq are already filled. */
CC_STAGE void cc_sends_sample(const struct cc_sends *r, struct cc_view *v, bool retransmitted)
{
	const struct cc_sends_entry *oldest = CC_SENDS_AT(r, r->newest + 1);
	const struct cc_sends_entry *e;
	u32 prior_pkts = v->sample_prior_delivered_pkts;
	u32 position;

	if (retransmitted ? cc_before(prior_pkts, oldest->delivered_pkts) :
			    !cc_after(v->sample_end_seq, oldest->snd_nxt)) {
		/* sent before the oldest entry: about as much was in flight as has left the network since */
		v->sample_lost_pkts = v->lost_pkts - oldest->lost_pkts;
		v->sample_inflight_pkts = (u32)v->sample_delivered_pkts + v->sample_lost_pkts;
		return;
	}
	if (retransmitted) {
		/* the last with the same `delivered`: a timer comes before the retransmissions that it causes */
		position = cc_sends_search(r, prior_pkts + 1, false);
		if (CC_SENDS_AT(r, r->newest + 1 + position)->delivered_pkts != prior_pkts)
			position++;
	} else {
		position = cc_sends_search(r, v->sample_end_seq, true) + 1;
	}
	position = cc_min_u32(position, CC_SENDS_ENTRIES - 1);
	e = CC_SENDS_AT(r, r->newest + 1 + position);
	cc_sends_fill(r, v, position, e->delivered_pkts - prior_pkts, e->delivered_pkts - e->first_delivered_pkts);
}

/* Fills the view for the first transmission of the packet that ends at v->sample_end_seq. */
CC_INLINE void cc_sends_first_sent(const struct cc_sends *r, struct cc_view *v)
{
	u32 position = cc_sends_search(r, v->sample_end_seq, true);
	const struct cc_sends_entry *before = CC_SENDS_AT(r, r->newest + 1 + position);
	const struct cc_sends_entry *e;

	if (!cc_after(v->sample_end_seq, before->snd_nxt)) {
		/* sent before the oldest entry */
		v->sample_prior_delivered_pkts = v->delivered_pkts;
		v->sample_inflight_pkts = v->inflight_pkts + v->losses_pkts;
		v->sample_lost_pkts = v->losses_pkts;
		return;
	}
	position = cc_min_u32(position + 1, CC_SENDS_ENTRIES - 1);
	e = CC_SENDS_AT(r, r->newest + 1 + position);
	v->sample_prior_delivered_pkts = e->delivered_pkts;
	cc_sends_fill(r, v, position, e->snd_nxt - v->sample_end_seq, e->snd_nxt - before->snd_nxt);
}

/*
 * Fills the view for CC_EVENT_LOST with the losses since the last report. end_seq is the end of the last lost
 * packet, as far as the host knows. If that packet was reported before, a retransmission was lost, and Linux does
 * not say which. Then the sampled packet of the ACK (in the sample_ fields of v; sample_end_seq 0: none) stands for
 * it.
 */
CC_STAGE void cc_sends_lost(struct cc_sends *r, struct cc_view *v, u32 end_seq, bool sample_retransmitted)
{
	bool reported = !cc_after(end_seq, r->lost_end_seq);

	v->losses_pkts = v->lost_pkts - r->lost_pkts;
	r->lost_pkts = v->lost_pkts;
	if (reported && v->sample_end_seq) {
		cc_sends_sample(r, v, sample_retransmitted);
	} else {
		if (!reported)
			r->lost_end_seq = end_seq;
		v->sample_end_seq = end_seq;
		cc_sends_first_sent(r, v);
	}
	v->sample_delivered_pkts = -1; /* a lost packet gives no rate */
}

#endif
