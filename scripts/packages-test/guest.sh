#!/bin/bash
# In the guest of scripts/packages-test.sh: one step of an administrator's story in each boot. It reports to the second serial line;
# the first thing that is not as it should be ends it.
#
#   guest.sh break   early in the boot: breaks what the drill is about
#   guest.sh run     after the boot: the step, then the machine goes off
set -euo pipefail
cd "$(dirname "$0")"
step=$(sed 's/.*packages-test=\([^ ]*\).*/\1/' /proc/cmdline)
ours=fp_bbr3
scratch=/tmp/packages-test
shopt -s inherit_errexit

say() { printf '%s\n' "$*"; }
# Says what was expected, and what there is.
fail() {
	say "FAILED: $*"
	exit 1
}
expect() { [ "$2" = "$3" ] || fail "$1: expected \"$2\", found \"$3\""; }

default() { cat /proc/sys/net/ipv4/tcp_congestion_control; }
offered() { cat /proc/sys/net/ipv4/tcp_available_congestion_control; }
# The algorithm of the connections to a port.
algorithm_of() { ss -Htin state established "( dport = :$1 )" | grep -ow "fp_[a-z0-9]*\|cubic\|reno\|bbr" | sort -u; }
# The sockets of an algorithm in a state, from the table of `fairpace status`.
sockets() { fairpace status | sed -n "s/^ *$ours  *$1 .* \([0-9]*\) *\$/\1/p"; }

# A transfer to a port of this machine that goes on until `finish`.
start_transfer() {
	local port=$1
	rm -f "$scratch/$port".*
	socat -u "TCP-LISTEN:$port,bind=127.0.0.1" "CREATE:$scratch/$port.received" &
	echo $! >"$scratch/$port.receiver"
	until [ -n "$(ss -Htln "( sport = :$port )")" ]; do sleep 0.2; done
	until [ -e "$scratch/$port.enough" ]; do head -c 65536 /dev/urandom; sleep 0.05; done |
		tee "$scratch/$port.sent" | socat -u - "TCP:127.0.0.1:$port" &
	echo $! >"$scratch/$port.sender"
	until [ -s "$scratch/$port.received" ]; do sleep 0.2; done
}
received() { stat -c %s "$scratch/$1.received"; }
# Ends a transfer, and fails unless every byte has arrived.
finish() {
	local port=$1
	touch "$scratch/$port.enough"
	wait "$(cat "$scratch/$port.sender")" || fail "the sender on port $port ended with $?"
	wait "$(cat "$scratch/$port.receiver")" || fail "the receiver on port $port ended with $?"
	cmp "$scratch/$port.sent" "$scratch/$port.received" || fail "what arrived on port $port is not what was sent"
	say "transfer on port $port: $(received "$port") bytes, all as they were sent"
}

# Fails if anything of ours is in the kernel or runs.
nothing_of_ours() {
	expect "the default" "$(cat before/default)" "$(default)"
	if offered | grep -q fp_; then fail "the kernel offers $(offered)"; fi
	expect "/sys/fs/bpf/fairpace" "" "$(find /sys/fs/bpf -path '*fairpace*')"
	local found
	found=$(for what in prog map link struct_ops; do bpftool "$what" show 2>/dev/null; done |
		grep -E 'struct_ops|fp_|fairpace|former' || true)
	expect "what bpftool shows of ours" "" "$found"
	expect "processes of ours" "" "$(pgrep -a fairpace || true)"
}
# Files of the system, but for those that apt and dpkg keep for themselves.
files() {
	find /etc /usr /var /opt /root /srv -xdev \
		! -path '/var/lib/dpkg/*' ! -path '/var/lib/apt/*' ! -path '/var/lib/systemd/*' ! -path '/var/cache/*' \
		! -path '/var/log/*' ! -path '/opt/packages-test*' ! -path '/var/tmp/*' ! -name '*.pyc' | sort
	find /var/lib/systemd/deb-systemd-helper-* 2>/dev/null | grep fairpace || true
}
log_is_clean() {
	local found
	found=$(journalctl -q -k -b -o cat | grep -E 'WARNING:|BUG:|Oops|Call Trace|refcount' || true)
	expect "the kernel's log" "" "$found"
}

step_install() {
	mkdir -p before
	default >before/default
	files >before/files
	say "Debian $(cat /etc/debian_version), Linux $(uname -r), default $(default)"
	[ "$(default)" != $ours ] || fail "it is not clean"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q ./old.deb 2>&1 | grep -E '^(Setting up|fairpace)' || fail "apt-get install"
	nothing_of_ours
	fairpace enable bbr3 --default
	expect "the default" $ours "$(default)"
}

step_live() {
	# after the reboot
	say "after the reboot: default $(default), service $(systemctl is-active fairpace.service)"
	expect "the state of the system" running "$(systemctl is-system-running || true)"
	expect "the default" $ours "$(default)"
	expect "the service" active "$(systemctl is-active fairpace.service || true)"
	say "journal: $(journalctl -q -b _SYSTEMD_UNIT=fairpace.service -o cat | paste -sd';')"
	start_transfer 7001
	expect "the algorithm of a transfer" $ours "$(algorithm_of 7001)"

	# the upgrade during the transfer
	local before
	before=$(received 7001)
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q ./new.deb 2>&1 | grep -E '^(Setting up|fairpace)' || fail "the upgrade"
	say "upgraded to $(dpkg-query -W -f '${Version}' fairpace) while $(($(received 7001) - before)) bytes arrived"
	[ "$(received 7001)" -gt "$before" ] || fail "nothing arrived during the upgrade"
	expect "the default" $ours "$(default)"
	expect "the algorithm of the open transfer" $ours "$(algorithm_of 7001)"
	start_transfer 7002
	expect "the algorithm of a new transfer" $ours "$(algorithm_of 7002)"
	fairpace status | grep "^ *$ours"
	[ "$(sockets "replaced or unloaded")" -gt 0 ] || fail "the open transfer is not on the former code"
	[ "$(sockets loaded)" -gt 0 ] || fail "the new transfer is not on the new code"
	finish 7001
	expect "sockets on the former code" "" "$(sockets "replaced or unloaded")"

	# removal during the other transfer
	DEBIAN_FRONTEND=noninteractive apt-get remove -y -q fairpace 2>&1 | grep -E "^(Removing|fairpace|.*$ours)" || fail "the removal"
	expect "the default" "$(cat before/default)" "$(default)"
	if offered | grep -q fp_; then fail "the kernel offers $(offered)"; fi
	expect "the algorithm of the open transfer" $ours "$(algorithm_of 7002)"
	start_transfer 7003
	expect "the algorithm of a new transfer" "$(cat before/default)" "$(algorithm_of 7003)"
	finish 7002
	finish 7003
	sleep 2 # the kernel frees what no socket has any more after a grace period
	nothing_of_ours
	[ -e /etc/fairpace/fairpace.toml ] || fail "removal took the configuration"
	say "removed: default $(default), nothing of ours in /sys/fs/bpf, bpftool and the process list"

	DEBIAN_FRONTEND=noninteractive apt-get purge -y -q fairpace >/dev/null 2>&1 || fail "the purge"
	files | diff before/files - || fail "purge left files, or took some"
	say "purged: the files are those of before"
	log_is_clean
}

step_after() {
	expect "the state of the system" running "$(systemctl is-system-running || true)"
	nothing_of_ours
	say "default $(default)"
}

# What each drill breaks, early in the boot.
break_config() { sed -i 's/"bbr3"/"bbr9"/' /etc/fairpace/fairpace.toml; }
break_btf() { mount -t tmpfs none /sys/kernel/btf; }
break_run() { cat /dev/zero >/run/full || true; }
break_object() { cp broken-objects /usr/bin/fairpace; }
break_program() { truncate -s 1M /usr/bin/fairpace; }

# The machine has booted with its own default, nothing else has failed, and one line of the journal says why: the only line of
# the program, or the one of systemd about a program that cannot say anything itself.
broken_boot() {
	local lines
	say "the system is $(systemctl is-system-running || true), default $(default)"
	expect "what has failed" fairpace.service "$(systemctl list-units --failed --plain --no-legend | cut -d' ' -f1)"
	nothing_of_ours
	start_transfer 7001
	expect "the algorithm of a transfer" "$(cat before/default)" "$(algorithm_of 7001)"
	finish 7001
	lines=$(journalctl -q -b _SYSTEMD_UNIT=fairpace.service -o cat)
	[ -n "$lines" ] || lines=$(journalctl -q -b UNIT=fairpace.service -o cat | grep 'Main process exited')
	say "journal: $lines"
	expect "lines in the journal" 1 "$(wc -l <<<"$lines")"
	grep -q "$1" <<<"$lines" || fail "the line is not about $1"
	log_is_clean
}
step_drill-config() { broken_boot 'fairpace.toml:.*bbr9.*the default is cubic'; }
step_drill-btf() { broken_boot 'type information (BTF).*the default is cubic'; }
step_drill-object() { broken_boot 'verifier.*refused.*the default is cubic'; }
step_drill-program() { broken_boot 'code=killed'; }
# A full /run is no failure of ours: nothing of ours is in it.
step_drill-run() {
	say "/run is full to $(df --output=pcent /run | tail -n1 | tr -d ' '), the system is $(systemctl is-system-running || true)"
	expect "the service" active "$(systemctl is-active fairpace.service || true)"
	expect "the default" $ours "$(default)"
	say "journal: $(journalctl -q -b _SYSTEMD_UNIT=fairpace.service -o cat | paste -sd';')"
	start_transfer 7001
	expect "the algorithm of a transfer" $ours "$(algorithm_of 7001)"
	finish 7001
}

case $1 in
break)
	case $step in drill-*) "break_${step#drill-}" ;; esac
	;;
run)
	stty -F /dev/ttyS1 raw -echo
	exec >/dev/ttyS1 2>&1
	mkdir -p $scratch
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin
	trap '[ $? = 0 ] && say "passes: $step"; sync; sleep 1; systemctl poweroff --force' EXIT
	systemctl is-system-running --wait >/dev/null || true
	"step_$step"
	;;
esac
