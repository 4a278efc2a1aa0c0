Traces in virtual time. The scheduler's decisions do not depend on the machine: each figure is exact.

  $ cp "$SRC"/examples/traces/*.trace .

Under hpf the shorter launches of an equal go first; under ffs the two take turns:

  $ heddle sim equal.trace --policy hpf
  equal.trace: policy hpf, 8 SMs
  TENANT  WEIGHT PRIORITY FINISHED UNFINISHED SHARE ENTITLED WAITING LONGEST TURNAROUND    ALONE
  batch        1   normal        4          0 83.3%    50.0% 2.105ms 4.205ms   12.105ms 10.005ms
  service      1   normal       40          0 16.7%    50.0% 0.013ms 0.105ms    0.213ms  0.205ms
  preemptions           40
  makespan        48.420ms
  ANTT               1.124
  STP                1.791
  idle                0.9%
  $ heddle sim equal.trace --policy ffs
  equal.trace: policy ffs, 8 SMs
  TENANT  WEIGHT PRIORITY FINISHED UNFINISHED SHARE ENTITLED WAITING LONGEST TURNAROUND    ALONE
  batch        1   normal        4          0 83.3%    50.0% 2.160ms 4.354ms   12.160ms 10.005ms
  service      1   normal       40          0 16.7%    50.0% 0.021ms 0.205ms    0.221ms  0.205ms
  preemptions           40
  makespan        48.640ms
  ANTT               1.146
  STP                1.752
  idle                1.3%

Shares by weight, under the policy that the file names; none ignores weights:

  $ heddle sim weights.trace
  weights.trace: policy ffs, 8 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED SHARE ENTITLED WAITING LONGEST TURNAROUND   ALONE
  gold        3   normal      297          1 50.1%    50.0% 1.013ms 1.720ms    2.016ms 1.005ms
  silver      2   normal      198          1 33.4%    33.3% 2.015ms 3.040ms    3.019ms 1.005ms
  bronze      1   normal       98          1 16.5%    16.7% 5.059ms 7.070ms    6.090ms 1.005ms
  preemptions          113
  makespan       599.000ms
  ANTT               3.690
  STP                0.996
  idle                1.0%
  $ heddle sim weights.trace --policy none | sed -n '3,5p'
  gold        3   normal      200          1 33.4%    50.0% 1.985ms 2.000ms    2.990ms 1.005ms
  silver      2   normal      199          1 33.4%    33.3% 1.995ms 2.000ms    2.995ms 1.005ms
  bronze      1   normal      199          1 33.2%    16.7% 2.000ms 2.005ms    3.000ms 1.005ms

One launch of 8 blocks of 1 ms, 4 at once: the only wait is for the launch itself:

  $ printf 'device sms=2\nat 0ms join a\nat 1ms launch a k blocks=8 block=1ms\n' > one.trace
  $ heddle sim --trace one.trace
      0.000  a joins
      1.000  a k submitted
      1.005  a k arrives
      3.005  a k done after 2.005 ms
  one.trace: policy hpf, 2 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED  SHARE ENTITLED WAITING LONGEST TURNAROUND   ALONE
  a           1   normal        1          0 100.0%   100.0% 0.005ms 0.005ms    2.005ms 2.005ms
  preemptions            0
  makespan         2.005ms
  ANTT               1.000
  STP                1.000
  idle                0.2%

Two files; - is standard input. A second launch in the same stream waits for the first:

  $ { cat one.trace; echo 'at 1ms launch a k blocks=8 block=1ms'; } | heddle sim one.trace - | grep ^a
  a           1   normal        1          0 100.0%   100.0% 0.005ms 0.005ms    2.005ms 2.005ms
  a           1   normal        2          0 100.0%   100.0% 1.008ms 2.010ms    3.007ms 3.007ms

The launches of a tenant that leaves stay unfinished:

  $ { cat one.trace; echo 'at 2500us leave a'; } | heddle sim - | sed -n '3,$p'
  a           1   normal        0          1 100.0%   100.0% 0.005ms 0.005ms          -     -
  preemptions            0
  makespan         1.500ms
  ANTT                   -
  STP                    -
  idle                0.3%

A tenant that finishes no launch beside others has no ANTT, and adds nothing to STP:

  $ cat > starved.trace << 'END'
  > at 0ms join a prio=high
  > at 0ms join b prio=low
  > at 0ms launch a k blocks=80 block=1ms count=100
  > at 1ms launch b k blocks=80 block=1ms
  > run 100ms
  > END
  $ heddle sim starved.trace
  starved.trace: policy hpf, 4 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED  SHARE ENTITLED  WAITING  LONGEST TURNAROUND    ALONE
  a           1     high        9          1 100.0%    50.0%  0.005ms  0.005ms   10.005ms 10.005ms
  b           1      low        0          1   0.0%    50.0% 99.000ms 99.000ms          -        -
  preemptions            2
  makespan       100.000ms
  ANTT                   -
  STP                1.000
  idle                0.0%

Errors in a file are reported with their lines:

  $ cat > broken.trace << 'END'
  > device sms=300 policy=fifo
  > at 0ms join a color=red
  > at -1ms launch a k
  > at 2000000s launch a k
  > at 5 launch a k
  > at nans launch a k
  > at 1ms launch b k
  > at 1ms lunch a k
  > at 1ms launch a k blocks=0 wps=many
  > at 1ms launch a blocks=2
  > at 1ms join a
  > at 1ms
  > dewice
  > run
  > END
  $ heddle sim broken.trace
  heddle sim: error: broken.trace:1: sms: 300 is not between 1 and 256
  heddle sim: error: broken.trace:1: no such policy: 'fifo'; there are hpf, ffs, greedy, split, none, profile and fixed
  heddle sim: error: broken.trace:2: unknown word: 'color=red'
  heddle sim: error: broken.trace:3: negative time: '-1ms'
  heddle sim: error: broken.trace:4: time too large: '2000000s', at most 1000000s
  heddle sim: error: broken.trace:5: not a time: '5'; a time is a number and ns, us, ms or s
  heddle sim: error: broken.trace:6: not a time: 'nans'; a time is a number and ns, us, ms or s
  heddle sim: error: broken.trace:7: no such tenant: 'b'; it must join above
  heddle sim: error: broken.trace:8: unknown word: 'lunch'
  heddle sim: error: broken.trace:9: blocks: 0 is not between 1 and 4294967295
  heddle sim: error: broken.trace:9: wps: 'many' is not a whole number
  heddle sim: error: broken.trace:10: launch: a kernel's name must follow the tenant, not 'blocks=2'
  heddle sim: error: broken.trace:11: a tenant of this name joins above: 'a'
  heddle sim: error: broken.trace:12: at: a time, a word and a tenant must follow
  heddle sim: error: broken.trace:13: unknown word: 'dewice'
  heddle sim: error: broken.trace:14: not a time: ''; a time is a number and ns, us, ms or s
  [1]
  $ heddle sim broken.trace one.trace 2>/dev/null | head -n 1
  one.trace: policy hpf, 2 SMs

Of very many errors, the first ones are reported, and the number of the others:

  $ for i in $(seq 120); do echo "at 1ms lunch a k$i"; done | heddle sim - 2>&1 | sed -n '1p;100,$p'
  heddle sim: error: -:1: unknown word: 'lunch'
  heddle sim: error: -:100: unknown word: 'lunch'
  heddle sim: error: -: 20 more errors

Errors found only during the simulation name their line, too:

  $ printf 'at 5ms join a\nat 1ms launch a k\n' | heddle sim -
  heddle sim: error: -:2: a has not joined by then
  [1]

A missing file, an empty one, one without launches:

  $ heddle sim none.trace
  heddle sim: error: none.trace: No such file or directory
  [1]
  $ : > empty.trace
  $ heddle sim empty.trace
  heddle sim: error: empty.trace: the file is empty
  [1]
  $ echo 'at 0ms join a' | heddle sim -
  heddle sim: error: -: nothing is launched: there is no line 'at TIME launch'
  [1]
  $ heddle sim --json none.trace
  {
    "schema": 1,
    "command": "sim",
    "files": [],
    "errors": [
    {
      "error": "none.trace: No such file or directory",
      "hint": null
    }
  ]
  }
  [1]
  $ heddle sim one.trace --policy fair
  heddle sim: error: --policy: 'fair' is not one of hpf|ffs|greedy|split|none|profile|fixed|./FILE
    hint: heddle sim -h says more
  [2]
  $ heddle sim 2>&1 | head -n 1
  heddle sim: error: what is missing: FILE...

Options of a policy: the kernels of both tenants need all of an SM, so they take turns with pairs=on.
The policy learns that they need all of an SM once each has run with two numbers of blocks per SM:

  $ cat > pairs.trace <<'END'
  > device sms=2 policy=greedy options=pairs=on
  > at 0ms join A
  > at 0ms join B
  > at 1ms launch A a blocks=2 wps=4 block=1ms use=100
  > at 5ms launch A a~1 blocks=20 wps=4 block=1ms use=100
  > at 30ms launch B b blocks=2 wps=4 block=1ms use=100
  > at 35ms launch B b~1 blocks=20 wps=4 block=1ms use=100
  > at 60ms launch A a~2 blocks=20 wps=4 block=1ms use=100
  > at 61ms launch B b~2 blocks=20 wps=4 block=1ms use=100
  > END
  $ heddle sim pairs.trace | grep ANTT
  ANTT               1.214
  $ heddle sim pairs.trace --policy-options pairs=off | grep ANTT
  ANTT               1.357
  $ heddle sim pairs.trace --policy-options pairs=7
  heddle sim: error: pairs.trace: policy_options: pairs: '7' is not one of on|off
  [1]
  $ sed 's/pairs=on/pear/' pairs.trace | heddle sim -
  heddle sim: error: -:1: policy_options: policy greedy has no option 'pear'; there is pairs=on|off
  [1]

A policy in a file, in the form that heddled loads. This one gives two programs half of every SM:

  $ chmod 755 .
  $ cp "$BUILD"/tests/sched/policy_halves.so "$BUILD"/tests/sched/policy_abi.so .
  $ chmod 755 *.so
  $ cat > two.trace << 'END'
  > device sms=2
  > at 0ms join a
  > at 0ms join b
  > at 1ms launch a k blocks=64 block=1ms wps=4
  > at 1ms launch b l blocks=32 block=1ms wps=4
  > END
  $ heddle sim two.trace --policy ./policy_halves.so
  two.trace: policy halves, 2 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED SHARE ENTITLED WAITING LONGEST TURNAROUND   ALONE
  a           1   normal        1          0 66.7%    50.0% 0.005ms 0.005ms   12.015ms 8.005ms
  b           1   normal        1          0 33.3%    50.0% 0.005ms 0.005ms    8.005ms 4.005ms
  preemptions            0
  makespan        12.015ms
  ANTT               1.750
  STP                1.167
  idle                0.1%
  $ heddle sim one.trace --policy ./none.so
  heddle sim: error: policy: ./none.so: No such file or directory
  [1]
  $ heddle sim one.trace --policy ./policy_abi.so 2>&1 | sed "s|$PWD/||"
  heddle sim: error: policy: policy_abi.so: made for ABI 77, this heddled has 1: build it with this heddled's heddle/policy.h
  $ chmod 777 policy_halves.so
  $ heddle sim one.trace --policy ./policy_halves.so 2>&1 | sed "s|$PWD/||"
  heddle sim: error: policy: policy_halves.so: other users can write to it: remove that right (chmod go-w)

A trace may have two devices, each with its own engine. The picture shows both:

  $ { sed 's/sms=2/sms=2 name=gpu0/' two.trace; cat one.trace; } > both.trace
  $ heddle sim both.trace --svg both.svg
  both.trace: device gpu0: policy hpf, 2 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED SHARE ENTITLED WAITING LONGEST TURNAROUND   ALONE
  a           1   normal        1          0 66.7%    50.0% 4.015ms 4.015ms   12.015ms 8.005ms
  b           1   normal        1          0 33.3%    50.0% 2.005ms 2.005ms    6.005ms 4.005ms
  preemptions            1
  makespan        12.015ms
  ANTT               1.500
  STP                1.333
  idle                0.1%
  both.trace: policy hpf, 2 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED  SHARE ENTITLED WAITING LONGEST TURNAROUND   ALONE
  a           1   normal        1          0 100.0%   100.0% 0.005ms 0.005ms    2.005ms 2.005ms
  preemptions            0
  makespan         2.005ms
  ANTT               1.000
  STP                1.000
  idle                0.2%
  $ sed -n 's/ height=.*//; /<text/p; /^<rect x/p' both.svg
  <rect x='0.00' y='0.0' width='974.00'
  <text x='150.0' y='20.0' text-anchor='start'>both.trace gpu0: policy hpf</text>
  <text x='142.0' y='56.0' text-anchor='end'>a</text>
  <rect x='211.00' y='58.8' width='1.00'
  <rect x='212.00' y='34.0' width='122.00'
  <rect x='334.00' y='43.3' width='1.00'
  <rect x='581.00' y='40.2' width='1.00'
  <rect x='582.00' y='34.0' width='368.00'
  <text x='142.0' y='98.0' text-anchor='end'>b</text>
  <rect x='334.00' y='98.7' width='1.00'
  <rect x='335.00' y='76.0' width='245.00'
  <rect x='580.00' y='89.4' width='1.00'
  <text x='150.0' y='130.0' text-anchor='start'>0</text>
  <text x='950.0' y='130.0' text-anchor='end'>13.015 ms; a row is 2 SMs high</text>
  <text x='150.0' y='168.0' text-anchor='start'>both.trace: policy hpf</text>
  <text x='142.0' y='204.0' text-anchor='end'>a</text>
  <rect x='417.00' y='199.7' width='1.00'
  <rect x='418.00' y='182.0' width='532.00'
  <text x='150.0' y='236.0' text-anchor='start'>0</text>
  <text x='950.0' y='236.0' text-anchor='end'>3.005 ms; a row is 2 SMs high</text>
  $ python3 -c 'import xml.dom.minidom as x; x.parse("both.svg")'
  $ { cat both.trace; echo 'at 1ms lunch a k'; } | heddle sim - > both.out
  heddle sim: error: -:9: unknown word: 'lunch'
  [1]
  $ head -n 1 both.out
  -: device gpu0: policy hpf, 2 SMs
  $ heddle sim one.trace --svg none/one.svg > one.out
  heddle sim: error: none/one.svg: No such file or directory
    hint: --svg FILE puts it elsewhere
  [1]

The output of heddled --events is a trace, too. It does not say which streams a program has:

  $ cat > events << 'END'
  > {"schema": 2, "log": "heddled-events"}
  > {"t_ns": 5000, "event": "join", "tenant": 1, "name": "a b", "priority": "normal", "weight": 1, "device": "x", "device_sms": 2}
  > {"t_ns": 5000, "event": "join", "tenant": 2, "name": "c", "priority": "high", "weight": 3, "device": "y", "device_sms": 4}
  > {"t_ns": 1005000, "event": "submit", "tenant": 1, "launch": 1, "kernel": "k"}
  > {"t_ns": 9005000, "event": "finish", "tenant": 1, "launch": 1, "kernel": "k", "submit_ns": 1005000, "total": 16, "workers": 4, "blocks_per_sm": 2, "ran_ns": 4000000}
  > {"t_ns": 9005000, "event": "finish", "tenant": 2, "launch": 1, "kernel": "k", "submit_ns": 1005000, "total": 16, "workers": 8, "blocks_per_sm": 2, "ran_ns": 4000000}
  > {"t_ns": 9005000, "event": "submit", "tenant": 2, "launch": 2, "kernel": "k"}
  > {"t_ns": 9105000, "event": "opaque", "tenant": 1, "priority": "low", "weight": 2}
  > {"t_ns": 9205000, "event": "opaque-end", "tenant": 1, "priority": "low", "weight": 2}
  > {"t_ns": 9305000, "event": "leave", "tenant": 1, "priority": "low", "weight": 2, "reasons": [{"reason": "workers", "outcome": "managed", "launches": 4}]}
  > END
  $ heddle sim events --trace --policy none
  heddle sim: warning: events: an event log names no streams: launches come when they came then, one stream a program; left out: 1 launch that had not ended; it misses 3 launches that ended before heddled looked
      0.000  a_b-1 joins
      1.000  a_b-1 k.0 submitted
      1.005  a_b-1 k.0 arrives
      5.005  a_b-1 k.0 done after 4.005 ms
      9.100  a_b-1 has priority 0
      9.100  a_b-1 has weight 2
      9.100  a_b-1 opaque work begins
      9.200  a_b-1 opaque work ends
  events: device x: policy none, 2 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED  SHARE ENTITLED WAITING LONGEST TURNAROUND   ALONE
  a_b-1       2      low        1          0 100.0%   100.0% 0.005ms 0.005ms    4.005ms 4.005ms
  preemptions            0
  makespan         4.005ms
  ANTT               1.000
  STP                1.000
  idle                0.1%
      0.000  c-2 joins
      1.000  c-2 k.0 submitted
      1.005  c-2 k.0 arrives
      5.005  c-2 k.0 done after 4.005 ms
  events: device y: policy none, 4 SMs
  TENANT WEIGHT PRIORITY FINISHED UNFINISHED  SHARE ENTITLED WAITING LONGEST TURNAROUND   ALONE
  c-2         3     high        1          0 100.0%   100.0% 0.005ms 0.005ms    4.005ms 4.005ms
  preemptions            0
  makespan         4.005ms
  ANTT               1.000
  STP                1.000
  idle                0.1%

Errors in such an event log are reported with their lines:

  $ cat >> events << 'END'
  > {"t_ns": 1, "event": "jo
  > [1]
  > {"t_ns": "late", "event": "leave"}
  > {"t_ns": 9405000, "event": "leave", "tenant": 7, "priority": "low", "weight": 2}
  > {"t_ns": 9405000, "event": "leave", "tenant": 1, "priority": "lowest", "weight": 2}
  > {"t_ns": 9405000, "event": "leave", "tenant": 1, "priority": "low", "weight": 0}
  > {"t_ns": 9405000, "event": "finish", "tenant": 1, "launch": 1, "kernel": "k", "submit_ns": 1005000, "total": 0}
  > {"t_ns": 9405000, "event": "join", "tenant": 1, "name": "a", "priority": "low", "weight": 1, "device": "x"}
  > {"t_ns": 9405000000000000000, "event": "leave", "tenant": 1, "priority": "low", "weight": 2}
  > END
  $ heddle sim events
  heddle sim: error: events:11: not JSON: premature end of input near '"jo'
  heddle sim: error: events:12: not an object
  heddle sim: error: events:13: t_ns is not a whole number
  heddle sim: error: events:14: tenant 7 has not joined above
  heddle sim: error: events:15: priority: 'lowest' is none of low, normal and high
  heddle sim: error: events:16: weight: 0 is not between 1 and 1000
  heddle sim: error: events:17: total: 0 is not between 1 and 4294967295
  heddle sim: error: events:18: tenant 1 joins twice
  heddle sim: error: events:19: not JSON: too big integer near '9405000000000000000'
  [1]
  $ { echo '{"schema": 3}'; } | heddle sim -
  heddle sim: error: -:1: schema: 3 is not between 2 and 2
  [1]

A log with the engine's inputs is replayed, and each decision is compared. (tests/e2e/replay.sh does so with programs.)

  $ cat > inputs << 'END'
  > {"schema": 2, "log": "heddled-events", "inputs": 1}
  > {"t_ns": 5, "event": "join", "tenant": 1, "name": "a"}
  > {"input": "create", "engine": 1, "policy": "none", "loaded": false, "changed": true, "policy_options": "", "n_sms": 4, "threads_per_sm": 0, "blocks_per_sm": 0, "regs_per_sm": 0, "shared_per_sm": 0, "simultaneous": true, "spatial": true, "within_srt": false, "renumbers": false, "tells_started": true, "extra_sms": 0, "linger_max_ns": 0, "grace_ns": 0, "cost_ns": 0, "resume_ns": 0, "max_launches": 0, "opaque_ns": 0, "opaque_hold_ns": 0, "opaque_free": false, "still_ns": 0, "overhead_permille": 0}
  > {"input": "join", "engine": 1, "t_ns": 5, "tenant": 1, "priority": 0, "weight": 1}
  > {"input": "join", "engine": 1, "t_ns": 6, "tenant": 2, "priority": 2, "weight": 1}
  > {"input": "decide", "engine": 1, "t_ns": 7, "result": 0, "actions": 0}
  > {"input": "opaque", "engine": 1, "t_ns": 8, "tenant": 2, "active": true, "waited": false}
  > {"input": "decide", "engine": 1, "t_ns": 9, "result": 0, "actions": 0}
  > {"input": "leave", "engine": 1, "t_ns": 9, "tenant": 2}
  > END
  $ heddle sim --replay inputs
  inputs: 5 inputs, 2 decisions, 0 actions: all equal
  $ heddle sim --replay inputs --json | sed -n '/"file"/,/"actions"/p'
        "file": "inputs",
        "inputs": 5,
        "decisions": 2,
        "equal": true,
        "actions": []
  $ heddle sim --replay inputs --policy hpf
  heddle sim: error: inputs:8: the decisions differ from here on, after 4 inputs and 2 decisions
  heddled: {"input": "decide", "engine": 1, "t_ns": 9, "result": 0, "actions": 0}
  replay:  {"input": "decide", "engine": 1, "t_ns": 9, "result": 0, "actions": 2}
  [1]
  $ sed 's/"none"/"mine"/; s/"loaded": false/"loaded": true/' inputs | heddle sim --replay -
  heddle sim: error: -:3: policy mine was loaded from a file: name the file with --policy ./FILE
  [1]
  $ sed 's/"tenant": 2, "act/"tenant": 3, "act/' inputs | heddle sim --replay -
  heddle sim: error: -:7: tenant 3 has not joined engine 1
  [1]
  $ sed 's/"t_ns": 9, "res/"t_ns": 4, "res/' inputs | heddle sim --replay -
  heddle sim: error: -:8: t_ns: before the engine's last input
  [1]
  $ sed 's/"n_sms": 4/"n_sms": 0/' inputs | heddle sim --replay -
  heddle sim: error: -:3: an engine cannot have these options
  [1]
  $ sed 1d inputs | heddle sim --replay -
  heddle sim: error: -:1: this is not the first line of an event log; without its beginning a log cannot be replayed (was it rotated?)
  [1]
  $ heddle sim --replay events
  heddle sim: error: events:1: an earlier heddled wrote this log, without the inputs
  [1]
  $ { head -n 4 inputs; printf '{"input": "leave", "eng'; } | heddle sim --replay -
  heddle sim: warning: -: its last line is incomplete, and left out
  -: 2 inputs, 0 decisions, 0 actions: all equal
  $ { head -n 4 inputs; echo; } | heddle sim --replay -
  heddle sim: error: -:5: neither an event nor an input
  [1]
  $ heddle sim --replay inputs --svg x.svg
  heddle sim: error: --replay: takes neither --svg nor --policy-options
    hint: heddle sim -h says more
  [2]
