# %postun: rpm has no purge, and /etc/fairpace, which is the administrator's, stays.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload >/dev/null 2>&1 || :
fi
:
