#!/bin/sh
# Drains a node whose storage failed its last qualification; a node that is out already keeps its reason.
command -v headrace >/dev/null || exit 0
reason=$(timeout -k 1 15 headrace verdict "${HEADRACE_VERDICT:-/var/lib/headrace/latest}" \
  --max-age "${HEADRACE_MAX_AGE:-7d}" --exit-map slurm-prolog)
[ $? -eq 1 ] || exit 0
node=${SLURMD_NODENAME:-$(hostname -s)}
state=$(timeout -k 1 15 sinfo -h -o %T -n "$node") || exit 0
case $state in *drain*|*down*|*fail*) exit 0 ;; esac
timeout -k 1 15 scontrol update "nodename=$node" state=drain "reason=$reason"
