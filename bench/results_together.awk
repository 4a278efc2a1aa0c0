# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Beside results.awk: the tables of `heddle bench share`, `heddle bench merge` and `heddle bench tasks`. A gain is the time of
# one kernel after the other over that of a way of running both.
function gain(path) { return has(path) ? sprintf("%.3f", v[path]) : "-" }
function million(path) { return has(path) ? sprintf("%.2f", v[path] / 1000000) : "-" }
function ms(path) { return has(path) ? sprintf("%.3f", v[path]) : "-" }

function slots(path) { return has(path) ? sprintf("%.1f", v[path]) : "-" }
function name_or_dash(path) { return has(path) ? v[path] : "-" }

# A line of means of the pairs of GROUP (results_figures.awk, share_groups), of each arrangement. Pairs that are noise
# are counted, and in no mean.
function share_means(group, label,   i, p, name) {
	for (i = 0; has("pairs.0.arrangements." i ".name"); i++) {
		name = v["pairs.0.arrangements." i ".name"]
		gsub(/ /, "-", name)
		p = group "." name "."
		if (has(p "pairs"))
			print "| " label " | " name " | " v[p "pairs"] " | " gain(p "mean") " | " gain(p "best") " | " \
				gain(p "worst") " | " gain(p "turnarounds") " | " ratio(p "antt") " | " v[p "noisy"] " |"
	}
}

function share_programs(   i, p, q) {
	print "Percent of each limit of an SM that a program's kernel takes with as many blocks as fit; percent of issue slots that"
	print "it uses, here and in the paper; time alone and registers of the kernel as it is and in its workers' form.\n"
	columns(" program | threads | registers | shared memory | blocks | issue slots | in the paper | plain us | workers us | ratio | registers of a thread | of the workers' form ")
	for (i = 0; has("programs." i ".program"); i++) {
		p = "programs." i "."
		q = p "takes."
		print "| " v[p "program"] " | " us(q "threads_percent") " | " us(q "registers_percent") " | " us(q "shared_percent") " | " \
			us(q "blocks_percent") " | " slots(p "utilisation") " | " slots(p "utilisation_paper") " | " us1(p "plain_us") \
			" | " us1(p "workers_us") " | " (has(p "spread") && v[p "spread"] <= 0.1 ? "" : "~") gain(p "form_ratio") " | " \
			us(p "plain_registers") " | " us(p "workers_registers") " |"
	}
	print "\nCost of the workers' form: " (has("form_geomean") ? more(v["form_geomean"]) : "-") " of time and " \
		(has("registers_geomean") ? more(v["registers_geomean"]) : "-") " of registers in the geometric mean (the paper: +1.7 % and +23 %).\n"
}

# By the number of blocks on each SM: a column each.
function share_curves(   i, k, most, line, p, row) {
	for (i = 0; has("curves." i ".program"); i++)
		for (k = 0; has("curves." i ".curve." k ".per_sm"); k++)
			most = v["curves." i ".curve." k ".per_sm"] > most ? v["curves." i ".curve." k ".per_sm"] + 0 : most
	if (!most)
		return
	print "A program's time by its blocks on each SM, over that with the most.\n"
	line = " program "
	for (k = 1; k <= most; k++)
		line = line "| " k " "
	columns(line)
	for (i = 0; has("curves." i ".program"); i++) {
		p = "curves." i "."
		split("", row)
		for (k = 0; has(p "curve." k ".per_sm"); k++)
			row[v[p "curve." k ".per_sm"]] = ratio(p "curve." k ".of_most")
		line = "| " v[p "program"] " |"
		for (k = 1; k <= most; k++)
			line = line " " (k in row ? row[k] : "-") " |"
		print line
	}
	print ""
}

# The paper's own pairs, or the others.
function share_rows(n, own,   i, p, a, b, class) {
	for (i = 0; has("pairs." i ".first"); i++) {
		p = "pairs." i "."
		a = v[p "first"]
		b = v[p "second"]
		if (((a in of_paper) && (b in of_paper)) != own)
			continue
		class = own ? (of_paper[a] < 50 || of_paper[b] < 50 ? "low" : "high") : "-"
		print "| " a " + " b " | " class " | " name_or_dash(p "class") " |" cells(p, n, "stp")
	}
}

function share(heading,   i, n, p) {
	title(heading)
	share_programs()
	share_curves()
	print "STP: the time of one program after the other over the time until both are done; in brackets ANTT. Each is the"
	print "geometric mean of three orders: either program first, and both at once. The paper's own pairs first. ~: noise, no result.\n"
	for (i = 0; has("programs." i ".program"); i++)
		if (has("programs." i ".utilisation_paper"))
			of_paper[v["programs." i ".program"]] = v["programs." i ".utilisation_paper"]
	n = arrangements("summary.", " pair | utilisation in the paper | here |")
	share_rows(n, 1)
	share_rows(n, 0)
	print ""
	print "Pairs of the paper's own programs by the paper's classes, then all by what their kernels use on this device; share has"
	print "the pairs of share-rest, too. Pairs that are noise are in no mean.\n"
	columns(" pairs | arrangement | pairs | STP: mean | best | worst | by turnarounds | ANTT | pairs that are noise ")
	share_means("paper", "the paper's")
	share_means("paper_low", "the paper's, low")
	share_means("paper_high", "the paper's, high")
	share_means("here_low", "low here")
	share_means("here_high", "high here")
	share_means("here", "all")
	print "\nThe paper, on a K40c: STP 1.053 with persistent threads (`workers`) and 1.098 with its service (`greedy`) where a"
	print "program of low utilisation takes part, 0.995 and 1.003 elsewhere."
	if (v["left"] > 0)
		print "\n**" v["left"] " results are missing**, for want of time."
}

function splits(   i, n, p, q) {
	title("Quotas that differ by SM (SiM, sections 3.8 and 6)")
	print "Pairs under greedy, whose quotas are the same on all SMs, and under splits. whole-25: the first program has a quarter"
	print "of the SMs for itself, and the second the rest. mixed-75: the first has three quarters of the blocks that fit on"
	print "even SMs and a quarter on odd ones, and the second the other way round. STP: the time of one program after the other"
	print "over the time until both are done; in brackets ANTT. Each is the geometric mean of three orders. ~: noise, no result.\n"
	n = arrangements("summary.", " pair |", " best split | over greedy ")
	for (i = 0; has("pairs." i ".first"); i++) {
		p = "pairs." i "."
		q = p "best_split."
		print "| " v[p "first"] " + " v[p "second"] " |" cells(p, n, "stp") \
			(has(q "name") ? " " mark(q "noise") v[q "name"] " | " more(v[q "over_greedy"]) " |" : " - | - |")
	}
	if (v["left"] > 0)
		print "\n**" v["left"] " results are missing**, for want of time."
}

function oracle(   i, p) {
	title("Policy greedy and the best fixed quotas (SiM, section 4)")
	print "Pairs under fixed numbers of blocks on each SM that fill it, the first program's and the second's: the oracle is the"
	print "best of them, or one program after the other. Gain: of the time of one after the other, over that until both are"
	print "done, less 1. Share: of the oracle's gain that greedy has.\n"
	columns(" pair | best | oracle | greedy | share ")
	for (i = 0; has("oracle.pairs." i ".first"); i++) {
		p = "oracle.pairs." i "."
		print "| " v[p "first"] " + " v[p "second"] " | " v[p "best"] " | " percent_of(p "oracle_gain") " | " \
			percent_of(p "greedy_gain") " | " (has(p "share_percent") ? sprintf("%.0f %%", v[p "share_percent"]) : "-") " |"
	}
	if (v["left"] > 0)
		print "\n**" v["left"] " results are missing**, for want of time."
}

function percent_of(path) { return has(path) ? more(1 + v[path]) : "-" }

function merge_cost(   i, p) {
	if (!has("overhead.0.kernel"))
		return
	print "What the scheduler costs one kernel alone, in percent of its own time: numbers of blocks computed,"
	print "occupancy lost, claims, turns; all of them with a block a claim, and with the best claim.\n"
	columns(" kernel | ms | ids | occupancy | queue | choosing | all | best claim | turns from one word, best claim ")
	for (i = 0; has("overhead." i ".kernel"); i++) {
		p = "overhead." i "."
		print "| " v[p "kernel"] " | " ms(p "plain_ms") " | " percent(p "ids") " | " percent(p "occupancy") \
			" | " percent(p "queue") " | " percent(p "choosing") " | " percent(p "total") " | " \
			percent(p "best") " | " percent(p "shared_best") " |"
	}
	print "\nGeometric mean: a block a claim " percent("overhead_geomean") ", best claims " \
		percent("overhead_best_geomean") ", turns from one word " percent("overhead_shared_geomean") ".\n"
}

function merge_pairs(   i, k, n, p, line, way) {
	if (!has("pairs.0.first"))
		return
	print "Gains over one kernel after the other, by the way of running both. -: not possible, or not measured.\n"
	n = split("streams green vertical horizontal steal steal_best partition tuned", way, " ")
	columns(" pair | sequential ms | streams | green contexts | vertical | horizontal | steal | steal, best claim | " \
		"partition | chosen | its way ")
	for (i = 0; has("pairs." i ".first"); i++) {
		p = "pairs." i "."
		line = "| " v[p "first"] " + " v[p "second"] " | " ms(p "sequential_ms") " |"
		for (k = 1; k <= n; k++)
			line = line " " gain(p way[k]) " |"
		print line " " v[p "tuned_way"] " |"
	}
	print "\n" v["summary.pairs"] " pairs: gain of what was chosen " gain("summary.geomean") " in the geometric mean (" \
		gain("summary.worst") " to " gain("summary.best") "), over 1.05 in " v["summary.better"] ": by merging in " \
		v["better.merge"] + 0 ", horizontal fusion " v["better.horizontal"] + 0 ", vertical fusion " v["better.vertical"] + 0 \
		", green contexts " v["better.green"] + 0 ", streams " v["better.streams"] + 0 "."
}

function merge() {
	title("Kernels together (KernelMerge)")
	merge_cost()
	merge_pairs()
	print (v["wrong"] > 0 ? "\n**" v["wrong"] " results were wrong.**" : "\nNo result was wrong.")
}

function tasks(   i, k, p, q, best, streams) {
	title("Pools of tasks (Pagoda)")
	print v["columns"] " blocks of " v["executors"] " warps that run tasks.\n"
	columns(" threads that spawn empty tasks | million a second ")
	for (i = 0; has("empty.producers." i ".threads"); i++) {
		p = "empty.producers." i "."
		print "| " v[p "threads"] " | " million(p "per_second") " |"
	}
	print "\nA spawn alone takes " us1("empty.spawn_ns") " ns. From a spawn until its end is seen: " \
		us1("latency.p50_us") " us in the median, p99 " us1("latency.p99_us") ", at most " \
		us1("latency.max_us") ".\n"
	columns(" program | tasks | pool, ms | best of launches, ms | its streams | times faster ")
	for (i = 0; has("programs." i ".program"); i++) {
		p = "programs." i "."
		best = streams = ""
		for (k = 0; has(p "launches." k ".ms"); k++) {
			q = p "launches." k "."
			if (best == "" || v[q "ms"] + 0 < best) {
				best = v[q "ms"] + 0
				streams = v[q "streams"]
			}
		}
		print "| " v[p "program"] " | " v[p "tasks"] " | " ms(p "ms") " | " (best == "" ? "-" : sprintf("%.3f", best)) \
			" | " streams " | " (best == "" ? "-" : sprintf("%.1f", best / v[p "ms"])) " |"
	}
	print (v["wrong"] > 0 ? "\n**" v["wrong"] " results were wrong.**" : "\nNo result was wrong.")
}
