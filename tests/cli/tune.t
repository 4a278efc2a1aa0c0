heddle tune stores its results, and heddle corun --how tuned uses them.

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

Nothing has been measured yet:

  $ both corun --device cpu --how tuned --store none.db
  heddle corun: error: none.db: nothing has been measured yet
    hint: heddle tune measures every way, and keeps the best
  [1]

heddle tune runs every way, checks each against the memory that the kernels leave alone, and chooses one:

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
  weave
  $ grep -c 'merge mixed\|merge partition\|merge apart' out
  12
  $ grep -c ' \*$' out
  1
  $ both corun --device cpu --how tuned --store a/b/t.db --check | tail -n 1
  memory is what the kernels leave alone

corun --how accepts every way that it prints; options override those of the way:

  $ sed -n 's/  *[0-9.]*  *[0-9.]* %.*//p' out | sort -u > ways
  $ test "$(wc -l < ways)" -gt 15
  $ while read -r way; do
  >   both corun --device cpu --how "$way" --check > log 2>&1 || echo "$way: $(cat log)"
  > done < ways
  $ both corun --device cpu --how 'merge mixed=1:3 help chunk=2' --schedule partition --check | sed -n 2p
  partition, helping others; 15 workers, 256 fit; launched 1 time
  $ both corun --device cpu --how 'merge steal chunk=1K' --check | tail -n 1
  memory is what the kernels leave alone
  $ for way in 'merge steal chunk=4:K' 'merge partition=1:2:3' 'merge steal fast' 'weave registers=1' 'streams=1:2' sideways ''; do
  >   both corun --device cpu --how "$way" 2>&1 | head -n 1
  > done
  heddle corun: error: --how 'merge steal chunk=4:K': 'K' is not a number from 1 to 1000000
  heddle corun: error: --how 'merge partition=1:2:3': 3 numbers for 2 kernels
  heddle corun: error: --how 'merge steal fast': 'fast' is not one of help, chunk=N[:N...], total-workers=N, per-sm=N, own=K[:K...]
  heddle corun: error: --how 'weave registers=1': '1' is not a number from 16 to 256
  heddle corun: error: --how 'streams=1:2': streams has no shares
  heddle corun: error: --how 'sideways': 'sideways' is not one of sequential, streams, green, merge, vertical, horizontal, weave
  heddle corun: error: --how: '' is not one of sequential|streams|green|merge|vertical|horizontal|weave|tuned|WAY

The stored way applies to either order of two kernels, and is mirrored:

  $ turned() {
  >   heddle "$@" -- put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5 + put.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3
  > }
  $ cp a/b/t.db own.db
  $ python3 -c '
  > import sqlite3
  > db = sqlite3.connect("own.db")
  > db.execute("UPDATE way SET name = ? WHERE chosen", ("merge apart=3:1 own=1",))
  > db.commit()'
  $ for order in both turned; do
  >   $order corun --device cpu --how tuned --store own.db --check --json | grep -E '"(schedule|own_fit|blocks)"'
  > done
    "schedule": "apart",
        "blocks": 6,
        "own_fit": 256,
        "blocks": 9,
        "own_fit": 0,
    "schedule": "apart",
        "blocks": 9,
        "own_fit": 0,
        "blocks": 6,
        "own_fit": 256,

Nothing is known about other kernels or other launches:

  $ heddle corun --device cpu --how tuned --store a/b/t.db -- put.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 2>&1 | sed 's|: /.*/a/b|: a/b|'
  heddle corun: error: a/b/t.db: these kernels, launched so, have not been measured on this device
    hint: heddle tune measures every way, and keeps the best

JSON output; and an unwritable store is reported before anything is measured:

  $ both tune --device cpu --rounds 1 --points 1 --json > json
  $ grep -c '"chosen": true' json
  1
  $ both tune --device cpu --rounds 1 --points 1 --json --store /dev/null/t.db > json 2> err
  [1]
  $ grep -c '"way"' json
  0
  [1]
  $ grep -o '"error": "[^"]*"' json
  "error": "/dev/null/t.db: unable to open database file"

Errors in the arguments are reported as by corun:

  $ both tune --device cpu --points 65 2>&1 | head -n 1
  heddle tune: error: --points: 65 is not between 1 and 64
  $ both corun --device cpu --store t.db 2>&1 | head -n 1
  heddle corun: error: --store needs --how tuned

Two kernels are woven, too: sliced and unsliced, and with register limits at which more of their
blocks fit on an SM. One block of 512 threads with 80 registers fits, and a limit of 128 would change nothing:

  $ many() {
  >   echo '.version 6.0'; echo '.target sm_70'; echo '.address_size 64'
  >   echo '.visible .entry many(.param .u64 p)'; echo '{'
  >   echo '.reg .b64 %a<3>; .reg .b32 %v<99>;'
  >   echo 'ld.param.u64 %a1, [p]; mov.u32 %v90, %tid.x; mul.wide.u32 %a2, %v90, 4; add.u64 %a1, %a1, %a2;'
  >   for i in $(seq 76); do echo "ld.global.u32 %v$i, [%a1+$((i * 4))];"; done
  >   for i in $(seq 2 76); do echo "mad.lo.u32 %v1, %v1, %v$i, %v$i;"; done
  >   echo 'st.global.u32 [%a1+4096], %v1; ret;'; echo '}'
  > }
  $ many > many.ptx
  $ two() {
  >   heddle "$@" -- many.ptx many --grid 1 --block 512 'u32[1600]:rand(1)' + put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5
  > }
  $ two tune --device cpu --rounds 1 --points 1 --store w.db > out
  $ grep '^weave.*%' out | sed 's/   .*//' | sort
  weave
  weave registers=32
  weave registers=40
  weave registers=64
  weave unsliced
  weave unsliced registers=32
  weave unsliced registers=40
  weave unsliced registers=64

If a short region has branches, the kernels are also woven with these branches:

  $ sed 's/^st.global.*/.reg .pred %q; mov.u32 %i2, %tid.x; setp.ne.u32 %q, %i2, 0; @%q bra L; st.global.u32 [%a], %i1; L:/' put.ptx > short.ptx
  $ heddle tune --device cpu --rounds 1 --points 1 --store s.db -- short.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 + put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5 > out
  $ grep -o '^weave branches.*%' out | sed 's/   .*//'
  weave branches
  $ heddle corun --device cpu --how weave --branches --check -- short.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 + put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5 | tail -n 1
  memory is what the kernels leave alone
  $ heddle corun --device cpu --how merge --branches -- put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5
  heddle corun: error: --branches needs --how weave
    hint: heddle corun -h says more
  [2]
  $ both tune --device cpu --rounds 1 --points 1 --store s.db | grep '^weave branches' | tr -s ' '
  weave branches no short region has a branch: the same as without

Kernels that cannot be woven have no separate way, and the reason is printed:

  $ sed 's/st.global/bar.sync 9; &/' put.ptx > bar.ptx
  $ heddle tune --device cpu --rounds 1 --points 1 --store s.db -- bar.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 + bar.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5 | grep '^weave' | tr -s ' '
  weave not woven but fused vertically: kernel 2, 'put': it and the other kernels have more than 16 barriers

A stored choice runs as it was measured (the choice depends on the clock; here it is given):

  $ python3 -c "
  > import sqlite3
  > d = sqlite3.connect('w.db')
  > d.execute('UPDATE way SET chosen = 0')
  > print(d.execute('UPDATE way SET chosen = 1 WHERE name = ?', ('weave unsliced registers=40',)).rowcount)
  > d.commit()"
  1
  $ two corun --device cpu --how tuned --store w.db --check --json > json
  $ grep -e '"how"' -e '"why_not"' -e '"differences"' json
    "how": "weave",
      "why_not": null,
    "differences": []
  $ two corun --device cpu --how weave --registers 40 --unsliced --check | sed -n 's/.*\(blocks, .*fit\)$/\1/p'
  blocks, 24 fit
  $ two corun --device cpu --how weave --unsliced --check | sed -n 's/.*\(blocks, .*fit\)$/\1/p'
  blocks, 8 fit
  $ two corun --device cpu --how tuned --store w.db --check | sed -n 's/.*\(blocks, .*fit\)$/\1/p'
  blocks, 24 fit

The list is sorted by time; Ctrl-C ends the measurements, and the results so far are shown and stored:

  $ cut -c38-49 out | grep -E '[0-9]\.[0-9]' | sort -n -c
  $ interrupted() { timeout --foreground --preserve-status -s INT 4 heddle "$@" -- put.ptx put --grid 6 --block 32 'u32[6]:zero' u32:3 + put.ptx put --grid 9 --block 64 'u32[9]:zero' u32:5; }
  $ interrupted tune --device cpu --rounds 9000 --points 1 --store i.db > part 2> err
  [1]
  $ tail -n 1 err
  heddle tune: error: interrupted: ways that were not measured are missing
  $ grep -c ' \*$' part
  1
  $ both corun --device cpu --how tuned --store i.db --check > checked; echo $?
  0
