#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/opaque-table.sh FILE...
# Summarizes runs of opaque.sh (their lines, of any number of runs): for each way and period a
# table of the arrangements, medians with the least and the greatest of the runs; and with SVG=FILE a
# picture: the 99th percentile against the training's share of what it does alone, heddle's settings
# joined by lines, without MPS and with it. Lower and further right is better.
set -eu
[ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed -n '/^usage/,$p'; exit 2; }
svg=${SVG:-/dev/null}
LC_ALL=C awk -v svg="$svg" '
function add(key, value) { # to a list
	n[key]++
	at[key, n[key]] = value + 0
}

function sort_list(key,    i, k, v) {
	for (i = 2; i <= n[key]; i++) {
		v = at[key, i]
		for (k = i - 1; k > 0 && at[key, k] > v; k--)
			at[key, k + 1] = at[key, k]
		at[key, k + 1] = v
	}
}

function median(key) {
	sort_list(key)
	return n[key] % 2 ? at[key, (n[key] + 1) / 2] : (at[key, n[key] / 2] + at[key, n[key] / 2 + 1]) / 2
}

function with_range(key, digits,    m) {
	if (!n[key])
		return ""
	m = sprintf("%." digits "f", median(key))
	if (n[key] == 1)
		return m
	return sprintf("%s (%." digits "f to %." digits "f)", m, at[key, 1], at[key, n[key]])
}

function escaped(s) {
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	return s
}

NF == 8 && $2 == "training" {
	add("alone", $8)
	next
}

NF == 8 && $5 + 0 > 0 {
	panel = $2 " " $3
	if (!(panel in panels)) {
		panels[panel] = ++n_panels
		panel_name[n_panels] = panel
	}
	if (!($1 in names)) {
		names[$1] = ++n_names
		name_of[n_names] = $1
	}
	key = panel SUBSEP $1
	add(key SUBSEP "p50", $5)
	add(key SUBSEP "p99", $6)
	if ($8 != "-")
		add(key SUBSEP "steps", $8)
	requests[key] += $4
}

# ---- the picture ----
function x_of(p, share) {
	return left[p] + 46 + share * 330
}

function y_of(ms) { # 0.5 to 128 ms
	return 24 + (log(128) - log(ms)) / (log(128) - log(0.5)) * 300
}

function axes(p,    i, ms) {
	printf "<text x=\"%d\" y=\"14\" font-weight=\"bold\">%s ms: p99 in ms, and share of training</text>\n",
		left[p], escaped(panel_name[p]) >svg
	for (ms = 0.5; ms <= 128; ms *= 2) {
		printf "<path d=\"M%d %.1fh340\" stroke=\"#ddd\"/>", left[p] + 46, y_of(ms) >svg
		printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", left[p] + 40,
			y_of(ms) + 4, ms >svg
	}
	for (i = 0; i <= 4; i++)
		printf "<text x=\"%.1f\" y=\"342\" text-anchor=\"middle\">%d%%</text>\n",
			x_of(p, i / 4), i * 25 >svg
}

# heddle, with MPS or without, from the least share on.
function curve(p, mps,    i, k, key, count, t, xs, ys) {
	for (i = 1; i <= n_names; i++) {
		key = panel_name[p] SUBSEP name_of[i]
		if (name_of[i] !~ /^heddle(-mps)?(:|$)/ || (name_of[i] ~ /^heddle-mps/) != mps ||
			!n[key SUBSEP "steps"])
			continue
		count++
		xs[count] = median(key SUBSEP "steps") / alone
		ys[count] = median(key SUBSEP "p99")
		for (k = count; k > 1 && xs[k] < xs[k - 1]; k--) {
			t = xs[k]; xs[k] = xs[k - 1]; xs[k - 1] = t
			t = ys[k]; ys[k] = ys[k - 1]; ys[k - 1] = t
		}
	}
	if (!count)
		return
	printf "<polyline fill=\"none\" stroke=\"%s\" points=\"", mps ? "#06c" : "#c30" >svg
	for (i = 1; i <= count; i++)
		printf "%.1f,%.1f ", x_of(p, xs[i]), y_of(ys[i]) >svg
	print "\"/>" >svg
}

function point(p, i,    key, x, y) {
	key = panel_name[p] SUBSEP name_of[i]
	if (!n[key SUBSEP "steps"])
		return
	x = x_of(p, median(key SUBSEP "steps") / alone)
	y = y_of(median(key SUBSEP "p99"))
	printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>", x, y,
		name_of[i] ~ /^heddle-mps/ ? "#06c" : name_of[i] ~ /^heddle/ ? "#c30" : "#333" >svg
	# Points may be close: numbers, in two rows, and the names below.
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n", x,
		i % 2 ? y - 6 : y + 14, i >svg
	printf "<text x=\"%d\" y=\"%d\">%d %s</text>\n", left[p] + 46, 350 + 13 * i, i,
		escaped(name_of[i]) >svg
}

function draw(    p, i, columns, height) {
	height = 362 + 13 * n_names
	columns = n_panels < 3 ? n_panels : 3
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" " \
		"font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		columns * 420, int((n_panels + columns - 1) / columns) * height >svg
	for (p = 1; p <= n_panels; p++) {
		left[p] = 8
		printf "<g transform=\"translate(%d %d)\">\n", (p - 1) % columns * 420,
			int((p - 1) / columns) * height >svg
		axes(p)
		curve(p, 0)
		curve(p, 1)
		for (i = 1; i <= n_names; i++)
			point(p, i)
		print "</g>" >svg
	}
	print "</svg>" >svg
}

END {
	alone = n["alone"] ? median("alone") : 0
	for (p = 1; p <= n_panels; p++) {
		print (p > 1 ? "\n" : "") "**" panel_name[p] " ms**\n"
		print "| arrangement | runs, requests | p50 ms | p99 ms | steps/s | of alone |"
		print "| --- | --- | --- | --- | --- | --- |"
		for (i = 1; i <= n_names; i++) {
			key = panel_name[p] SUBSEP name_of[i]
			if (!n[key SUBSEP "p50"])
				continue
			share = alone && n[key SUBSEP "steps"] ? sprintf("%.0f %%",
				100 * median(key SUBSEP "steps") / alone) : ""
			print "| " name_of[i] " | " n[key SUBSEP "p50"] ", " requests[key] " | " \
				with_range(key SUBSEP "p50", 2) " | " with_range(key SUBSEP "p99", 2) " | " \
				with_range(key SUBSEP "steps", 2) " | " share " |"
		}
	}
	if (alone)
		print "\nTraining alone: " with_range("alone", 2) " steps/s."
	if (svg != "/dev/null" && alone)
		draw()
}' "$@"
