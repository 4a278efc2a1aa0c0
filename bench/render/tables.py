# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""The tables of doc/results.md: what each is about, and its columns.

A table has a title, a sentence on how to read it, and parts, one below the other. A part is a
template of a sentence, or one of the classes of parts.py, or a function that takes the measured
table and returns lines. Columns are pairs of a heading and a template of the cell (template.py).
"""
from .measured import paper_class, paper_utilisation
from .parts import CHECKS, Each, Grid, Rows, Say, Table, Wrong
from .template import fill, find

# A cell for an arrangement of programs: the turnaround, and in brackets the factor by which it is
# better.
HIGH_US = "{noise:~}{high_us:.0f} ({high_speedup:x})"
ANTT = "{noise:~}{antt:.2f} ({antt_gain:x})"
STP = "{noise:~}{stp_makespan:.3f} ({antt:.2f})"

DEMO = Table(
    "The demo",
    "Each pair is a short program of high priority beside a long one of low priority; the last "
    "column says how many times faster heddle makes the short one.",
    Grid([("program", "{high}, high priority"), ("alone, ms", "{high_alone_ms:.2f}"),
          ("as it is", "{high_unmanaged_ms:.2f}"), ("under heddle", "{high_ms:.2f}"),
          ("turnaround as it is, over that under heddle", "{noise:~}{high_speedup:x}")],
         Rows("pairs"),
         below=["{low}, low", "{low_alone_ms:.2f}", "{low_unmanaged_ms:.2f}", "{low_ms:.2f}", ""]),
    lambda table: [fill(
        "- {high} beside {low}: ANTT {antt_unmanaged:.2f} as they are, {antt:.2f} under heddle; "
        "STP {stp_unmanaged:.2f}, {stp:.2f}; {preemptions} preemptions, "
        "{preemption_latency_us:.1f} us each in the median; results {verified:all correct|**NOT "
        "ALL CORRECT**}{noise:?. ~ Noise, no result: #}.", pair)
        for pair in table.data["pairs"]])

PAIRS = Table(
    "Pairs of programs (FLEP, section 6.3.1)",
    "A cell is the turnaround of the program of high priority in us, and in brackets how many "
    "times faster it is than in the first arrangement; larger is better, up to `ideal`. `sliced`: "
    "both run natively, and the GPU gives them time slices. `heddle`: the default configuration.",
    Grid([("low", "{low}"), ("high", "{high}"), ("ideal", "{ideal:.1f}"),
          Each("summary", "arrangements", HIGH_US)],
         Rows("pairs"),
         *(Rows(".", [label, "", ideal, Each("summary", "summary", cell)])
           for label, ideal, cell in (
               ("mean", "{summary.0.ideal_mean:.1f}", "{speedup_mean:x}"),
               ("best", "", "{speedup_best:x}"), ("worst", "", "{speedup_worst:x}"),
               ("ANTT", "", "{antt_mean:.2f}"), ("STP", "", "{stp_mean:.2f}"),
               ("preemptions", "", "{preemptions}"), ("pairs that are noise", "", "{noisy}")))),
    Wrong("pairs.*.arrangements.*.wrong"))

DELAY = Table(
    "Pairs with a delay (FLEP, section 6.3.1, figure 9)",
    "A cell is the turnaround of the program of high priority in us, and in brackets how many "
    "times faster it is than in the first arrangement. `delay`: the time from the start of the "
    "low one's kernel to the launch, as a part of that kernel's time alone.",
    Grid([("low", "{low}"), ("high", "{high}"), ("delay", "{delay:.1f}"), ("ideal", "{ideal:.1f}"),
          Each("delay.0.arrangements", "arrangements", HIGH_US)],
         Rows("delay"),
         Rows("delay_summary", ["mean", "", "{delay:.1f}", "{ideal_mean:.1f}", "",
                                Each("delay_summary.0.arrangements", "arrangements",
                                     "{speedup_mean:x}")])),
    Wrong("delay.*.arrangements.*.wrong"))


def _of_one_priority(title, key):
    return Table(
        title,
        "A long program starts first, and shorter ones of the same priority follow. A cell is the "
        "ANTT, and in brackets how many times better it is than in the first arrangement. "
        "`ideal`: the shortest first, at no cost. `reordered`: the shorter of two waiting "
        "programs first, without preemption.",
        Grid([("programs", "{programs.*.program}"), ("ideal", "{antt_ideal:.2f}"),
              Each(f"{key}_summary", "arrangements", ANTT)], Rows(key)),
        Grid([("", "{name}"), ("cases", "{cases}"), ("ANTT better: mean", "{antt_gain_mean:x}"),
              ("best", "{antt_gain_best:x}"), ("worst", "{antt_gain_worst:x}"),
              ("ideal: mean", "{ideal_gain_mean:x}"), ("of the ideal", "{of_ideal_mean:%.1f}"),
              ("makespan lost", "{makespan_lost_mean:%}"), ("preemptions", "{preemptions}"),
              ("cases that are noise", "{noisy}")], Rows(f"{key}_summary")),
        Wrong(f"{key}.*.arrangements.*.wrong"))


SLICING = Table(
    "Preemptible kernels beside sliced ones (FLEP, section 6.5)",
    "The last two columns are the time that a kernel alone takes more in its preemptible form, "
    "and in slices as long as heddle needs to get the device from that kernel; smaller is better.",
    Grid([("program", "{program}"), ("way out us", "{way_out_us:.1f}"), ("slices", "{slices}"),
          ("plain us", "{plain_us:.1f}"),
          ("preemptible", "{spread:~spread}{preemptible_us/plain_us:more}"),
          ("sliced", "{sliced_us/plain_us:more}")],
         Rows("slicing"),
         Rows(".", ["geometric mean", "", "", "", "{slicing_summary.0.overhead_geomean:%}",
                    "{slicing_summary.1.overhead_geomean:%}"])))

ORDERS = Table(
    "Orders in which workers take blocks",
    "The last two columns are the time that a preemptible kernel takes more if its workers take "
    "blocks by columns or along a Hilbert curve instead of by rows; below 0 is faster.",
    Grid([("kernel", "{kernel}"), ("grid", "{grid.0} x {grid.1}"), ("plain ms", "{plain_ms:.4f}"),
          ("rows ms", "{row_ms:.4f}"), ("columns", "{spread:~spread}{column_percent:+.1f %}"),
          ("Hilbert", "{hilbert_percent:+.1f %}{same:| WRONG}")], Rows("orders")))

PREDICT = Table(
    "Predicted durations (FLEP, section 6.2)",
    "The last two columns are the error of heddled's prediction for input sizes that had never "
    "run; smaller is better.",
    Grid([("program", "{program}"), ("sizes learnt from", "{sizes_learnt}"),
          ("held out", "{sizes:count}"), ("mean", "{error_mean:%.1f}"),
          ("worst", "{error_worst:%.1f}")],
         Rows("predict"),
         Rows(".", ["all", "", "", "{predict_error_mean:%.1f}",
                    "{predict_error_worst:%.1f} (of a program's mean)"])))

OVERHEAD = Table(
    "What the preemptible form costs, alone (FLEP, section 6.5)",
    "`ratio` is the time of the preemptible form over that of the kernel as it is, without any "
    "preemption: 1.000 is no cost.",
    Grid([("program", "{program}"), ("plain us", "{plain_us:.1f}"),
          ("preemptible us", "{preemptible_us:.1f}"), ("ratio", "{spread:~spread}{ratio:.3f}"),
          ("the larger spread of the two", "{spread:%.1f}")], Rows("overhead")),
    "Geometric mean {overhead_geomean:%}, worst {overhead_worst:%}{overhead_noisy:?; **# of them "
    "noise**: the passes differ by more than 10 %, which is no result}.")

SPATIAL = Table(
    "Spatial against temporal preemption (FLEP, section 6.4)",
    "The low program's extra time, for all of it and for each preemption, if all SMs yield "
    "(temporal) and if only those yield that the high program needs (spatial); smaller is better.",
    Grid([("low", "{noisy:~}{low}"), ("pairs", "{pairs}"),
          ("temporal: overhead", "{temporal_overhead:%}"),
          ("us lost a preemption", "{temporal_lost_us:.1f}"),
          ("spatial: overhead", "{spatial_overhead:%}"),
          ("us lost a preemption", "{spatial_lost_us:.1f}")],
         Rows("spatial"),
         Rows(".", ["all", "{spatial_pairs}"] + [
             text for total in ("temporal_total", "spatial_total") for text in (
                 f"{{{total}.overhead_mean:%}}",
                 f"{{{total}.lost_us:.1f}} ({{{total}.lost_us_low:.1f}} to "
                 f"{{{total}.lost_us_high:.1f}})")])),
    "In brackets: 95 % confidence. Spatial loses {spatial_reduction*100:.0f} % less "
    "({spatial_reduction_low*100:.0f} to {spatial_reduction_high*100:.0f}); "
    "{temporal_total.preemptions} and {spatial_total.preemptions} preemptions.",
    Say("**{spatial_noisy} pairs are noise** (~), and so is the sum: rounds differ by more than "
        "10 %.", when="spatial_noisy"))

EXTRA = Table(
    "More SMs than needed (FLEP, figure 16)",
    "A column is the number of SMs that yield beyond those that the high program needs. A cell is "
    "the high program's turnaround in us, that over its time alone, and the extra time of the low "
    "program.",
    Grid([("low, high (alone, us)", "{low}, {high} ({high_alone_us:.0f})"),
          Each("extra.0.steps", "steps",
               "{noise:~}{high_us:.0f}, {high_slowdown:.2f}x; {low_slowdown:more}",
               key="extra_sms")], Rows("extra")))

UNDER_MPS = "shares.0.deviation_mps"
SHARES = Table(
    "Weighted fairness (FLEP, section 6.3.3)",
    "Programs launch without end. `shares`: each one's percent of the work under policy ffs; "
    "`off`: by how many points the worst of them misses its weight's share; `by heddled`: shares "
    "of the time in heddled's account; `lost`: throughput. `sliced`: the same programs without "
    "heddle.",
    Grid([("programs", "{set}"), ("weights", "{ratio}"),
          ("shares", "{noise:~}{programs.*.share:.1f}"), ("off", "{deviation:.1f}"),
          ("by heddled", "{programs.*.share_had:.1f}"), ("lost", "{lost:%}"),
          ("sliced: shares", "{programs.*.share_sliced:.1f}"), ("lost", "{lost_sliced:%}"),
          ("under MPS: shares", "{noise_mps:~}{programs.*.share_mps:.1f}", UNDER_MPS),
          ("off", "{deviation_mps:.1f}", UNDER_MPS), ("lost", "{lost_mps:%}", UNDER_MPS)],
         Rows("shares")),
    Grid([("weights", "{name}"), ("sets", "{sets}"), ("off: mean", "{deviation_mean:.1f}"),
          ("worst", "{deviation_worst:.1f}"), ("lost: mean", "{lost_mean:%}"),
          ("worst", "{lost_worst:%}"), ("sliced, off: mean", "{deviation_sliced_mean:.1f}"),
          ("worst", "{deviation_sliced_worst:.1f}"), ("lost: mean", "{lost_sliced_mean:%}"),
          ("sets that are noise", "{noisy}"),
          ("under MPS, off: mean", "{deviation_mps_mean:.1f}", UNDER_MPS),
          ("worst", "{deviation_mps_worst:.1f}", UNDER_MPS),
          ("lost: mean", "{lost_mps_mean:%}", UNDER_MPS),
          ("worst", "{lost_mps_worst:%}", UNDER_MPS), ("noise", "{noisy_mps}", UNDER_MPS)],
         Rows("shares_summary")),
    Say("Left out, for want of time: {shares_left_out.*}.", when="shares_left_out.0"))


def _share_curves(table):
    """A program's time by its blocks on each SM, a column each."""
    curves = {c["program"]: {str(p["per_sm"]): p["of_most"] for p in c["curve"]}
              for c in table.data.get("curves", [])}
    most = max((int(n) for curve in curves.values() for n in curve), default=0)
    if not most:
        return []
    grid = Grid([("program", "{program}")] +
                [(str(n), f"{{{n}:.2f}}") for n in range(1, most + 1)],
                Rows(lambda _: [{"program": name, **curve} for name, curve in curves.items()]))
    return ["A program's time by its blocks on each SM, over that with the most.", "",
            *grid.lines(table)]


def _share_pairs(table):
    """The pairs, with the paper's class; the paper's own first."""
    uses = paper_utilisation(table.data)
    pairs = [{**pair, "paper": paper_class(pair, uses)} for pair in table.data["pairs"]]
    return sorted(pairs, key=lambda pair: pair["paper"] is None)


def _share_means(table):
    """Means of the groups of pairs (measured.py, share_groups), of each arrangement."""
    names = [find(a, "name").replace(" ", "-") for a in table.data["pairs"][0]["arrangements"]]
    labels = {"paper": "the paper's", "paper_low": "the paper's, low",
              "paper_high": "the paper's, high", "here_low": "low here", "here_high": "high here",
              "here": "all"}
    for group, label in labels.items():
        for name in names:
            prefix = f"{group}.{name}."
            if f"{prefix}pairs" in table.figures:
                yield {"label": label, "name": name,
                       **{key: table.figures.get(prefix + key) for key in (
                           "pairs", "mean", "best", "worst", "turnarounds", "antt", "noisy")}}


def _share(title):
    return Table(
        title,
        "First the programs: the percent of each limit of an SM that a kernel takes with as many "
        "blocks as fit, the percent of issue slots that it uses, here and in the paper, and time "
        "alone and registers of the kernel as it is and in its workers' form. Then the pairs: STP "
        "above 1 is faster than one program after the other.",
        Grid([("program", "{program}"), ("threads", "{takes.threads_percent:.0f}"),
              ("registers", "{takes.registers_percent:.0f}"),
              ("shared memory", "{takes.shared_percent:.0f}"),
              ("blocks", "{takes.blocks_percent:.0f}"), ("issue slots", "{utilisation:.1f}"),
              ("in the paper", "{utilisation_paper:.1f}"), ("plain us", "{plain_us:.1f}"),
              ("workers us", "{workers_us:.1f}"), ("ratio", "{spread:~spread}{form_ratio:.3f}"),
              ("registers of a thread", "{plain_registers:.0f}"),
              ("of the workers' form", "{workers_registers:.0f}")], Rows("programs")),
        "Cost of the workers' form: {form_geomean:more} of time and {registers_geomean:more} of "
        "registers in the geometric mean (the paper: +1.7 % and +23 %).",
        _share_curves,
        "STP: the time of one program after the other over the time until both are done; in "
        "brackets ANTT. Each is the geometric mean of three orders: either program first, and "
        "both at once. The paper's own pairs come first.",
        Grid([("pair", "{first} + {second}"), ("utilisation in the paper", "{paper}"),
              ("here", "{class}"), Each("summary", "arrangements", STP)], Rows(_share_pairs)),
        "Pairs of the paper's own programs by the paper's classes, then all pairs by the issue "
        "slots that their kernels use on this device. The table share includes the pairs of "
        "share-rest. Pairs that are noise are in no mean.",
        Grid([("pairs", "{label}"), ("arrangement", "{name}"), ("pairs", "{pairs}"),
              ("STP: mean", "{mean:.3f}"), ("best", "{best:.3f}"), ("worst", "{worst:.3f}"),
              ("by turnarounds", "{turnarounds:.3f}"), ("ANTT", "{antt:.2f}"),
              ("pairs that are noise", "{noisy}")], Rows(_share_means)),
        "The paper, on a K40c: STP 1.053 with persistent threads (`workers`) and 1.098 with its "
        "service (`greedy`) where a program of low utilisation takes part, 0.995 and 1.003 "
        "elsewhere.")


SPLITS = Table(
    "Quotas that differ by SM (SiM, sections 3.8 and 6)",
    "A cell is the STP, the time of one program after the other over the time until both are "
    "done, and in brackets the ANTT, as geometric means of three orders; STP above 1 is a gain. "
    "greedy has the same quotas on all SMs. whole-25: the first program has a quarter of the SMs "
    "for itself, and the second the rest. mixed-75: the first has three quarters of the blocks "
    "that fit on even SMs and a quarter on odd ones, and the second the other way round.",
    Grid([("pair", "{first} + {second}"), Each("summary", "arrangements", STP),
          ("best split", "{best_split.noise:~}{best_split.name}"),
          ("over greedy", "{best_split.over_greedy:more}")], Rows("pairs")))

ORACLE = Table(
    "Policy greedy and the best fixed quotas (SiM, section 4)",
    "The oracle is the best of several fixed divisions of each SM (`fixed 3:4`: blocks of the "
    "first and of the second program), or one program after the other. Gains are STP less 1; "
    "`share` is the part of the oracle's gain that policy greedy reaches.",
    Grid([("pair", "{first} + {second}"), ("best", "{best}"), ("oracle", "{oracle_gain:%}"),
          ("greedy", "{greedy_gain:%}"), ("share", "{share_percent:.0f %}")],
         Rows("oracle.pairs")))

MERGE = Table(
    "Kernels together (KernelMerge)",
    "First the cost of the scheduler for one kernel alone, then the gain of each way of running "
    "two kernels, where above 1 is faster than one kernel after the other.",
    Say("Cost in percent of the kernel's own time: block ids computed, occupancy lost, claims, "
        "turns; all of these with one block a claim, and with the best number of blocks a claim.",
        when="overhead"),
    Grid([("kernel", "{kernel}"), ("ms", "{plain_ms:.3f}"), ("ids", "{ids:%}"),
          ("occupancy", "{occupancy:%}"), ("queue", "{queue:%}"), ("choosing", "{choosing:%}"),
          ("all", "{total:%}"), ("best claim", "{best:%}"),
          ("turns from one word, best claim", "{shared_best:%}")], Rows("overhead")),
    Say("Geometric mean: a block a claim {overhead_geomean:%}, best claims "
        "{overhead_best_geomean:%}, turns from one word {overhead_shared_geomean:%}.",
        when="overhead"),
    Say("Gains over one kernel after the other, by the way of running both. -: not possible, or "
        "not measured.", when="pairs"),
    Grid([("pair", "{first} + {second}"), ("sequential ms", "{sequential_ms:.3f}"),
          ("streams", "{streams:.3f}"), ("green contexts", "{green:.3f}"),
          ("vertical", "{vertical:.3f}"), ("horizontal", "{horizontal:.3f}"),
          ("steal", "{steal:.3f}"), ("steal, best claim", "{steal_best:.3f}"),
          ("partition", "{partition:.3f}"), ("chosen", "{tuned:.3f}"), ("its way", "{tuned_way}")],
         Rows("pairs")),
    Say("{summary.pairs} pairs: gain of what was chosen {summary.geomean:.3f} in the geometric "
        "mean ({summary.worst:.3f} to {summary.best:.3f}), over 1.05 in {summary.better}: by "
        "merging in {better.merge}, horizontal fusion {better.horizontal}, vertical fusion "
        "{better.vertical}, green contexts {better.green}, streams "
        "{better.streams}.", when="pairs"),
    Wrong("wrong"))


def _task_programs(table):
    """Each program in a pool, and the number of streams in which its launches were fastest."""
    for program in table.data["programs"]:
        best = min(program["launches"], key=lambda launch: launch["ms"], default={})
        yield {**program, "best": best}


TASKS = Table(
    "Pools of tasks (Pagoda)",
    "First how many empty tasks are spawned, then whole programs: `times faster` compares a pool "
    "with the best number of streams that launch each task as a kernel. The pool has {columns} "
    "blocks of {executors} warps that run tasks.",
    Grid([("threads that spawn empty tasks", "{threads}"),
          ("million a second", "{per_second/1000000:.2f}")], Rows("empty.producers")),
    "A spawn alone takes {empty.spawn_ns:.1f} ns. From a spawn until its end is seen: "
    "{latency.p50_us:.1f} us in the median, p99 {latency.p99_us:.1f}, at most "
    "{latency.max_us:.1f}.",
    Grid([("program", "{program}"), ("tasks", "{tasks}"), ("pool, ms", "{ms:.3f}"),
          ("best of launches, ms", "{best.ms:.3f}"), ("its streams", "{best.streams}"),
          ("times faster", "{best.ms/ms:.1f}")], Rows(_task_programs)),
    Wrong("wrong"))

HANDOVER = Table(
    "A 20 us kernel every ms beside long grids of 20 us blocks",
    "Turnaround of the short kernel in us; smaller is better. In rows `stamps` the long program "
    "records the times of its blocks: the second table has its hand-overs, from the order to the "
    "exit of the last worker, and the time of that beyond the block that still ran.",
    Grid([("arrangement", "{name}"), ("launches", "{launches}"), ("median", "{p50:.1f}"),
          ("p99", "{p99:.1f}"), ("max", "{max:.1f}")], Rows("*", having="p50")),
    Grid([("arrangement", "{name}"), ("preemptions", "{preemptions}")] +
         [(head, f"{{{key}.p50:.1f}}, {{{key}.p99:.1f}}") for head, key in (
             ("order to last worker: median, p99", "order-to-last-worker-gone"),
             ("residual", "longest-residual-of-running-blocks"),
             ("beyond it", "beyond-the-residual"))], Rows("*", having="preemptions")))

LATENCY = Table(
    "Latency targets",
    "Grids of some 20 ms, of blocks of a chosen length. `ratio` is the time alone under heddle, "
    "at a latency target (latency_us), over the time natively. The last columns are the time in "
    "us until the last worker exits, if a kernel of high priority preempts the grid every ms.",
    Grid([("block us", "{block}"), ("target us", "{target}"), ("alone ms", "{plain_ms}"),
          ("under heddle", "{heddle_ms}"), ("ratio", "{ratio}"), ("preemptions", "{preemptions}"),
          ("us to leave: median", "{p50:.1f}"), ("p99", "{p99:.1f}")], Rows("*", having="p99")),
    "Within 8 us of the target, or of a block that is longer: {within} of {settings}. The most "
    "that one costs: {cost_worst:%}.")

QUEUE = Table(
    "Short launches in one queue, beside a kernel of high priority",
    "`low` is the low program's time for its queue, and `high` the turnaround in us of the high "
    "one's 30 us kernel every 2 ms; smaller is better. Rows `-log` have a quarter of the queue "
    "and an event log: the last columns are the words that heddled writes for each launch of the "
    "high program.",
    Grid([("arrangement", "{name}"), ("low, s", "{s}"), ("over native", "{over_native:.2f}"),
          ("result", "{result}"), ("high: median", "{p50:.0f}"), ("p99", "{p99:.0f}"),
          ("words to launches", "{words_launches}"), ("to tenants", "{words_tenants}")],
         Rows("*")))

COMPILING = Table(
    "What compiling holds up",
    "One thread compiles a large PTX by each kind of call. The last four columns are the worst "
    "times in ms of calls in another thread meanwhile.",
    Grid([("compiled by", "{name}"), ("takes", "{ms}"), ("launches meanwhile", "{launches}"),
          ("a launch", "{launch_ms:.2f}"), ("its wait", "{wait_ms:.2f}"),
          ("allocation", "{memory_ms:.2f}"), ("small module", "{module_ms:.2f}")], Rows("*")))

WAITING = Table(
    "Calls that wait for a kernel that runs",
    "Whether a call waits until a kernel that runs in the same context ends, and whether a launch "
    "of another thread in another stream waits as long.",
    Grid([("call", "{name}"), ("beside the kernel", "{beside}"),
          ("a launch meanwhile", "{others:waits, too|goes on}")], Rows("*")))

CALLS = Table(
    "Launches through the shim",
    "`more` is the time in ns that a launch takes in the shim beyond the driver's own: the median "
    "of several runs, the least and the most.",
    Grid([("launch", "{name}"), ("the driver's own", "{driver_ns:.0f}"), ("more", "{ns:.0f}"),
          ("least", "{least:.0f}"), ("most", "{most:.0f}")], Rows("*", having="driver_ns")))

OPAQUE = Table(
    "Unmodified PyTorch: inference beside training",
    "Time of a request of the inference in ms, and the training's steps a second: short requests "
    "and many steps are better. Cells are medians of the runs. Training alone: "
    "{alone.training.steps:.2f} steps a second; under heddle {heddle-alone.training.steps:.2f}.",
    Grid([("arrangement", "{arrangement}"), ("launches, period ms", "{way}, {period}"),
          ("runs", "{p50.runs}"), ("median", "{p50:.2f}"), ("p99", "{p99:.2f}"),
          ("steps a second", "{steps:.2f}")], Rows("*", having="p50")))

BESIDE = Table(
    "Programs from elsewhere beside a kernel of high priority",
    "`ms` is the time of a whole program of low priority, the median of several runs, and `high` "
    "the turnaround in us of a 30 us kernel of high priority every 2 ms.",
    Grid([("program", "{program}"), ("under", "{under}"), ("ms", "{ms:.0f}"),
          ("least, most", "{least:.0f}, {most:.0f}"), ("over native", "{over_native:.2f}"),
          ("high: median", "{p50:.0f}"), ("p99", "{p99:.0f}")], Rows("*")))

REGISTERS = Table(
    "Registers of the preemptible forms",
    "Of forms that need more than 32 registers: how many more than the kernel has; and how many "
    "kernels lose blocks of 256 threads on an SM. The second form keeps within the kernel's own "
    "registers; heddle takes it where it spills at most so many bytes more.",
    Grid([("which form", "{label}"), ("second ones taken", "{taken} of {kernels}"),
          ("above 32 registers", "{above_32}"), ("median", "{median:+d}"), ("p90", "{p90:+d}"),
          ("over 1.25 times", "{over_quarter}"),
          ("lose blocks", "{lose_blocks} ({lose_share:.1f} %)")], Rows("*", having="above_32")),
    "ptxas takes {ptxas.plain_s:.1f} s for the files as they are, {ptxas.first:.2f} times that "
    "for the first forms, {ptxas.second:.2f} times with the second ones.")

TABLES = {
    "demo": DEMO, "pairs": PAIRS, "delay": DELAY,
    "equal": _of_one_priority("Pairs of one priority (FLEP, section 6.3.1, figures 10 and 11)",
                              "equal"),
    "triplets": _of_one_priority("Three programs of one priority (FLEP, section 6.3.2)",
                                 "triplets"),
    "overhead": OVERHEAD, "spatial": SPATIAL, "extra": EXTRA, "shares": SHARES,
    "predict": PREDICT, "slicing": SLICING, "orders": ORDERS, "handover": HANDOVER,
    "latency": LATENCY, "queue": QUEUE, "compiling": COMPILING, "waiting": WAITING,
    "calls": CALLS, "opaque": OPAQUE, "beside": BESIDE, "registers": REGISTERS, "tasks": TASKS,
    "share": _share("Pairs that share SMs (SiM, section 4)"),
    "share-rest": _share("Pairs that share SMs: the other pairs"),
    "splits": SPLITS, "oracle": ORACLE, "merge": MERGE,
    # Tests on a device. Each compares a form's result with that of the original kernel.
    "forms": Table(
        "The preemptible forms",
        "Every kernel of `kernels/` runs plain and preemptible, in many shapes: `the same` and 0 "
        "`not` is right.",
        CHECKS),
    "virtual": Table(
        "Bodies in another kernel",
        "Kernels run as bodies within another kernel, on the GPU and on the virtual one: the same "
        "memory is right.",
        CHECKS),
    "merged": Table(
        "Pairs as one launch",
        "Pairs and groups of kernels run as one launch: `the same` and 0 `not` is right; "
        "`refused` is said before a launch.",
        CHECKS),
    "woven": Table(
        "Random pairs in every way",
        "Random pairs of kernels run in each way of running them together: 0 `wrong` and 0 `hang` "
        "is right.",
        CHECKS),
    "as-tasks": Table(
        "Kernels as tasks of a pool",
        "Kernels run as tasks of a pool: `the same` and 0 failures is right.",
        CHECKS),
    "generated": Table(
        "Random programs in pairs in every way",
        "Pairs of generated programs run in each way of running them together: 0 `not` is right.",
        CHECKS),
    "random": Table(
        "Random programs and their preemptible form",
        "Generated programs run as they are and preemptible; of those that are `managed`, some "
        "are stopped and resumed: 0 `wrong` is right.",
        CHECKS),
    "ops": Table(
        "Instructions against the virtual GPU",
        "Forms of instructions run on the GPU and on the virtual GPU: the same bits are right; of "
        "sums, those within the bound.",
        CHECKS),
    "kills": Table(
        "Programs killed",
        "Programs are killed while others run: survivors that are correct, and none that hangs, "
        "is right.",
        CHECKS),
    "kills-mps": Table(
        "Programs killed under MPS",
        "Programs are killed while others run under MPS: survivors that are correct, and none "
        "that hangs, is right.",
        CHECKS),
    "programs": Table(
        "Programs from elsewhere",
        "Programs of others run beside one that preempts them, and their output is compared: "
        "`varies` differs natively, too; `differs`, `fails` and `hang` are faults.",
        CHECKS),
    "cold": Table(
        "What a start costs",
        "Programs of others start with a cold and with a warm cache beside one that preempts "
        "them, and their output is compared.",
        CHECKS),
    "virtual-programs": Table(
        "Programs from elsewhere on the virtual GPU",
        "Programs of others run on the virtual GPU, natively and under heddle; `unusable` cannot "
        "run there, and the last lines compare the output with a GPU's.",
        CHECKS),
}
