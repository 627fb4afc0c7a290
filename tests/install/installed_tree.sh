#!/usr/bin/env bash
# An installed tree with its libraries works after it was moved, from any folder, with nothing in the environment, and brings along
# every library but those of C and C++.  Usage: installed_tree.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" >/dev/null
[ -e "$work/first/lib/headrace/plugins" ] || fail "no plugins"
find "$work/first/lib" -name 'lib*.so*' | grep . && fail "libraries come with the component 'bundled' only"
cmake --install "$build" --prefix "$work/first" --component bundled >/dev/null
tree="$work/moved to another place"
mv "$work/first" "$tree"

# No library from outside the tree but those of C and C++: ldd follows what the carried ones need of each other, too.
allowed='^(linux-vdso|ld-linux|ld64|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libstdc[+][+]|libgcc_s)[-.]'
# What fits the machine's network cards and its launcher of processes is the machine's own, with all that it needs.
machines_own='(libibverbs|libmpi)[.]so'
while IFS= read -r file; do
  [[ $(objdump -p "$file") =~ NEEDED\ +$machines_own ]] && continue
  while read -r name arrow path _; do
    [ "$arrow" = "=>" ] || continue
    [ "$path" = not ] && fail "$file needs $name, which is not there"
    [[ $path == "$work"/* || $name =~ $allowed ]] || fail "$file takes $name from outside the tree: $path"
  done < <(ldd "$file")
done < <(find "$tree/bin" "$tree/lib" -type f -name 'headrace*')
find "$tree/lib" -name 'libmpi*' -o -name 'libibverbs*' | grep . && fail "these must be the machine's own"
python3 "$(dirname "$0")/../rules/rules.py" libraries "$tree" || fail "a library path leads outside"
grep -rlF --include='*' -e "$build" "$tree/share" && fail "the build folder's name is in the shipped files"

# The binary knows its own tree alone: not one that lies above it, and not one that others could have changed.
[ -s "$tree/share/headrace/headrace.tree" ] || fail "no mark"
mkdir -p "$work/foreign/bin" "$work/foreign/share/headrace/configs/jobs"
cp "$tree/bin/headrace" "$work/foreign/bin/"
cp -r "$tree/lib" "$work/foreign/"
cp "$tree/share/headrace/configs/jobs/resnet50-imagenet.yaml" "$work/foreign/share/headrace/configs/jobs/"
cd "$work"
if foreign/bin/headrace require configs/jobs/resnet50-imagenet.yaml >/dev/null 2>&1; then fail "took a tree without a mark"; fi
cp "$tree/share/headrace/headrace.tree" "$work/foreign/share/headrace/"
foreign/bin/headrace require configs/jobs/resnet50-imagenet.yaml >/dev/null || fail "did not take its own mark"
chmod o+w "$work/foreign/share/headrace"
if foreign/bin/headrace require configs/jobs/resnet50-imagenet.yaml >/dev/null 2>&1; then fail "took a tree that all can write"; fi
rm -rf "$work/foreign"

cd /
clean() { env -i PATH=/usr/bin:/bin HOME=/nonexistent "$tree/bin/headrace" "$@"; }
clean --version > "$work/version" || fail "--version: exit $?"
grep -q "^headrace [0-9]" "$work/version" || fail "--version says: $(cat "$work/version")"
if [ -e "$build/plugins/headrace_io_uring.so" ]; then
  grep -q "io_uring  *usable\|io_uring  *not usable" "$work/version" || fail "the io_uring plugin was not found"
fi
clean list >"$work/list" || fail "list failed"
grep -q small_file_read "$work/list" || fail "list does not name small_file_read"
# What the binary tells of itself came along: a page for each verb, and completion that bash takes.
clean help --verbs >"$work/verbs" || fail "help --verbs failed"
while read -r verb; do
  clean help --man "$verb" | cmp -s - <(zcat "$tree/share/man/man1/headrace-$verb.1.gz") || fail "no manual page of $verb"
done <"$work/verbs"
zgrep -q '^\.TH HEADRACE 1' "$tree/share/man/man1/headrace.1.gz" || fail "no manual page"
bash -n "$tree/share/bash-completion/completions/headrace" || fail "bash does not take its completion"
grep -q '^#compdef headrace' "$tree/share/zsh/site-functions/_headrace" || fail "no completion for zsh"
# Through a file: a pipe that grep closes early would look like a failure of headrace.
clean require configs/jobs/resnet50-imagenet.yaml --format json >"$work/needs" || fail "require failed"
grep -q '"needs"' "$work/needs" || fail "require finds no shipped job"
clean run --check -c configs/quickstart.yaml --job configs/jobs/resnet50-imagenet.yaml >/dev/null || fail "run --check: exit $?"
echo "installed tree: $(du -sh "$tree" | cut -f1), $(find "$tree/lib/headrace" -maxdepth 1 -name '*.so*' -type f | wc -l) libraries carried"
