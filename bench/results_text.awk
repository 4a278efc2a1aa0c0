# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Beside results.awk: tables of scripts that print text, from the figures that results_figures.awk finds in
# it. Rows come in the order of the lines.

# rows PATTERN: the names that lines start with, up to a blank, comma or colon, each once, in row[1..].
function rows(pattern,   i, name, seen_row, n) {
	split("", row)
	for (i = 0; ("text." i) in v; i++) {
		if (v["text." i] !~ pattern)
			continue
		name = v["text." i]
		sub(/[ ,:].*/, "", name)
		if (!(name in seen_row)) {
			seen_row[name] = 1
			row[++n] = name
		}
	}
	return n
}
function as_is(path) { return has(path) ? v[path] : "-" }
function two(path) { return has(path) ? sprintf("%.2f", v[path]) : "-" }

function handover(   i, n, p) {
	title("A 20 us kernel every ms beside long grids of 20 us blocks")
	print "Turnaround of the short kernel, us. `stamps`: beside the program that records its blocks' times; below, its"
	print "hand-overs, from the order to the last worker's end, and what of that is beyond the residual block.\n"
	n = rows(" launches, turnaround ")
	columns(" arrangement | launches | median | p99 | max ")
	for (i = 1; i <= n; i++)
		print "| " row[i] " | " as_is(row[i] ".launches") " | " us1(row[i] ".p50") " | " us1(row[i] ".p99") \
			" | " us1(row[i] ".max") " |"
	print ""
	columns(" arrangement | preemptions | order to last worker: median, p99 | residual | beyond it ")
	for (i = 1; i <= n; i++) {
		p = row[i] "."
		if (has(p "preemptions"))
			print "| " row[i] " | " v[p "preemptions"] " | " hands(p "order-to-last-worker-gone") " | " \
				hands(p "longest-residual-of-running-blocks") " | " hands(p "beyond-the-residual") " |"
	}
}
function hands(p) { return us1(p ".p50") ", " us1(p ".p99") }

function latency(   i, w, a, p) {
	title("Latency targets")
	print "Grids of blocks of a chosen length, 20 ms each, alone, natively and under heddle at a target (latency_us); and,"
	print "stopped for a 20 us kernel of high priority every ms, the time until the last worker has left.\n"
	columns(" block us | target us | alone ms | under heddle | ratio | preemptions | us to leave: median | p99 ")
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^ *[0-9]+ +[0-9]+: /)
			continue
		split(w, a, /[ :]+/)
		if (a[1] == "")
			p = "block-" a[2] ".target-" a[3] "."
		else
			p = "block-" a[1] ".target-" a[2] "."
		if (has(p "p99"))
			print "| " substr(p, 7, index(p, ".") - 7) " | " substr(p, index(p, "target-") + 7, length(p) - index(p, "target-") - 7) \
				" | " as_is(p "plain_ms") " | " as_is(p "heddle_ms") " | " as_is(p "ratio") " | " \
				as_is(p "preemptions") " | " us1(p "p50") " | " us1(p "p99") " |"
	}
	print "\nWithin 8 us of the target, or of a block that is longer: " v["within"] + 0 " of " v["settings"] + 0 \
		". The most that one costs: " percent("cost_worst") "."
}

function queue(   i, n, p) {
	title("Short launches in one queue, beside a kernel of high priority")
	print "The low program's time for its queue (of `-log` rows, a quarter of it, with an event log), and the turnaround of"
	print "the high one's 30 us kernel every 2 ms, us; words of heddled for each of its launches.\n"
	n = rows("^[a-z-]+ +low [0-9]+ ")
	columns(" arrangement | low, s | over native | result | high: median | p99 | words to launches | to tenants ")
	for (i = 1; i <= n; i++) {
		p = row[i] "."
		print "| " row[i] " | " as_is(p "s") " | " (row[i] ~ /-log$/ ? "-" : two(p "over_native")) " | " \
			as_is(p "result") " | " us(p "p50") " | " us(p "p99") " | " as_is(p "words_launches") " | " \
			as_is(p "words_tenants") " |"
	}
}

function compiling(   i, n, p) {
	title("What compiling holds up")
	print "One thread compiles a large PTX by each kind of call; the worst times in another, ms.\n"
	n = rows("^[a-z]+: [0-9]+ ms; ")
	columns(" compiled by | takes | launches meanwhile | a launch | its wait | allocation | small module ")
	for (i = 1; i <= n; i++) {
		p = row[i] "."
		print "| " row[i] " | " as_is(p "ms") " | " as_is(p "launches") " | " two(p "launch_ms") " | " two(p "wait_ms") \
			" | " two(p "memory_ms") " | " two(p "module_ms") " |"
	}
}

function waiting(   i, n, name) {
	title("Calls that wait for a kernel that runs")
	print "In the same context; and whether another thread's launch in another stream waits as long.\n"
	n = rows("^[A-Za-z0-9-]+: (goes on|waits|error)")
	columns(" call | beside the kernel | a launch meanwhile ")
	for (i = 1; i <= n; i++) {
		name = row[i]
		gsub(/-/, " ", name)
		print "| " name " | " (as_is(row[i] ".waits") == "error" ? "fails" : as_is(row[i] ".waits") + 0 ? "waits" : "goes on") " | " \
			(as_is(row[i] ".others") + 0 ? "waits, too" : "goes on") " |"
	}
}

function calls(   i, n, name, p) {
	title("Launches through the shim")
	print "What a launch takes more than the driver's own, ns: the median of several runs, the least and the most.\n"
	n = split("unmanaged managed wait", name, " ")
	columns(" launch | the driver's own | more | least | most ")
	for (i = 1; i <= n; i++) {
		p = name[i] "."
		print "| " (name[i] == "wait" ? "of managed: the driver's wait behind it" : name[i]) " | " \
			us(name[i] "-driver.ns") " | " us(p "ns") " | " us(p "least") " | " us(p "most") " |"
	}
}

function opaque(   i, n, k, w, a, p, seen_row) {
	title("Unmodified PyTorch: inference beside training")
	print "ms a request of the inference (median, p99), and the training's steps a second; medians of the runs. Training"
	print "alone: " two("alone.training.steps") " steps a second; under heddle " two("heddle-alone.training.steps") ".\n"
	columns(" arrangement | launches, period ms | runs | median | p99 | steps a second ")
	for (i = 0; ("text." i) in v; i++) {
		if (split(v["text." i], a, " ") != 8 || a[5] + 0 == 0)
			continue
		p = a[1] "." a[2] "-" a[3]
		if (p in seen_row)
			continue
		seen_row[p] = 1
		print "| " a[1] " | " a[2] ", " a[3] " | " as_is(p ".p50.runs") " | " two(p ".p50") " | " two(p ".p99") \
			" | " two(p ".steps") " |"
	}
}

function beside(   i, w, p, name, label) {
	title("Programs from elsewhere beside a kernel of high priority")
	print "Whole program, ms (median, least and most), of low priority; and the turnaround of a 30 us kernel every 2 ms, us.\n"
	columns(" program | under | ms | least, most | over native | high: median | p99 ")
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^[^ ]+, [a-z]+:.* ms; high p50 /)
			continue
		name = substr(w, 1, index(w, ",") - 1)
		label = substr(w, index(w, ", ") + 2, index(w, ":") - index(w, ", ") - 2)
		p = name "." label "."
		print "| " name " | " label " | " us(p "ms") " | " us(p "least") ", " us(p "most") " | " two(p "over_native") \
			" | " us(p "p50") " | " us(p "p99") " |"
	}
}

function registers(   i, k, n, name, p) {
	title("Registers of the preemptible forms")
	print "Of forms that need more than 32 registers: how many more than the kernel; and the kernels that lose blocks of"
	print "256 threads an SM. The second form keeps within the kernel's own registers; it is taken where it spills at most"
	print "so many bytes more.\n"
	n = split("first spill-0 spill-16 spill-64", name, " ")
	columns(" which form | second ones taken | above 32 registers | median | p90 | over 1.25 times | lose blocks ")
	for (i = 1; i <= n; i++) {
		p = name[i] "."
		if (has(p "above_32"))
			print "| " (i == 1 ? "first" : "second, " substr(name[i], 7) " bytes") " | " v[p "taken"] " of " v[p "kernels"] \
				" | " v[p "above_32"] " | " sprintf("%+d", v[p "median"]) " | " sprintf("%+d", v[p "p90"]) " | " \
				v[p "over_quarter"] " | " v[p "lose_blocks"] " (" us1(p "lose_share") " %) |"
	}
	print "\nptxas takes " us1("ptxas.plain_s") " s for the files as they are, " two("ptxas.first") \
		" times that for the first forms, " two("ptxas.second") " times with the second ones."
}

# text_table NAME: renders it, if it is one of these.
function text_table(name) {
	if (name == "handover")
		handover()
	else if (name == "latency")
		latency()
	else if (name == "queue")
		queue()
	else if (name == "compiling")
		compiling()
	else if (name == "waiting")
		waiting()
	else if (name == "calls")
		calls()
	else if (name == "opaque")
		opaque()
	else if (name == "beside")
		beside()
	else if (name == "registers")
		registers()
	else
		return 0
	return 1
}
