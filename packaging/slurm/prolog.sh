#!/bin/sh
# Refuses a node whose storage failed its last qualification. What is printed goes to slurmd's log.
command -v headrace >/dev/null || { echo "headrace is not installed here: not checked"; exit 0; }
timeout -k 1 5 headrace verdict "${HEADRACE_VERDICT:-/var/lib/headrace/latest}" \
  --max-age "${HEADRACE_MAX_AGE:-7d}" --exit-map slurm-prolog
code=$?
[ $code -le 1 ] || echo "headrace ended with $code: not checked"
[ $code -ne 1 ]
