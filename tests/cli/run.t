heddle run becomes the program: its status, its output, its signals.

  $ export HEDDLE_SOCKET=$PWD/none
  $ heddle run -- sh -c 'echo out; exit 7'
  out
  [7]
  $ heddle run sh -c 'exit 125'
  [125]
  $ heddle run -- sh -c 'kill -9 $$' 2>/dev/null || echo $?
  137
  $ echo in | heddle run -- cat
  in

What fails before the program begins, as env(1) says it:

  $ heddle run -- ./nowhere
  heddle run: error: ./nowhere: No such file or directory
  [127]
  $ heddle run -- no-such-program-anywhere
  heddle run: error: no-such-program-anywhere: No such file or directory
  [127]
  $ : > plain; heddle run -- ./plain
  heddle run: error: ./plain: Permission denied
  [126]
  $ heddle run -- .
  heddle run: error: .: Permission denied
  [126]
  $ HEDDLE_DEVICE=tape heddle run -- true
  heddle run: error: no such device
    hint: HEDDLE_DEVICE is cpu, cuda or auto
  [125]
  $ heddle run 2>&1 | head -n 1
  heddle run: error: what is missing: -- PROG [ARG...]

What the program finds in its environment:

  $ heddle run --device cuda -p low -w 3 --class night --socket /a/b -- sh -c 'echo $HEDDLE_PRIORITY $HEDDLE_WEIGHT $HEDDLE_CLASS $HEDDLE_DEVICE $HEDDLE_SOCKET $CUDA_DEVICE_MAX_CONNECTIONS.'
  low 3 night cuda /a/b .
  $ LD_LIBRARY_PATH=/x heddle run --device cuda -- sh -c 'echo ${LD_LIBRARY_PATH#$BUILD}'
  /src/shim:/x
  $ CUDA_DEVICE_MAX_CONNECTIONS=4 heddle run --device cuda -- sh -c 'echo $CUDA_DEVICE_MAX_CONNECTIONS'
  4
  $ heddle run --device cpu -- sh -c 'echo ${HEDDLE_DRIVER_LIB##*/}'
  libcuda.so.1

A socket that is named from here is where the program finds it from anywhere:

  $ heddle run --device cuda --socket s/sock -- sh -c 'echo ${HEDDLE_SOCKET#'"$PWD"'}'
  /s/sock
  $ HEDDLE_SOCKET=sock heddle run --device cuda -- sh -c 'cd /; echo ${HEDDLE_SOCKET#'"$PWD"'}'
  /sock
  $ heddle run --socket $(printf %0100d 0)/$(printf %0100d 0) -- true 2>&1 | sed 's/000*/0/g;s| /.*0:| 0:|'
  heddle run: error: 0: too long
    hint: sockets' paths have at most 107 bytes

What the system's loader would take for something else does not start without heddle unseen:

  $ for odd in 'a:b' 'a;b' 'a$ORIGIN' 'a${LIB}' 'a$PLATFORMb' 'a$b'; do
  >   mkdir -p "$odd/bin" "$odd/lib/heddle/shim" "$odd/lib/heddle/cpu"
  >   cp $BUILD/heddle "$odd/bin"
  >   cp $BUILD/src/shim/libcuda.so.1 "$odd/lib/heddle/shim"
  >   cp $BUILD/src/dev/cpu/libcuda.so.1 "$odd/lib/heddle/cpu"
  >   "$odd/bin/heddle" run --device cuda -- echo "$odd" 2>err; echo $?
  >   "$odd/bin/heddle" run --device cpu -- true 2>/dev/null; echo $?
  >   "$odd/bin/heddle" run --device auto -- true 2>/dev/null; echo $?
  > done
  125
  125
  125
  125
  125
  125
  125
  125
  125
  125
  125
  125
  125
  125
  125
  a$b
  0
  0
  0
  $ "a:b/bin/heddle" run -- true 2>&1 | sed "s|$PWD||"
  heddle run: error: the system's loader cannot be told of /a:b/lib/heddle/cpu/libcuda.so.1
    hint: install heddle in a folder without ':', ';' and '$ORIGIN' in its path

Numbers and names out of range:

  $ heddle run -w 0 -- true 2>/dev/null; echo $?
  125
  $ heddle run --class 12345678901234567890123456789012 -- true
  heddle run: error: a class has at most 31 characters
  [125]
