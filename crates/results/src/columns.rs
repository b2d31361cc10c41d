//! The columns of flows and of links: what their summaries have, by name. Columns of a part of a summary
//! begin with the part's name, such as `completions_p50_ms`.

use crate::{Completions, FlowSummary, LinkSummary, MediaSummary};

/// A function that reads a column's value from its record.
pub enum Read<R> {
    /// A text.
    Text(fn(&R) -> &str),
    /// A count.
    Count(fn(&R) -> Option<u64>),
    /// A number that is no count.
    Number(fn(&R) -> Option<f64>),
}

/// A column's name, and the function that reads it.
pub type Column<R> = (&'static str, Read<R>);

fn transfers(flow: &FlowSummary) -> Option<&Completions> {
    flow.completions.as_ref()
}

fn media(flow: &FlowSummary) -> Option<&MediaSummary> {
    flow.media.as_ref()
}

impl FlowSummary {
    /// All columns of a flow.
    pub const COLUMNS: &[Column<Self>] = &[
        ("flow", Read::Text(|f| &f.name)),
        ("cc", Read::Text(|f| &f.cc)),
        ("base_rtt_ms", Read::Number(|f| Some(f.rtt_ms))),
        ("start_s", Read::Number(|f| Some(f.start_s))),
        ("completion_s", Read::Number(|f| f.completion_s)),
        ("failed", Read::Count(|f| Some(f.failed))),
        ("goodput_mbps", Read::Number(|f| Some(f.goodput_mbps))),
        ("share", Read::Number(|f| f.share)),
        ("sent_pkts", Read::Count(|f| f.sent_pkts)),
        ("retransmits", Read::Count(|f| Some(f.retransmits))),
        ("dropped_pkts", Read::Count(|f| Some(f.dropped_pkts))),
        ("loss_rate", Read::Number(|f| f.loss_rate)),
        ("marked_pkts", Read::Count(|f| Some(f.marked_pkts))),
        ("rtt_mean_ms", Read::Number(|f| f.rtt_mean_ms)),
        ("rtt_min_ms", Read::Number(|f| f.rtt_min_ms)),
        ("rtt_p50_ms", Read::Number(|f| f.rtt_p50_ms)),
        ("rtt_p95_ms", Read::Number(|f| f.rtt_p95_ms)),
        ("rtt_p99_ms", Read::Number(|f| f.rtt_p99_ms)),
        ("completions_began", Read::Count(|f| Some(transfers(f)?.began))),
        ("completions_completed", Read::Count(|f| Some(transfers(f)?.completed))),
        ("completions_mean_ms", Read::Number(|f| transfers(f)?.mean_ms)),
        ("completions_p50_ms", Read::Number(|f| transfers(f)?.p50_ms)),
        ("completions_p95_ms", Read::Number(|f| transfers(f)?.p95_ms)),
        ("completions_p99_ms", Read::Number(|f| transfers(f)?.p99_ms)),
        ("completions_slowdown_mean", Read::Number(|f| transfers(f)?.slowdown_mean)),
        ("completions_slowdown_p50", Read::Number(|f| transfers(f)?.slowdown_p50)),
        ("completions_slowdown_p95", Read::Number(|f| transfers(f)?.slowdown_p95)),
        ("completions_slowdown_p99", Read::Number(|f| transfers(f)?.slowdown_p99)),
        ("media_frames", Read::Count(|f| Some(media(f)?.frames))),
        ("media_late", Read::Count(|f| Some(media(f)?.late))),
        ("media_lost", Read::Count(|f| Some(media(f)?.lost))),
        ("media_late_or_lost", Read::Number(|f| media(f)?.late_or_lost)),
        ("media_longest_freeze_ms", Read::Number(|f| Some(media(f)?.longest_freeze_ms))),
        ("media_frame_delay_p50_ms", Read::Number(|f| media(f)?.frame_delay_p50_ms)),
        ("media_frame_delay_p95_ms", Read::Number(|f| media(f)?.frame_delay_p95_ms)),
        ("media_frame_delay_p99_ms", Read::Number(|f| media(f)?.frame_delay_p99_ms)),
        ("media_delay_p50_ms", Read::Number(|f| media(f)?.delay_p50_ms)),
        ("media_delay_p95_ms", Read::Number(|f| media(f)?.delay_p95_ms)),
        ("media_delay_p99_ms", Read::Number(|f| media(f)?.delay_p99_ms)),
        ("media_delay_variation_p99_ms", Read::Number(|f| media(f)?.delay_variation_p99_ms)),
    ];
}

impl LinkSummary {
    /// All columns of a link.
    pub const COLUMNS: &[Column<Self>] = &[
        ("link", Read::Text(|l| &l.name)),
        ("queue", Read::Text(|l| &l.queue)),
        ("rate_mbps", Read::Number(|l| Some(l.rate_mbps))),
        ("utilization", Read::Number(|l| Some(l.utilization))),
        ("queue_delay_mean_ms", Read::Number(|l| l.queue_delay_mean_ms)),
        ("queue_delay_p50_ms", Read::Number(|l| l.queue_delay_p50_ms)),
        ("queue_delay_p95_ms", Read::Number(|l| l.queue_delay_p95_ms)),
        ("queue_delay_p99_ms", Read::Number(|l| l.queue_delay_p99_ms)),
        ("queue_delay_max_ms", Read::Number(|l| l.queue_delay_max_ms)),
        ("dropped_pkts", Read::Count(|l| Some(l.drops))),
        ("early_dropped_pkts", Read::Count(|l| Some(l.early_drops))),
        ("loss_rate", Read::Number(|l| l.loss_rate)),
        ("lost", Read::Count(|l| Some(l.lost))),
        ("marked_pkts", Read::Count(|l| Some(l.marks))),
        ("duplicates", Read::Count(|l| Some(l.duplicates))),
        ("loss_bursts_longest_s", Read::Number(|l| Some(l.loss_bursts?.longest_s))),
        ("loss_bursts_long", Read::Count(|l| Some(l.loss_bursts?.long))),
    ];
}
