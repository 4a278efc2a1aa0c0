heddle ptx print: prints the parsed module; error messages have a caret.

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
  usage: heddle ptx print [-k NAME] [--arch NN] [--json] FILE...
    hint: heddle ptx print -h says more
  [2]
  $ heddle ptx print --json ok.ptx bad.ptx 2>err | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > print(d["command"], [(f["file"], f["text"] is not None, len(f["diagnostics"]) > 0) for f in d["files"]])'
  ptx print [('ok.ptx', True, False), ('bad.ptx', False, True)]

heddle ptx check: the tier of every kernel, and why it is not a better one. A file without kernels is reported.

  $ printf '.version 7.0\n.target sm_70\n.address_size 64\n.func f() { ret; }\n.extern .entry g();\n' >functions.ptx
  $ heddle ptx check functions.ptx
  functions.ptx: no kernels (.entry functions)
  $ heddle ptx preempt functions.ptx >out
  heddle ptx preempt: warning: functions.ptx: no kernels (.entry functions)
  $ cmp functions.ptx out
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
  $ cat >wait.ptx <<'EOF'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .entry waits(.param .u64 p)
  > {
  >   .reg .b64 %rd<3>;
  >   .reg .b32 %r<3>;
  >   .reg .pred %p<2>;
  >   ld.param.u64 %rd1, [p];
  >   ld.global.u32 %r2, [%rd1+8];
  > again:
  >   ld.volatile.global.u32 %r1, [%rd1];
  >   setp.ne.u32 %p1, %r1, %r2;
  >   @%p1 bra again;
  >   ret;
  > }
  > .visible .entry counts(.param .u64 p)
  > {
  >   .reg .b64 %rd<3>;
  >   .reg .b32 %r<3>;
  >   .reg .pred %p<2>;
  >   ld.param.u64 %rd1, [p];
  >   mov.u32 %r2, 0;
  > again:
  >   ld.volatile.global.u32 %r1, [%rd1];
  >   add.u32 %r2, %r2, 1;
  >   setp.lt.u32 %p1, %r2, %r1;
  >   @%p1 bra again;
  >   ret;
  > }
  > EOF
  $ heddle ptx check wait.ptx
  wait.ptx:4: kernel waits: managed
  wait.ptx:12: kernel waits: its blocks may wait for each other: a loop reads memory here until another block writes it
  wait.ptx:17: kernel counts: managed
  $ heddle ptx check --json wait.ptx | python3 -c '
  > import json, sys
  > for k in json.load(sys.stdin)["files"][0]["kernels"]:
  >     print(k["name"], k["waits"], k["waits_line"], k["waits_column"])'
  waits True 12 3
  counts False 0 0
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

An unknown instruction may be new: a warning names its line and similar instructions.

  $ sed 's/mov.u32 %r1, /mvo.u32 %r1, /' ok.ptx >typo.ptx
  $ heddle ptx check typo.ptx
  typo.ptx:9:3: warning: no instruction that is known: mvo.u32
      mvo.u32 %r1, %tid.x;
      ^~~~~~~
    hint: mov is one; what is not known keeps its kernel from being preempted
  typo.ptx:9: kernel k: held: unknown instruction mvo.u32
  $ heddle ptx check --json typo.ptx 2>/dev/null | python3 -c '
  > import json, sys
  > for d in json.load(sys.stdin)["files"][0]["diagnostics"]: print(d["level"], d["line"])'
  warning 9

PTX inside a program, a library or a fatbin; everything else in the file is ignored.

  $ python3 - <<'EOF'
  > import struct
  > text = open("ok.ptx", "rb").read() + b"\0"
  > text += b"\0" * (-len(text) % 8)
  > other = text.replace(b"entry k(", b"entry q(")
  > def entry(kind, arch, data):
  >     return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(data), 0, 0, 0, 7, arch, 0, 0, 0, 0, 0) + data
  > body = entry(1, 70, text) + entry(2, 80, b"\x9b" * 64) + entry(1, 90, other)
  > open("both.fatbin", "wb").write(struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body)
  > body = entry(2, 80, b"\x9b" * 64)
  > open("sass.fatbin", "wb").write(struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body)
  > EOF
  $ heddle ptx check both.fatbin
  both.fatbin(sm_70 #1):4: kernel k: managed
  both.fatbin(sm_90 #2):4: kernel q: managed
  $ heddle ptx check --arch 90 both.fatbin
  both.fatbin(sm_90 #2):4: kernel q: managed
  $ heddle ptx print -k q both.fatbin | head -n 1
  // both.fatbin(sm_90 #2)
  $ heddle ptx print --arch 70 both.fatbin | tail -n +2 | cmp - once.ptx
  $ heddle ptx preempt both.fatbin | grep -c hd_args.80
  2
  $ heddle ptx preempt -k q both.fatbin | grep entry
  .visible .entry q(
  $ heddle ptx print -k r both.fatbin
  heddle ptx print: error: no kernel 'r' in any PTX
    hint: heddle ptx check lists the kernels
  [1]

Kernels of such files run, too; of a kernel for several architectures, the oldest version runs.

  $ export HEDDLE_VGPU=cram-ptx-$$
  $ heddle exec --device cpu --grid 1 --block 4 both.fatbin q 'u32[2]:zero>-' 2>/dev/null
  3
  0
  $ heddle corun --device cpu --check -- --grid 1 --block 4 both.fatbin q 'u32[2]:zero' + --grid 2 --block 4 both.fatbin k 'u32[2]:zero' | tail -n 1
  memory is what the kernels leave alone
  $ heddle ptx merge -- --block 4 both.fatbin q + --block 4 both.fatbin k | grep -c entry
  1
  $ heddle exec --device cpu --grid 1 --block 4 both.fatbin r 'u32[2]:zero'
  heddle exec: error: both.fatbin has no kernel 'r'
    hint: k, q
  [1]
  $ heddle exec --device cpu --grid 1 --block 4 sass.fatbin q
  heddle exec: error: sass.fatbin: holds machine code only, no PTX
    hint: heddle doctor -- PROG lists kernels that come without
  [1]
  $ heddle tune --device cpu -- --grid 1 --block 4 sass.fatbin q
  heddle tune: error: sass.fatbin: holds machine code only, no PTX
    hint: heddle doctor -- PROG lists kernels that come without
  [1]
  $ heddle exec --device cpu --grid 1 --block 4 "$(command -v env)" q 2>&1 | tail -n 1
    hint: a PTX text, or a program, library or fatbin with PTX in it
  $ python3 - <<'EOF'
  > import struct
  > text = lambda value: (open("ok.ptx").read().replace("mov.u32 %r1, %tid.x", "mov.u32 %r1, " + value)).encode()
  > def entry(arch, data):
  >     data += bytes(8 - len(data) % 8)
  >     return struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(data), 0, 0, 0, 7, arch, 0, 0, 0, 0, 0) + data
  > body = entry(90, text("90")) + entry(75, text("75")) + entry(80, text("80"))
  > open("ages.fatbin", "wb").write(struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body)
  > EOF
  $ heddle exec --device cpu --grid 1 --block 1 ages.fatbin k 'u32[1]:zero>-' 2>/dev/null
  75
  $ echo '__global__ void k() {}' >k.cu
  $ heddle exec --device cpu --grid 1 --block 1 k.cu k
  heddle exec: error: k.cu: CUDA C++, not PTX
    hint: compile it with nvcc -ptx
  [1]
  $ heddle ptx check k.cu 2>&1 | head -n 1
  heddle ptx check: error: k.cu: CUDA C++, not PTX
  $ : >empty.ptx
  $ heddle ptx check empty.ptx
  heddle ptx check: error: empty.ptx: empty
  [1]
  $ echo >blank.ptx
  $ heddle exec --device cpu --grid 1 --block 1 blank.ptx k
  heddle exec: error: blank.ptx: empty
  [1]

  $ heddle ptx check --arch 80 both.fatbin
  heddle ptx check: error: both.fatbin: holds no PTX for sm_80
    hint: heddle ptx check lists what there is
  [1]
  $ heddle ptx check sass.fatbin
  heddle ptx check: error: sass.fatbin: holds machine code only, no PTX
    hint: heddle doctor -- PROG lists kernels that come without
  [1]
  $ python3 - <<'EOF'
  > import struct
  > def cubin(arch, lines):
  >     names = b"\0.shstrtab\0.nv_debug_ptx_txt\0"
  >     text = b"\0".join(line.encode() for line in lines) + b"\0"
  >     def section(name, kind, at, size):
  >         return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0)
  >     table = bytes(64) + section(1, 3, 64, len(names)) + section(11, 1, 64 + len(names), len(text))
  >     head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1\x41\x08", 2, 190, 1, 0, 0,
  >                        64 + len(names) + len(text), arch << 8, 64, 0, 0, 64, 3, 1)
  >     return head + names + text + table
  > lines = [line for line in open("ok.ptx").read().splitlines()]
  > one = cubin(90, ["", ""] + lines)
  > two = cubin(80, lines)
  > def entry(kind, arch, data):
  >     data += bytes(-len(data) % 8)
  >     return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(data), 0, 0, 0, 7, arch, 0, 0, 0, 0, 0) + data
  > open("one.cubin", "wb").write(one)
  > body = entry(2, 90, one) + entry(2, 80, two)
  > open("two.fatbin", "wb").write(struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body)
  > body += entry(1, 90, open("ok.ptx", "rb").read() + b"\0")
  > open("three.fatbin", "wb").write(struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body)
  > EOF
  $ heddle ptx check one.cubin two.fatbin three.fatbin
  one.cubin(sm_90 debug #1):6: kernel k: managed
  two.fatbin(sm_90 debug #1):6: kernel k: managed
  two.fatbin(sm_80 debug #2):4: kernel k: managed
  three.fatbin(sm_90 #1):4: kernel k: managed
  $ heddle ptx check --arch 80 two.fatbin
  two.fatbin(sm_80 debug #2):4: kernel k: managed
  $ heddle ptx print one.cubin | tail -n +2 | diff -B - once.ptx
  $ heddle ptx check /bin/ls
  heddle ptx check: error: /bin/ls: holds no device code
    hint: a PTX text, or a program, library or fatbin with PTX in it
  [1]
  $ head -c 90 both.fatbin >cut.fatbin; heddle ptx check cut.fatbin
  heddle ptx check: error: cut.fatbin: its device code is cut or broken
    hint: a newer copy of the file may help
  [1]
  $ if [ -x $BUILD/examples/rt/va ]; then heddle ptx check $BUILD/examples/rt/va | cut -d: -f 3-; else echo ' kernel va: managed'; fi
   kernel va: managed
  $ printf '.version 7.0\n.target sm_70\n\233\033[2J\n' >raw.ptx; heddle ptx check raw.ptx 2>&1 | LC_ALL=C grep -c "$(printf '[\033\233]')"
  0
  [1]

heddle ptx preempt: the same kernel with an additional parameter.

  $ heddle ptx preempt ok.ptx >worker.ptx
  $ grep -A 3 entry worker.ptx
  .visible .entry k(
  \t.param .u64 p, (esc)
  \t.param .align 8 .b8 hd_args[80]) (esc)
  .maxnreg 255
  $ heddle ptx check worker.ptx | grep -c 'kernel k'
  2
  $ heddle ptx preempt -k k two.ptx | grep -c hd_args.80
  1
  $ heddle ptx preempt two.ptx | grep -c hd_args.80
  2
  $ sed 's/^.visible .entry k(.*/&;\n&;\n&/' ok.ptx >ahead.ptx; grep -c 'entry k' ahead.ptx
  3
  $ heddle ptx preempt ahead.ptx >ahead.out; tr -d '\n\t ' <ahead.out | grep -o 'entryk([^)]*)' | sort | uniq -c
        3 entryk(.param.u64p,.param.align8.b8hd_args[80])
  $ if command -v ptxas >/dev/null; then ptxas -arch=sm_90 -o ahead.cubin ahead.out; fi
  $ heddle ptx preempt -k none ok.ptx
  heddle ptx preempt: error: ok.ptx: no kernel 'none'
    hint: heddle ptx check lists the kernels
  [1]
  $ heddle ptx preempt bad.ptx 2>err
  [1]

By default, workers take blocks row by row. --order changes this only for a kernel that can observe the order.

  $ heddle ptx preempt --order row ok.ptx | cmp - worker.ptx; heddle ptx preempt --order hilbert ok.ptx | cmp - worker.ptx
  $ heddle ptx preempt --order hilbert --json ok.ptx | grep '"order"'
        "order": "row"
  $ sed 's/%tid.x;/%ctaid.x;\n  mov.u32 %r2, %ctaid.y;/' ok.ptx >plane.ptx
  $ for order in row column hilbert; do heddle ptx preempt --order $order --json plane.ptx | grep '"order"'; done
        "order": "row"
        "order": "column"
        "order": "hilbert"
  $ heddle ptx preempt --order diagonal ok.ptx
  heddle ptx preempt: error: --order: 'diagonal' is not one of row|column|hilbert
    hint: heddle ptx preempt -h says more
  [2]
  $ heddle ptx slice --order row ok.ptx 2>&1 | head -n 1
  heddle ptx slice: error: no such option: '--order'
  $ heddle exec --device cpu --order column --grid 1 --block 1 ok.ptx k 'u64[1]:zero'
  heddle exec: error: --yield-every, --chunk, --pull-ahead, --order, --workers, --total-workers and --first need --as preempt
    hint: heddle exec -h says more
  [2]
  $ heddle ptx preempt --dump seen ok.ptx | cmp - worker.ptx; ls seen
  1-preempt-k-in.ptx
  1-preempt-k-out.ptx
  $ cmp seen/1-preempt-k-in.ptx once.ptx; cmp seen/1-preempt-k-out.ptx worker.ptx
  $ heddle ptx preempt --dump ok.ptx/x ok.ptx
  heddle ptx preempt: error: ok.ptx/x: Not a directory
    hint: name another folder: --dump DIR
  [1]
  $ heddle ptx preempt --json exit.ptx | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > print(d["kernels"][0]["tier"], d["kernels"][0]["arguments_offset"], d["kernels"][0]["parameter_bytes"], "hd_args" in d["text"])'
  guard 8 88 True
  $ if command -v ptxas >/dev/null; then ptxas -arch sm_90 -o /dev/null worker.ptx; fi

A kernel that must be held is left unchanged, and refused if it is selected by name.

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
  $ heddle ptx slice -k k held.ptx 2>&1 | cut -d: -f 1-4
  heddle ptx slice: error: held.ptx: kernel 'k' cannot be sliced

Each pass's help describes only what that pass adds.

  $ for pass in preempt merge slice virtual; do heddle ptx $pass -h | grep -o 'hd_[a-z]*' | sort -u; done
  hd_args
  hd_merged
  hd_slice
  hd_virtual

A kernel without room for the slot uses one of its own variables, which then gets the slot's alignment.

  $ sed 's/  .reg .b64 %rd<3>;/  .shared .align 1 .b8 big[49120];\n&/' ok.ptx >full.ptx
  $ heddle ptx check full.ptx | cut -d: -f 3-4
   kernel k: guard
  $ heddle ptx preempt full.ptx 2>err | grep -c '.shared .align 16 .b8 big.49120.;'
  1

Passes that make a separate module: its first lines show the entry and how to launch it.

  $ heddle ptx merge --dump forms -- ok.ptx k --block 64 + two.ptx other --block 100 >both.ptx; head -n 3 both.ptx
  // hd_merged: --block 128,1,1 --shared 0
  // k: its parameters at 80, struct ctl_args at 0
  // other: its parameters at 176, struct ctl_args at 96
  $ ls forms
  1-merge-k-in.ptx
  2-merge-k-out.ptx
  2-merge-other-in.ptx
  $ heddle ptx check both.ptx
  both.ptx:8: kernel hd_merged: held: is a form that heddle made (it has the parameter 'hd_args0'): use the original kernel
  both.ptx:*: kernel hd_merged: its blocks may wait for each other: a loop reads memory here until another block writes it (glob)
  $ heddle ptx fuse-vertical -- ok.ptx k --block 64 + two.ptx other --block 100 | head -n 1
  // hd_merged: --block 128,1,1 --shared 0
  $ heddle ptx fuse-horizontal -- ok.ptx k --block 64 + two.ptx other --block 100 | head -n 1
  // hd_merged: --block 192,1,1 --shared 0
  $ heddle ptx merge -- held.ptx k --block 64 2>&1 | head -n 2
  held.ptx:9:3: error: kernel 'k' cannot be merged: barrier.cluster.arrive acts on the whole grid or cluster
      barrier.cluster.arrive;
  $ heddle ptx virtual --fields ids,exits -- ok.ptx k --grid 4 --block 32 >moved.ptx; head -n 1 moved.ptx
  // hd_virtual: --grid 5,1,1 --block 32,1,1 --shared 0
  $ heddle ptx virtual --json -- ok.ptx k --grid 4 --block 32 | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > print(d["grid"], d["block"], d["shared_bytes"], d["fields"], d["entry"] in d["text"])'
  [5, 1, 1] [96, 1, 1] 1088 ['ids', 'threads', 'counts', 'barriers', 'shared', 'dynamic', 'params', 'exits'] True
  $ heddle ptx virtual --fields ids,nonesuch -- ok.ptx k --grid 4 --block 32
  heddle ptx virtual: error: --fields: no field 'nonesuch'
    hint: heddle ptx virtual -h says more
  [2]
  $ heddle ptx virtual -- ok.ptx k --block 32 + ok.ptx k --block 32
  heddle ptx virtual: error: more than 1 kernel
    hint: heddle ptx virtual -h says more
  [2]

If kernels cannot be combined, the message explains why and does not ask for a bug report.

  $ sed 's/sm_70/sm_120a/' ok.ptx >specific.ptx
  $ sed 's/sm_70/sm_90a/' two.ptx >hopper.ptx
  $ heddle ptx weave -- ok.ptx k --block 64
  ok.ptx: error: kernel 'k' cannot be merged: weave needs at least 2 kernels, not 1
  [1]
  $ heddle ptx weave -- ok.ptx k --block 2000 + two.ptx other --block 64
  ok.ptx: error: kernel 'k' cannot be merged: a block of 2000 threads: at most 1024 are allowed
  [1]
  $ heddle ptx merge -- ok.ptx k --block 64 + two.ptx other --block 16,100
  two.ptx: error: kernel 'other' cannot be merged: a block of 1600 threads: at most 1024 are allowed
  [1]
  $ heddle ptx fuse-horizontal -- ok.ptx k --block 1000 + two.ptx other --block 256
  ok.ptx: error: kernel 'k' cannot be merged: side by side, the blocks need 1280 threads: at most 1024
  [1]
  $ heddle ptx weave -- specific.ptx k --block 64 + hopper.ptx other --block 64
  hopper.ptx: error: kernel 'other' cannot be merged: its target is sm_90a, that of kernel 'k' of specific.ptx sm_120a: no GPU runs both
  [1]
  $ heddle ptx weave -- hopper.ptx k --block 64 + two.ptx other --block 64 | grep target
  .target sm_90a
  $ heddle ptx virtual -- ok.ptx k --grid 4 --block 1025
  ok.ptx: error: kernel 'k' cannot be moved into another kernel: a block of 1025 threads: at most 1024 are allowed
  [1]

Invalid UTF-8 (here an overlong C1 control character and a surrogate) does not reach a terminal:

  $ printf '.version 7.0\n.target sm_70\n.address_size 64\n.entry k() { foo \340\202\233 \355\240\200; }\n' >bytes.ptx
  $ heddle ptx check bytes.ptx 2>&1 | sed -n 2p
    .entry k() { foo ??? ???; }

Names are C++ names in text, and symbols in JSON.

  $ cat >named.ptx <<'END'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .entry _ZN2ns5scaleIfEEvPT_i(.param .u64 p)
  > {
  >   ret;
  > }
  > END
  $ heddle ptx check named.ptx
  named.ptx:4: kernel ns::scale<float>(float*, int): managed
  $ heddle ptx check --json named.ptx | grep '"name"'
            "name": "_ZN2ns5scaleIfEEvPT_i",
  $ heddle corun --device cpu -- named.ptx _ZN2ns5scaleIfEEvPT_i --grid 1 --block 1 u64:0 + named.ptx scale --grid 1 --block 1 u64:0 | grep -o 'ns::scale<float>(float\*, int)'
  ns::scale<float>(float*, int)
  $ sed 's/  ret;/  .reg .b64 %a; mov.b64 %a, 0; st.global.u64 [%a], %a; ret;/' named.ptx >wrong.ptx
  $ heddle exec --device cpu --grid 1 --block 1 wrong.ptx scale u64:0 2>&1 | grep -o 'kernel ns::scale<float>(float\*, int), block (0,0,0)'
  kernel ns::scale<float>(float*, int), block (0,0,0)
  $ sed 's/7.0/7.8/; s/sm_70/sm_90/; s/  ret;/  .reg .b32 %a; mov.u32 %a, %cluster_ctaid.x; ret;/' named.ptx >held.ptx
  $ heddle ptx preempt held.ptx 2>&1 >/dev/null | grep -o "kernel '.*' is left as it was"
  kernel 'ns::scale<float>(float*, int)' is left as it was
