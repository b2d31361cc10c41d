/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What a packet knew when it was sent, for hosts that do not write it on the packet.
 *
 * BBRv2 and v3 judge a loss by what was in flight when the lost packet was sent. Google's kernels note that on each
 * packet; a stock kernel notes only `delivered`, and tells the sequence number at the end of the sampled packet. But
 * all packets that leave between two ACKs share the same `delivered` and `lost`, and the last of them sees in flight
 * what the next ACK finds in flight. So one entry per ACK, written as it arrives, tells of all packets since the last:
 *
 *     ACK       p   q   r       ACK finds: delivered, lost, inflight (that of r), snd_nxt (the end of r)
 *   ---|--------|---|---|--------|---> time      inflight at q = inflight - packets between the end of q and snd_nxt
 *
 * Counting back from the next ACK, not forward from the last, takes in retransmissions, which go before new data.
 *
 * A packet sent for the first time is found by its sequence number, a retransmission by the `delivered` that it noted.
 * Both only grow from entry to entry, hence binary search. The ring is always full: at the start all entries are
 * alike. What is not after the oldest entry was sent before there is memory of it, and gets a stateless estimate.
 *
 * When `lost` grows between ACKs (timers), an entry for the time before keeps apart what was sent before and after.
 *
 * Nothing here is BPF: the same ring runs natively, to show in the simulator what it costs to know no more than this.
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

/* What an ACK found, before it changed anything. */
struct cc_sends_entry {
	u32 delivered_pkts;
	u32 lost_pkts;
	u32 inflight_pkts;
	u32 snd_nxt;
	/* an entry that stands for several ACKs, for want of distance between them: what the first of them found */
	u32 first_delivered_pkts;
	u32 first_lost_pkts;
};

struct cc_sends {
	u32 newest;	    /* number of the newest entry; counts on, wraps */
	u32 lost_pkts;	    /* the host's count when the algorithm was last told of losses */
	u32 delivered_pkts; /* the host's count when the last entry was written */
	u32 lost_end_seq;   /* no packet after this has been told lost; never far behind, as sequence numbers wrap */
	struct cc_sends_entry entries[CC_SENDS_ENTRIES];
};

#define CC_SENDS_AT(sends, number) (&(sends)->entries[(number) & (CC_SENDS_ENTRIES - 1)])

/* A flow begins, or is taken over in mid-connection: of what is in flight already nothing is known. */
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

/* An ACK or a timer found these before it changed anything; v is from after that. */
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

/* When losses are to be told before the ACK's sample is there, or without an ACK: what was in flight is inferred. */
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
 * What the packet that ends at v->sample_end_seq, sent before this entry's ACK, knew. If the entry stands for several
 * ACKs, all but part / whole of what left the network between them had left when the packet was sent.
 */
CC_INLINE void cc_sends_tell(const struct cc_sends *r, struct cc_view *v, u32 position, u32 part, u32 whole)
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

/* The packet that the rate sample tells of; v's other sample_ fields and end_seq are filled in. */
CC_STAGE void cc_sends_sample(const struct cc_sends *r, struct cc_view *v, bool resent)
{
	const struct cc_sends_entry *oldest = CC_SENDS_AT(r, r->newest + 1);
	const struct cc_sends_entry *e;
	u32 prior_pkts = v->sample_prior_delivered_pkts;
	u32 position;

	if (resent ? cc_before(prior_pkts, oldest->delivered_pkts) : !cc_after(v->sample_end_seq, oldest->snd_nxt)) {
		/* sent before there is memory: about as much was in flight as has left the network since */
		v->sample_lost_pkts = v->lost_pkts - oldest->lost_pkts;
		v->sample_inflight_pkts = (u32)v->sample_delivered_pkts + v->sample_lost_pkts;
		return;
	}
	if (resent) {
		/* the last with the same `delivered`: a timer comes before the retransmissions that it causes */
		position = cc_sends_search(r, prior_pkts + 1, false);
		if (CC_SENDS_AT(r, r->newest + 1 + position)->delivered_pkts != prior_pkts)
			position++;
	} else {
		position = cc_sends_search(r, v->sample_end_seq, true) + 1;
	}
	position = cc_min_u32(position, CC_SENDS_ENTRIES - 1);
	e = CC_SENDS_AT(r, r->newest + 1 + position);
	cc_sends_tell(r, v, position, e->delivered_pkts - prior_pkts, e->delivered_pkts - e->first_delivered_pkts);
}

/* The packet that ends at v->sample_end_seq, when it was sent for the first time. */
CC_INLINE void cc_sends_first_sent(const struct cc_sends *r, struct cc_view *v)
{
	u32 position = cc_sends_search(r, v->sample_end_seq, true);
	const struct cc_sends_entry *before = CC_SENDS_AT(r, r->newest + 1 + position);
	const struct cc_sends_entry *e;

	if (!cc_after(v->sample_end_seq, before->snd_nxt)) {
		/* sent before there is memory */
		v->sample_prior_delivered_pkts = v->delivered_pkts;
		v->sample_inflight_pkts = v->inflight_pkts + v->losses_pkts;
		v->sample_lost_pkts = v->losses_pkts;
		return;
	}
	position = cc_min_u32(position + 1, CC_SENDS_ENTRIES - 1);
	e = CC_SENDS_AT(r, r->newest + 1 + position);
	v->sample_prior_delivered_pkts = e->delivered_pkts;
	cc_sends_tell(r, v, position, e->snd_nxt - v->sample_end_seq, e->snd_nxt - before->snd_nxt);
}

/*
 * Losses that the algorithm has not been told: writes the part of CC_EVENT_LOST into v. The last packet lost ends at
 * end_seq, as far as the host can tell. If that has been told before, a retransmission was lost, of which nobody says
 * which: then the packet that the ACK samples (in v's sample_ fields, end_seq 0: none) stands in for it.
 */
CC_STAGE void cc_sends_lost(struct cc_sends *r, struct cc_view *v, u32 end_seq, bool sample_resent)
{
	bool told = !cc_after(end_seq, r->lost_end_seq);

	v->losses_pkts = v->lost_pkts - r->lost_pkts;
	r->lost_pkts = v->lost_pkts;
	if (told && v->sample_end_seq) {
		cc_sends_sample(r, v, sample_resent);
	} else {
		if (!told)
			r->lost_end_seq = end_seq;
		v->sample_end_seq = end_seq;
		cc_sends_first_sent(r, v);
	}
	v->sample_delivered_pkts = -1; /* a lost packet gives no rate */
}

#endif
