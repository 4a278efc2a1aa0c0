# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# The figures of one table by name: bench/results.sh gives it paths and values (json.awk; text.N: a line of
# what was printed), and -v table. It prints all of them, and beside them
# - members of arrays by their name: summary.heddle-MPS.antt_mean is summary.4.antt_mean
# - what a text table says: handover: sliced.p50
# - what follows from several: pairs: over-heddle.sliced.max
# README.md and the renderers name figures in this way; `bench/results.sh figures TABLE` lists them.
{
	print
	v[$1] = substr($0, length($1) + 2)
	path[++n_paths] = $1
}

function put(name, value) { print name "\t" value }

# number TEXT BEFORE: the number right after BEFORE; empty: there is none.
function number(text, before,   at, rest) {
	at = index(text, before)
	if (!at)
		return ""
	rest = substr(text, at + length(before))
	return match(rest, /^ *[-+]?[0-9]+(\.[0-9]+)?/) ? substr(rest, 1, RLENGTH) + 0 : ""
}

function put_number(name, text, before,   value) {
	value = number(text, before)
	if (value != "")
		put(name, value)
}

# Numbers that belong together: "list" is a name.
function add(list, value,   i) {
	for (i = ++count[list]; i > 1 && item[list, i - 1] > value; i--)
		item[list, i] = item[list, i - 1]
	item[list, i] = value
}
function median(list) { return item[list, int((count[list] + 1) / 2)] }
function dashed(name) { gsub(/ /, "-", name); return name }

# SiM: means of pairs by group and arrangement, as paper_low.greedy.mean. Groups: paper, paper_low and paper_high, of pairs of
# the paper's own programs, by its classes (fewer than half of the issue slots used in the paper's figure 3, by one of the
# two); here_low, here_high and here, by what the kernels use on this device. Pairs that are noise are only counted. The
# table share has the pairs of share-rest, too: as other.pairs.
function share_groups(   i) {
	share_pairs("")
	if (table == "share")
		share_pairs("other.")
	for (i = 1; i <= n_groups; i++)
		if (group_pairs[group[i]] || group_noisy[group[i]])
			put_group(group[i])
}

function share_pairs(prefix,   i, k, p, paper, low, use) {
	for (i = 0; (prefix "programs." i ".program") in v; i++) {
		p = prefix "programs." i "."
		use = v[p "takes.utilisation_paper"] != "" ? v[p "takes.utilisation_paper"] : v[p "utilisation_paper"]
		uses_paper[v[p "program"]] = use == "null" ? "" : use
	}
	for (i = 0; (prefix "pairs." i ".first") in v; i++) {
		p = prefix "pairs." i "."
		paper = uses_paper[v[p "first"]] != "" && uses_paper[v[p "second"]] != ""
		low = uses_paper[v[p "first"]] < 50 || uses_paper[v[p "second"]] < 50
		for (k = 0; (p "arrangements." k ".name") in v; k++) {
			add_to_group("here_" v[p "class"], p "arrangements." k ".")
			add_to_group("here", p "arrangements." k ".")
			if (paper) {
				add_to_group("paper", p "arrangements." k ".")
				add_to_group("paper_" (low ? "low" : "high"), p "arrangements." k ".")
			}
		}
	}
}

function add_to_group(name, p,   stp) {
	name = name "." dashed(v[p "name"])
	if (!(name in known_group)) {
		known_group[name] = 1
		group[++n_groups] = name
	}
	stp = v[p "stp_makespan"]
	if (stp == "" || stp == "null")
		return
	if (v[p "noise"] != "" && v[p "noise"] != "null") {
		group_noisy[name]++
		return
	}
	if (!group_pairs[name]++ || stp + 0 > group_best[name])
		group_best[name] = stp + 0
	if (group_pairs[name] == 1 || stp + 0 < group_worst[name])
		group_worst[name] = stp + 0
	group_stp[name] += log(stp)
	group_turns[name] += log(v[p "stp"])
	group_antt[name] += log(v[p "antt"])
}

function put_group(name,   n) {
	n = group_pairs[name] + 0
	put(name ".pairs", n)
	put(name ".noisy", group_noisy[name] + 0)
	if (!n)
		return
	put(name ".mean", exp(group_stp[name] / n))
	put(name ".best", group_best[name])
	put(name ".worst", group_worst[name])
	put(name ".turnarounds", exp(group_turns[name] / n))
	put(name ".antt", exp(group_antt[name] / n))
}

# KernelMerge: in how many pairs each way that was chosen gains more than 5 %, as better.merge.
function better_ways(   i, way, n) {
	for (i = 0; ("pairs." i ".tuned_way") in v; i++) {
		way = v["pairs." i ".tuned_way"]
		sub(/[ =].*/, "", way)
		if (v["pairs." i ".tuned"] > 1.05)
			n[way]++
	}
	for (way in n)
		put("better." way, n[way])
}

function by_name(   i, k, key, parts, array, name, member) {
	for (i = 1; i <= n_paths; i++) {
		k = split(path[i], parts, ".")
		if (k > 2 && parts[k] ~ /^(name|program|kernel)$/ && parts[k - 1] ~ /^[0-9]+$/) {
			array = substr(path[i], 1, length(path[i]) - length(parts[k]) - 1)
			named[array] = substr(array, 1, length(array) - length(parts[k - 1])) dashed(v[path[i]])
		}
	}
	for (i = 1; i <= n_paths; i++)
		for (k = length(path[i]); k > 0; k--)
			if (substr(path[i], k, 1) == "." && (name = substr(path[i], 1, k - 1)) in named) {
				put(named[name] substr(path[i], k), v[path[i]])
				break
			}
}

function pairs(   i, k, p, of, x) {
	for (i = 0; ("pairs." i ".low") in v; i++) {
		p = "pairs." i ".arrangements."
		split("", of)
		for (k = 0; (p k ".name") in v; k++)
			of[dashed(v[p k ".name"])] = v[p k ".high_us"]
		for (x in of)
			if (x != "heddle" && of["heddle"] > 0)
				add(x, of[x] / of["heddle"])
	}
	for (x in count) {
		put("over-heddle." x ".min", item[x, 1])
		put("over-heddle." x ".max", item[x, count[x]])
	}
}

# NAME  tick: N launches, turnaround X us median, X p99, X max; ...; and after stamps-...: its hand-overs.
function handover(   i, w, name, a, what) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		split(w, a, " ")
		if (index(w, " launches, turnaround ")) {
			name = a[1]
			put_number(name ".launches", w, "tick:")
			put_number(name ".p50", w, "turnaround ")
			put_number(name ".p99", w, " us median, ")
			put_number(name ".max", w, " p99, ")
		} else if (w ~ /^[0-9]+ preemptions, /) {
			put(name ".preemptions", a[1])
		} else if (match(w, / +median +[0-9.]+ us +p99/)) {
			what = name "." dashed(substr(w, 1, RSTART - 1))
			put_number(what ".p50", w, " median")
			put_number(what ".p99", w, " p99")
		}
	}
}

# BLOCK TARGET: PLAIN MANAGED (RATIO); PREEMPTIONS P50 P99
function latency(   i, w, a, k, settings, within, worst, top) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^ *[0-9]+ +[0-9]+: /)
			continue
		gsub(/[:();]/, " ", w)
		if (split(w, a, " ") < 8)
			continue
		k = "block-" a[1] ".target-" a[2]
		put(k ".plain_ms", a[3])
		put(k ".heddle_ms", a[4])
		put(k ".ratio", a[5])
		put(k ".preemptions", a[6])
		put(k ".p50", a[7])
		put(k ".p99", a[8])
		settings++
		top = (a[1] > a[2] + 0 ? a[1] : a[2]) + 8
		within += a[8] <= top
		if (settings == 1 || a[5] - 1 > worst)
			worst = a[5] - 1
	}
	if (settings) {
		put("settings", settings)
		put("within", within) # p99 at most the target, or a block that is longer, and 8 us
		put("cost_worst", worst)
	}
}

# NAME low N SECONDS right; high N P50 P99 MAX[; W words; W words to launches, to tenants, ...]
function queue(   i, w, a, name, s) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^[a-z-]+ +low [0-9]+ /)
			continue
		gsub(/;/, "", w)
		split(w, a, " ")
		name = a[1]
		s[name] = a[4]
		put(name ".s", a[4])
		put(name ".result", a[5])
		if (a[6] == "high") {
			put(name ".p50", a[8])
			put(name ".p99", a[9])
		}
		if (a[12] == "words") {
			put(name ".words_launches", a[11])
			put(name ".words_tenants", a[13])
		}
	}
	for (name in s)
		if (s["native"] > 0)
			put(name ".over_native", s[name] / s["native"])
}

function compiling(   i, w, name) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^[a-z]+: [0-9]+ ms; /)
			continue
		name = substr(w, 1, index(w, ":") - 1)
		put_number(name ".ms", w, ": ")
		put_number(name ".launches", w, "meanwhile ")
		put_number(name ".launch_ms", w, "a launch took ")
		put_number(name ".wait_ms", w, "the wait ")
		put_number(name ".memory_ms", w, "memory ")
		put_number(name ".module_ms", w, "small module ")
	}
}

function waiting(   i, w, name) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^[A-Za-z0-9-]+: (goes on|waits|error)/)
			continue
		name = substr(w, 1, index(w, ":") - 1)
		put(name ".waits", w ~ /: error/ ? "error" : w ~ /: waits/)
		put(name ".others", w ~ /launch waits/)
	}
}

# Several runs, the lines of each as often: medians, and from least to greatest.
function calls(   i, w, name, x) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (!index(w, ": driver ") || !match(w, /more -?[0-9]+ ns/))
			continue
		name = w ~ /^of that/ ? "wait" : substr(w, 1, index(w, ":") - 1)
		add(name, number(w, ", more "))
		add(name " driver", number(w, ": driver "))
	}
	for (x in count) {
		put(dashed(x) ".ns", median(x))
		put(dashed(x) ".least", item[x, 1])
		put(dashed(x) ".most", item[x, count[x]])
	}
}

# ARRANGEMENT WAY PERIOD REQUESTS P50 P99 MAX STEPS, of each run; and ARRANGEMENT training - - - - - STEPS.
function opaque(   i, a, k, x) {
	for (i = 0; ("text." i) in v; i++) {
		if (split(v["text." i], a, " ") != 8)
			continue
		if (a[2] == "training") {
			add(a[1] ".training.steps", a[8])
		} else if (a[5] + 0 > 0) {
			k = a[1] "." a[2] "-" a[3]
			add(k ".p50", a[5])
			add(k ".p99", a[6])
			if (a[8] != "-")
				add(k ".steps", a[8])
		}
	}
	for (x in count) {
		put(x, median(x))
		put(x ".runs", count[x])
	}
}

# PROGRAM, UNDER: MS...  ms; high p50 X, p99 X us
function beside(   i, k, n, w, a, name, natively) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w !~ /^[^ ]+, [a-z]+:.* ms; high p50 /)
			continue
		name = substr(w, 1, index(w, ",") - 1) "." substr(w, index(w, ", ") + 2, index(w, ":") - index(w, ", ") - 2)
		n = split(substr(w, index(w, ":") + 1, index(w, " ms;") - index(w, ":") - 1), a, " ")
		for (k = 1; k <= n; k++)
			add(name, a[k])
		put(name ".ms", median(name))
		put(name ".least", item[name, 1])
		put(name ".most", item[name, n])
		put_number(name ".p50", w, "high p50 ")
		put_number(name ".p99", w, " p99 ")
		natively = name
		sub(/\.[a-z]*$/, ".natively", natively)
		if (median(natively) > 0)
			put(name ".over_native", median(name) / median(natively))
	}
}

# ptxas: S s as they are, ...; FORMS (TAKEN of KERNELS kernels): N need more than 32 registers: ...
function registers(   i, w, name) {
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w ~ /^ptxas: /) {
			put_number("ptxas.plain_s", w, "ptxas: ")
			put_number("ptxas.first", w, "first forms (")
			put_number("ptxas.second", w, "second ones (")
		} else if (index(w, " need more than 32 registers: ")) {
			name = w ~ /^first/ ? "first" : "spill-" number(w, "spill at most ")
			put_number(name ".taken", w, " (")
			put_number(name ".kernels", w, " of ")
			put_number(name ".above_32", w, " kernels): ")
			put_number(name ".median", w, " registers: ")
			put_number(name ".p90", w, " in the median, ")
			put_number(name ".over_quarter", w, " at p90, ")
			put_number(name ".lose_blocks", w, " 1.25 times; ")
			put_number(name ".lose_share", w, " threads (")
		}
	}
}

# Adds the "N WORD" parts of a line to total[WORD]; of several words the first, but "runs the same" is same.
function sums(text, total,   i, k, a, word, tiers) {
	if (text ~ /^[0-9]+ programs from seed/)
		total["same"] = total["held"] = total["wrong"] = 0 # those that there are none of are not printed
	k = split(text, a, /, |; |: /)
	for (i = 1; i <= k; i++)
		if (match(a[i], /^[0-9]+ /)) {
			word = substr(a[i], RLENGTH + 1)
			sub(/^.*the same.*/, "same", word)
			sub(/^of them /, "", word)
			sub(/ .*/, "", word)
			tiers = tiers || word == "managed" # how programs can be preempted
			total[(tiers && word == "held" ? "tier-" : "") word] += a[i] + 0
		}
}

function tests(   i, k, w, a, total, name, verdicts) {
	split("same varies differs fails hang unusable", verdicts, " ")
	for (i = 0; ("text." i) in v; i++) {
		w = v["text." i]
		if (w ~ /^[^:]*: ok [0-9]+ wrong [0-9]+ hang [0-9]+ refused [0-9]+$/) {
			name = dashed(substr(w, 1, index(w, ":") - 1))
			gsub(/--/, "", name)
			put_number(name ".same", w, ": ok ")
			put_number(name ".wrong", w, " wrong ")
			put_number(name ".hang", w, " hang ")
			put_number(name ".refused", w, " refused ")
		} else if (w ~ /^\| .* \| [0-9]+ \|/) { # a suite: programs, and its verdicts
			split(w, a, / *\| */)
			total["programs"] += a[3]
			for (k = 1; k in verdicts; k++)
				total[verdicts[k]] += a[k + 3]
		} else if (w ~ /^[0-9]+ (programs from seed|kernels|runs|kills|forms,)/ || w ~ / survivors correct/) {
			sums(w, total)
		}
	}
	for (k in total)
		put(k, total[k])
}

END {
	by_name()
	if (table == "pairs")
		pairs()
	else if (table == "handover")
		handover()
	else if (table == "latency")
		latency()
	else if (table == "queue")
		queue()
	else if (table == "compiling")
		compiling()
	else if (table == "waiting")
		waiting()
	else if (table == "calls")
		calls()
	else if (table == "opaque")
		opaque()
	else if (table == "beside")
		beside()
	else if (table == "registers")
		registers()
	else if (table == "share" || table == "share-rest")
		share_groups()
	else if (table == "merge")
		better_ways()
	else if ("text.0" in v)
		tests()
}
