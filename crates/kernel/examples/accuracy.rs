//! Accuracy of what the kernel host reports to BBRv3 of each packet's sending and loss; as root:
//!
//!     cargo run --release -p fairpace-kernel --example accuracy -- [SECONDS]
//!
//! Runs one flow at a time over the testbed's emulated path and prints the differences in packets, reported
//! less true, as a Markdown table. The true numbers come from the kernel's own sockets and packets.

#[path = "../tests/real_time/truth/mod.rs"]
mod truth;

use std::process::ExitCode;

use truth::{Case, Result, run};

fn cases(seconds: u64) -> Vec<Case> {
    vec![
        Case::new("clean: 100 Mbit/s, 20 ms, 2 MB", 100, 20, 2_000_000, seconds),
        Case::new("bursts: 1 Gbit/s, 20 ms, 10 MB", 1000, 20, 10_000_000, seconds),
        Case::new("small buffer: 50 Mbit/s, 30 ms, 40 kB", 50, 30, 40_000, seconds),
        Case::new("small buffer: 500 Mbit/s, 40 ms, 250 kB", 500, 40, 250_000, seconds),
        Case::new("random loss of 1 %: 50 Mbit/s, 30 ms, 1 MB", 50, 30, 1_000_000, seconds)
            .with_loss(10_000_000),
        Case::new("reordering of 1 % by 12 ms: 50 Mbit/s, 30 ms, 1 MB", 50, 30, 1_000_000, seconds)
            .with_reordering(10_000_000, 12),
    ]
}

fn main() -> ExitCode {
    match print_table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("accuracy: {e}");
            ExitCode::FAILURE
        }
    }
}

fn print_table() -> Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(20), |word| word.parse())?;
    println!("BBRv3, {seconds} s per path, Linux {}\n", fairpace_kernel::Features::probe().release);
    for case in cases(seconds) {
        let found = run(&case, &format!("_{:x}", std::process::id() & 0xfffff))?;
        println!(
            "**{}**: {:.1} Mbit/s, {} ACKs ({} samples not comparable), {} LOST events ({} not comparable, {} \
             after a retransmission); \"more than 2 % lost?\" answered otherwise than with true numbers \
             {} times of {}\n",
            case.name,
            found.goodput_mbps,
            found.acks,
            found.unmatched,
            found.events,
            found.unmatched_events,
            found.late_events,
            found.wrong_answers,
            found.questions,
        );
        println!("| reported less true | n | exact | min | p1 | p10 | p50 | p90 | p99 | max |");
        println!("|---|---|---|---|---|---|---|---|---|---|");
        for (what, differences) in found.rows() {
            println!("| {what} | {differences} |");
        }
        println!();
    }
    Ok(())
}
