heddle bench preempt with programs of the CUDA runtime.

  $ [ -x "$BUILD/examples/rt/shared/mm" ] || exit 80
  $ export HEDDLE_VGPU="cram-runtime-$$"

Programs of the CUDA runtime run on the virtual GPU, natively and under heddle:

  $ heddle bench preempt --quick --rounds 1 --part delay --device cpu --programs runtime --json > out
  $ grep -E '"(device|programs|failures)"' out
    "device": "heddle virtual GPU",
    "programs": "runtime",
    "failures": 0
