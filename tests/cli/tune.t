What heddle tune finds is kept, and heddle corun --how tuned does it.

  $ export HEDDLE_VGPU=cram-tune-$$
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
  >   heddle "$@" -- put.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 + put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5
  > }

Nothing has been measured:

  $ both corun --device cpu --how tuned --store none.db
  heddle corun: error: none.db: nothing has been measured yet
    hint: heddle tune measures every way, and keeps the best
  [1]

Every way, each with the memory that the kernels leave alone; one is chosen:

  $ both tune --device cpu --rounds 2 --points 2 --store a/b/t.db > out 2> err
  $ cat err
  $ sed -n 's/ .*//p' out | sort -u
  green=1:1
  green=1:3
  green=3:1
  heddle
  horizontal
  merge
  sequential
  streams
  vertical
  way
  $ grep -c 'merge mixed\|merge partition\|merge apart' out
  12
  $ grep -c ' \*$' out
  1
  $ both corun --device cpu --how tuned --store a/b/t.db --check | tail -n 1
  memory is what the kernels leave alone

Of other kernels, or otherwise launched, nothing is known:

  $ heddle corun --device cpu --how tuned --store a/b/t.db -- put.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 2>&1 | sed 's|: /.*/a/b|: a/b|'
  heddle corun: error: a/b/t.db: these kernels, launched so, have not been measured on this device
    hint: heddle tune measures every way, and keeps the best

For machines; and a store that cannot be written loses nothing of it:

  $ both tune --device cpu --rounds 1 --points 1 --json --store /dev/null/t.db > json 2> err
  [1]
  $ grep -c '"chosen": true' json
  1
  $ grep -o '"error": "[^"]*"' json
  "error": "/dev/null/t.db: unable to open database file"

What is wrong with the words is said as for corun:

  $ both tune --device cpu --points 65 2>&1 | head -n 1
  heddle tune: error: --points: 65 is not between 1 and 64
  $ both corun --device cpu --store t.db 2>&1 | head -n 1
  heddle corun: error: --store needs --how tuned
