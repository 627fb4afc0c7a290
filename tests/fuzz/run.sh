#!/usr/bin/env bash
# A short, repeatable run of one fuzz target:
#   run.sh WHY_NOT TARGET RUNS DICTIONARY FOLDER...
# WHY_NOT is empty where the target is built. Inputs that are found go to a new folder beside the target; one that fails
# stays there, and is named. To keep it from coming back, mend what it found and put it in tests/fuzz/corpus/.
set -euo pipefail
why_not=$1 target=$2 runs=$3 dictionary=$4
shift 4
if [ -n "$why_not" ]; then
  echo "skipped: $why_not"
  exit 77
fi
found=$target.found
rm -rf "$found"
mkdir "$found"
# Leaks are looked for with ptrace, which containers often refuse.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
# Its own exit code for a finding would be 77, which says "skipped" here.
exec "$target" -runs="$runs" -seed=1 -max_len=4096 -timeout=10 -rss_limit_mb=1024 -error_exitcode=1 -print_final_stats=1 \
  -dict="$dictionary" -artifact_prefix="$found/" "$found" "$@"
