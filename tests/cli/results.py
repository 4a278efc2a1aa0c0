# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""usage: results.py PAGE FOLDER

The tables of PAGE, rendered by bench/results.sh, are what the raw files of FOLDER say: each row is made
anew here, from the JSON, and compared.
"""
import json
import math
import sys

page, folder = sys.argv[1:]
with open(page, encoding="utf-8") as f:
    text = f.read()


def raw(name):
    with open(f"{folder}/{name}.json", encoding="utf-8") as file:
        return json.load(file)


def rows(title):
    """Of the table below the heading that has this: cells."""
    part = next(p for p in text.split("\n### ")[1:] if title in p.splitlines()[0])
    table = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def compare(title, head, body):
    have = rows(title)
    rule = ["---"] * len(have[0])
    want = [head, rule] + body
    if have != want:
        for a, b in zip(have, want):
            if a != b:
                print("FAILED:", title, a, "is not", b)
        sys.exit(f"FAILED: {title}: {len(have)} rows, {len(want)} expected")
    print(f"{title}: {len(body)} rows")


def tilde(noise):
    return "~" if noise else ""


pairs = raw("pairs")
names = [s["name"] for s in pairs["summary"]]
body = []
for p in pairs["pairs"]:
    by = {a["name"]: a for a in p["arrangements"]}
    body.append([p["low"], p["high"], f"{p['ideal']:.1f}"] +
                [f"{tilde(by[n]['noise'])}{by[n]['high_us']:.0f} ({by[n]['high_speedup']:.1f}x)" for n in names])
for label, key, form in (("mean", "speedup_mean", "{:.1f}x"), ("best", "speedup_best", "{:.1f}x"),
                         ("worst", "speedup_worst", "{:.1f}x"), ("ANTT", "antt_mean", "{:.2f}"),
                         ("STP", "stp_mean", "{:.2f}"), ("preemptions", "preemptions", "{}"),
                         ("pairs that are noise", "noisy", "{}")):
    ideal = f"{pairs['summary'][0]['ideal_mean']:.1f}" if label == "mean" else ""
    body.append([label, "", ideal] + [form.format(s[key]) for s in pairs["summary"]])
compare("Pairs of programs", ["low", "high", "ideal"] + names, body)



def cells(case, names, form):
    by = {a["name"]: a for a in case["arrangements"]}
    return [tilde(by[n]["noise"]) + form(by[n]) for n in names]


delay = raw("delay")
names = [a["name"] for a in delay["delay"][0]["arrangements"]]
body = [[d["low"], d["high"], f"{d['delay']:.1f}", f"{d['ideal']:.1f}"] +
        cells(d, names, lambda a: f"{a['high_us']:.0f} ({a['high_speedup']:.1f}x)") for d in delay["delay"]]
body += [["mean", "", f"{s['delay']:.1f}", f"{s['ideal_mean']:.1f}", ""] +
         [f"{a['speedup_mean']:.1f}x" for a in s["arrangements"]] for s in delay["delay_summary"]]
compare("Pairs with a delay", ["low", "high", "delay", "ideal"] + names, body)

for part, title in ("equal", "Pairs of one priority"), ("triplets", "Three programs of one priority"):
    data = raw(part)
    names = [s["name"] for s in data[part + "_summary"]]
    body = [[", ".join(p["program"] for p in c["programs"]), f"{c['antt_ideal']:.2f}"] +
            cells(c, names, lambda a: f"{a['antt']:.2f} ({a['antt_gain']:.1f}x)") for c in data[part]]
    head = ["", "cases", "ANTT better: mean", "best", "worst", "ideal: mean", "of the ideal", "makespan lost",
            "preemptions", "cases that are noise"]
    body += [head, ["---"] * len(head)]
    body += [[s["name"], str(s["cases"]), f"{s['antt_gain_mean']:.1f}x", f"{s['antt_gain_best']:.1f}x",
              f"{s['antt_gain_worst']:.1f}x", f"{s['ideal_gain_mean']:.1f}x", f"{100 * s['of_ideal_mean']:.1f} %",
              f"{100 * s['makespan_lost_mean']:+.1f} %", str(s["preemptions"]), str(s["noisy"])]
             for s in data[part + "_summary"]]
    compare(title, ["programs", "ideal"] + names, body)

predict = raw("predict")
body = [[p["program"], str(p["sizes_learnt"]), str(len(p["sizes"])), f"{100 * p['error_mean']:.1f} %",
         f"{100 * p['error_worst']:.1f} %"] for p in predict["predict"]]
body.append(["all", "", "", f"{100 * predict['predict_error_mean']:.1f} %",
             f"{100 * predict['predict_error_worst']:.1f} % (of a program's mean)"])
compare("Predicted durations", ["program", "sizes learnt from", "held out", "mean", "worst"], body)

orders = raw("orders")
body = [[o["kernel"], f"{o['grid'][0]} x {o['grid'][1]}", f"{o['plain_ms']:.4f}", f"{o['row_ms']:.4f}",
         tilde(o["spread"] is None or o["spread"] > 0.1) + f"{o['column_percent']:+.1f} %", f"{o['hilbert_percent']:+.1f} %"]
        for o in orders["orders"]]
compare("Orders in which workers take blocks", ["kernel", "grid", "plain ms", "rows ms", "columns", "Hilbert"], body)

slicing = raw("slicing")
body = [[s["program"], f"{s['way_out_us']:.1f}", str(s["slices"]), f"{s['plain_us']:.1f}",
         tilde(s["spread"] > 0.1) + f"{100 * (s['preemptible_us'] / s['plain_us'] - 1):+.1f} %",
         f"{100 * (s['sliced_us'] / s['plain_us'] - 1):+.1f} %"] for s in slicing["slicing"]]
body.append(["geometric mean", "", "", ""] +
            [f"{100 * t['overhead_geomean']:+.1f} %" for t in slicing["slicing_summary"]])
compare("Preemptible kernels beside sliced ones", ["program", "way out us", "slices", "plain us", "preemptible",
                                                   "sliced"], body)

extra = raw("extra")["extra"]
compare("More SMs than needed", ["low, high (alone, us)"] + [str(s["extra_sms"]) for s in extra[0]["steps"]],
        [[f"{e['low']}, {e['high']} ({e['high_alone_us']:.0f})"] +
         [f"{tilde(s['noise'])}{s['high_us']:.0f}, {s['high_slowdown']:.2f}x; "
          f"{100 * (s['low_slowdown'] - 1):+.1f} %" for s in e["steps"]] for e in extra])

spatial = raw("spatial")


def loss(total):
    return f"{total['lost_us']:.1f} ({total['lost_us_low']:.1f} to {total['lost_us_high']:.1f})"


body = [[tilde(s["noisy"]) + s["low"], str(s["pairs"]), f"{100 * s['temporal_overhead']:+.1f} %",
         f"{s['temporal_lost_us']:.1f}", f"{100 * s['spatial_overhead']:+.1f} %", f"{s['spatial_lost_us']:.1f}"]
        for s in spatial["spatial"]]
totals = spatial["temporal_total"], spatial["spatial_total"]
body.append(["all", str(spatial["spatial_pairs"])] +
            [cell for t in totals for cell in (f"{100 * t['overhead_mean']:+.1f} %", loss(t))])
compare("Spatial against temporal", rows("Spatial against temporal")[0], body)

shares = raw("shares")
under_mps = shares["shares"] and "deviation_mps" in shares["shares"][0]


def each(programs, key):
    return ", ".join(f"{p[key]:.1f}" for p in programs)


body = [[s["set"], s["ratio"], tilde(s["noise"]) + each(s["programs"], "share"), f"{s['deviation']:.1f}",
         each(s["programs"], "share_had"), f"{100 * s['lost']:+.1f} %", each(s["programs"], "share_sliced"),
         f"{100 * s['lost_sliced']:+.1f} %"] +
        ([tilde(s["noise_mps"]) + each(s["programs"], "share_mps"), f"{s['deviation_mps']:.1f}",
          f"{100 * s['lost_mps']:+.1f} %"] if under_mps else []) for s in shares["shares"]]
head = ["weights", "sets", "off: mean", "worst", "lost: mean", "worst", "sliced, off: mean", "worst", "lost: mean",
        "sets that are noise"] + (["under MPS, off: mean", "worst", "lost: mean", "worst", "noise"] if under_mps else [])
body += [head, ["---"] * len(head)]
body += [[s["name"], str(s["sets"]), f"{s['deviation_mean']:.1f}", f"{s['deviation_worst']:.1f}",
          f"{100 * s['lost_mean']:+.1f} %", f"{100 * s['lost_worst']:+.1f} %", f"{s['deviation_sliced_mean']:.1f}",
          f"{s['deviation_sliced_worst']:.1f}", f"{100 * s['lost_sliced_mean']:+.1f} %", str(s["noisy"])] +
         ([f"{s['deviation_mps_mean']:.1f}", f"{s['deviation_mps_worst']:.1f}", f"{100 * s['lost_mps_mean']:+.1f} %",
           f"{100 * s['lost_mps_worst']:+.1f} %", str(s["noisy_mps"])] if under_mps else [])
         for s in shares["shares_summary"]]
if shares["shares"]:  # otherwise the time budget was too short to measure any
    compare("Weighted fairness", ["programs", "weights", "shares", "off", "by heddled", "lost", "sliced: shares", "lost"] +
            (["under MPS: shares", "off", "lost"] if under_mps else []), body)

left_out = shares["shares_left_out"]
said = f"Left out, for want of time: {', '.join(left_out)}."
if (said in " ".join(text.split())) != bool(left_out):
    sys.exit(f"FAILED: Weighted fairness: does not say what was left out: {left_out}")

share = raw("share")
names = [s["name"] for s in share["summary"]]


def number(value, form):
    return "-" if value is None else form.format(value)


parts = "threads_percent", "registers_percent", "shared_percent", "blocks_percent"
body = [[p["program"]] + [f"{p['takes'][part]:.0f}" for part in parts] +
        [number(p["utilisation"], "{:.1f}"), number(p["utilisation_paper"], "{:.1f}"), f"{p['plain_us']:.1f}",
         f"{p['workers_us']:.1f}", tilde(p["spread"] is None or p["spread"] > 0.1) + f"{p['form_ratio']:.3f}",
         str(p["plain_registers"]), str(p["workers_registers"])]
        for p in share["programs"]]
uses = {p["program"]: p["utilisation_paper"] for p in share["programs"]}


def paper_class(pair):
    both = [uses[pair["first"]], uses[pair["second"]]]
    return "-" if None in both else "low" if min(both) < 50 else "high"


def mean(values, form="{:.3f}"):
    return form.format(math.exp(sum(map(math.log, values)) / len(values))) if values else "-"


head = ["pair", "utilisation in the paper", "here"] + names
body += [head, ["---"] * len(head)]
body += [[f"{p['first']} + {p['second']}", paper_class(p), p["class"] or "-"] +
         cells(p, names, lambda a: f"{a['stp_makespan']:.3f} ({a['antt']:.2f})")
         for own in (True, False) for p in share["pairs"] if (paper_class(p) != "-") == own]
head = ["pairs", "arrangement", "pairs", "STP: mean", "best", "worst", "by turnarounds", "ANTT", "pairs that are noise"]
body += [head, ["---"] * len(head)]
for label, belongs in (("the paper's", lambda p: paper_class(p) != "-"),
                       ("the paper's, low", lambda p: paper_class(p) == "low"),
                       ("the paper's, high", lambda p: paper_class(p) == "high"),
                       ("low here", lambda p: p["class"] == "low"), ("high here", lambda p: p["class"] == "high"),
                       ("all", lambda p: True)):
    for name in names:
        of = [a for p in share["pairs"] if belongs(p) for a in p["arrangements"] if a["name"] == name]
        quiet = [a for a in of if not a["noise"]]  # noisy pairs do not contribute to a mean
        stp = [a["stp_makespan"] for a in quiet]
        if of:
            body.append([label, name, str(len(quiet)), mean(stp), number(max(stp, default=None), "{:.3f}"),
                         number(min(stp, default=None), "{:.3f}"), mean([a["stp"] for a in quiet]),
                         mean([a["antt"] for a in quiet], "{:.2f}"), str(len(of) - len(quiet))])
compare("Pairs that share SMs", ["program", "threads", "registers", "shared memory", "blocks", "issue slots",
                                 "in the paper", "plain us", "workers us", "ratio", "registers of a thread",
                                 "of the workers' form"], body)

splits = raw("splits")
names = [s["name"] for s in splits["summary"]]
best = lambda p: [tilde(p["best_split"]["noise"]) + p["best_split"]["name"],
                  f"{100 * (p['best_split']['over_greedy'] - 1):+.1f} %"]
body = [[f"{p['first']} + {p['second']}"] + cells(p, names, lambda a: f"{a['stp_makespan']:.3f} ({a['antt']:.2f})") + best(p)
        for p in splits["pairs"]]
compare("Quotas that differ by SM", ["pair"] + names + ["best split", "over greedy"], body)

oracle = raw("oracle")["oracle"]
part = lambda gain: "-" if gain is None else f"{100 * gain:+.1f} %"
body = [[f"{p['first']} + {p['second']}", p["best"], part(p["oracle_gain"]), part(p["greedy_gain"]),
         "-" if p["share_percent"] is None else f"{p['share_percent']:.0f} %"] for p in oracle["pairs"]]
compare("Policy greedy and the best fixed quotas", ["pair", "best", "oracle", "greedy", "share"], body)
