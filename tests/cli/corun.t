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
  > .visible .entry meet(.param .u64 p)
  > {
  >   .reg .b64 %rd<4>;
  >   .reg .b32 %r<7>;
  >   .reg .pred %p<2>;
  >   ld.param.u64 %rd1, [p];
  >   mov.u32 %r2, %nctaid.x;
  >   red.global.add.u32 [%rd1], 1;
  > $again:
  >   ld.volatile.global.u32 %r1, [%rd1];
  >   setp.lt.u32 %p1, %r1, %r2;
  >   @%p1 bra $again;
  >   ret;
  > }
  > .visible .entry half(.param .u64 p)
  > {
  >   bar.arrive 1, 64;
  >   ret;
  > }
  > END
  $ put='k.ptx put --grid 3 --block 2'
  $ meet='k.ptx meet --block 1'

Options belong to their kernel, wherever they stand; the output has the memory that each kernel leaves.

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

By default the kernels run as one launch, also if there is a single kernel.

  $ for order in steal partition partition=1:1:4 mixed apart=3:2:1; do
  >   heddle corun --schedule $order --device cpu --repeat 3 --check --json \
  >     -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:iota' u32:5 + $put 'u32[7]:rand(1)' u32:1 | python3 -c '
  > import json, sys
  > d = json.load(sys.stdin)
  > print(d["how"], d["schedule"], d["help_others"], d["fit"] % d["sms"], d["workers"], d["launches"], d["checked"], d["differences"], d["ms"] > 0)
  > for k in d["kernels"]: print(k["kernel"], k["began_ms"] >= 0, k["ms"] > 0, k["busy_ms"] > 0, k["together"])'
  > done
  merge steal False 0 9 1 True [] True
  put True True True False
  put True True True False
  put True True True False
  merge partition False 0 9 1 True [] True
  put True True True False
  put True True True False
  put True True True False
  merge partition False 0 9 1 True [] True
  put True True True False
  put True True True False
  put True True True False
  merge mixed False 0 256 1 True [] True
  put True True True False
  put True True True False
  put True True True False
  merge apart False 0 256 1 True [] True
  put True True True False
  put True True True False
  put True True True False
  $ heddle corun --device cpu --check --yield-every 1 --total-workers 1 -- $put 'u32[6]:zero' u32:3 | sed 's/[0-9]*[.][0-9]*/T/g'
  heddle virtual GPU: merge, T ms
  steal; 1 worker, 256 fit; launched 3 times
     kernel                       blocks      fit     began ms           ms      busy ms
  1  put                               3      256       T       T       T
  memory is what the kernels leave alone
  $ heddle corun --device cpu --no-times --json -- $put 'u32[6]:zero' u32:3 | grep -c _ms
  0
  [1]

--check says which buffer differs, and where. (The second run finds the module's variable changed.)

  $ heddle corun --device cpu --check -- $put 'u32[6]:zero' u32:3 + k.ptx tally --grid 1 --block 1 'u32[2]:zero' | tail -n 1
  memory is what the kernels leave alone
  $ for how in sequential merge; do
  >   heddle corun --how $how --device cpu --check --repeat 2 -- $put 'u32[6]:zero' u32:3 + k.ptx tally --grid 1 --block 1 'u32[2]:zero' >out
  >   echo $?
  >   tail -n 1 out
  > done
  heddle corun: error: kernel 2, 'tally', argument 1, 'u32[2]:zero': 1 of 2 elements are not what the kernel leaves alone; the first is number 1: 1, not 0
  1
  memory differs from what the kernels leave alone
  heddle corun: error: kernel 2, 'tally', argument 1, 'u32[2]:zero': 1 of 2 elements are not what the kernel leaves alone; the first is number 1: 1, not 0
  1
  memory differs from what the kernels leave alone
  $ heddle corun --device cpu --check --repeat 2 --json -- k.ptx tally --grid 1 --block 1 'u32[2]:zero' 2>/dev/null | python3 -c '
  > import json, sys
  > print(json.load(sys.stdin)["differences"])'
  [{'number': 1, 'argument': 1, 'elements': 1, 'first': 1}]

Large buffers are compared on the device: 16 bytes per thread, and then the rest.

  $ heddle corun --device cpu --check --repeat 2 -- k.ptx tally --grid 1 --block 1 'u8[100007]:zero' 2>&1 | head -n 1
  heddle corun: error: kernel 1, 'tally', argument 1, 'u8[100007]:zero': 1 of 100007 elements are not what the kernel leaves alone; the first is number 4: 1, not 0
  $ cat >last.ptx <<'END'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .global .u32 calls;
  > .visible .entry last(.param .u64 p, .param .u64 at)
  > {
  >   .reg .b64 %rd<4>;
  >   .reg .b32 %r1;
  >   ld.param.u64 %rd1, [p];
  >   ld.param.u64 %rd3, [at];
  >   add.u64 %rd1, %rd1, %rd3;
  >   mov.u64 %rd2, calls;
  >   atom.global.add.u32 %r1, [%rd2], 1;
  >   st.global.u8 [%rd1], %r1;
  >   ret;
  > }
  > END
  $ for at in 0 77777 99999 100000 100006; do
  >   heddle corun --device cpu --check --repeat 2 -- last.ptx last --grid 1 --block 1 'u8[100007]:zero' u64:$at 2>&1 | grep error
  > done
  heddle corun: error: kernel 1, 'last', argument 1, 'u8[100007]:zero': 1 of 100007 elements are not what the kernel leaves alone; the first is number 0: 1, not 0
  heddle corun: error: kernel 1, 'last', argument 1, 'u8[100007]:zero': 1 of 100007 elements are not what the kernel leaves alone; the first is number 77777: 1, not 0
  heddle corun: error: kernel 1, 'last', argument 1, 'u8[100007]:zero': 1 of 100007 elements are not what the kernel leaves alone; the first is number 99999: 1, not 0
  heddle corun: error: kernel 1, 'last', argument 1, 'u8[100007]:zero': 1 of 100007 elements are not what the kernel leaves alone; the first is number 100000: 1, not 0
  heddle corun: error: kernel 1, 'last', argument 1, 'u8[100007]:zero': 1 of 100007 elements are not what the kernel leaves alone; the first is number 100006: 1, not 0

The error shows the line that cannot be merged.

  $ heddle corun --device cpu -- $put 'u32[6]:zero' u32:3 + k.ptx half --grid 1 --block 64 'u32[1]:zero'
  k.ptx:47:3: error: kernel 2, 'half', cannot be merged: bar.arrive may leave a barrier half full at the block's end
      bar.arrive 1, 64;
      ^
  [1]
  $ heddle corun --how sequential --device cpu -- $put 'u32[6]:zero' u32:3 + k.ptx half --grid 1 --block 64 'u32[1]:zero' | grep -c sequential
  1

The parameters of all kernels together may exceed the limit of a launch.

  $ cat >large.ptx <<'END'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .entry large(.param .u64 to, .param .align 4 .b8 from[1800])
  > {
  >   .reg .b64 %rd<2>;
  >   .reg .b32 %r<2>;
  >   ld.param.u64 %rd1, [to];
  >   ld.param.u32 %r1, [from+1796];
  >   st.global.u32 [%rd1], %r1;
  >   ret;
  > }
  > END
  $ large="large.ptx large --grid 1 --block 1 u32[1]:zero>- hex:$(printf %03592d 0)07000000"
  $ heddle corun --device cpu --check -- $large + $large | head -n 2
  7
  7
  $ heddle corun --device cpu -- $large + $large + $large
  large.ptx: error: kernel 3, 'large', cannot be merged: all parameters together are more than 4096 bytes
  [1]

Blocks that may wait for each other are all resident at once; otherwise the launch is refused.

  $ heddle corun --device cpu --check --json -- $put 'u32[6]:zero' u32:3 + $meet --grid 20 'u32[1]:zero' + $meet --grid 30 'u32[1]:zero' | grep together
        "together": false
        "together": true
        "together": true
  $ heddle corun --device cpu --yield-every 2 -- $meet --grid 4 'u32[1]:zero' + $put 'u32[6]:zero' u32:3 | wc -l
  heddle corun: warning: kernel 'meet': its blocks may wait for each other, so all 4 were there at once, whatever --yield-every says
  5
  $ heddle corun --device cpu --total-workers 40 -- $put 'u32[6]:zero' u32:3 + $meet --grid 20 'u32[1]:zero' + $meet --grid 30 'u32[1]:zero'
  heddle corun: error: the blocks of kernel 3, 'meet', may wait for each other, and alone all of them are there at once: merged, with all such kernels' blocks, that takes 50 workers, and there are 40
    hint: more workers, or fewer blocks
  [1]
  $ heddle corun --device cpu --schedule partition -- $put 'u32[6]:zero' u32:3 + $meet --grid 20 'u32[1]:zero'
  heddle corun: error: the blocks of kernel 2, 'meet', may wait for each other: with workers of its own they may never all be there at once
    hint: --how merge --schedule steal, and no launch of its own
  [1]
  $ heddle corun --device cpu --own 2 -- $put 'u32[6]:zero' u32:3 + $meet --grid 20 'u32[1]:zero'
  heddle corun: error: the blocks of kernel 2, 'meet', may wait for each other: with workers of its own they may never all be there at once
    hint: --how merge --schedule steal, and no launch of its own
  [1]

A kernel may have its own launch, beside the merged launch of the others.

  $ for order in steal steal:shared partition mixed apart; do
  >   HEDDLE_VGPU=serial,sms=4 heddle corun --device cpu --check --schedule $order --own 2 --yield-every 2 -- $put 'u32[6]:zero' u32:3 + $put --grid 9 'u32[18]:zero' u32:5 | tail -n 2
  > done
  2: a launch of its own, of 9 workers; 128 fit
  memory is what the kernels leave alone
  2: a launch of its own, of 9 workers; 128 fit
  memory is what the kernels leave alone
  2: a launch of its own, of 9 workers; 128 fit
  memory is what the kernels leave alone
  2: a launch of its own, of 9 workers; 128 fit
  memory is what the kernels leave alone
  2: a launch of its own, of 128 workers; 128 fit
  memory is what the kernels leave alone
  $ HEDDLE_VGPU=serial,sms=4 heddle corun --device cpu --total-workers 1 --resident --json -- $put 'u32[6]:zero' u32:3 | grep -E 'resident(_threads)?"|own'
        "resident": 1,
        "resident_threads": 2,
        "own_fit": 0,
        "own_workers": 0,
  $ heddle corun --device cpu --schedule apart --help-others --own 2 -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2, 'put', has SMs for workers of its own alone, and those cannot help others
    hint: without --help-others, or --schedule mixed
  [1]
  $ for own in 0 3 1:2 x 1: ''; do
  >   heddle corun --device cpu --own "$own" -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:zero' u32:3 2>&1 | head -n 1
  > done
  heddle corun: error: --own: '0' is not a kernel's number, 1 to 2
  heddle corun: error: --own: '3' is not a kernel's number, 1 to 2
  heddle corun: error: --own: one kernel at least has no launch of its own
  heddle corun: error: --own: 'x' is not a kernel's number, 1 to 2
  heddle corun: error: --own: '' is not a kernel's number, 1 to 2
  heddle corun: error: --own: '' is not a kernel's number, 1 to 2

If no worker comes to the SMs of a kernel, workers on other SMs serve the kernel after a few launches.

  $ HEDDLE_VGPU=serial,sms=4 heddle corun --device cpu --schedule apart --total-workers 1 --check -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:zero' u32:3 | tail -n 1
  memory is what the kernels leave alone
  $ HEDDLE_VGPU=serial,sms=4 heddle corun --device cpu --schedule apart --total-workers 1 --help-others --check -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:zero' u32:3 | tail -n 1
  memory is what the kernels leave alone

--workers is a limit for each SM, as in heddle exec; --total-workers is one for all of them.

  $ for limit in --workers=1 --total-workers=1; do
  >   HEDDLE_VGPU=serial,sms=4 heddle corun --device cpu $limit --json -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:zero' u32:3 | grep '"workers"'
  > done
    "workers": 4,
    "workers": 1,

A shape beyond a limit of the device is refused with the limit. Workers serve grids of any size.

  $ for i in '--grid 1 --block 2048' '--grid 1 --block 1,1025' '--grid 1 --block 1,1,65' '--grid 1 --block 64,32' \
  >     '--grid 2147483648 --block 1' '--grid 1,65536 --block 1' '--grid 1,1,65536 --block 1' '--grid 1 --block 1 --shared 300000'; do
  >   case $i in '--grid 1 '*) how='plain preempt' ;; *) how=plain ;; esac
  >   for as in $how; do heddle exec --device cpu --as $as $i k.ptx put 'u32[1]:zero' u32:1 2>&1; done | uniq -c
  > done
        2 heddle exec: error: --block: 2048 threads in x: this device allows 1024
        2 heddle exec: error: --block: 1025 threads in y: this device allows 1024
        2 heddle exec: error: --block: 65 threads in z: this device allows 64
        2 heddle exec: error: --block: 2048 threads: this device allows 1024
        1 heddle exec: error: --grid: 2147483648 blocks in x: this device allows 2147483647
        1 heddle exec: error: --grid: 65536 blocks in y: this device allows 65535
        1 heddle exec: error: --grid: 65536 blocks in z: this device allows 65535
        1 heddle exec: error: --shared: 300000 bytes, and 0 of variables of kernel 'put': this device allows 232448
        1 heddle exec: error: --shared: 300000 bytes, and 128 of variables of kernel 'put': this device allows 232448
  $ heddle corun --device cpu -- k.ptx put --grid 1 --block 2048 'u32[1]:zero' u32:1 + k.ptx put --grid 1 --block 1 'u32[1]:zero' u32:1
  heddle corun: error: --block: 2048 threads in x: this device allows 1024
  [1]

heddle exec prints where the kernel ran and how long, on standard error if values are printed.

  $ heddle exec --device cpu --grid 3 --block 1 k.ptx meet 'u32[1]:zero' 2>&1 > /dev/null
  $ heddle exec --device cpu --grid 3 --block 1 k.ptx meet 'u32[1]:zero'
  meet on heddle virtual GPU: * ms (glob)
  $ heddle exec --device cpu --as preempt --repeat 3 --grid 3 --block 1 k.ptx meet 'u32[1]:zero'
  meet on heddle virtual GPU: * ms, the median of 3 (glob)
  $ heddle exec --device cpu --grid 3 --block 1 k.ptx meet 'u32[1]:zero>-' 2> err
  3
  $ cat err
  meet on heddle virtual GPU: * ms (glob)

Shapes may be written with x, and counts with K, M or G.

  $ for grid in 6 3,2 3x2 3x2x1 3x2,1; do
  >   heddle exec --device cpu --grid $grid --block 1x1 k.ptx meet 'u32[1]:zero>-' 2> /dev/null
  > done
  6
  6
  6
  6
  6
  $ heddle exec --device cpu --grid 1K --block 2 k.ptx put 'u32[2k]:zero>-' i32:-1K 2> /dev/null | tail -n 1
  4292871168
  $ for wrong in '--grid 3x k.ptx put' '--grid 0x2 k.ptx put' '--grid 1x1x1x1 k.ptx put' '--grid 8G k.ptx put' \
  >   '--grid 1 k.ptx put u32[0K]:zero' '--grid 1 k.ptx put u8:1K' '--grid 1 k.ptx put u32[1T]:zero' '--grid 1 k.ptx put i32:2G'; do
  >   heddle exec --device cpu --block 1 $wrong 2>&1 | head -n 1
  > done
  heddle exec: error: --grid 3x: wants one to three whole numbers from 1, such as 64, 4,2 or 4x2x1
  heddle exec: error: --grid 0x2: wants one to three whole numbers from 1, such as 64, 4,2 or 4x2x1
  heddle exec: error: --grid 1x1x1x1: wants one to three whole numbers from 1, such as 64, 4,2 or 4x2x1
  heddle exec: error: --grid 8G: wants one to three whole numbers from 1, such as 64, 4,2 or 4x2x1
  heddle exec: error: argument 'u32[0K]:zero': a buffer is written TYPE[N]:INIT, N at least 1, such as 1000 or 64K
  heddle exec: error: argument 'u8:1K': the value does not fit the type
  heddle exec: error: argument 'u32[1T]:zero': a buffer is written TYPE[N]:INIT, N at least 1, such as 1000 or 64K
  heddle exec: error: argument 'i32:2G': the value does not fit the type

Error messages name the kernel's number.

  $ first() { "$@" 2>&1 >/dev/null | head -n 1; }
  $ first heddle corun
  heddle corun: error: what is missing: -- KERNELSPEC [+ KERNELSPEC...]
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 +
  heddle corun: error: kernel 2: what is missing: FILE KERNEL
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 + k.ptx put --grid 3 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2: --block is missing
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 + $put --device cpu 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2: no such option: '--device'
  $ first heddle corun -- $put 'u32[6]:zero' u32:3 + $put --json 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2: no such option: '--json'
  $ first heddle corun -- $put 'u32[6]:zero' u33:3
  heddle corun: error: kernel 1: argument 'u33:3': wants TYPE:VALUE or TYPE[N]:INIT with a type such as i32, u64 or f32 (or hex:BYTES)
  $ for v in f32:1e39 f32:-1e39 f64:1e309 f32:inf f32:1e-60; do first heddle corun --device cpu -- $put 'u32[6]:zero' $v; done
  heddle corun: error: kernel 1: argument 'f32:1e39': the value does not fit the type
  heddle corun: error: kernel 1: argument 'f32:-1e39': the value does not fit the type
  heddle corun: error: kernel 1: argument 'f64:1e309': the value does not fit the type
  $ first heddle corun -- $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1 + $put u32:1
  heddle corun: error: more than 8 kernels
  $ first heddle corun --how sideways -- $put 'u32[6]:zero' u32:3
  heddle corun: error: --how 'sideways': 'sideways' is not one of sequential, streams, green, merge, vertical, horizontal, weave
  $ for options in --schedule=fair --schedule=steal=1:2 --schedule=apart=1 --schedule=mixed=1:2:3 --schedule=partition=1:x \
  >   --schedule=partition=1: --schedule=partition=0:1 --schedule= '--how=streams --workers=2' '--how=sequential --no-times' \
  >   --total-workers=0 --workers=0 --workers=65 --chunk=0 --chunk=1:2:3; do
  >   first heddle corun --device cpu $options -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:zero' u32:3
  > done
  heddle corun: error: --schedule: 'fair' is not one of steal, steal:shared, partition, mixed, apart, the latter three with =N:N... or without
  heddle corun: error: --schedule: steal has no shares
  heddle corun: error: --schedule: 1 number for 2 kernels
  heddle corun: error: --schedule: 3 numbers for 2 kernels
  heddle corun: error: --schedule: 'x' is not a number from 1 to 1000000
  heddle corun: error: --schedule: '' is not a number from 1 to 1000000
  heddle corun: error: --schedule: '0' is not a number from 1 to 1000000
  heddle corun: error: --schedule: '' is not one of steal, steal:shared, partition, mixed, apart, the latter three with =N:N... or without
  heddle corun: error: --workers needs --how merge
  heddle corun: error: --no-times needs --how merge
  heddle corun: error: --total-workers: 0 is not between 1 and 4294967295
  heddle corun: error: --workers 0: 1 to 64 for each SM; --total-workers sets the limit for all SMs together
  heddle corun: error: --workers 65: 1 to 64 for each SM; --total-workers sets the limit for all SMs together
  heddle corun: error: --chunk: '0' is not a number from 1 to 1000000
  heddle corun: error: --chunk: 3 numbers for 2 kernels
  $ heddle corun --device cpu --schedule partition --total-workers 1 -- $put 'u32[6]:zero' u32:3 + $put 'u32[6]:zero' u32:3
  heddle corun: error: kernel 2, 'put', would have no worker: there are 1 in all, and at most 32 on an SM
    hint: other shares, more workers, or --help-others
  [1]
  $ heddle corun --device cpu -- $put 'u32[6]:zero' u32:3 + k.ptx putt --grid 3 --block 1
  heddle corun: error: k.ptx has no kernel 'putt'
    hint: put, tally, meet, half
  [1]
  $ heddle corun --device cpu -- $put 'u32[6]:zero' u32:3 + none.ptx put --grid 3 --block 1
  heddle corun: error: none.ptx: No such file or directory
  [1]
