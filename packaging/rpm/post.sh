# %post: $1 is 1 for a fresh install, 2 for an upgrade.
if [ "$1" -eq 1 ]; then
	# without a configuration the service does nothing
	systemctl --no-reload enable fairpace.service >/dev/null 2>&1 || :
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload >/dev/null 2>&1 || :
fi
# Nothing of ours loaded (after `fairpace panic`, in a chroot): nothing to replace.
if [ "$1" -ge 2 ] && [ -e /etc/fairpace/fairpace.toml ] &&
	grep -qs '\bfp_' /proc/sys/net/ipv4/tcp_available_congestion_control; then
	# `fairpace enable` loads without starting the service: then it is not active, and cannot be reloaded.
	if [ -d /run/systemd/system ] && systemctl --quiet is-active fairpace.service; then
		systemctl reload fairpace.service ||
			echo "fairpace: the kernel keeps the former version: journalctl -u fairpace" >&2
	else
		/usr/bin/fairpace apply --replace --quiet ||
			echo "fairpace: the kernel keeps the former version until the next boot" >&2
	fi
fi
:
