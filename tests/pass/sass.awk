# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Reads `nvdisasm -c` of kernels in preemptible form. Prints the places (BSYNC) at which lanes of a
# warp wait for each other although some of them may be at a block barrier, and others may get here
# without answering one: "KERNEL BARRIER LABEL".
#
# Answering barriers are in a short loop of one barrier that reads shared memory. NANOSLEEP 0x4d
# marks paths that are never taken (tails.c). In kernels without global atomics of their own,
# global atomics mark the worker's code, which claims blocks.

function flush_kernel(    i)
{
	if (n)
		look()
	for (i in label)
		delete label[i]
	n = 0
}

# Sets the successors of instruction i: after[i] is the next one, jump[i] the branch target; 0:
# none.
function link(    i, t, g)
{
	for (i = 1; i <= n; i++) {
		t = text[i]
		g = t ~ /^@/
		sub(/^@!?U?P[0-9T]+ +/, "", t)
		after[i] = i < n ? i + 1 : 0
		jump[i] = 0
		if (t ~ /^BRA\.DIV/)
			continue # its target, the code for diverged warps, comes back here
		if (t ~ /^BRA/) {
			jump[i] = target(t)
			if (!g && t !~ /^BRA[^ ]* +!?U?P[0-9]/)
				after[i] = 0
		} else if (t ~ /^(EXIT|RET|BRX)/ && !g) {
			after[i] = 0
		}
	}
}

function target(t)
{
	if (!match(t, /\.L_x_[0-9]+/))
		return 0
	return label[substr(t, RSTART, RLENGTH)]
}

# Marks in seen[] what is reachable from i without passing stop[] or the edges of cut[].
function reach(i,    top, x, to, k)
{
	for (x in seen)
		delete seen[x]
	top = 1
	stack[1] = i
	while (top) {
		x = stack[top--]
		if (!x || (x in seen) || (x in stop))
			continue
		seen[x] = 1
		for (k = 0; k < 2; k++) {
			to = k ? jump[x] : after[x]
			if (to && !((x, k) in cut))
				stack[++top] = to
		}
	}
}

# Finds the paths on which lanes stop waiting at barrier register b.
function find_cuts(b,    i, g, k)
{
	for (i in cut)
		delete cut[i]
	for (i = 1; i <= n; i++) {
		if (text[i] !~ "^(@!?U?P[0-9]+ +)?BREAK [^;]*" b "$")
			continue
		g = text[i] ~ /^@/ ? substr(text[i], 1, index(text[i], " ") - 1) : ""
		if (g == "") {
			cut[i, 0] = cut[i, 1] = 1
			continue
		}
		for (k = i + 1; k <= n && k < i + 12; k++)
			if (index(text[k], g " BRA") == 1) {
				cut[k, 1] = 1
				break
			}
	}
}

# The path for diverged warps has its barrier numbers in registers.
function is_barrier(i)
{
	return text[i] ~ /(^| )BAR\.(SYNC|RED|ARV)[^ ]* 0x/
}

# Returns whether b is in a loop of at most 70 steps with one barrier and a read of shared memory.
function answers(b,    i, d, steps, front, fresh, x, k, to, m)
{
	for (i = b; i < b + 12 && text[i] !~ /LDS/; i++)
		if (i >= n)
			return 0
	if (text[i] !~ /LDS/)
		return 0
	for (x in met)
		delete met[x]
	front = b
	m = 1
	list[1] = b
	for (steps = 0; steps < 70 && m; steps++) {
		fresh = 0
		for (i = 1; i <= m; i++)
			for (k = 0; k < 2; k++) {
				to = k ? jump[list[i]] : after[list[i]]
				if (to == b)
					return 1
				if (!to || (to in met) || is_barrier(to))
					continue
				met[to] = 1
				more[++fresh] = to
			}
		m = fresh
		for (i = 1; i <= m; i++)
			list[i] = more[i]
	}
	return 0
}

function look(    i, b, to, bars, claims, ends, tails, x, t)
{
	link()
	for (x in answer)
		delete answer[x]
	for (x in never)
		delete never[x]
	for (i = 1; i <= n; i++) {
		if (is_barrier(i) && answers(i)) {
			answer[i] = 1
			loops++
		}
		if (text[i] ~ /NANOSLEEP 0x4d/)
			never[i] = tails = 1
	}
	if (!tails)
		return # all threads reach all barriers
	for (i = 1; i <= n; i++) {
		t = text[i]
		sub(/^@!?U?P[0-9T]+ +/, "", t)
		if (t !~ /^BSSY/)
			continue
		split(t, word, /[ ,]+/)
		b = word[2]
		to = target(t)
		find_cuts(b)
		for (x in stop)
			delete stop[x]
		stop[to] = 1
		reach(i)
		bars = claims = 0
		for (x in seen) {
			bars += is_barrier(x) && !(x in answer)
			claims += text[x] ~ /ATOMG/
		}
		if (!bars || claims)
			continue
		delete stop[to]
		for (x in answer)
			stop[x] = 1
		for (x in never)
			stop[x] = 1
		reach(i)
		if (!(to in seen))
			continue
		for (x in answer)
			delete stop[x]
		for (x in cut)
			delete cut[x]
		reach(to)
		ends = 0
		for (x in seen)
			ends += is_barrier(x) || text[x] ~ /EXIT/
		if (ends)
			print kernel, b, word[3]
	}
}

/^\.text\./ {
	flush_kernel()
	kernel = $1
	sub(/^\.text\./, "", kernel)
	sub(/:.*/, "", kernel)
	next
}
/^[ \t]*\.L_x_[0-9]+:/ {
	t = $1
	sub(/:.*/, "", t)
	label[t] = n + 1
	next
}
/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]/ && kernel {
	t = $0
	sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]+/, "", t)
	sub(/[ \t]*;.*$/, "", t)
	gsub(/[ \t]+/, " ", t)
	text[++n] = t
}
END {
	flush_kernel()
	print "answering loops", loops + 0
}
