# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Functions of the style tests. Each test is called with the tree's root, checks the project's
# files, prints every violation as FILE:LINE: what, and fails if it printed any.
cd "${1:?usage: CHECK ROOT}" || exit 1

# files PATTERN…: lists the project's own files that match, as git knows them, or else by their
# names.
files() {
	if [ -e .git ] && git ls-files >/dev/null 2>&1; then
		git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r f; do
			[ ! -f "$f" ] || echo "$f"
		done
	else
		n=$#
		# Patterns as in git: a name without '*' is a file in the root, one with '/' is a
		# path.
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

# recent: from the names on standard input, prints the files that differ from the commit SINCE, by
# default the last one that is at least a day old. Without such a commit, or with SINCE=all, prints
# all. For slow checks: an unchanged file passed them at that commit.
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

# Reads violations from standard input, prints them, and fails if there are any.
verdict() {
	awk '{ print } END { if (NR) { print NR " violations"; exit 1 } }'
}
