# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Functions of the style tests. Each test is called with the tree's root, walks the files that belong to
# the project, prints every violation as FILE:LINE: what, and fails when it printed any.
cd "${1:?usage: CHECK ROOT}" || exit 1

# files PATTERN…: the project's own files, by git where there is git, else by name.
files() {
	if [ -e .git ] && git ls-files >/dev/null 2>&1; then
		git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r f; do
			[ ! -f "$f" ] || echo "$f"
		done
	else
		n=$#
		# As git reads them: a name without '*' is that file of the root, one with '/' a path.
		for pattern; do
			case $pattern in
			*/*) set -- "$@" -o -path "./$pattern" ;;
			*\**) set -- "$@" -o -name "$pattern" ;;
			*) set -- "$@" -o -path "./$pattern" ;;
			esac
		done
		shift $((n + 1))
		find . -name .git -prune -o -path './build*' -prune -o -path ./dist -prune \
			-o -type f \( "$@" \) -print | sed 's|^\./||' | sort -u
	fi
}

# recent: of the names on standard input, those of files that differ from the commit SINCE, by default the
# last one that is a day old. All of them without such a commit, or with SINCE=all. For checks that take
# long: a file that has not changed since passed them then.
recent() {
	since=${SINCE:-$(git rev-list -1 --first-parent --before='1 day ago' HEAD 2>/dev/null)}
	if [ "$since" = all ] || ! git rev-parse -q --verify "$since^{commit}" >/dev/null 2>&1; then
		cat
		return
	fi
	{
		git diff --name-only "$since"
		git ls-files --others --exclude-standard
	} | awk 'NR == FNR { recent[$0] = 1; next } $0 in recent' - /dev/fd/3
} 3<&0

# Reads violations on stdin; the verdict of the whole test.
verdict() {
	awk '{ print } END { if (NR) { print NR " violations"; exit 1 } }'
}
