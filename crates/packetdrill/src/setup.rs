//! The host that a script sets up: the shell commands between back quotes, and socket options. What has no
//! effect on the stack is noted, and what the stack has not is refused by name.

use fairpace_cc::{Algorithm, Params};
use fairpace_tcp::{Ecn, Sending};

/// The largest receive buffer of the suites' defaults, from which the window scale follows, bytes.
const RMEM_MAX: u64 = 15 << 20;
/// Payload and header of a full packet without options, bytes (Linux: 1500 - 40).
const LOCAL_MSS: u32 = 1460;

/// Files that set what both public suites set before each script.
const DEFAULTS: &str = "defaults.sh";

/// Settings of `net.ipv4` that change nothing here: what they set is not modelled, and scripts that depend on
/// it are refused for another reason.
const WITHOUT_EFFECT: &[&str] = &[
    "tcp_adv_win_scale",
    "tcp_autocorking",
    "tcp_child_ehash_entries",
    "tcp_dsack",
    "tcp_fack",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_limit_output_bytes",
    "tcp_max_reordering",
    "tcp_moderate_rcvbuf",
    "tcp_no_metrics_save",
    "tcp_notsent_lowat",
    "tcp_rmem",
    "tcp_syncookies",
    "tcp_tso_win_divisor",
    "tcp_wmem",
];

/// Settings of which only Linux's default is modelled.
const ONLY_DEFAULT: &[(&str, &[&str])] = &[
    ("tcp_comp_sack_delay_ns", &["1000000"]),
    ("tcp_comp_sack_nr", &["44"]),
    ("tcp_ecn_option", &["2"]),
    ("tcp_pacing_ca_ratio", &["120"]),
    ("tcp_pacing_ss_ratio", &["200"]),
    ("tcp_reordering", &["3"]),
    ("tcp_rto_max_ms", &["120000"]),
    ("tcp_window_scaling", &["1"]),
];

/// The host.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) sending: Sending,
    /// The algorithm with its parameters.
    pub(crate) params: Params,
    /// The sysctl tcp_ecn.
    pub(crate) ecn: u32,
    pub(crate) timestamps: bool,
    pub(crate) synack_retries: u32,
    /// The sysctl tcp_min_tso_segs; `None`: its default, 2.
    pub(crate) min_tso_segs: Option<u32>,
    /// Commands and settings that were ignored.
    pub(crate) ignored: Vec<String>,
}

impl Setup {
    /// Returns a host with Linux's defaults.
    pub(crate) fn new() -> Setup {
        let cubic = Algorithm::by_name("cubic").expect("CUBIC is one of our algorithms");
        Setup {
            sending: Sending { ecn: Ecn::Off, ..Sending::default() },
            params: Params::defaults(cubic),
            ecn: 2,
            timestamps: true,
            synack_retries: 5,
            min_tso_segs: None,
            ignored: Vec::new(),
        }
    }

    /// The MSS that the host announces, and the window scale.
    pub(crate) fn announced(&self) -> (u32, u32) {
        (LOCAL_MSS, RMEM_MAX.ilog2() - 15)
    }

    /// Performs the lines of a command.
    ///
    /// # Errors
    /// Returns what the stack has not.
    pub(crate) fn command(&mut self, text: &str) -> Result<(), String> {
        let joined = text.replace("\\\n", " ");
        joined.lines().try_for_each(|line| {
            let line = line.split(" #").next().unwrap_or("").trim();
            let mut commands = line.split("&&").flat_map(|part| part.split(';')).map(str::trim);
            let is_comment = line.starts_with('#');
            commands.try_for_each(|command| if is_comment { Ok(()) } else { self.line(command) })
        })
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let [program, rest @ ..] = words.as_slice() else { return Ok(()) };
        match (program.rsplit('/').next().unwrap_or(""), rest) {
            (DEFAULTS, []) => self.suite_defaults(),
            ("set_sysctls.py" | "sysctl", settings) => {
                let is_setting = |word: &&&str| !word.starts_with('-') && !word.contains('>');
                let settings = settings.iter().take_while(|word| **word != ">").filter(is_setting);
                settings.into_iter().try_for_each(|setting| self.assignment(setting))
            }
            ("echo", [value, ">", path]) => self.file(path, value),
            ("tc", ["qdisc", "add" | "replace" | "change", "dev", _, "root", rest @ ..]) => {
                self.qdisc(rest, line)
            }
            ("ip", ["route", rest @ ..]) => self.route(rest),
            ("ip", ["tcp_metrics", ..]) => self.ignore(line),
            (name, _) if name.starts_with("sysctl_restore_") => Ok(()),
            _ => Err(format!("the command `{line}`")),
        }
    }

    fn ignore(&mut self, what: &str) -> Result<(), String> {
        if !self.ignored.iter().any(|ignored| ignored == what) {
            self.ignored.push(what.to_owned());
        }
        Ok(())
    }

    /// Sets what the file `defaults.sh` of both public suites sets, where it differs from Linux's defaults.
    fn suite_defaults(&mut self) -> Result<(), String> {
        (self.sending.idle_restart, self.ecn, self.sending.syn_retries) = (false, 0, 5);
        self.sending.pacing = None;
        Ok(())
    }

    /// `net.ipv4.tcp_sack=1`, or a file of `/proc/sys` with a value.
    fn assignment(&mut self, setting: &str) -> Result<(), String> {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(format!("the sysctl `{setting}` without a value"));
        };
        let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
        match name.strip_prefix("net.ipv4.") {
            Some(name) => self.sysctl(name, value),
            None => Err(format!("the sysctl {name}")),
        }
    }

    fn sysctl(&mut self, name: &str, value: &str) -> Result<(), String> {
        if WITHOUT_EFFECT.contains(&name) {
            return self.ignore(name);
        }
        let refused = || Err(format!("the sysctl {name}={value}"));
        if let Some((_, modelled)) = ONLY_DEFAULT.iter().find(|(known, _)| *known == name) {
            return if modelled.contains(&value) { Ok(()) } else { refused() };
        }
        if name == "tcp_congestion_control" {
            return self.algorithm(value);
        }
        let Ok(number) = value.parse::<u32>() else { return refused() };
        let sending = &mut self.sending;
        match (name, number) {
            ("tcp_slow_start_after_idle", 0 | 1) => sending.idle_restart = number == 1,
            ("tcp_early_retrans", 0 | 3 | 4) => sending.tlp = number > 0,
            ("tcp_recovery", 0 | 1) => sending.rack = number == 1,
            ("tcp_frto", 0..=2) => sending.frto = number > 0,
            ("tcp_sack", 0 | 1) => sending.sack = number == 1,
            ("tcp_timestamps", 0..=2) => self.timestamps = number > 0,
            ("tcp_ecn", 0..=5) => self.ecn = number,
            ("tcp_min_tso_segs", 1..=64) => self.min_tso_segs = Some(number),
            ("tcp_syn_retries", 0..=127) => sending.syn_retries = number,
            ("tcp_syn_linear_timeouts", 0..=127) => sending.syn_linear_timeouts = number,
            ("tcp_synack_retries", 0..=127) => self.synack_retries = number,
            ("tcp_rto_min_us", 1_000..=1_000_000) => {
                sending.rto_min = std::time::Duration::from_micros(number.into());
            }
            _ => return refused(),
        }
        Ok(())
    }

    /// Selects an algorithm by the name that Linux or Fairpace gives it.
    pub(crate) fn algorithm(&mut self, name: &str) -> Result<(), String> {
        let ours = match name {
            "bbr" => "bbr1",
            other => other,
        };
        let algorithm = Algorithm::by_name(ours).map_err(|_| format!("the congestion control {name}"))?;
        self.params = Params::defaults(algorithm);
        Ok(())
    }

    /// `echo VALUE > PATH`
    fn file(&mut self, path: &str, value: &str) -> Result<(), String> {
        if let Some(name) = path.strip_prefix("/proc/sys/") {
            return self.assignment(&format!("{name}={value}"));
        }
        let parameter = path.strip_prefix("/sys/module/tcp_cubic/parameters/").unwrap_or("");
        let detect = |bit: u32| value.parse::<u32>().map(|n| (n >> bit & 1).to_string());
        let set = match parameter {
            "hystart" => vec![("hystart", Ok(value.to_owned()))],
            // bit 0: by the length of ACK trains, bit 1: by delay
            "hystart_detect" => vec![("hystart_ack_train", detect(0)), ("hystart_delay", detect(1))],
            "hystart_low_window" => vec![("hystart_low_window_pkts", Ok(value.to_owned()))],
            _ => return Err(format!("the file {path}")),
        };
        set.into_iter().try_for_each(|(name, value)| {
            let value = value.map_err(|_| ()).and_then(|value| self.params.set(name, &value).map_err(|_| ()));
            value.map_err(|()| format!("{path} with this value, or before CUBIC is chosen"))
        })
    }

    fn qdisc(&mut self, words: &[&str], line: &str) -> Result<(), String> {
        self.sending.pacing = match words {
            ["fq"] => Some(true),
            ["pfifo" | "pfifo_fast" | "bfifo" | "noqueue"] => None,
            _ => return Err(format!("the queue below TCP `{line}`")),
        };
        Ok(())
    }

    /// `ip route change ... initcwnd 20 rto_min 5ms`
    fn route(&mut self, words: &[&str]) -> Result<(), String> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = |unit: &str| {
                let value = words.next().and_then(|value| value.trim_end_matches(unit).parse::<u32>().ok());
                value.ok_or_else(|| format!("`ip route` with this {word}"))
            };
            match *word {
                "initcwnd" => self.sending.initial_cwnd_pkts = number("")?,
                "rto_min" => {
                    self.sending.rto_min = std::time::Duration::from_millis(number("ms")?.into());
                }
                "initrwnd" => drop(number("")?),
                "quickack" | "window" | "cwnd" | "ssthresh" | "mtu" | "advmss" | "rtt" | "rttvar"
                | "congctl" | "features" => return Err(format!("`ip route` with {word}")),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The words of a line; quotation marks keep blanks.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in line.chars() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => words.push(String::new()),
            (_, c) => words.last_mut().expect("there is a first word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_set_what_is_modelled_and_name_what_is_not() {
        let mut setup = Setup::new();
        let lines = "../common/defaults.sh\n# a remark\nsysctl -q net.ipv4.tcp_ecn=1  # on\n\
                     ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_min_tso_segs=4 \\\n \
                     /proc/sys/net/ipv4/tcp_early_retrans=0;tc qdisc replace dev tun0 root fq && \
                     sysctl -e -q net/ipv4/tcp_wmem=\"4096 1 2\" net.ipv4.tcp_congestion_control=bbr\n\
                     ip route change 1.2.3.0/24 dev tun0 initcwnd 20 rto_min 5ms\n\
                     /tmp/sysctl_restore_${PPID}.sh";
        setup.command(lines).unwrap();
        assert_eq!((setup.ecn, setup.min_tso_segs, setup.sending.pacing), (1, Some(4), Some(true)));
        assert_eq!((setup.sending.tlp, setup.sending.idle_restart), (false, false));
        assert_eq!((setup.sending.initial_cwnd_pkts, setup.sending.rto_min.as_millis()), (20, 5));
        assert_eq!(setup.params.algorithm().name(), "bbr1");
        assert_eq!(setup.ignored, ["tcp_wmem"]);
        for (line, named) in [
            ("sysctl -q net.ipv4.tcp_reordering=30", "tcp_reordering=30"),
            ("sysctl net.core.rmem_max=1", "net.core.rmem_max"),
            ("tc qdisc replace dev tun0 root pfifo limit 0", "pfifo limit 0"),
            ("tc qdisc add dev tun0 root netem delay 1ms", "netem"),
            ("sysctl -w net.ipv4.tcp_congestion_control=vegas", "vegas"),
            ("iptables -A INPUT -j DROP", "iptables"),
            ("ip route change 1.2.3.0/24 quickack 1", "quickack"),
        ] {
            let error = Setup::new().command(line).unwrap_err();
            assert!(error.contains(named), "{line}: {error}");
        }
    }

    #[test]
    fn hystart_is_set_by_the_bits_of_linux() {
        let mut setup = Setup::new();
        setup.command("echo 2 > /sys/module/tcp_cubic/parameters/hystart_detect").unwrap();
        assert_eq!(
            (setup.params.get("hystart_ack_train"), setup.params.get("hystart_delay")),
            (Some(0), Some(1))
        );
    }
}
