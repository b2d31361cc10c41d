//! Hostile headers in a guest, after a control that shows that a warning of the kernel would be seen.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use fairpace_kernel::Testing;
use fairpace_robustness::hostile::flows::Hosts;
use fairpace_robustness::hostile::{HeaderRecord, Hostile, How, Objects, one};
use fairpace_robustness::machine::on_own_thread;

/// Time for which the control runs: the header that must make the kernel warn.
const CONTROL_TIME: Duration = Duration::from_secs(5);
/// Number of the control among the numbers of headers.
const CONTROL: u32 = u32::MAX;

/// Runs the control, then the headers of these numbers, and reports the result of each.
pub(super) fn check(
    folder: &Path,
    numbers: Range<u32>,
    flows: usize,
    time: Duration,
    mut more: impl FnMut(HeaderRecord) -> io::Result<()> + Send,
) -> io::Result<()> {
    let work = || {
        let objects = Objects::read(folder).map_err(|failure| io::Error::other(failure.to_string()))?;
        let hosts = Hosts::enter()?;
        let how = How { testing: Some(Testing::NoClamps), flows, time: CONTROL_TIME };
        more(control(one(&hosts, &objects, CONTROL, Hostile::reduces_to_zero(), how)))?;
        for number in numbers {
            let how = How { testing: None, flows, time };
            more(one(&hosts, &objects, number, Hostile::of(number), how))?;
        }
        Ok(())
    };
    // the namespaces end with the thread that is in them
    on_own_thread(work)
}

/// Changes the result of the control: without clamps, a header that returns 0 must make the kernel warn. If
/// it does not, no other step would show a warning.
fn control(mut header: HeaderRecord) -> HeaderRecord {
    "control".clone_into(&mut header.name);
    let said = std::mem::take(&mut header.failures);
    header.not_judged.extend(said);
    if !header.not_judged.iter().any(|what| what.contains("WARNING:")) {
        let why = "a header that returns 0, without clamps, made the kernel warn of nothing";
        header.failures.push(format!("{why}; seen instead: {}", header.not_judged.join("; ")));
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_fails_if_nothing_warns() {
        let warns = |failures: &[&str], not_judged: &[&str]| {
            let list = |of: &[&str]| of.iter().map(|&what| what.to_owned()).collect();
            let header = HeaderRecord {
                failures: list(failures),
                not_judged: list(not_judged),
                ..HeaderRecord::default()
            };
            control(header).failures.is_empty()
        };
        assert!(warns(&["the kernel's log: WARNING: CPU: 0 at tcp_cwnd_reduction+0x1"], &[]));
        assert!(warns(&["flow 3: nothing delivered"], &["the kernel's log: WARNING: CPU: 0"]));
        assert!(!warns(&["flow 3: nothing delivered"], &["warnings that this boot has had"]));
        assert!(!warns(&[], &[]));
    }
}
