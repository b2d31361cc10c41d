# For the packages' scripts, when the package is removed: restores the default, unloads what can be unloaded, and says what is
# left. It never fails, since a package that cannot be removed is worse than an algorithm that stays until the next boot.
#
# The configuration stays (purge removes it); a mistake in it must not matter here, so another file is named that is not there.

fairpace_take_out() {
	none=/usr/share/fairpace/no-configuration
	# a chroot, or a machine on which nothing of ours was loaded in this boot
	if ! grep -qs '\bfp_' /proc/sys/net/ipv4/tcp_available_congestion_control /proc/sys/net/ipv4/tcp_congestion_control; then
		return 0
	fi
	/usr/bin/fairpace restore --quiet || echo "fairpace: the default is not restored" >&2
	/usr/bin/fairpace unload --all --quiet || echo "fairpace: not everything is unloaded" >&2
	# sockets that are being closed let go within a moment
	for _ in 1 2 3; do
		left=$(/usr/bin/fairpace status --config "$none" 2>/dev/null | grep '\bfp_' || true)
		[ -n "$left" ] || return 0
		sleep 1
	done
	echo "fairpace: in use until the last socket closes or the network namespace gets another default:"
	echo "$left"
}
fairpace_take_out
