heddle ptx print: what was read, written out again; errors with caret.

  $ cat >ok.ptx <<'EOF'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .entry k(.param .u64 p)
  > {
  >   .reg .b64 %rd<3>;
  >   .reg .b32 %r<3>;
  >   ld.param.u64 %rd1, [p];
  >   mov.u32 %r1, %tid.x;
  >   st.global.u32 [%rd1], %r1;
  >   ret;
  > }
  > EOF
  $ heddle ptx print ok.ptx >once.ptx
  $ heddle ptx print - <once.ptx | cmp - once.ptx
  $ grep -c 'st.global.u32' once.ptx
  1
  $ sed -e 's/st.global.u32 \[/st.global.u32 [[/' -e 's/mov.u32 %r1, /mov.u32 %r1, %r77, ;/' ok.ptx >bad.ptx
  $ heddle ptx print bad.ptx 2>err >out; echo $?
  1
  $ wc -c <out
  0
  $ grep -c '^bad.ptx:9:.*error' err
  1
  $ grep -c '^bad.ptx:10:.*error' err
  1
  $ sed 's/entry k(/entry other(/' ok.ptx | tail -n +4 | cat ok.ptx - >two.ptx
  $ heddle ptx print -k other two.ptx | grep entry
  .visible .entry other(
  $ heddle ptx print --kernel=third two.ptx
  heddle ptx print: error: two.ptx: no kernel 'third'
    hint: heddle ptx check lists the kernels
  [1]
  $ heddle ptx print none.ptx
  heddle ptx print: error: none.ptx: No such file or directory
  [1]
  $ heddle ptx print
  heddle ptx print: error: what is missing: FILE...
  usage: heddle ptx print [-k NAME] [--json] FILE...
    hint: heddle ptx print -h says more
  [2]
  $ heddle ptx print --json ok.ptx bad.ptx 2>err | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > print(d["command"], [(f["file"], f["text"] is not None, len(f["diagnostics"]) > 0) for f in d["files"]])'
  ptx print [('ok.ptx', True, False), ('bad.ptx', False, True)]

heddle ptx check: the tier of every kernel, and why it is not a better one.

  $ heddle ptx check two.ptx
  two.ptx:4: kernel k: managed
  two.ptx:13: kernel other: managed
  $ cat >exit.ptx <<'EOF'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .entry k(.param .u64 p)
  > {
  >   .reg .pred %p<2>;
  >   .reg .b32 %r<5>;
  >   mov.u32 %r1, %tid.x;
  >   setp.gt.u32 %p1, %r1, 7;
  >   @%p1 exit;
  >   bar.arrive 1, 64;
  >   ret;
  > }
  > EOF
  $ heddle ptx check exit.ptx
  exit.ptx:11: kernel k: guard: bar.arrive may leave a barrier half full at the block's end
  $ heddle ptx check ok.ptx bad.ptx none.ptx 2>err
  ok.ptx:4: kernel k: managed
  [1]
  $ grep -c 'error' err
  3
  $ heddle ptx check --json exit.ptx bad.ptx 2>err | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > for f in d["files"]:
  >   print(f["file"], f["errors"], [(k["name"], k["tier"], k["reason"] is None, k["line"]) for k in f["kernels"]])
  >   for e in f["diagnostics"]: print(e["level"], e["line"], e["column"] > 0)'
  exit.ptx 0 [('k', 'guard', False, 11)]
  bad.ptx 2 []
  error 9 True
  error 10 True

heddle ptx preempt: the same kernel with one parameter more.

  $ heddle ptx preempt ok.ptx >worker.ptx
  $ grep -A 3 entry worker.ptx
  .visible .entry k(
  	.param .u64 p,
  	.param .align 8 .b8 hd_args[80])
  {
  $ heddle ptx check worker.ptx | grep -c 'kernel k'
  1
  $ heddle ptx preempt -k k two.ptx | grep -c hd_args.80
  1
  $ heddle ptx preempt two.ptx | grep -c hd_args.80
  2
  $ heddle ptx preempt -k none ok.ptx
  heddle ptx preempt: error: ok.ptx: no kernel 'none'
    hint: heddle ptx check lists the kernels
  [1]
  $ heddle ptx preempt bad.ptx 2>err
  [1]
  $ heddle ptx preempt --dump-after=parse ok.ptx | cmp - once.ptx
  $ heddle ptx preempt --json exit.ptx | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > print(d["kernels"][0]["tier"], d["kernels"][0]["arguments_offset"], d["kernels"][0]["parameter_bytes"], "hd_args" in d["text"])'
  guard 8 88 True
  $ if command -v ptxas >/dev/null; then ptxas -arch sm_90 -o /dev/null worker.ptx; fi

A kernel that must be held is left alone, and refused when it is asked for by name.

  $ sed -e 's/sm_70/sm_90/' -e 's/7.0/8.0/' -e 's/  mov.u32 %r1, %tid.x;/  barrier.cluster.arrive;/' ok.ptx >held.ptx
  $ heddle ptx check held.ptx | cut -d: -f 1-4
  held.ptx:9: kernel k: held
  $ heddle ptx preempt held.ptx 2>err | grep -c hd_args
  0
  [1]
  $ head -n 1 err | cut -d: -f 1-2,4-5
  held.ptx:9: warning: kernel 'k' is left as it was
  $ heddle ptx preempt -k k held.ptx 2>&1 | cut -d: -f 1-4
  heddle ptx preempt: error: held.ptx: kernel 'k' cannot be preempted

A kernel with no room for the slot lends a variable of its own, which is then aligned as the slot is.

  $ sed 's/  .reg .b64 %rd<3>;/  .shared .align 1 .b8 big[49120];\n&/' ok.ptx >full.ptx
  $ heddle ptx check full.ptx | cut -d: -f 3-4
   kernel k: guard
  $ heddle ptx preempt full.ptx 2>err | grep -c '.shared .align 16 .b8 big.49120.;'
  1
