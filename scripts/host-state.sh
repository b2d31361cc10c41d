#!/usr/bin/env bash
# The state of this machine that Fairpace's tests and tools could leave changed, as sorted text: for a comparison of before and after.
#
#   scripts/host-state.sh > before      as root; then run something
#   scripts/host-state.sh | diff before -
#
# Sysctls of this network namespace and of the kernel, network devices with their queueing disciplines, named network namespaces,
# mounts, the BPF file system, BPF programs, links and struct_ops (by name), and processes of Fairpace. Not shown, since it changes by
# itself or is documented to stay: counters, random numbers, and modules tcp_NAME that the kernel loads when one of its own
# algorithms is selected (they stay until modprobe -r).
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "host-state: needs root" >&2; exit 3; }

section() { sed "s|^|$1: |"; }

# sysctls that can only be written to are left out by -s
{ grep -rs . /proc/sys || true; } |
	grep -Ev '^/proc/sys/fs/(dentry-state|file-nr|inode-nr|inode-state|aio-nr|quota)' |
	grep -Ev '^/proc/sys/kernel/(ns_last_pid|random/|pty/nr|keys|tainted)' |
	grep -Ev '^/proc/sys/net/(netfilter/nf_conntrack_count|ipv4/tcp_available_congestion_control)' | sort | section sysctl
# of the algorithms that can be selected, only ours
tr ' ' '\n' </proc/sys/net/ipv4/tcp_available_congestion_control | { grep '^fp_' || true; } | sort | section algorithm
ip -o link show | sed -E 's/^[0-9]+: //; s/ *\\.*//; s/ qlen [0-9]+//' | sort | section link
ip netns list | cut -d' ' -f1 | sort | section netns
cut -d' ' -f2,3 /proc/self/mounts | { grep -E ' (bpf|nsfs)$|^/sys/fs/bpf' || true; } | sort | section mount
find /sys/fs/bpf -mindepth 1 2>/dev/null | sort | section pin
if command -v bpftool >/dev/null; then
	# a program has its number first; those of the system's own (cgroup_device, cgroup_skb) come and go with its services
	bpftool prog list 2>/dev/null | { grep -E '^[0-9]+: (struct_ops|sock_ops|kprobe|tracing|syscall)' || true; } |
		sed -E 's/^[0-9]+: //; s/  *tag.*//' | sort | section program
	bpftool link list 2>/dev/null | { grep -E '^[0-9]+: (struct_ops|tracing)' || true; } |
		sed -E 's/^[0-9]+: //' | sort | section bpf-link
	bpftool struct_ops list 2>/dev/null | sed -E 's/^[0-9]+: //' | sort | section struct_ops
fi
# a process may end while its name is read
{ cat /proc/[0-9]*/comm 2>/dev/null || true; } | { grep '^fairpace' || true; } | sort | section process
