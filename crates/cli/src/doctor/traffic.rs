//! Checks of other settings that decide about sockets on this machine: queues of devices, programs that
//! select algorithms for sockets, and network namespaces with a default of their own.

use std::collections::BTreeMap;

use fairpace_kernel::{Check, namespaces, sock_ops};

use super::{Machine, Topic, qdisc};

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    vec![queues(machine), selectors(), other_namespaces()]
}

/// Checks the queueing discipline of each device with a default route.
fn queues(machine: &Machine) -> Check {
    let topic = Topic(
        "queue of the device",
        "pacing needs a clock: fq has one for all sockets; with any other queue TCP keeps a timer for each \
         socket, which sends at the same rate and takes more CPU the more sockets there are",
    );
    let devices = egress(machine);
    if devices.is_empty() {
        return topic.ok("no device has a default route");
    }
    let all = match qdisc::of_devices() {
        Ok(all) => all,
        Err(error) => {
            return topic.degraded(format!("cannot be asked for: {error}"), "tc qdisc show");
        }
    };
    let kinds = |device: &String| all.get(device).cloned().unwrap_or_default();
    let found: Vec<String> = devices.iter().map(|d| format!("{d}: {}", kinds(d).join(" "))).collect();
    let others: Vec<&String> = devices.iter().filter(|d| kinds(d).iter().any(|kind| kind != "fq")).collect();
    match others.first() {
        None => topic.ok(found.join(", ")),
        Some(device) => topic.degraded(
            found.join(", "),
            format!(
                "tc qdisc replace dev {device} root fq (for a device with several queues, mq with fq below: \
                 sysctl -w net.core.default_qdisc=fq, then tc qdisc replace dev {device} root mq)"
            ),
        ),
    }
}

/// Names of the devices with a default route.
fn egress(machine: &Machine) -> Vec<String> {
    let mut devices: Vec<String> = Vec::new();
    // Iface Destination Gateway Flags RefCnt Use Metric Mask ..., in hexadecimal
    for line in machine.read("proc/net/route").unwrap_or_default().lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [device, "00000000", _, _, _, _, _, "00000000", ..] = words[..] {
            devices.push(device.to_owned());
        }
    }
    // destination, length of its prefix, source, length, gateway, metric, references, use, flags, device
    for line in machine.read("proc/net/ipv6_route").unwrap_or_default().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [destination, "00", _, _, _, _, _, _, _, device] = words[..]
            && destination.bytes().all(|byte| byte == b'0')
            && device != "lo"
        {
            devices.push(device.to_owned());
        }
    }
    devices.sort();
    devices.dedup();
    devices
}

fn selectors() -> Check {
    let topic = Topic(
        "programs that select",
        "a BPF program of this kind can give any socket another algorithm, whatever the default is; bpftune \
         does, by the losses of the peer",
    );
    match sock_ops() {
        Ok(names) if names.is_empty() => topic.ok("no sock_ops program is loaded"),
        Ok(names) => {
            let known = names.iter().any(|name| name.starts_with("conn_tuner") || name.contains("bpftune"));
            let whose = if known { " (bpftune)" } else { "" };
            topic.degraded(
                format!("sock_ops programs are loaded: {}{whose}", names.join(", ")),
                if known {
                    "stop bpftune, or start it without its tcp_conn tuner (-a lists those that it has)"
                } else {
                    "find out whose they are (`bpftool cgroup tree`) and whether they set TCP_CONGESTION; \
                     `ss -ti` shows what sockets have"
                },
            )
        }
        Err(error) => topic.ok(format!("not known: {error}")),
    }
}

fn other_namespaces() -> Check {
    let topic = Topic(
        "network namespaces",
        "each has a default of its own, which `enable --default` of another one does not change",
    );
    let all = match namespaces() {
        Ok(all) => all,
        Err(error) => return topic.ok(format!("not known: {error}")),
    };
    let mut defaults: BTreeMap<String, usize> = BTreeMap::new();
    let mut closed = 0;
    for namespace in all.found.iter().skip(1) {
        match namespace.enter(fairpace_kernel::default) {
            Ok(Ok(name)) => *defaults.entry(name).or_default() += 1,
            _ => closed += 1,
        }
    }
    let own = fairpace_kernel::default().unwrap_or_else(|_| "not readable".to_owned());
    let mut parts: Vec<String> = defaults.iter().map(|(name, n)| format!("{n} with {name}")).collect();
    if closed > 0 {
        parts.push(format!("{closed} that cannot be entered"));
    }
    parts.extend(all.closed.iter().chain(&all.unseen).map(|what| format!("not looked at: {what}")));
    let others = if parts.is_empty() { "none were found".to_owned() } else { parts.join(", ") };
    topic.ok(format!("default here: {own}; others: {others}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn devices_with_a_default_route_of_either_version_are_found_once() {
        let v4 = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                  eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
                  eth1\t0000A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n";
        let zero = "00000000000000000000000000000000";
        let v6 = format!(
            "{zero} 00 {zero} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 lo\n\
             fe800000000000000000000000000000 40 {zero} 00 {zero} 00000100 00000001 00000000 00000001 wlan0\n"
        );
        let (_folder, machine) = machine(&[("proc/net/route", v4), ("proc/net/ipv6_route", &v6)]);
        assert_eq!(egress(&machine), ["eth0"]);
    }
}
