#!/usr/bin/env bash
# The packages of tools/package: a tree to unpack anywhere, and a wheel that pip installs without a network. Each measures, and what it
# brings holds no link out of it.  Usage: packages.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
command -v zstd >/dev/null || { echo "skipped: no zstd (Debian: zstd)"; exit 77; }
/usr/bin/python3 -m pip --version >/dev/null 2>&1 || { echo "skipped: /usr/bin/python3 has no pip (Debian: python3-pip)"; exit 77; }

"$here/../../tools/package" --build "$build" --out "$work/packages" tar wheel >"$work/said" || fail "tools/package: $(cat "$work/said")"
(cd "$work/packages" && sha256sum -c --quiet SHA256SUMS) || fail "wrong checksums"

# measures NAME PROGRAM: a few small files, with nothing in the environment.
measures() {
  mkdir "$work/$1-data"
  for n in 1 2 3 4; do head -c 20000 /dev/urandom >"$work/$1-data/$n.bin"; done
  env -i PATH=/usr/bin:/bin HOME=/nonexistent "$2" measure small_file_read "$work/$1-data" --cache asis --repeat 1 --no-report \
    --out "$work/$1-out" >"$work/$1" 2>&1 || fail "$1: exit $?: $(tail -n 3 "$work/$1")"
  grep -q "sample_rate\|samples/s" "$work/$1" || fail "$1 gives no figure: $(cat "$work/$1")"
}

mkdir "$work/tree"
tar -C "$work/tree" --strip-components=1 -xf "$work"/packages/*.tar.zst
find "$work/tree" -type l | while read -r link; do
  [[ $(realpath -e "$link") == "$work/tree"/* ]] || fail "$link leads out of the tree"
done
measures tar "$work/tree/bin/headrace"

# The bill of materials has each library of the tree, and its checksum.
python3 - "$work/tree/lib/headrace" "$work"/packages/*.spdx.json <<'END' || fail "the list of libraries is not that of the tree"
import hashlib, json, pathlib, sys
listed = {one["packageFileName"]: one["checksums"][0]["checksumValue"] for one in json.load(open(sys.argv[2]))["packages"]}
there = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in pathlib.Path(sys.argv[1]).glob("*.so*") if not one.is_symlink()}
assert there and there.items() <= listed.items() and "headrace" in listed, (there, listed)
END

# So has the record of how they were made, which names the revision.
python3 - "$work/packages" "$(git -C "$here" rev-parse HEAD 2>/dev/null)" <<'END' || fail "the provenance is not that of the packages"
import hashlib, json, pathlib, sys
(record,) = pathlib.Path(sys.argv[1]).glob("*.provenance.json")
stored = json.loads(record.read_text())
made = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in record.parent.iterdir() if one.suffix in (".zst", ".whl")}
subjects = {one["name"]: one["digest"]["sha256"] for one in stored["subject"]}
inputs = stored["predicate"]["buildDefinition"]["resolvedDependencies"]
assert len(made) == 2 and made.items() <= subjects.items(), (made, subjects)
assert inputs[0]["digest"]["gitCommit"] == sys.argv[2] and any("libbenchmark-dev@" in one["uri"] for one in inputs), inputs
END

/usr/bin/python3 -m pip install -q --no-index --no-deps --target "$work/site" "$work"/packages/*.whl >"$work/pip" 2>&1 || fail "pip: $(cat "$work/pip")"
[ -x "$work/site/bin/headrace" ] || fail "the wheel brings no command"
export PYTHONPATH=$work/site
measures wheel "$work/site/headrace/tree/bin/headrace"
/usr/bin/python3 -m headrace --version | grep -q '^headrace [0-9]' || fail "the wheel's launcher does not start it"
"$work/site/bin/headrace" --version | grep -q '^headrace [0-9]' || fail "the wheel's command does not start it"
kib=$(($(stat -c %s "$work"/packages/*.whl) / 1024))
[ "$kib" -le 25600 ] || fail "the wheel has $kib KiB, more than 25 MiB"
# It says no: a program that is not there is an error in one line.
mv "$work/site/headrace/tree/bin/headrace" "$work/site/headrace/tree/bin/gone"
if /usr/bin/python3 -m headrace --version >"$work/gone" 2>&1; then fail "starts what is not there"; fi
[ "$(wc -l <"$work/gone")" = 1 ] || fail "says in more than a line: $(cat "$work/gone")"

# It says no: to machines that it has no libraries of.
for no in "--portable --arch mips" "--portable --arch"; do
  # shellcheck disable=SC2086
  if "$here/../../tools/package" $no >"$work/no" 2>&1; then fail "takes $no"; fi
  grep -q -- "--arch takes aarch64, not '" "$work/no" || fail "$no: $(cat "$work/no")"
done

# lint FORMAT BUILDER CHECKER COMMAND...: packages of a format that the tools of this machine make, by the rules of its distributions.
lint() {
  local format=$1
  if ! command -v "$2" >/dev/null || ! command -v "$3" >/dev/null; then echo "no $2 or no $3: .$format is not checked"; return; fi
  "$here/../../tools/package" --build "$build" --out "$work/$format" "$format" >"$work/said.$format" || fail "tools/package $format: $(cat "$work/said.$format")"
  shift 2
  "$@" "$work/$format"/*."$format" >"$work/lint" 2>&1 || fail "$1: $(cat "$work/lint")"
  if grep -E "[EW]: " "$work/lint"; then fail "$1 has remarks"; fi
}
# Who packages names himself: -DHEADRACE_MAINTAINER.
lint deb dpkg-shlibdeps lintian --fail-on error,warning --allow-root \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact
lint rpm rpmbuild rpmlint --config "$here/../../packaging/rpmlint.toml"
cat "$work/said"
