The driver's compiler runs in a separate process. If it crashes on a form or never ends, only that process is
affected.

  $ name=cram-apart-$$
  $ ulimit -c 0
  $ cat > put.ptx << 'END'
  > .version 6.0
  > .target sm_70
  > .address_size 64
  > .visible .entry put(.param .u64 p, .param .u32 v)
  > {
  > .reg .b64 %a; .reg .b32 %i<4>; .reg .b64 %o;
  > ld.param.u64 %a, [p];
  > ld.param.u32 %i1, [v];
  > mov.u32 %i2, %ctaid.x;
  > add.u32 %i1, %i1, %i2;
  > mul.wide.u32 %o, %i2, 4;
  > add.u64 %a, %a, %o;
  > st.global.u32 [%a], %i1;
  > ret;
  > }
  > END
  $ both() {
  >   verb=$1 && shift
  >   ${HEDDLE-heddle} $verb --device cpu "$@" -- put.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 + put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5
  > }

Only merged forms contain hd_pick; the other ways still work, in corun and in tune:

  $ export HEDDLE_VGPU="$name,crash=hd_pick"
  $ both corun --how merge
  heddle corun: error: kernels 1, 'put', and 2, 'put', as one launch, "merge": the driver's compiler crashed on it (in a separate process)
    hint: another way: --how sequential and --how streams run any kernels
  [1]
  $ both corun --how horizontal --check | tail -n 1
  memory is what the kernels leave alone
  $ both corun --how weave --check | tail -n 1
  memory is what the kernels leave alone
  $ both tune --rounds 1 --points 1 --store t.db > out
  $ sed -n 's/ [ 0-9.]*%.*//p; /crashed/p' out | grep -v green | sort
  horizontal
  merge steal                          kernels 1, 'put', and 2, 'put', as one launch, "merge": the driver's compiler crashed on it (in a separate process)
  sequential
  streams
  vertical
  weave
  weave unsliced
  $ grep -c ' \*$' out
  1
  $ both corun --how tuned --store t.db --check | tail -n 1
  memory is what the kernels leave alone

A kernel's own launch has another form:

  $ export HEDDLE_VGPU="$name,crash=maxntid 32"
  $ both corun --how merge --own 1
  heddle corun: error: kernel 1, 'put', in a launch of its own: the driver's compiler crashed on it (in a separate process)
    hint: another way: --how sequential and --how streams run any kernels
  [1]
  $ both corun --how merge --own 2 --check | tail -n 1
  memory is what the kernels leave alone

If the compiler crashes on a text, it gets the text a second time:

  $ mkdir once
  $ export HEDDLE_VGPU="$name,crash=hd_pick,once"
  $ CUDA_CACHE_PATH=$PWD/once both corun --how merge --check | tail -n 1
  memory is what the kernels leave alone
  $ ls once | grep -c crashed
  1

The compiler never ends on the horizontal form:

  $ export HEDDLE_VGPU="$name,hang=maxntid 96"
  $ both corun --how horizontal --compile-s 1
  heddle corun: error: kernels 1, 'put', and 2, 'put', as one launch, "horizontal": the driver's compiler has not compiled it in 1 s
    hint: another way (--how sequential and --how streams run any kernels), or more time: --compile-s
  [1]
  $ both corun --how vertical --check | tail -n 1
  memory is what the kernels leave alone
  $ both tune --compile-s 1 --rounds 1 --points 1 --store t.db | grep horizontal
  horizontal                           kernels 1, 'put', and 2, 'put', as one launch, "horizontal": the driver's compiler has not compiled it in 1 s

The separate process leaves its results in the driver's cache, and no process compiles them again:

  $ mkdir cache
  $ export HEDDLE_VGPU="$name,assemble=1" CUDA_CACHE_PATH=$PWD/cache
  $ both corun --how merge --check | tail -n 1
  memory is what the kernels leave alone
  $ HEDDLE_VGPU="$name,crash=hd_pick" both corun --how merge --check | tail -n 1
  memory is what the kernels leave alone

If the assembler is not installed, this process compiles everything:

  $ mkdir -p alone/src/dev/cpu
  $ cp "$BUILD/heddle" alone/ && cp -L "$BUILD/src/dev/cpu/libcuda.so.1" alone/src/dev/cpu/
  $ HEDDLE_VGPU="$name,assemble=1" HEDDLE=alone/heddle both corun --how merge --check | tail -n 1
  memory is what the kernels leave alone
