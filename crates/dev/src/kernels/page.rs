//! The tables of docs/kernels.md.

use fairpace_cc::Algorithm;
use fairpace_robustness::hostile::HeaderRecord;
use fairpace_robustness::soak::reordering::{Reordered, shows_nothing};

use super::Kernel;
use super::record::Step;
use crate::marked_page::table;

/// Bytes of the unit in which transfers are shown.
const MEGABYTE: f64 = 1024.0 * 1024.0;
/// The command whose output under lockdown is on the page, besides that of loading all algorithms.
const SHOWN: &str = "doctor";

/// All tables of the page.
pub(super) fn tables(kernels: &[Kernel]) -> String {
    let booted: Vec<&Kernel> = kernels.iter().filter(|kernel| kernel.plain.is_some()).collect();
    let mut out = reordering(kernels) + &hostile(kernels);
    // a run for this alone is not the page
    if out.is_empty() {
        out = format!("{}\n{}", summary(kernels), instructions(&booted));
    }
    let found = failures(kernels);
    if !found.is_empty() {
        out.push_str("\n## Failures\n\n");
        found.iter().for_each(|failure| out.push_str(&format!("- {}\n", failure.replace('\n', " "))));
    }
    // the newest stands for all: the table has the others
    if let Some(kernel) = booted.iter().rev().find(|kernel| kernel.lockdown.is_some()) {
        out.push_str(&lockdown(kernel));
    }
    out.trim_end().to_owned()
}

/// The failures of all kernels, each with the kernel's name.
pub(super) fn failures(kernels: &[Kernel]) -> Vec<String> {
    let mut found = Vec::new();
    for kernel in kernels {
        for (how, steps) in kernel.boots() {
            for step in steps {
                let what = match step {
                    Step::Kernel { .. } => "",
                    Step::Algorithm { name, .. } => name,
                    Step::Command { line, .. } => line,
                    Step::Reordered(result) => &result.algorithm,
                    Step::Hostile(header) => &format!("header {} {}", header.number, header.name),
                    Step::End { .. } => "the kernel's log",
                };
                let words = step.failures().iter();
                found.extend(words.map(|said| format!("{}{how}: {what}: {}", kernel.series, said.trim())));
            }
            if !matches!(steps.last(), Some(Step::End { .. })) {
                found.push(format!("{}{how}: the guest ended before its last step", kernel.series));
            }
        }
        if let Some(steps) = &kernel.reordering {
            let nothing = shows_nothing(steps.iter().filter_map(reordered));
            found.extend(nothing.map(|said| format!("{} with reordering: {said}", kernel.series)));
        }
    }
    found
}

/// A table of hostile headers, a row for each kernel; empty if no kernel was booted for them.
fn hostile(kernels: &[Kernel]) -> String {
    let row = |Kernel { series, hostile, .. }: &Kernel| {
        let headers = hostile.as_ref()?.iter().filter_map(|step| match step {
            Step::Hostile(header) => Some(header),
            _ => None,
        });
        let headers: Vec<&HeaderRecord> = headers.collect();
        let sum = |of: fn(&HeaderRecord) -> u64| headers.iter().map(|header| of(header)).sum::<u64>();
        let (all, packets) = (headers.len(), sum(|header| header.outcome.delivered_pkts));
        let most = headers.iter().map(|header| header.outcome.cwnd_most_pkts).max().unwrap_or(0);
        let (clamps, late) = (sum(|header| header.outcome.clamps), sum(|header| header.outcome.late));
        let failures = sum(|header| header.failures.len() as u64);
        Some(format!("{series} | {all} | {packets} | {most} | {clamps} | {late} | {failures}"))
    };
    table(
        "kernel | headers and control | packets | largest cwnd | clamps | late looks | failures",
        kernels.iter().filter_map(row),
    )
}

fn reordered(step: &Step) -> Option<&Reordered> {
    match step {
        Step::Reordered(result) => Some(result),
        _ => None,
    }
}

/// A table of the results over a path that reorders; empty if no kernel was booted for it.
fn reordering(kernels: &[Kernel]) -> String {
    let row = |(Kernel { series, .. }, result): (&Kernel, &Reordered)| {
        let Reordered { algorithm, acks, samples, recoveries, undos, failures, .. } = result;
        let ((least, most), failures) = (result.cwnd_pkts, failures.len());
        format!(
            "{series} | {algorithm} | {acks} | {least} to {most} | {samples} | {recoveries} | {undos} \
             | {failures}"
        )
    };
    let results = kernels.iter().flat_map(|kernel| {
        kernel.reordering.iter().flatten().filter_map(reordered).map(move |result| (kernel, result))
    });
    table(
        "kernel | algorithm | ACKs | cwnd, packets | samples | recoveries | undos | failures",
        results.map(row),
    )
}

fn summary(kernels: &[Kernel]) -> String {
    let row = |Kernel { series, source, plain, lockdown, .. }: &Kernel| {
        let Some(plain) = plain else { return format!("{series} | {source} | not tested | | | |") };
        let is_clean = |step: &Step| matches!(step, Step::End { alarms } if alarms.is_empty());
        let log = if plain.iter().any(is_clean) { "clean" } else { "**not clean**" };
        let lockdown = under_lockdown(lockdown.as_deref());
        format!("{series} | {source} | {} | {log} | {lockdown}", used(plain).join(" | "))
    };
    table(
        "series | kernel | algorithms that load | checked data | enable to panic | log \
         | with `lockdown=confidentiality`",
        kernels.iter().map(row),
    )
}

/// Cells of a kernel: the number of algorithms that load, the data that they moved, and the number of
/// commands that passed.
fn used(steps: &[Step]) -> [String; 3] {
    let (mut loaded, mut all, mut bytes, mut right, mut commands) = (0, 0, 0, 0, 0);
    for step in steps {
        match step {
            Step::Algorithm { instructions, bytes: moved, .. } => {
                loaded += usize::from(instructions.is_some());
                all += 1;
                bytes += moved;
            }
            Step::Command { failures, .. } => {
                right += usize::from(failures.is_empty());
                commands += 1;
            }
            _ => {}
        }
    }
    let all = all.max(Algorithm::all().count());
    let moved = format!("{:.0} MiB", bytes as f64 / MEGABYTE);
    [format!("{loaded} of {all}"), moved, format!("{right} of {commands} commands")]
}

fn under_lockdown(steps: Option<&[Step]>) -> String {
    let Some(steps) = steps else { return "not tested".to_owned() };
    let level =
        |step: &Step| if let Step::Kernel { lockdown, .. } = step { Some(lockdown.clone()) } else { None };
    match steps.iter().find_map(level).as_deref() {
        None => "**the guest reported nothing**".to_owned(),
        Some("confidentiality") => used(steps).join(", ").replacen(',', " load,", 1),
        Some(other) => format!("not in force: {other}"),
    }
}

/// A table of the instructions that the verifier processed, by algorithm and kernel.
fn instructions(kernels: &[&Kernel]) -> String {
    let release = |Kernel { series, plain, .. }: &&Kernel| {
        let release =
            |step: &Step| if let Step::Kernel { release, .. } = step { Some(release.clone()) } else { None };
        plain.iter().flatten().find_map(release).unwrap_or_else(|| series.clone())
    };
    let row = |algorithm: Algorithm| {
        let count = |kernel: &&Kernel| {
            let count = kernel.plain.iter().flatten().find_map(|step| match step {
                Step::Algorithm { name, instructions, .. } if name == algorithm.name() => *instructions,
                _ => None,
            });
            count.map_or("does not load".to_owned(), |n| n.to_string())
        };
        let cells = std::iter::once(algorithm.name().to_owned()).chain(kernels.iter().map(count));
        cells.collect::<Vec<_>>().join(" | ")
    };
    let header: Vec<String> =
        std::iter::once("algorithm".to_owned()).chain(kernels.iter().map(release)).collect();
    format!(
        "## Instructions of the verifier\n\nThe sum over all programs of an algorithm. The limit is a \
         million for each program.\n\n{}",
        table(&header.join(" | "), Algorithm::all().map(row))
    )
}

/// The output of the commands under lockdown.
fn lockdown(kernel: &Kernel) -> String {
    let mut out = format!(
        "\n## The output with `lockdown=confidentiality`\n\nOf {}. What each other kernel did is in the last \
         column of the first table.\n\n```text\n",
        kernel.series
    );
    for step in kernel.lockdown.iter().flatten() {
        match step {
            Step::Kernel { lockdown, .. } => {
                out.push_str(&format!("active in /sys/kernel/security/lockdown: {lockdown}\n"))
            }
            Step::Command { line, output, .. } if line == SHOWN || line.starts_with("load ") => {
                out.push_str(&format!("\n$ fairpace {line}\n{}\n", output.trim_end()));
            }
            _ => {}
        }
    }
    out.push_str("```\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(plain: Option<Vec<Step>>) -> Kernel {
        Kernel {
            series: "6.1".into(),
            source: "a package".into(),
            plain,
            lockdown: None,
            reordering: None,
            hostile: None,
        }
    }

    fn first() -> Step {
        Step::Kernel { release: "6.1.0".into(), lockdown: "none".into() }
    }

    #[test]
    fn a_kernel_that_cannot_be_had_is_in_the_table_and_no_failure() {
        let kernels = [kernel(None)];
        assert_eq!(failures(&kernels), [""; 0]);
        assert!(tables(&kernels).contains("| 6.1 | a package | not tested |"));
    }

    #[test]
    fn a_guest_that_ended_early_and_a_step_that_failed_are_failures() {
        let refused = Step::Algorithm {
            name: "bbr3".into(),
            instructions: None,
            bytes: 0,
            failures: vec!["loading: refused".into()],
        };
        let kernels = [kernel(Some(vec![first(), refused]))];
        let found = failures(&kernels);
        assert_eq!(found, ["6.1: bbr3: loading: refused", "6.1: the guest ended before its last step"]);
        let tables = tables(&kernels);
        assert!(tables.contains("| bbr3 | does not load |"), "{tables}");
        assert!(tables.contains("- 6.1: bbr3: loading: refused"), "{tables}");
    }

    #[test]
    fn a_run_over_a_path_that_reorders_is_a_table_of_its_own() {
        let result = Reordered {
            algorithm: "cubic".into(),
            acks: 99,
            cwnd_pkts: (1, 34),
            recoveries: 5,
            undos: 4,
            ..Reordered::default()
        };
        let boot = |result| Some(vec![first(), Step::Reordered(result), Step::End { alarms: Vec::new() }]);
        let mut kernels = [Kernel { reordering: boot(result.clone()), ..kernel(None) }];
        assert_eq!(failures(&kernels), [""; 0]);
        let tables = tables(&kernels);
        assert!(tables.contains("| 6.1 | cubic | 99 | 1 to 34 | 0 | 5 | 4 | 0 |"), "{tables}");
        assert!(!tables.contains("not tested"), "{tables}");
        let failures_of = ["3 of 99 ACKs found".to_owned()].to_vec();
        kernels[0].reordering = boot(Reordered { failures: failures_of, undos: 0, ..result });
        let found = failures(&kernels);
        assert_eq!(found[0], "6.1 with reordering: cubic: 3 of 99 ACKs found");
        assert!(found[1].contains("shows nothing"), "{found:?}");
    }

    #[test]
    fn a_boot_in_which_lockdown_is_not_in_force_is_not_taken_for_one() {
        assert_eq!(under_lockdown(Some(&[first()])), "not in force: none");
        assert_eq!(under_lockdown(None), "not tested");
    }
}
