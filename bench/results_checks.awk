# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Beside results.awk: what tests on a device printed, kept whole in results/. Shown are its sums, the
# reasons of refusals, and the first of what failed.
BEGIN {
	CHECKS = "forms,The preemptible forms|virtual,Bodies in another kernel|merged,Pairs as one launch|" \
		"woven,Random pairs in every way|as-tasks,Kernels as tasks of a pool|" \
		"generated,Random programs in pairs in every way|random,Random programs and their preemptible form|" \
		"ops,Instructions against the virtual GPU|kills,Programs killed|kills-mps,Programs killed under MPS|" \
		"programs,Programs from elsewhere|cold,What a start costs|" \
		"virtual-programs,Programs from elsewhere on the virtual GPU"
}

# check_title NAME: empty: it is no test.
function check_title(name,   i, n, a, b) {
	n = split(CHECKS, a, "|")
	for (i = 1; i <= n; i++) {
		split(a[i], b, ",")
		if (b[1] == name)
			return b[2]
	}
	return ""
}

# way_rows: "WAY: ok N wrong N hang N refused N" as a table.
function way_rows(   i, w, a, n) {
	for (i = 0; ("text." i) in v; i++) {
		if (v["text." i] !~ /^[^:]*: ok [0-9]+ wrong [0-9]+ hang [0-9]+ refused [0-9]+$/)
			continue
		if (!n++)
			columns(" way | the same | wrong | hang | refused ")
		w = v["text." i]
		split(substr(w, index(w, ": ok ") + 5), a, " ")
		print "| " substr(w, 1, index(w, ":") - 1) " | " a[1] " | " a[3] " | " a[5] " | " a[7] " |"
	}
	if (n)
		print ""
}

# suite_rows: a suite a row, "| SUITE | N | N ... |"; the rows of several parts are summed.
function suite_rows(   i, k, n, m, a, w, sum, order) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^\|/)
			continue
		k = split(w, a, / *\| */)
		if (a[3] !~ /^[0-9]+$/) { # the head
			if (!m)
				print w
			continue
		}
		if (!((a[2], 3) in sum))
			order[++m] = a[2]
		for (n = 3; n < k; n++)
			sum[a[2], n] += a[n]
	}
	for (i = 1; i <= m; i++) {
		w = "| " order[i] " |"
		for (n = 3; (order[i], n) in sum; n++)
			w = w " " sum[order[i], n] " |"
		print w
	}
	if (m)
		print ""
}

function checks(   i, w, bad) {
	title(check_title(part))
	if (v["about.status"] != "" && v["about.status"] != 0)
		print "**It failed** (exit status " v["about.status"] ").\n"
	way_rows()
	suite_rows()
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w ~ /^(FAIL|hang|differs|FAILED|round)/ && bad < 20)
			failures[bad++] = w
		else if (w ~ /^[a-z]+-[^ ]+ +[a-z]+ +[0-9.-]+ +[0-9.-]+ /)
			continue # one program
		else if (w ~ /^(As on a GPU|Stopped by): /)
			print "- " w
		else if (w !~ /: ok [0-9]+ wrong/ && w ~ /(the same|not|refused|same|failed|wrong|hang|differs|seed|programs|correct|compared|sums).*[0-9]|[0-9].*(the same|refused|same|failed|wrong|hang|correct|compared|sums)/ && w !~ /^\|/)
			if (last_lines++ < 20)
				print "- " w
	}
	if (bad) {
		print "\n```"
		for (i = 0; i < bad; i++)
			print failures[i]
		print "```"
	}
}
