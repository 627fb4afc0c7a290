#!/bin/sh
# A plugin of node-problem-detector: 0 OK, 1 the node failed its last qualification, 2 unknown. Its path: /etc/headrace/npd.sh
command -v headrace >/dev/null || { echo "headrace is not installed here"; exit 2; }
timeout -k 1 10 headrace verdict "${HEADRACE_VERDICT:-/var/lib/headrace/latest}" \
  --max-age "${HEADRACE_MAX_AGE:-7d}" --exit-map npd
code=$?
[ $code -le 2 ] || { echo "headrace ended with $code"; code=2; }
exit $code
