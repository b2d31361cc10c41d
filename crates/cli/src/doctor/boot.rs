//! Files of sysctl.d: other settings of the default congestion control that the next boot applies.

use std::fs;
use std::path::PathBuf;

use fairpace_kernel::{Check, is_ours};

use super::{Machine, Topic};

/// Folders that `sysctl --system` and systemd-sysctl read, in the order of sysctl.d(5): a file hides the
/// files of the same name in later folders.
const FOLDERS: [&str; 5] =
    ["etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d"];
/// The file that `sysctl --system` reads last.
const LAST: &str = "etc/sysctl.conf";

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    let topic = Topic(
        "sysctl.d",
        "an algorithm of ours has its name only once it is loaded, which is after sysctl.d is read",
    );
    let lines = defaults(machine);
    let ours: Vec<&Line> = lines.iter().filter(|line| is_ours(&line.name)).collect();
    vec![match (ours.as_slice(), lines.last()) {
        ([], None) => topic.ok("no file sets a default congestion control"),
        ([], Some(last)) => {
            topic.ok(format!("{} sets {}; a default of ours is set after it", last.place, last.name))
        }
        (ours, _) => {
            let places: Vec<&str> = ours.iter().map(|line| line.place.as_str()).collect();
            let name = &ours[0].name;
            let plain = name.strip_prefix("fp_").unwrap_or(name);
            topic.degraded(
                format!("{} sets {name}, which fails at boot", places.join(", ")),
                format!("remove the line and run: fairpace enable {plain} --default"),
            )
        }
    }]
}

/// A line that sets the default congestion control.
#[derive(Debug, PartialEq)]
struct Line {
    /// File and number of the line.
    place: String,
    name: String,
}

fn defaults(machine: &Machine) -> Vec<Line> {
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(machine.at(folder)).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".conf") && files.iter().all(|(known, _)| *known != name) {
                files.push((name, entry.path()));
            }
        }
    }
    files.sort();
    files.push((LAST.to_owned(), machine.at(LAST)));
    let mut lines = Vec::new();
    for (_, path) in files {
        // gone, or not for us to read
        let Ok(bytes) = fs::read(&path) else { continue };
        let shown = path.strip_prefix(&machine.root).unwrap_or(&path).display();
        let text = String::from_utf8_lossy(&bytes);
        lines.extend(text.lines().zip(1..).filter_map(|(line, number): (&str, usize)| {
            Some(Line { place: format!("/{shown}:{number}"), name: default_of(line)? })
        }));
    }
    lines
}

/// The name of an algorithm, if a line of sysctl.d sets the default congestion control. The dot may be a
/// slash, and a `-` in front ignores failures.
fn default_of(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches('-');
    let (key, value) = line.split_once('=')?;
    (key.trim().replace('/', ".") == "net.ipv4.tcp_congestion_control").then(|| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use fairpace_kernel::Standing;

    use super::super::tests::machine;
    use super::*;

    #[test]
    fn a_name_of_ours_is_found_with_its_place_and_what_to_write_instead() {
        let text = "# tuning\nnet.core.default_qdisc = fq\n-net/ipv4/tcp_congestion_control=fp_bbr3\n";
        let (_folder, machine) = machine(&[("etc/sysctl.d/90-bbr.conf", text)]);
        let check = &checks(&machine)[0];
        assert_eq!(check.standing, Standing::Degraded);
        assert!(check.found.contains("/etc/sysctl.d/90-bbr.conf:3 sets fp_bbr3"), "{}", check.found);
        assert!(check.remedy.ends_with("fairpace enable bbr3 --default"), "{}", check.remedy);
    }

    #[test]
    fn a_file_of_etc_hides_that_of_usr_and_others_names_are_no_fault() {
        let line = |name: &str| format!("net.ipv4.tcp_congestion_control = {name}\n");
        let (ours, bbr) = (line("fp_bbr3"), line("bbr"));
        let (_folder, machine) = machine(&[
            ("etc/sysctl.d/a.conf", &bbr),
            ("usr/lib/sysctl.d/a.conf", &ours),
            ("etc/sysctl.d/a.txt", &ours),
        ]);
        let check = &checks(&machine)[0];
        assert_eq!(check.standing, Standing::Ok, "{}", check.found);
        assert!(check.found.contains("/etc/sysctl.d/a.conf:1 sets bbr"), "{}", check.found);
    }

    #[test]
    fn comments_and_other_keys_are_no_default() {
        for line in ["# net.ipv4.tcp_congestion_control=fp_x", "net.ipv4.tcp_congestion_control", "", "a=b"] {
            assert_eq!(default_of(line), None, "{line}");
        }
    }
}
