# Shared by the scripts in this folder: the tree's path, messages, packages to install, the build. Source it; it needs
# bash and what every Debian has.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
seconds_since() { echo $(($(date +%s) - $1)); }

# The needed packages and why, "package|reason". One list per purpose, so that nothing is installed without need.
build_packages=(
  "g++|the compiler"
  "cmake|makes the build"
  "ninja-build|runs it"
  "libbenchmark-dev|Google Benchmark, which runs every repetition"
  "libyaml-cpp-dev|reads configurations and jobs"
  "nlohmann-json3-dev|writes run files"
  "libcli11-dev|reads the command line"
  "libfmt-dev|formats text"
  "liburing-dev|the io_uring engine"
  "libibverbs-dev|the verbs plugin: RDMA"
  "librdmacm-dev|its connections by rdma_cm"
  "libjpeg-dev|decodes JPEG"
  "libpng-dev|decodes PNG"
  "libzstd-dev|decodes zstd"
  "zlib1g-dev|unpacks arrays of .npz files, packs what doctor --bundle collects"
  "libcurl4-openssl-dev|asks object stores"
  "libssl-dev|signs what it asks"
  "libpugixml-dev|reads their listings"
)
report_packages=(
  "python3|runs the report maker"
  "python3-matplotlib|draws the report's figures"
  "python3-jinja2|lays out its page"
)
test_packages=(
  "libgtest-dev|unit tests"
  "python3-pytest|tests of the report maker and of the command line"
  "python3-yaml|tests read configurations"
  "libfuse3-dev|builds the file system with faults to order"
  "pkg-config|finds it"
  "fuse3|mounts it"
  "ccache|compiles what the build kinds share only once"
)

# Without these some tests are skipped with the reason; not every distribution has them.
optional_test_packages=(
  "libopenmpi-dev|builds the MPI plugin"
  "openmpi-bin|starts several processes"
  "iproute2|makes several hosts of one machine"
  "nftables|closes some of them to the others"
  "slurm-wlm|makes a cluster of one node, whose srun starts several processes"
  "munge|lets its daemons know each other"
  "chromium|opens the report's pages"
  "chromium-driver|works the browser by WebDriver"
  "python3-selenium|speaks WebDriver"
  "python3-torch|is the DataLoader that loaders are compared with (49 MB to fetch)"
  "qemu-system-x86|boots the machine that RDMA is tested in"
  "acl|lets others write a file, in tests"
  "squashfs-tools|makes compressed file systems, in tests"
  "erofs-utils|makes others of them"
  "btrfs-progs|makes file systems of several devices, in tests"
  "xfsprogs|makes the file systems of many storage nodes, in tests"
  "python3-simgrid|ends the flows that headrace simulate is compared with"
  "zstd|packs the tree that users unpack"
  "python3-pip|installs the wheel, in tests"
  "busybox-static|is all of its first file system"
  "cpio|packs that"
  "kmod|finds the kernel modules it needs"
  "ibverbs-providers|drives its soft-RoCE devices"
  "clang|fuzzes what reads users' files (45 MB to fetch, 260 MB installed)"
  "clang-format|checks how the code is laid out"
  "lld|links the unit tests"
  "libclang-rt-dev|libFuzzer and its sanitizers, where clang does not bring them"
)

is_debian_like() {
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "installing needs root: run this as root, install sudo, or install by hand: $*"
  fi
}

# need_packages "package|reason"...: installs those that are missing; no network when there are none.
need_packages() {
  local entry missing=()
  if ! is_debian_like; then
    [ -n "${HEADRACE_NO_INSTALL:-}" ] && return
    say "This system has no apt. headrace installs what it needs on Debian and Ubuntu only; here, please install the"
    say "counterparts of these Debian packages yourself, then run again with HEADRACE_NO_INSTALL=1:"
    for entry in "$@"; do printf '  %-20s %s\n' "${entry%%|*}" "${entry#*|}"; done
    exit 1
  fi
  for entry in "$@"; do is_installed "${entry%%|*}" || missing+=("$entry"); done
  if [ ${#missing[@]} = 0 ]; then
    say "everything needed is installed"
    return
  fi
  [ -z "${HEADRACE_NO_INSTALL:-}" ] || die "HEADRACE_NO_INSTALL is set, but these are missing: ${missing[*]%%|*}"
  say "to be installed with apt:"
  for entry in "${missing[@]}"; do printf '  %-20s %s\n' "${entry%%|*}" "${entry#*|}"; done
  local log
  log=$(mktemp)
  if ! { as_root apt-get -q update &&
         as_root env DEBIAN_FRONTEND=noninteractive \
           apt-get -q install -y --no-install-recommends "${missing[@]%%|*}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "apt could not install them; its last lines are above, all of them in $log"
  fi
  rm -f "$log"
}

# want_packages "package|reason"...: installs those of them that are missing and that apt knows.
want_packages() {
  local entry missing=() known=()
  is_debian_like && [ -z "${HEADRACE_NO_INSTALL:-}" ] || return 0
  for entry in "$@"; do is_installed "${entry%%|*}" || missing+=("$entry"); done
  [ ${#missing[@]} != 0 ] || return 0
  as_root apt-get -q update >/dev/null 2>&1 || true
  for entry in "${missing[@]}"; do
    [[ $(apt-cache policy "${entry%%|*}" 2>/dev/null) =~ Candidate:\ [^\(] ]] && known+=("$entry")
  done
  [ ${#known[@]} = 0 ] || (need_packages "${known[@]}") || say "going on without: their tests are skipped"
}

# tell_progress LOG: how far the build is that writes into LOG, until killed: on a terminal in one line, elsewhere in a line
# every half minute.
tell_progress() {
  local log=$1 begin=$SECONDS every=30 left text
  [ ! -t 1 ] || every=1
  while sleep "$every" >/dev/null 2>&1; do
    [[ $(tail -c 2000 "$log" 2>/dev/null | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1) =~ ([1-9][0-9]*)/([0-9]+) ]] || continue
    left=$(((SECONDS - begin) * (BASH_REMATCH[2] - BASH_REMATCH[1]) / BASH_REMATCH[1]))
    text="  ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps, about $((left / 60 + 1)) min left"
    if [ -t 1 ]; then printf '\r%s ' "$text"; else say "$text"; fi
  done
}

# One source a folder, and common headers compiled once: less than half the time of a whole build. Compiler caches recognise
# precompiled headers only with an option.
whole_build=(-DHEADRACE_UNITY=ON -DHEADRACE_PRECOMPILE=ON)
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# build PRESET [TARGET...] -- [CMAKE OPTION...]: configures and builds with all cores; of all that it prints only errors are shown.
build() {
  local preset=$1 targets=() options=() begin log teller code=0
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
  [ $# = 0 ] || shift
  options=("$@")
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  begin=$(date +%s)
  log=$(mktemp)
  tell_progress "$log" &
  teller=$!
  { cd "$root" && cmake --preset "$preset" "${options[@]}" &&
    cmake --build --preset "$preset" ${targets[@]:+--target "${targets[@]}"}; } >"$log" 2>&1 || code=$?
  kill "$teller" 2>/dev/null && wait "$teller" 2>/dev/null || true
  if [ -t 1 ]; then printf '\r%60s\r' ""; fi
  if [ "$code" != 0 ]; then
    grep -E -A8 'error|Error|FAILED|warning:' "$log" | tail -n 60 >&2 || tail -n 60 "$log" >&2
    die "the build failed; the whole log is $log"
  fi
  rm -f "$log"
  say "build/$preset is built ($(seconds_since "$begin") s)"
}
