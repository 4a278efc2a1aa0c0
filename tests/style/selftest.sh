#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Every style check must be able to fail: each gets a small correct tree, and then one with an error
# of the kind that it must find.
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0

fresh() {
	rm -rf "$tmp/t"
	mkdir -p "$tmp/t/src/base" "$tmp/t/src/ptx"
	cp "$here/../../.clang-format" "$tmp/t/"
	cat >"$tmp/t/src/base/a.h" <<-'EOF'
		/* SPDX-License-Identifier: Apache-2.0
		 * Copyright 2026 The heddle authors */

		/* Says what it is for. */
		int a(void);
	EOF
	{
		cat "$tmp/t/src/base/a.h"
		printf '#include "base/a.h"\n\nint a(void)\n{\n\treturn 1;\n}\n'
	} >"$tmp/t/src/ptx/b.c"
	sed -i '/^int a(void);$/d' "$tmp/t/src/ptx/b.c"
	printf '\nconst char *v[] = {"HEDDLE_A", "HEDDLE_B="};\n' >>"$tmp/t/src/ptx/b.c"
	mkdir -p "$tmp/t/man"
	echo '*HEDDLE_A*, *HEDDLE_B*' >"$tmp/t/man/heddle-environment.7.scd"
	printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n#\necho ok\n' >"$tmp/t/x.sh"
}

# expect STATUS CHECK WHAT
expect() {
	sh "$here/$2.sh" "$tmp/t" >"$tmp/out" 2>&1
	got=$?
	[ $got = 77 ] && return
	if [ $got != "$1" ]; then
		echo "$2: $3: exit status $got, expected $1"
		cat "$tmp/out"
		status=1
	fi
}

grep '^avoid' "$here/words.txt" >"$tmp/words"
export WORDS="$tmp/words"
fresh
for check in layers sizes format heads scripts environment words; do
	expect 0 $check "a tree that is right"
done

echo '#include "ptx/b.h"' >>"$tmp/t/src/base/a.h"
echo >"$tmp/t/src/ptx/b.h"
expect 1 layers "an arrow that runs upwards"
fresh
mkdir -p "$tmp/t/src/pass/verify" "$tmp/t/src/pass/fuse"
echo >"$tmp/t/src/pass/fuse/b.h"
echo '#include "pass/fuse/b.h"' >"$tmp/t/src/pass/verify/a.h"
expect 1 layers "an arrow that runs upwards within a layer"
fresh
mkdir -p "$tmp/t/src/sched/engine"
printf 'EVENT_0(tenant, leave, TIMED)\nINPUT(create)\n' >"$tmp/t/src/sched/engine/events.def"
printf 'int sched_create(int o);\nvoid sched_leave(\n\tstruct sched *s, struct sched_tenant *t);\nint sched_n(const struct sched *s);\n' \
	>"$tmp/t/src/sched/engine/sched.h"
expect 0 journaled "an event with a row"
echo 'void sched_end(const struct sched *s, struct sched_launch *l);' >>"$tmp/t/src/sched/engine/sched.h"
expect 1 journaled "a function that changes a launch and has no row"
fresh
echo '#include "base/none.h"' >>"$tmp/t/src/ptx/b.c"
expect 1 layers "a header that does not exist"
fresh
mkdir "$tmp/t/src/misc"
expect 1 layers "a folder that is no layer"

fresh
{
	printf '\nint f(void)\n{\n'
	yes '	a();' | head -n 98
	printf '}\n'
} >>"$tmp/t/src/ptx/b.c"
expect 1 sizes "a function of 101 lines"
sed -i '$d' "$tmp/t/src/ptx/b.c"
sed -i '$d' "$tmp/t/src/ptx/b.c"
echo '}' >>"$tmp/t/src/ptx/b.c"
expect 0 sizes "a function of 100 lines"
fresh
yes '/* */' | head -n 251 >>"$tmp/t/src/base/a.h"
expect 1 sizes "a header too long"
fresh
yes '/* */' | head -n 901 >>"$tmp/t/src/ptx/b.c"
expect 1 sizes "a file too long"
fresh
yes '' | head -n 131 >"$tmp/t/README.md"
expect 1 sizes "a README too long"
fresh
yes '' | head -n 91 >"$tmp/t/HACKING.md"
expect 1 sizes "a HACKING too long"
fresh
yes '†' | head -n 110 | tr -d '\n' >"$tmp/t/README.md"
expect 0 sizes "a line of 110 columns in README"
echo . >>"$tmp/t/README.md"
expect 1 sizes "a line of 111 columns in README"

fresh
printf 'int   b;\n' >>"$tmp/t/src/ptx/b.c"
expect 1 format "a file that is not formatted"

fresh
sed -i 1d "$tmp/t/src/ptx/b.c"
expect 1 heads "a C file without a licence"
fresh
sed -i 4d "$tmp/t/src/base/a.h"
expect 1 heads "a header that does not say what it is for"
fresh
sed -i 2d "$tmp/t/x.sh"
expect 1 heads "a script without a licence"

fresh
echo 'const char *w = "HEDDLE_C";' >>"$tmp/t/src/ptx/b.c"
expect 1 environment "a variable that the page does not name"
fresh
sed -i '/HEDDLE_/d' "$tmp/t/src/ptx/b.c"
expect 1 environment "a variable that nothing reads"
fresh
printf 'char *x(void) { return getenv("HOME"); }\n' >>"$tmp/t/src/ptx/b.c"
expect 1 environment "what a set-uid program would believe"

# These checks need a build of the tree.
built() { # STATUS WHAT
	if command -v ninja >/dev/null && command -v cc >/dev/null; then
		printf 'rule c\n command = cc -c $in -o $out\nbuild src/ptx/b.o: c src/ptx/b.c\n' >"$tmp/t/build.ninja"
		sed -i '/^#include "base/d' "$tmp/t/src/ptx/b.c"
		ninja -C "$tmp/t" >"$tmp/out" 2>&1 && sh "$here/unused.sh" "$tmp/t" "$tmp/t" >"$tmp/out" 2>&1
		[ $? = "$1" ] || { echo "unused: $2:" && cat "$tmp/out" && status=1; }
	fi
}
fresh
mkdir -p "$tmp/t/tests" "$tmp/t/bench"
built 1 "what nothing names"
echo 'a b v' >"$tmp/t/tests/a.c"
built 1 "what only a test calls"
echo 'int b(void) { return a(); }' >>"$tmp/t/src/ptx/b.c"
built 0 "what its own file calls, and a test"
printf 'static inline int one(void)\n{\n\treturn 1;\n}\n' >>"$tmp/t/src/base/a.h"
built 1 "a function in a header that nothing calls"
sed -i 's/^int b(void).*/int one(void);\nint b(void) { return a() + one(); }/' "$tmp/t/src/ptx/b.c"
built 0 "a function in a header that a source calls"
fresh
mkdir -p "$tmp/t/tests" "$tmp/t/bench"
printf '%s\n' 'ROW(x, "text")' >"$tmp/t/src/ptx/rows.def"
cat >"$tmp/t/src/ptx/b.c" <<-'EOF'
	#define ROW(id, text) int of_##id(void) { return 1; }
	#include "rows.def"
	#undef ROW
EOF
built 1 "a function that a row defines, and nothing names"
cat >>"$tmp/t/src/ptx/b.c" <<-'EOF'
	#define ROW(id, text) &of_##id,
	static int (*const table[])(void) = {
	#include "rows.def"
	};
	int main(void) { return table[0](); }
EOF
built 0 "a function that a row puts into a table"
echo 'int y(void) { return 1; }' >>"$tmp/t/src/ptx/b.c"
built 1 "a function that no row names"

# STATUS WHAT TESTS: checks a build's list of tests against the list of faults.
faults() { # STATUS WHAT TESTS
	printf 'aaaaaaaa\tbase:opens,slow\ta fault\nbbbbbbbb\t-,slow\tanother one\ncccccccc\t%s\ta third one\n' "$3" >"$tmp/t/tests/faults.txt"
	sh "$here/faults.sh" "$tmp/t" "$tmp/t" >"$tmp/out" 2>&1
	[ $? = "$1" ] || { echo "faults: $2:" && cat "$tmp/out" && status=1; }
}
fresh
mkdir -p "$tmp/t/tests" "$tmp/t/meson-info"
echo 'static void opens(void **state)' >"$tmp/t/tests/a.c"
printf '[{"cmd": ["a"], "name": "base", "suite": ["p:unit"]}, {"cmd": ["b"], "name": "slow", "suite": ["p:exec", "p:full"]}]\n' \
	>"$tmp/t/meson-info/intro-tests.json"
printf 'base\ttests/a.c\ta fault\nnone?\ttests/a.c, src/ptx/b.c\ta fault\n' >"$tmp/t/tests/planted.txt"
faults 0 "tests that are there" base
printf 'slow\ttests/a.c\ta fault\n' >"$tmp/t/tests/planted.txt"
faults 1 "a planted fault of a test that is not quick" base
printf 'base\ttests/a.c, src/ptx/gone.c\ta fault\n' >"$tmp/t/tests/planted.txt"
faults 1 "a planted fault of a file that is gone" base
: >"$tmp/t/tests/planted.txt"
faults 0 "a test that some machines lack" 'other?'
faults 1 "a test that is gone" other
faults 1 "tests of the full matrix alone" slow
faults 1 "a case that is gone" base:closes
faults 1 "no test" ''

# Creates a README.md with 20 figures of the one measured table, a doc/status.md with two more, and
# the generated text.
export PHRASES="$tmp/phrases"
tables() {
	fresh
	mkdir -p "$tmp/t/bench" "$tmp/t/doc/results" "$tmp/t/tests/pass/forms"
	cp -R "$here"/../../bench/results.* "$here/../../bench/about.sh" "$here/../../bench/digest.sh" "$here"/../../bench/render* \
		"$tmp/t/bench/"
	echo 'kernels: 0123456789ab' >"$tmp/t/tests/pass/forms/digests"
	printf '%s\n' 'line: heddle' 'commit: 1' 'digest: 0123456789ab' 'device: d' 'driver: none' 'host: h' 'day: 2026-11-25' \
		'seconds: 1' 'status: 0' >"$tmp/t/doc/results/overhead.about"
	echo '{"overhead": [{"program": "cfd", "plain_us": 1234.56}], "overhead_geomean": -0.0149}' >"$tmp/t/doc/results/overhead.json"
	echo '20 SMs' >"$tmp/phrases"
	{
		printf '# t\n\n12 things.\n\n## What it gains, on 20 SMs\n\n| F1 | `1` 3† |\n'
		yes '1<!--overhead:overhead.cfd.plain_us-->, +9.9†<!--overhead:overhead_geomean*100--> %,' | head -n 10
		printf 'Measured.<!--stale--><!--/stale-->\n\n## Limits\n\n3 to 4.\n'
	} >"$tmp/t/README.md"
	printf '# Status\n\n7.5<!--pairs:summary.heddle.antt_mean-->, 1<!--overhead:overhead.cfd.plain_us-->.<!--stale--><!--/stale-->\n' \
		>"$tmp/t/doc/status.md"
	sh "$tmp/t/bench/results.sh" render || status=1
}
tables
grep -q '^1,235<!--overhead:overhead.cfd.plain_us-->, -1.5<!--overhead:overhead_geomean\*100--> %,$' "$tmp/t/README.md" ||
	{ echo "figures: not renewed:" && cat "$tmp/t/README.md" && status=1; }
grep -q '^7.5†<!--pairs:.*, 1,235<!--' "$tmp/t/doc/status.md" || { echo "figures: no † where no table is" && status=1; }
expect 0 figures "figures as they were measured"
sed -i '0,/1,235</s//1,236</' "$tmp/t/README.md"
expect 1 figures "another figure than the table's"
tables
sed -i 's/1,235</1,236</' "$tmp/t/doc/status.md"
expect 1 figures "another figure than the table's in doc/status.md"
tables
sed -i 's/-0.0149/-0.0249/' "$tmp/t/doc/results/overhead.json"
expect 1 figures "a table that has changed"
tables
echo 'More: 5 %.' >>"$tmp/t/doc/results.md"
expect 1 figures "results that are typed in"
tables
sed -i 's/^7.5†/8 %, &/' "$tmp/t/doc/status.md"
expect 1 figures "a figure without a mark"
sed -i 's/^8 %/8† %/' "$tmp/t/doc/status.md"
expect 0 figures "a figure that was typed in, and says so"
tables
sed -i 's/†<!--pairs/<!--pairs/' "$tmp/t/doc/status.md"
expect 1 figures "a figure of no table that does not say so"
tables
sed -i 's/<!--overhead:overhead.cfd.plain_us-->/<!--overhead:overhead.cfd.plan_us-->/' "$tmp/t/README.md"
sh "$tmp/t/bench/results.sh" render 2>/dev/null
expect 1 figures "a figure that the table does not have"
tables
sed -i 's/<!--pairs:/<!--peers:/' "$tmp/t/doc/status.md"
expect 1 figures "a table that does not exist"
tables
echo 'kernels: fedcba987654' >"$tmp/t/tests/pass/forms/digests"
expect 1 figures "figures of other forms that do not say so"
sh "$tmp/t/bench/results.sh" render || status=1
grep -q '^1,235‡<!--overhead:' "$tmp/t/README.md" || { echo "figures: no ‡ where a table is stale" && status=1; }
for page in README.md doc/status.md; do
	grep -q '^‡: measured with earlier versions .*, overhead on 2026-11-25 at commit 1.<!--/stale-->$' "$tmp/t/$page" ||
		{ echo "figures: $page does not say how old they are" && status=1; }
done
expect 0 figures "figures of other forms that say so"
sed -i 's/on 2026-11-25 at/on 2026-11-26 at/' "$tmp/t/README.md"
expect 1 figures "another age than the table's"
sed -i 's/<!--stale-->/<!--stail-->/' "$tmp/t/README.md"
expect 1 figures "figures of other forms, and no word on how old they are"

# In doc/results.md, stale tables must be last, each with its day, and each table must say how to
# read it. `next` must list the tables that README.md quotes first.
has() { # LINE WHAT: the next line of doc/results.md that is this
	found=$(tail -n +"$((at + 1))" "$tmp/t/doc/results.md" | grep -nxm 1 -e "$1" | sed 's/:.*//')
	[ -n "$found" ] || { echo "results.md: $2" && status=1; }
	at=$((at + ${found:-0}))
}
next() { # EXPECTED SECONDS
	sh "$tmp/t/bench/results.sh" next "$2" | head -n 2 | cut -d : -f 1,2 | tr '\n' ',' >"$tmp/next"
	[ "$(cat "$tmp/next")" = "$1" ] || { echo "next $2: $(cat "$tmp/next")" && status=1; }
}
tables
next 'pairs: 590 s, never measured, its limit, quoted by doc/status.md,demo: 120 s, never measured, its limit,' 710
sed 's/0123456789ab/fedcba987654/' "$tmp/t/doc/results/overhead.about" >"$tmp/t/doc/results/demo.about"
echo '{"pairs": []}' >"$tmp/t/doc/results/demo.json"
sh "$tmp/t/bench/results.sh" render || status=1
at=0
has '## Measured with the current forms' "no heading for fresh tables"
has '### What the preemptible form costs.*' "no fresh table first"
has '`ratio` is the time of the preemptible form over .*' "not said how to read it"
has '## Measured with earlier forms' "no heading for stale tables"
has '### The demo' "no stale table below"
has '\*\*Measured with earlier forms (2026-11-25).\*\* Each pair is .*' "no day of a stale table"
next 'demo: 1 s, measured on 2026-11-25,sum: 1 s of 5,' 5
echo 'kernels: fedcba987654' >"$tmp/t/tests/pass/forms/digests"
next 'overhead: 1 s, measured on 2026-11-25, quoted by README.md,sum: 1 s of 59,' 59
sh "$tmp/t/bench/results.sh" next 100000 | grep -q '^opaque: 590 s, never measured, its limit, needs PYTHON$' ||
	{ echo "next: not said what a table needs" && status=1; }
tables
sed -i 's/^## What it gains/## Gains/' "$tmp/t/README.md"
expect 1 figures "a section that is gone"
tables
echo '21 SMs' >>"$tmp/phrases"
expect 1 figures "a phrase that is not there"

# thin: removes from a large result the values that no page shows, and nothing from a small one.
tables
cp "$tmp/t/doc/results.md" "$tmp/before"
thin() {
	sh "$tmp/t/bench/results.sh" thin overhead
}
[ -z "$(thin)" ] || { echo "thin: of a small result" && status=1; }
awk 'BEGIN { printf "{\"samples\": [0"; for (i = 0; i < 60000; i++) printf ", 1"; printf "],\n" } { sub(/^{/, ""); print }' \
	"$tmp/t/doc/results/overhead.json" >"$tmp/large"
cp "$tmp/large" "$tmp/t/doc/results/overhead.json"
case $(thin) in "overhead: 180"*" bytes are "[0-9][0-9]" now"*) ;; *)
	wc -c "$tmp/t/doc/results/overhead.json"
	echo "thin: not made smaller" && status=1
	;;
esac
sh "$tmp/t/bench/results.sh" render && cmp "$tmp/before" "$tmp/t/doc/results.md" || status=1
sed -i 's/data.pop("samples", None)/&; data["overhead"].clear()/' "$tmp/t/bench/render/thin.py"
cp "$tmp/large" "$tmp/t/doc/results/overhead.json"
thin 2>"$tmp/said" && echo "thin: drops what a page shows" && status=1
cmp "$tmp/large" "$tmp/t/doc/results/overhead.json" || status=1

# doc/status.md: a row for each requirement, whose states follow from tests and tables.
status_of() { # FILTER: an awk program that changes rows
	tables
	mkdir -p "$tmp/t/tests/cli"
	cp "$tmp/t/doc/results/overhead.about" "$tmp/t/doc/results/registers.about" # a table that needs no GPU
	echo 'ptxas: 0.8 s as they are, 7 s first forms (8.71 times), 1 s second ones (9.88 times in all)' >"$tmp/t/doc/results/registers.txt"
	echo "test('cli-' + 'demo', case)" >"$tmp/t/tests/cli/meson.build"
	printf '# Status\n\n<!--requirements-->\n\n7.5<!--pairs:x--><!--stale--><!--/stale-->\n' >"$tmp/t/doc/status.in.md"
	for ids in F:14 A:13 K:13 P:11 G:10 X:9; do
		seq -f "${ids%:*}%g" "${ids#*:}"
	done | awk -F '\t' -v OFS='\t' '{ $2 = "it"; $3 = $4 = $5 = "-" } '"$1"' { print }' >"$tmp/t/doc/status.facts"
	sh "$tmp/t/bench/results.sh" render 2>"$tmp/said"
}
row() { # ROW WHAT
	grep -qxF "$1" "$tmp/t/doc/status.md" || { echo "status.md: $2: $(grep "^| ${1%% |*} " "$tmp/t/doc/status.md")" && status=1; }
}
figure='0<!--overhead:overhead.cfd.plain_us-->'
status_of '$1 == "F2" { $3 = "cli-demo:case"; $4 = "'$figure'" } $1 == "F3" { $3 = "cli-demo"; $5 = "half" }
	$1 == "F4" { $5 = "all" } $1 == "F5" { $4 = "0<!--delay:x-->" }
	$1 == "F6" { $4 = "0<!--registers:ptxas.first-->" }' || { cat "$tmp/said" && status=1; }
row '| F1 | it | no evidence | no evidence | | |' "no test and no table"
row "| F2 | it | tested | measured 2026-11-25 | \`cli-demo:case\`; 1,235${figure#0} | |" "a test and a table"
row '| F3 | it | tested in part | no evidence | `cli-demo` | half |' "something is missing"
row '| F4 | it | not yet | not yet | | |' "not begun"
row '| F5 | it | no evidence | not measured | | |' "a table that is missing"
row '| F6 | it | no evidence | no evidence | 9<!--registers:ptxas.first--> | |' "a table of no GPU"
row '| X9 | it | no evidence | no evidence | | |' "the last one"
expect 0 figures "a rendered status"
sed -i 's/^| F4 | it | not yet/| F4 | it | tested/' "$tmp/t/doc/status.md"
expect 1 figures "a state that was typed"
status_of '$1 == "F2" { $4 = "'$figure'" } END { system("echo kernels: fedcba987654 >'"$tmp"'/t/tests/pass/forms/digests") }' ||
	{ cat "$tmp/said" && status=1; }
row "| F2 | it | no evidence | measured with earlier forms 2026-11-25 | 1,235‡${figure#0} | |" "a stale table"
said() { # LINE WHAT
	grep -qF "$1" "$tmp/said" || { echo "status.facts: $2: $(cat "$tmp/said")" && status=1; }
}
status_of '$1 == "K7" { next }'
said 'status.facts:34: K8: the requirement K7 is expected here' "a requirement without a row"
status_of '$1 == "X9" { next }'
said 'status.facts:1: 69 requirements: 70 are expected' "the last requirement without a row"
status_of '$1 == "K7" { $3 = "cli-demos" }'
said 'status.facts:34: no such test: cli-demos' "a test that is gone"
status_of '$1 == "K7" { $3 = "cli-demo:suitcase" }'
said 'status.facts:34: no such test: cli-demo:suitcase' "a case that is gone"

# Tries each phrase in a document, in a C comment of several lines, and in a script's comment.
n=0
while read -r phrase; do
	fresh
	echo "- Good. $phrase" >"$tmp/t/README.md"
	expect 1 words "$phrase"
	fresh
	echo "/* Good. $phrase */" | sed 's/ \([a-z]*\) /\n * \1 /2' >>"$tmp/t/src/ptx/b.c"
	expect 1 words "in C: $phrase"
	fresh
	echo "# Good. $phrase" >>"$tmp/t/x.sh"
	expect 1 words "in a script: $phrase"
	n=$((n + 1))
done <<-'EOF'
	It takes 20, if nothing is said.
	The compiler crashes of it.
	It serves whoever waits.
	Who waits is served.
	A page for who reads it.
	What differs is in a file.
	The page is looked at.
	A program comes by more streams.
	It runs ahead of the launch.
	They run one behind the other.
	This is the door to all passes.
	A pause — a short one.
	The fastest strategy is kept.
	A task slot is free again.
	It claims a GPU for one program.
	The hash slot is free again.
EOF
[ "$n" = "$(grep -c . "$tmp/words")" ] || { echo "words: $n phrases tried of $(grep -c . "$tmp/words")" && status=1; }
fresh
printf '# What it is\n\nWhat is it? See `guests.h`, and the tenant who waits.\n\n    who is told # ahead of\n' >"$tmp/t/README.md"
expect 0 words "a title, a question, code"
printf 'left\tsrc/ptx\t1\n' >>"$tmp/words"
echo '/* It is told. */' >>"$tmp/t/src/ptx/b.c"
expect 0 words "a phrase that was there before"
echo '/* It is told. */' >>"$tmp/t/src/ptx/b.c"
expect 1 words "one more than before"

fresh
# shellcheck disable=SC2016
echo 'rm $1' >>"$tmp/t/x.sh"
expect 1 scripts "an unquoted variable"
exit $status
