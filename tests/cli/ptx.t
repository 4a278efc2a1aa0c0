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
