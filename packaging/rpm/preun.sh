# %preun: $1 is 0 for a removal, 1 for an upgrade, which changes nothing.
if [ "$1" -eq 0 ]; then
	. /usr/share/fairpace/take-out.sh
	systemctl --no-reload disable fairpace.service >/dev/null 2>&1 || :
	# has no ExecStop: it only becomes inactive
	if [ -d /run/systemd/system ]; then systemctl stop fairpace.service || :; fi
fi
:
