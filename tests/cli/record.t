heddle record: writes launches of a program's kernels as files and as kernel specifications.

  $ export HEDDLE_SOCKET=$PWD/none HEDDLE_VGPU=serial,report=none
  $ record="heddle record --device cpu" exec="heddle exec --device cpu"
  $ recorded() { $record "$@" 2>&1 | sed "s,$PWD,HERE,; s/[0-9.]* KiB/KiB/"; }
  $ ran() { $exec "$@" 2>&1 | sed 's/: [0-9.]* ms$/: ms/'; }

An example program, recorded to a folder that only its user can access:

  $ recorded -- $BUILD/examples/mm --size trivial --device-class cpu | grep -v turnaround
  mm trivial: pass: 1 of 1 checked results correct
  heddle record: mm: launch 1, grid 1,1,4, block 256,1,1, KiB
  heddle record: 1 launch, KiB, in HERE/mm.recorded
  $ ls -l mm.recorded | cut -c 1-10
  total 1300
  -rw-------
  $ ls -ld mm.recorded | cut -c 1-10
  drwx------
  $ ran --check -- recorded:mm
  mm on heddle virtual GPU: ms
  $ ran --check --as preempt --yield-every 3 -- recorded:mm.recorded
  mm on heddle virtual GPU: ms
  $ ran --check -- recorded:$(echo mm.recorded/*.launch)
  mm on heddle virtual GPU: ms
  $ recorded -o there -- $BUILD/examples/spmv --size trivial --device-class cpu | tail -n 1
  heddle record: 1 launch, KiB, in HERE/there
  $ heddle corun --device cpu --check --how merge -- recorded:mm + recorded:there | awk 'NR > 3 { print $2, $3 }'
  mm 4
  spmv 32
  is what
  $ heddle ptx merge -- recorded:mm + recorded:there | grep -c visible
  1

Templates, variables of the module, pointers in structures and in memory; names as in C++:

  $ recorded -- $BUILD/tests/cli/launches scale tally spread chase large
  tally 13720
  heddle record: scale<double>(double*, int): launch 1, grid 1,1,1, block 32,1,1, KiB
  heddle record: scale<float>(float*, int): launch 1, grid 1,1,1, block 32,1,1, KiB
  heddle record: chase: launch 1, grid 1,1,1, block 1,1,1, KiB
    1 of 2 buffers hold addresses of device memory, which become others when it is run again
  heddle record: copy: launch 1, grid 1,1,1, block 1,1,1, KiB
    1 of 2 buffers were left out, as a recording takes 64 MiB at most: they begin as zeros when it is run again
  heddle record: spread: launch 1, grid 1,1,1, block 64,1,1, KiB
  heddle record: tally: launch 1, grid 1,1,1, block 1,1,1, KiB
  heddle record: 6 launches, KiB, in HERE/launches.recorded
  $ for k in 'scale<float>' 'scale(double*, int)' tally spread chase copy; do ran --check -- recorded:launches "$k"; done
  _Z5scaleIfEvPT_i on heddle virtual GPU: ms
  _Z5scaleIdEvPT_i on heddle virtual GPU: ms
  tally on heddle virtual GPU: ms
  spread on heddle virtual GPU: ms
  chase on heddle virtual GPU: ms
  heddle exec: warning: launches.recorded/copy-e4eb9cfe.launch: 1 of 2 buffers were left out of the recording: they begin as zeros, and the kernel may do other work
  heddle exec: error: launches.recorded/copy-e4eb9cfe.launch: the buffer of the parameter at byte 0 was left out of the recording: results cannot be compared
  $ ran recorded:launches scale
  heddle exec: error: launches.recorded has launches of 2 kernels called 'scale'
    hint: scale<double>(double*, int); scale<float>(float*, int)
  $ ran recorded:launches none
  heddle exec: error: launches.recorded has no launch of a kernel 'none'
    hint: scale<double>(double*, int); scale<float>(float*, int); chase; copy; spread; tally
  $ ran recorded:launches
  heddle exec: error: launches.recorded has launches of 6 kernels: which one is to be named behind it
    hint: scale<double>(double*, int); scale<float>(float*, int); chase; copy; spread; tally

  $ heddle tune --device cpu --rounds 1 --points 1 --store s.db -- recorded:launches 'scale<float>' + recorded:launches tally | awk '$1 == "sequential" { print $5 }'
  1.000
  $ heddle corun --device cpu --check --how horizontal -- recorded:launches chase + recorded:launches tally | awk '/^memory/'
  memory is what the kernels leave alone
  $ heddle profile --device cpu --rounds 1 --store p.db -- recorded:mm | sed -n '2s/,.*//p'
  mm: 4 blocks of 256 threads

A launch that cannot be recorded, the second launch, a launch that fails, a single kernel:

  $ recorded -o odd -- $BUILD/tests/cli/launches odd
  heddle record: copy is not recorded: a cooperative launch
  heddle record: sample is not recorded: it reads textures or surfaces
  heddle record: tally is not recorded: launched while its stream is captured into a graph
  heddle record: not recorded: launches of graphs are not recorded
  heddle record: error: nothing was recorded
  $ recorded -o second --launch 2 -- $BUILD/tests/cli/launches scale tally spread
  tally 13720
  heddle record: scale<double>(double*, int): launch 2, grid 1,1,1, block 32,1,1, KiB
  heddle record: scale<float>(float*, int): launch 2, grid 1,1,1, block 32,1,1, KiB
  heddle record: tally: launch 2, grid 1,1,1, block 1,1,1, KiB
  heddle record: 3 launches, KiB, in HERE/second
  $ ran --check -- recorded:second tally
  tally on heddle virtual GPU: ms
  $ recorded -o failed -- $BUILD/tests/cli/launches fail
  fail 719
  heddle record: fail: launch 1, grid 1,1,1, block 1,1,1, KiB
    it ended in an error: there is no result to compare with
  heddle record: 1 launch, KiB, in HERE/failed
  $ ran --check recorded:failed
  heddle exec: error: fail: a kernel failed (CUDA_ERROR_LAUNCH_FAILED)
  $ recorded -o one --kernel 'scale<float>' -- $BUILD/tests/cli/launches scale tally
  tally 13720
  heddle record: scale<float>(float*, int): launch 1, grid 1,1,1, block 32,1,1, KiB
  heddle record: 1 launch, KiB, in HERE/one
  $ recorded -o nothing -- true
  heddle record: error: nothing was recorded
    hint: does it use the GPU? heddle run -v -- PROG tells

A result that differs from the recorded one:

  $ HEDDLE_VGPU=serial,sms=6 recorded -o count -- $BUILD/tests/cli/launches count
  heddle record: count: launch 1, grid 1,1,1, block 1,1,1, KiB
  heddle record: 1 launch, KiB, in HERE/count
  $ HEDDLE_VGPU=serial,sms=6 ran --check recorded:count
  count on heddle virtual GPU: ms
  $ ran --check recorded:count
  heddle exec: error: kernel 'count': the buffer of the parameter at byte 0: 1 of 1024 words are not what the recorded launch left; the first is number 2: 8, not 6
  count on heddle virtual GPU: ms
  $ heddle exec --device cpu --check --json recorded:count | grep -E 'same|error'
    "same": false,
    "errors": [
      "error": "kernel 'count': the buffer of the parameter at byte 0: 1 of 1024 words are not what the recorded launch left; the first is number 2: 8, not 6",
  $ HEDDLE_VGPU=serial,sms=6 recorded -o half -- $BUILD/tests/cli/launches half
  heddle record: count: launch 1, grid 1,1,1, block 1,1,1, KiB
  heddle record: 1 launch, KiB, in HERE/half
  $ HEDDLE_VGPU=serial,sms=6 ran --check recorded:half
  count on heddle virtual GPU: ms
  $ ran --check recorded:half
  heddle exec: error: kernel 'count': the buffer of the parameter at byte 0 is not what the recorded launch left, of which only a digest is recorded
  count on heddle virtual GPU: ms

C++ names, with a file:

  $ cat >names.ptx <<'END'
  > .version 7.0
  > .target sm_70
  > .address_size 64
  > .visible .entry _ZN2ns5scaleIfEEvPT_(.param .u64 p) { ret; }
  > .visible .entry _ZN2ns5scaleIdEEvPT_(.param .u64 p) { ret; }
  > .visible .entry _Z5otherPKfi(.param .u64 p, .param .u32 n) { ret; }
  > .visible .entry plain() { ret; }
  > END
  $ one="--grid 1 --block 1"
  $ ran names.ptx 'scale<float>' $one 'f32[4]:zero'
  scale<float> on heddle virtual GPU: ms
  $ ran names.ptx 'ns::scale<double>(double*)' $one 'f64[4]:zero'
  ns::scale<double>(double*) on heddle virtual GPU: ms
  $ ran names.ptx other $one 'f32[4]:zero' i32:4
  other on heddle virtual GPU: ms
  $ ran names.ptx scale $one 'f32[4]:zero'
  heddle exec: error: names.ptx has 2 kernels called 'scale'
    hint: ns::scale<float>(float*); ns::scale<double>(double*)
  $ ran names.ptx 'other(float*)' $one 'f32[4]:zero'
  heddle exec: error: names.ptx has no kernel 'other(float*)'
    hint: _ZN2ns5scaleIfEEvPT_, _ZN2ns5scaleIdEEvPT_, _Z5otherPKfi, plain
  $ heddle corun --device cpu --how merge -- names.ptx other $one 'f32[4]:zero' i32:4 + names.ptx 'scale<float>' $one 'f32[4]:zero' | awk 'NR > 3 { print $2, $3 }'
  other 1
  scale<float> 1
  $ heddle ptx merge -- names.ptx other $one 'f32[4]:zero' i32:4 + names.ptx plain $one | grep -c entry
  1

Files that are not recordings, or were changed:

  $ : >empty.launch
  $ ran recorded:empty.launch
  heddle exec: error: empty.launch: no recorded launch, or cut or changed since it was recorded
    hint: record the program again: heddle record -- PROG
  $ head -c 5000 second/tally*.launch >cut.launch
  $ ran recorded:cut.launch
  heddle exec: error: cut.launch: no recorded launch, or cut or changed since it was recorded
    hint: record the program again: heddle record -- PROG
  $ cp second/tally*.launch changed.launch
  $ printf x | dd of=changed.launch bs=1 seek=9000 conv=notrunc 2>/dev/null
  $ ran recorded:changed.launch
  heddle exec: error: changed.launch: no recorded launch, or cut or changed since it was recorded
    hint: record the program again: heddle record -- PROG
  $ cp second/tally*.launch newer.launch
  $ printf '\002' | dd of=newer.launch bs=1 seek=8 conv=notrunc 2>/dev/null
  $ ran recorded:newer.launch
  heddle exec: error: newer.launch: format version 2, this heddle reads version 1
    hint: record the program again: heddle record -- PROG

Refused arguments:

  $ recorded -o one -- true
  heddle record: error: HERE/one: File exists
    hint: remove it, or name another folder: -o DIR
  $ recorded --device cpu 2>&1 | head -n 1
  heddle record: error: what is missing: -- PROG [ARG...]
  $ ran --grid 2 recorded:one
  heddle exec: error: --grid: a recorded launch has its own
    hint: heddle exec -h says more
  $ ran recorded:one scale u32:1
  heddle exec: error: 'u32:1': a recorded launch has its own arguments
    hint: heddle exec -h says more
  $ ran recorded:nowhere
  heddle exec: error: nowhere: No such file or directory
    hint: heddle record -- PROG makes recordings
  $ ran --check $SRC/nowhere.ptx k --grid 1 --block 1
  heddle exec: error: --check: FILE is no recording (recorded:...)
    hint: heddle exec -h says more
  $ heddle exec one.ptx 2>&1 | head -n 1
  heddle exec: error: what is missing: FILE KERNEL [ARG...]
