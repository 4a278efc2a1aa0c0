heddle bench merge: pairs that could not be measured have no number; the reason is below the table.

  $ [ -s "$BUILD/kernels/nvcc/va.ptx" ] || [ -s "$BUILD/kernels/clang/va.ptx" ] || exit 80
  $ ulimit -c 0
  $ export HEDDLE_VGPU="cram-pairs-$$,crash=hd_pick"
  $ pairs() {
  >   ${HEDDLE-heddle} bench merge --device cpu --part pairs --rounds 1 --points 1 --store t.db "$@"
  > }

Numbers and ways vary; only merged forms contain hd_pick:

  $ pairs --pairs va+va,va+transpose --data a.json > out
  $ sed -n '/^first /,$p' out | sed 's/ [ ]*/ /g; s/ [0-9][0-9.]*/ N/g; /^[0-9]/d' | sed '/^va/s/ [^ ]*$//'
  first second sequential ms streams green vertical horizontal steal best steal partition tuned way
  va va N N - N N - - - N
  va transpose N N - N N - - - N
  -: green of all pairs: green contexts: the driver (CUDA N and later have them), or the device, has none
  -: steal, best steal, partition of va + va: kernels N, 'va', and N, 'va', as one launch, "merge": the driver's compiler crashed on it (in a separate process)
  -: steal, best steal, partition of va + transpose: kernels N, 'va', and N, 'transpose', as one launch, "merge": the driver's compiler crashed on it (in a separate process)
  $ grep -c '"steal": null' a.json
  2

Only the separate process compiles, and compiles each text once (0.7 s instead of 1.4 s or more); its cache
is removed at the end:

  $ mkdir tmp
  $ export HEDDLE_VGPU="cram-pairs-$$,assemble=700"
  $ TMPDIR=$PWD/tmp pairs --pairs va+va --data b.json > out
  $ sed -n '/"pairs"/,$s/.*"compile_ms": \([0-9]*\)\..*/\1/p' b.json | awk '{ print ($1 >= 700 && $1 < 1400) }'
  1
  $ ls tmp
