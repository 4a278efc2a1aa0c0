heddle corun: several kernels on the virtual GPU, each with its own shape and arguments.

  $ cat >k.ptx <<'END'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .global .u32 calls;
  > .visible .entry put(.param .u64 p, .param .u32 by)
  > {
  >   .reg .b64 %rd<4>;
  >   .reg .b32 %r<7>;
  >   ld.param.u64 %rd1, [p];
  >   ld.param.u32 %r6, [by];
  >   mov.u32 %r1, %tid.x;
  >   mov.u32 %r2, %ctaid.x;
  >   mov.u32 %r3, %ntid.x;
  >   mad.lo.u32 %r4, %r2, %r3, %r1;
  >   mul.wide.u32 %rd2, %r4, 4;
  >   add.u64 %rd3, %rd1, %rd2;
  >   mul.lo.u32 %r5, %r4, %r6;
  >   st.global.u32 [%rd3], %r5;
  >   ret;
  > }
  > .visible .entry tally(.param .u64 p)
  > {
  >   .reg .b64 %rd<4>;
  >   .reg .b32 %r<7>;
  >   ld.param.u64 %rd1, [p];
  >   mov.u64 %rd2, calls;
  >   atom.global.add.u32 %r1, [%rd2], 1;
  >   st.global.u32 [%rd1+4], %r1;
  >   ret;
  > }
  > END
  $ put='k.ptx put --grid 3 --block 2'

Options belong to their kernel, wherever they stand; what is written is what each kernel leaves.

  $ heddle corun --how sequential --device cpu -- $put 'u32[6]:zero>-' u32:3 + --grid 1 k.ptx put --block 4 'i32[4]:zero>four' i32:-1 | head -n 8
  0
  3
  6
  9
  12
  15
  heddle virtual GPU: sequential, * ms (glob)
     kernel                       blocks      fit     began ms           ms
  $ od -An -td4 four
             0          -1          -2          -3
  $ for how in sequential streams; do
  >   heddle corun --how $how --device cpu --repeat 3 --check --json \
  >     -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:iota' u32:5 + $put 'u32[7]:rand(1)' u32:1 | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > print(d["how"], d["checked"], d["differences"], d["ms"] > 0)
  > for k in d["kernels"]: print(k["file"], k["kernel"], k["blocks"], k["fit"] == 32 * d["sms"], 0 <= k["began_ms"] <= d["ms"], k["ms"] > 0)'
  > done
  sequential True [] True
  k.ptx put 3 True True True
  k.ptx put 3 True True True
  k.ptx put 3 True True True
  streams True [] True
  k.ptx put 3 True True True
  k.ptx put 3 True True True
  k.ptx put 3 True True True

--check says which buffer is another, and where. (The second run finds the module's variable changed.)

  $ heddle corun --device cpu --check -- $put 'u32[6]:zero' u32:3 + k.ptx tally --grid 1 --block 1 'u32[2]:zero' | tail -n 1
  memory is what the kernels leave alone
  $ heddle corun --device cpu --check --repeat 2 -- $put 'u32[6]:zero' u32:3 + k.ptx tally --grid 1 --block 1 'u32[2]:zero' >out
  heddle corun: error: kernel 2, 'tally', argument 1, 'u32[2]:zero': 1 of 2 elements are not what the kernel leaves alone; the first is number 1: 1, not 0
  [1]
  $ tail -n 1 out
  memory differs from what the kernels leave alone
  $ heddle corun --device cpu --check --repeat 2 --json -- k.ptx tally --grid 1 --block 1 'u32[2]:zero' 2>/dev/null | python3 -c '
  > import json, sys
  > print(json.load(sys.stdin)["differences"])'
  [{'number': 1, 'argument': 1, 'elements': 1, 'first': 1}]

What is wrong is said with the kernel's number.

  $ first() { "$@" 2>&1 >/dev/null | head -n 1; }
  $ first heddle corun
  heddle corun: error: what is missing: -- KERNELSPEC [+ KERNELSPEC...]
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 +
  heddle corun: error: kernel 2: what is missing: FILE.ptx KERNEL
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 + k.ptx put --grid 3 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2: --block is missing
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 + $put --device cpu 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2: no such option: '--device'
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 + $put --json 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2: no such option: '--json'
  $ first heddle corun -- $put 'u32[6]:zero' u33:3
  heddle corun: error: kernel 1: argument 'u33:3': wants TYPE:VALUE or TYPE[N]:INIT with a type such as i32, u64 or f32 (or hex:BYTES)
  $ first heddle corun -- $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1
  heddle corun: error: more than 8 kernels
  $ first heddle corun --how sideways -- $put 'u32[6]:zero' u32:3
  heddle corun: error: --how: 'sideways' is not one of * (glob)
  $ heddle corun --device cpu -- $put 'u32[6]:zero' u32:3 + k.ptx putt --grid 3 --block 1
  heddle corun: error: k.ptx has no kernel 'putt'
    hint: put, tally
  [1]
  $ heddle corun --device cpu -- $put 'u32[6]:zero' u32:3 + none.ptx put --grid 3 --block 1
  heddle corun: error: none.ptx: No such file or directory
  [1]
