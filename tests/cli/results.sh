#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: results.sh BUILD SOURCE
# Tests bench/results.sh on the virtual GPU. The rendered tables must have the values of their raw
# files (results.py compares the cells), and the command lines must work as printed. The page must
# say if its tables are of several commits or devices, and if runs failed. (tests/style/figures.sh
# checks that doc/results.md, README.md and doc/status.md are up to date.)
set -eu
build=$1
source=$2
for part in python3 "$build/examples/cfd"; do
	command -v "$part" >/dev/null || {
		echo "skipped: no $part"
		exit 77
	}
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	exit 1
}
script=$source/bench/results.sh
export PAGE="$dir/page.md" HEDDLE_VGPU="results-$$" XDG_CACHE_HOME="$dir/cache"

# Renders the stored results in results/: tables that take too long to measure here. The output must
# be page.md (BLESS=1 rewrites it).
export RESULTS="$source/tests/cli/results"
# results/ has every table that README.md and doc/status.md refer to, with the keys of real output.
# So this also checks that the names in these pages exist.
cp "$source/README.md" "$source/doc/status.md" "$dir/"
README="$dir/README.md" STATUS="$dir/status.md" sh "$script" render || fail "render of $RESULTS"
! grep -n '†<!--' "$dir/README.md" "$dir/status.md" || fail "a page names a table that is not in $RESULTS"
[ -z "${BLESS-}" ] || cp "$PAGE" "$RESULTS/page.md"
diff "$RESULTS/page.md" "$PAGE" || fail "what is rendered of $RESULTS"

# Make a folder with the layout of ./run dist.
dist=$dir/dist
mkdir -p "$dist/bin" "$dist/lib/heddle"
ln -s "$build/heddle" "$build/heddled" "$dist/bin/"
ln -s "$build/examples" "$build/bench" "$build/kernels" "$dist/lib/heddle/"
ln -s "$build/src" "$dist/src"
export RESULTS="$dir/results" DEVICE=cpu ROUNDS=1 BUDGET=1 MORE=--quick LAUNCHES=20
rm "$PAGE"
sh "$script" "$dist" pairs delay equal triplets extra spatial predict slicing orders queue 2>"$dir/log" || fail "$(cat "$dir/log")"
BUDGET=20 sh "$script" "$dist" shares 2>"$dir/log" || fail "$(cat "$dir/log")"
MORE='--of mm,va,nn --low va --quick' sh "$script" "$dist" share 2>"$dir/log" || fail "$(cat "$dir/log")"
MORE=--quick SPLITS=va+mm,mm+nn sh "$script" "$dist" splits 2>"$dir/log" || fail "$(cat "$dir/log")"
MORE='--quick --size small' ORACLE=va+mm sh "$script" "$dist" oracle 2>"$dir/log" || fail "$(cat "$dir/log")"
[ "$(head -n 1 "$PAGE")" = '# Results' ] || fail "no title"
grep -q '^\*\*Not measured yet\*\*: demo, overhead, handover, ' "$PAGE" || fail "not said what is missing"
python3 "$source/tests/cli/results.py" "$PAGE" "$RESULTS" || fail "cells"
commit=$("$build/heddle" version | sed 's/.*commit \(.*\))/\1/')
[ "$(grep -c "^Commit $commit, forms [0-9a-f]*, 1 x heddle virtual GPU" "$PAGE")" = 14 ] || fail "no commit or device"
grep -q "^One commit, $commit, on 1 x" "$PAGE" || fail "not said that it is one commit"
grep -qE '^\| managed \| [0-9.]+ \| [0-9.]+ \| right \| [0-9]+ \| [0-9]+ \| - \| - \|$' "$PAGE" || fail "queue: no row"
grep -qE '^\| managed-log \| [0-9.]+ \| - \| right \| [0-9]+ \| [0-9]+ \| [0-9.]+ \| [0-9.]+ \|$' "$PAGE" || fail "queue: no words"

# The page's command lines work as printed: running one again gives a result of the same shape.
[ "$(sed '/^### /,$!d' "$PAGE" | grep -c '^    [hsS]')" = 14 ] || fail "fourteen lines"
line=$(grep '^    heddle .*--part extra' "$PAGE")
(cd "$source" && PATH="$dist/bin:$PATH" && eval "$line") >"$dir/again" || fail "not as printed: $line"
python3 -c 'import json, sys
def shape(value):
    if isinstance(value, dict):
        return {key: shape(member) for key, member in value.items()}
    return [shape(member) for member in value] if isinstance(value, list) else ""
again, kept = (shape(json.load(open(path))) for path in sys.argv[1:])
sys.exit(again != kept)' "$dir/again" "$RESULTS/extra.json" || fail "another result"

# The failure of a test is a result, and the page shows it.
MORE='--part overhead --size small --points 2' sh "$script" "$dist" merge tasks 2>"$dir/log" || fail "$(cat "$dir/log")"
grep -q '^    heddle bench merge .*--json --part overhead' "$PAGE" || fail "merge: its line"
grep -qE '^\| bitonic \| [0-9.]+ \|( [-+][0-9.]+ % \|){7}$' "$PAGE" || fail "merge: no row"
grep -qE '^\| mandelbrot \| 96 \| [0-9.]+ \| [0-9.]+ \| [0-9]+ \| [0-9.]+ \|$' "$PAGE" || fail "tasks: no row"
[ "$(grep -cx 'No result was wrong.' "$PAGE")" = 6 ] || fail "pairs, delay, equal, triplets, merge, tasks: not said that all was right"
FILTER='^kernels/ptx/' PAIRS=3 sh "$script" "$dist" woven 2>"$dir/log" || fail "$(cat "$dir/log")"
grep -qE '^\| weave --branches \| [0-9]+ \| 0 \| 0 \| [0-9]+ \|$' "$PAGE" || fail "woven: no row"
grep -qF "    FILTER='^kernels/ptx/' PAIRS=3 sh tests/hw/hw.sh" "$PAGE" || fail "not said that it is a part"
! sh "$script" "$dist" as-tasks 2>"$dir/log" || fail "as-tasks without its tool, and yet"
grep -q '^\*\*It failed\*\* (exit status 1)' "$PAGE" || fail "a test that fails is not in the page"
grep -q "^FAILED: no .*/tasks_same" "$PAGE" || fail "nor why"
rm -f "$RESULTS"/as-tasks.*

! RESULTS='' sh "$script" "$dist" queue 2>"$dir/log" || fail "the virtual GPU's figures in doc/results, and yet"
grep -q 'DEVICE=cpu wants RESULTS' "$dir/log" || fail "$(cat "$dir/log")"

# A table's time limit, the limit of all together, a missing requirement; and a stored result is not
# measured again unless the tree has changes.
! ROW_LIMIT=1 sh "$script" "$dist" kills 2>"$dir/log" || fail "past its limit, and yet"
grep -q '^== kills: ended by its limit of 1 s' "$dir/log" || fail "$(cat "$dir/log")"
FOR=3 sh "$script" "$dist" kills 2>"$dir/log" || fail "$(cat "$dir/log")"
grep -q 'left for another call: kills' "$dir/log" || fail "$(cat "$dir/log")"
PROGRAMS='' sh "$script" "$dist" beside 2>"$dir/log" || fail "$(cat "$dir/log")"
grep -q '^== beside: left out, it needs PROGRAMS' "$dir/log" || fail "$(cat "$dir/log")"
sh "$script" stale >"$dir/stale"
[ ! -s "$dir/stale" ] || fail "stale at once: $(cat "$dir/stale")"
sed -i 's/^digest: .*/digest: 0123456789ab/' "$RESULTS/queue.about"
sh "$script" stale >"$dir/stale"
grep -q '^queue: measured with forms 0123456789ab, the passes emit ' "$dir/stale" || fail "not stale: $(cat "$dir/stale")"
sed -i "s/^digest: .*/digest: $(sh "$source/bench/digest.sh")/" "$RESULTS/queue.about"
case $commit in *-dirty) ;; *)
	sh "$script" "$dist" queue 2>"$dir/log"
	grep -q '^== queue: kept, of this commit' "$dir/log" || fail "made again: $(cat "$dir/log")"
	;;
esac

# A command line that fails leaves the earlier results in place.
cp -R "$RESULTS" "$dir/before"
cp "$PAGE" "$dir/page.before"
! FORCE=1 MORE=--frob sh "$script" "$dist" extra 2>"$dir/log" || fail "a line that fails, and yet"
grep -q 'failed: extra' "$dir/log" || fail "$(cat "$dir/log")"
! sh "$script" "$dist" nosuch 2>"$dir/log" || fail "no such table, and yet"
grep -q 'nosuch is not a table; these are: demo' "$dir/log" || fail "$(cat "$dir/log")"
diff -r "$dir/before" "$RESULTS" || fail "what was kept"
cmp "$dir/page.before" "$PAGE" || fail "the page"

# The page says if its tables are of several commits, if a table is of a commit with uncommitted
# changes, and if runs failed.
sed 's/^commit: .*/commit: 0123456789ab-dirty/' "$dir/before/extra.about" >"$RESULTS/extra.about"
sed 's/"failures": 0/"failures": 3/' "$dir/before/pairs.json" >"$RESULTS/pairs.json"
sh "$script" render
grep -q '^\*\*Not of one run\*\*: these tables are of 2 commits, 1 devices' "$PAGE" || fail "two commits"
grep -q '^\*\*0123456789ab-dirty\*\* had changes' "$PAGE" || fail "a tree with changes"
grep -q '^\*\*3 of its runs failed\*\*' "$PAGE" || fail "failures"

# A truncated file is not accepted as a table.
head -n 20 "$dir/before/pairs.json" >"$RESULTS/pairs.json"
cp "$PAGE" "$dir/page.before"
! sh "$script" render 2>"$dir/log" || fail "half a file, and yet"
cmp "$dir/page.before" "$PAGE" || fail "the page"
echo "ten tables, as their raw files have them"
