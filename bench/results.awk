# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A part of doc/results.md from what bench/results.sh keeps: paths and values (json.awk), and what
# is known of the run ("about.line", ...). part=head: of all tables, "TABLE<tab>commit<tab>...", what
# is true of all of them. Else part is the table. A table without a renderer is shown as it was printed.
# A cell is a value of the raw file, rounded; or, where the head of its column says so, one over another.
part == "head" {
	if (!(($2, $3) in seen)) {
		seen[$2, $3] = 1
		n[$2]++
		said[$2] = $3
	}
	next
}
{ v[$1] = substr($0, length($1) + 2) }

function has(path) { return (path in v) && v[path] != "" }
function us(path) { return has(path) ? sprintf("%.0f", v[path]) : "-" }
function us1(path) { return has(path) ? sprintf("%.1f", v[path]) : "-" }
function ratio(path) { return has(path) ? sprintf("%.2f", v[path]) : "-" }
function times(path) { return has(path) ? sprintf("%.1fx", v[path]) : "-" }
function percent(path) { return has(path) ? sprintf("%+.1f %%", 100 * v[path]) : "-" }
function part_of(path) { return has(path) ? sprintf("%.1f %%", 100 * v[path]) : "-" }
function mark(why) { return has(why) ? "~" : "" }
function link(name) { return "[" name "](results/" name ")" }

function title(text) {
	print "\n### " text "\n"
	print "    " v["about.line"] "\n"
	print "Commit " v["about.commit"] (has("about.digest") ? ", forms " v["about.digest"] : "") ", " v["about.device"] ", driver " v["about.driver"] ", " \
		v["about.host"] "; " v["about.day"] ", " v["about.seconds"] " s; " \
		link(part ("text.0" in v ? ".txt" : ".json")) \
		(has("about.data") ? ", raw: " link(v["about.data"]) : "") ".\n"
	if (v["failures"] > 0)
		print "**" v["failures"] " of its runs failed**, and are not in it.\n"
}

function columns(names,   i, k, a, rule) {
	k = split(names, a, "|")
	for (i = 1; i <= k; i++)
		rule = rule " --- |"
	print "|" names "|\n|" rule
}

function demo(   i, p, why) {
	title("The demo")
	columns(" program | alone, ms | as it is | under heddle | turnaround as it is, over that under heddle ")
	for (i = 0; has("pairs." i ".low"); i++) {
		p = "pairs." i "."
		print "| " v[p "high"] ", high priority | " ratio(p "high_alone_ms") " | " \
			ratio(p "high_unmanaged_ms") " | " ratio(p "high_ms") " | " mark(p "noise") \
			times(p "high_speedup") " |"
		print "| " v[p "low"] ", low | " ratio(p "low_alone_ms") " | " \
			ratio(p "low_unmanaged_ms") " | " ratio(p "low_ms") " | |"
	}
	print ""
	for (i = 0; has("pairs." i ".low"); i++) {
		p = "pairs." i "."
		print "- " v[p "high"] " beside " v[p "low"] ": ANTT " ratio(p "antt_unmanaged") \
			" as they are, " ratio(p "antt") " under heddle; STP " ratio(p "stp_unmanaged") ", " \
			ratio(p "stp") "; " v[p "preemptions"] " preemptions, " us1(p "preemption_latency_us") \
			" us each in the median; results " \
			(v[p "verified"] == "true" ? "all correct" : "**NOT ALL CORRECT**") \
			(has(p "noise") ? ". ~ Noise, no result: " v[p "noise"] : "") "."
	}
}

# The vendor's answers and heddle's beside each other, however many there were: the names of the first N of
# what stands in the arrangements, and where each stands.
function arrangements(list, first, last,   n) {
	line = first
	for (n = 0; has(list n ".name"); n++) {
		at[v[list n ".name"]] = n
		line = line " " v[list n ".name"] " |"
	}
	columns(last == "" ? substr(line, 1, length(line) - 1) : line last)
	return n
}

# cells ITEM N KIND: what it has of each arrangement. Counts wrong results.
function cells(p, n, kind,   k, q, line) {
	for (k = 0; k < n; k++)
		cell[k] = " failed |"
	for (k = 0; has(p "arrangements." k ".name"); k++) {
		q = p "arrangements." k "."
		cell[at[v[q "name"]]] = " " mark(q "noise") \
			(kind == "stp" ? gain(q "stp_makespan") " (" ratio(q "antt") ")" : kind == "antt" ? ratio(q "antt") " (" times(q "antt_gain") ")" \
			 : us(q "high_us") " (" times(q "high_speedup") ")") " |"
		wrong += v[q "wrong"]
	}
	for (k = 0; k < n; k++)
		line = line cell[k]
	return line
}

function say_wrong() {
	print wrong ? "\n**" wrong " results were wrong.**" : "\nNo result was wrong."
}

function pairs(   i, k, p, n) {
	title("Pairs of programs (FLEP, section 6.3.1)")
	print "Turnaround of the program of high priority, us; in brackets how many times faster than in the"
	print "first arrangement. `sliced`: both natively, taking turns, as the GPU does by itself. `heddle` is"
	print "the default configuration. ~: noise, no result.\n"
	n = arrangements("summary.", " low | high | ideal |")
	for (i = 0; has("pairs." i ".low"); i++) {
		p = "pairs." i "."
		print "| " v[p "low"] " | " v[p "high"] " | " us1(p "ideal") " |" cells(p, n)
	}
	split("speedup_mean speedup_best speedup_worst antt_mean stp_mean preemptions noisy", key, " ")
	split("mean,best,worst,ANTT,STP,preemptions,pairs that are noise", name, ",")
	for (i = 1; i in key; i++) {
		line = "| " name[i] " | | " (i == 1 ? us1("summary.0.ideal_mean") : "") " |"
		for (k = 0; k < n; k++) {
			p = "summary." k "." key[i]
			line = line " " (i < 4 ? times(p) : i < 6 ? ratio(p) : v[p]) " |"
		}
		print line
	}
	say_wrong()
}

function delay(   i, k, p, n) {
	title("Pairs with a delay (FLEP, section 6.3.1, figure 9)")
	print "Turnaround of the program of high priority, us, launched so long behind the start of the other one's kernel"
	print "(of that one's time alone); in brackets how many times faster than in the first arrangement. ~: noise.\n"
	n = arrangements("delay.0.arrangements.", " low | high | delay | ideal |")
	for (i = 0; has("delay." i ".low"); i++) {
		p = "delay." i "."
		print "| " v[p "low"] " | " v[p "high"] " | " us1(p "delay") " | " us1(p "ideal") " |" cells(p, n)
	}
	for (i = 0; has("delay_summary." i ".delay"); i++) {
		p = "delay_summary." i "."
		line = "| mean | | " us1(p "delay") " | " us1(p "ideal_mean") " | |"
		for (k = 0; k < n - 1; k++)
			line = line " " times(p "arrangements." k ".speedup_mean") " |"
		print line
	}
	say_wrong()
}

# equals LIST: equal or triplets.
function equals(list, heading,   i, k, p, n, names) {
	title(heading)
	print "A long program and short ones behind it, of one priority: ANTT; in brackets how many times better than in the"
	print "first arrangement. `ideal`: the shortest first, at no cost. `reordered`: the shorter one of two first, but"
	print "nobody is preempted. ~: noise, no result.\n"
	n = arrangements(list "_summary.", " programs | ideal |")
	for (i = 0; has(list "." i ".antt_ideal"); i++) {
		p = list "." i "."
		names = v[p "programs.0.program"]
		for (k = 1; has(p "programs." k ".program"); k++)
			names = names ", " v[p "programs." k ".program"]
		print "| " names " | " ratio(p "antt_ideal") " |" cells(p, n, "antt")
	}
	print ""
	columns(" | cases | ANTT better: mean | best | worst | ideal: mean | of the ideal | makespan lost | preemptions | cases that are noise ")
	for (i = 0; has(list "_summary." i ".name"); i++) {
		p = list "_summary." i "."
		print "| " v[p "name"] " | " v[p "cases"] " | " times(p "antt_gain_mean") " | " times(p "antt_gain_best") " | " \
			times(p "antt_gain_worst") " | " times(p "ideal_gain_mean") " | " part_of(p "of_ideal_mean") " | " \
			percent(p "makespan_lost_mean") " | " v[p "preemptions"] " | " v[p "noisy"] " |"
	}
	say_wrong()
}

function slicing(   i, p) {
	title("Preemptible kernels beside sliced ones (FLEP, section 6.5)")
	print "Kernels alone: what the preemptible form costs, and launches in slices as long as heddle takes to get the device"
	print "from the same kernel. ~: noise, rounds differ by more than 10 %.\n"
	columns(" program | way out us | slices | plain us | preemptible | sliced ")
	for (i = 0; has("slicing." i ".program"); i++) {
		p = "slicing." i "."
		print "| " v[p "program"] " | " us1(p "way_out_us") " | " v[p "slices"] " | " us1(p "plain_us") " | " \
			(v[p "spread"] > 0.1 ? "~" : "") more(v[p "preemptible_us"] / v[p "plain_us"]) " | " \
			more(v[p "sliced_us"] / v[p "plain_us"]) " |"
	}
	for (i = 0; i < 2 && has("slicing_summary." i ".name"); i++)
		line = line " " percent("slicing_summary." i ".overhead_geomean") " |"
	print "| geometric mean | | | |" line
}

function orders(   i, p) {
	title("Orders in which workers take blocks")
	print "Kernels with grids of two dimensions, alone: as they are, and preemptible with the blocks by rows; then what"
	print "columns and Hilbert curves take more than rows. ~: noise, the middle half of the rounds differs by more than 10 %.\n"
	columns(" kernel | grid | plain ms | rows ms | columns | Hilbert ")
	for (i = 0; has("orders." i ".kernel"); i++) {
		p = "orders." i "."
		print "| " v[p "kernel"] " | " v[p "grid.0"] " x " v[p "grid.1"] " | " ms4(p "plain_ms") " | " ms4(p "row_ms") " | " \
			(!has(p "spread") || v[p "spread"] > 0.1 ? "~" : "") more(1 + v[p "column_percent"] / 100) " | " \
			more(1 + v[p "hilbert_percent"] / 100) (v[p "same"] == "false" ? " WRONG" : "") " |"
	}
}

function ms4(path) { return has(path) ? sprintf("%.4f", v[path]) : "-" }
function more(of) { return sprintf("%+.1f %%", 100 * (of - 1)) }

function predict(   i, n, p) {
	title("Predicted durations (FLEP, section 6.2)")
	print "By how much heddled's prediction of sizes that had never run was off from what these then took.\n"
	columns(" program | sizes learnt from | held out | mean | worst ")
	for (i = 0; has("predict." i ".program"); i++) {
		p = "predict." i "."
		for (n = 0; has(p "sizes." n ".error"); n++)
			;
		print "| " v[p "program"] " | " v[p "sizes_learnt"] " | " n " | " part_of(p "error_mean") " | " \
			part_of(p "error_worst") " |"
	}
	print "| all | | | " part_of("predict_error_mean") " | " part_of("predict_error_worst") " (of a program's mean) |"
}

function overhead(   i, p) {
	title("What the preemptible form costs, alone (FLEP, section 6.5)")
	columns(" program | plain us | preemptible us | ratio | the larger spread of the two ")
	for (i = 0; has("overhead." i ".program"); i++) {
		p = "overhead." i "."
		print "| " v[p "program"] " | " us1(p "plain_us") " | " us1(p "preemptible_us") " | " \
			(v[p "spread"] > 0.1 ? "~" : "") sprintf("%.3f", v[p "ratio"]) " | " \
			sprintf("%.1f %%", 100 * v[p "spread"]) " |"
	}
	print "\nGeometric mean " percent("overhead_geomean") ", worst " percent("overhead_worst") \
		(v["overhead_noisy"] > 0 ? "; **" v["overhead_noisy"] \
		" of them noise**: the passes differ by more than 10 %, which is no result" : "") "."
}

function spatial(   i, p) {
	title("Spatial against temporal preemption (FLEP, section 6.4)")
	columns(" low | pairs | temporal: overhead | us lost a preemption | spatial: overhead | us lost a preemption ")
	for (i = 0; has("spatial." i ".low"); i++) {
		p = "spatial." i "."
		print "| " (v[p "noisy"] > 0 ? "~" : "") v[p "low"] " | " v[p "pairs"] " | " \
			percent(p "temporal_overhead") " | " \
			us1(p "temporal_lost_us") " | " percent(p "spatial_overhead") " | " \
			us1(p "spatial_lost_us") " |"
	}
	print "| all | " v["spatial_pairs"] " | " percent("temporal_total.overhead_mean") " | " \
		lost("temporal_total.") " | " percent("spatial_total.overhead_mean") " | " \
		lost("spatial_total.") " |"
	print "\nIn brackets: 95 % confidence. Spatial loses " \
		sprintf("%.0f %% less (%.0f to %.0f)", 100 * v["spatial_reduction"], \
		100 * v["spatial_reduction_low"], 100 * v["spatial_reduction_high"]) "; " \
		v["temporal_total.preemptions"] " and " v["spatial_total.preemptions"] " preemptions."
	if (v["spatial_noisy"] > 0)
		print "\n**" v["spatial_noisy"] " pairs are noise** (~), and so is the sum: rounds differ by more" \
			" than 10 %."
}

function lost(p) {
	return us1(p "lost_us") " (" us1(p "lost_us_low") " to " us1(p "lost_us_high") ")"
}

function extra(   i, k, p, line) {
	title("More SMs than needed (FLEP, figure 16)")
	print "Turnaround of the high one in us, and times alone; the low one's time over alone. ~: noise.\n"
	line = " low, high (alone, us) |"
	for (k = 0; has("extra.0.steps." k ".extra_sms"); k++)
		line = line " " v["extra.0.steps." k ".extra_sms"] " |"
	columns(substr(line, 1, length(line) - 1))
	for (i = 0; has("extra." i ".low"); i++) {
		p = "extra." i "."
		line = "| " v[p "low"] ", " v[p "high"] " (" us(p "high_alone_us") ") |"
		for (k = 0; has(p "steps." k ".extra_sms"); k++)
			line = line " " mark(p "steps." k ".noise") us(p "steps." k ".high_us") ", " \
				ratio(p "steps." k ".high_slowdown") "x; " \
				sprintf("%+.1f %%", 100 * (v[p "steps." k ".low_slowdown"] - 1)) " |"
		print line
	}
}

function shares(   i, p, mps) {
	title("Weighted fairness (FLEP, section 6.3.3)")
	print "Programs that launch without end: their shares of the work under policy ffs, percent, and how many points the"
	print "one furthest off is from its weight's; their shares of the time by heddled's account; the throughput lost. Beside"
	print "it the same programs without heddle (`sliced`). ~: noise, no result.\n"
	mps = has("shares.0.deviation_mps")
	columns(" programs | weights | shares | off | by heddled | lost | sliced: shares | lost " \
		(mps ? "| under MPS: shares | off | lost " : ""))
	for (i = 0; has("shares." i ".set"); i++) {
		p = "shares." i "."
		print "| " v[p "set"] " | " v[p "ratio"] " | " mark(p "noise") each(p, "share") " | " us1(p "deviation") " | " \
			each(p, "share_had") " | " percent(p "lost") " | " each(p, "share_sliced") " | " percent(p "lost_sliced") " |" \
			(mps ? " " mark(p "noise_mps") each(p, "share_mps") " | " us1(p "deviation_mps") " | " percent(p "lost_mps") " |" : "")
	}
	print ""
	columns(" weights | sets | off: mean | worst | lost: mean | worst | sliced, off: mean | worst | lost: mean | sets that are noise " \
		(mps ? "| under MPS, off: mean | worst | lost: mean | worst | noise " : ""))
	for (i = 0; has("shares_summary." i ".name"); i++) {
		p = "shares_summary." i "."
		print "| " v[p "name"] " | " v[p "sets"] " | " us1(p "deviation_mean") " | " us1(p "deviation_worst") " | " \
			percent(p "lost_mean") " | " percent(p "lost_worst") " | " us1(p "deviation_sliced_mean") " | " \
			us1(p "deviation_sliced_worst") " | " percent(p "lost_sliced_mean") " | " v[p "noisy"] " |" \
			(mps ? " " us1(p "deviation_mps_mean") " | " us1(p "deviation_mps_worst") " | " percent(p "lost_mps_mean") " | " \
			percent(p "lost_mps_worst") " | " v[p "noisy_mps"] " |" : "")
	}
	for (i = 0; has("shares_left_out." i); i++)
		printf "%s%s", i ? ", " : "\nLeft out, for want of time: ", v["shares_left_out." i]
	if (i)
		print "."
}

# each SET KEY: of its programs.
function each(p, key,   i, line) {
	for (i = 0; has(p "programs." i "." key); i++)
		line = line (i ? ", " : "") us1(p "programs." i "." key)
	return line == "" ? "-" : line
}

function printed(   i) {
	title("`" part "`")
	print "```"
	for (i = 0; ("text." i) in v; i++)
		print v["text." i]
	print "```"
}

END {
	if (part == "head") {
		# Of one commit, some tables have digests of other forms than most (bench/digest.sh).
		if (n["commit"] > 1 || n["device"] > 1 || n["driver"] > 1)
			print "**Not of one run**: these tables are of " n["commit"] " commits, " n["device"] \
				" devices, " n["driver"] " drivers; each says which."
		else
			print "One commit, " said["commit"] ", on " said["device"] "; driver " said["driver"] "."
		for (i in seen) {
			split(i, which, SUBSEP)
			if (which[1] == "commit" && which[2] ~ /-dirty$/)
				print "**" which[2] "** had changes that no commit has."
		}
	} else if (part == "demo")
		demo()
	else if (part == "pairs")
		pairs()
	else if (part == "overhead")
		overhead()
	else if (part == "spatial")
		spatial()
	else if (part == "extra")
		extra()
	else if (part == "shares")
		shares()
	else if (part == "delay")
		delay()
	else if (part == "equal")
		equals("equal", "Pairs of one priority (FLEP, section 6.3.1, figures 10 and 11)")
	else if (part == "triplets")
		equals("triplets", "Three programs of one priority (FLEP, section 6.3.2)")
	else if (part == "slicing")
		slicing()
	else if (part == "orders")
		orders()
	else if (part == "predict")
		predict()
	else if (part == "share")
		share("Pairs that share SMs (SiM, section 4)")
	else if (part == "share-rest")
		share("Pairs that share SMs: the other pairs")
	else if (part == "splits")
		splits()
	else if (part == "oracle")
		oracle()
	else if (part == "merge")
		merge()
	else if (part == "tasks")
		tasks()
	else if (check_title(part) != "")
		checks()
	else if (!text_table(part))
		printed()
}
