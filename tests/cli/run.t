heddle run becomes the program: its status, its output, its signals.

  $ export HEDDLE_SOCKET=$PWD/none HEDDLE_DEVICE=cpu
  $ heddle run -- sh -c 'echo out; exit 7'
  out
  [7]
  $ heddle run sh -c 'exit 125'
  [125]
  $ heddle run -- sh -c 'kill -9 $$' 2>/dev/null || echo $?
  137
  $ echo in | heddle run -- cat
  in

Failures before the program starts have the exit statuses of env(1):

  $ heddle run -- ./nowhere
  heddle run: error: ./nowhere: No such file or directory
  [127]
  $ heddle run -- no-such-program-anywhere
  heddle run: error: no-such-program-anywhere: not found in PATH
  [127]
  $ mkdir sub; cp /bin/true sub/mine; mkdir -p dirs/mine
  $ cd sub; for p in ":$PATH" "$PATH:" "/nowhere::$PATH" "$OLDPWD/dirs:$PATH:."; do PATH=$p heddle run --device cpu -- mine && PATH=$p heddle doctor mine | grep mine; done
  ok    program      ./mine: names no libcuda.so.1: its libraries may
  ok    program      ./mine: names no libcuda.so.1: its libraries may
  ok    program      ./mine: names no libcuda.so.1: its libraries may
  ok    program      ./mine: names no libcuda.so.1: its libraries may
  $ PATH=/nowhere "$(command -v heddle)" run -- mine; cd ..
  heddle run: error: mine: not found in PATH
    hint: ./mine is in this folder
  $ : > plain; heddle run -- ./plain
  heddle run: error: ./plain: not executable
    hint: if it is a program: chmod +x ./plain
  [126]
  $ heddle run -- .
  heddle run: error: .: a folder, not a program
  [126]
  $ HEDDLE_DEVICE=tape heddle run -- true
  heddle run: error: HEDDLE_DEVICE: 'tape' is not one of cpu|cuda|auto
    hint: heddle run -h says more
  [2]
  $ heddle run 2>&1 | head -n 1
  heddle run: error: what is missing: -- PROG [ARG...]

The program's environment:

  $ heddle run --device cuda -p low -w 3 --class night --socket /a/b -- sh -c 'echo $HEDDLE_PRIORITY $HEDDLE_WEIGHT $HEDDLE_CLASS $HEDDLE_DEVICE $HEDDLE_SOCKET $CUDA_DEVICE_MAX_CONNECTIONS.'
  low 3 night cuda /a/b .
  $ LD_LIBRARY_PATH=/x heddle run --device cuda -- sh -c 'echo ${LD_LIBRARY_PATH#$BUILD}'
  /src/shim:/x

Only on the virtual GPU, heddle's CUDA runtime comes before NVIDIA's:

  $ LD_LIBRARY_PATH=/x heddle run --device cpu -- sh -c 'echo $LD_LIBRARY_PATH' | sed "s|$BUILD||g"
  /src/shim:/src/cudart:/x
  $ ls $BUILD/src/cudart/libcudart.so.1[23] | sed "s|$BUILD||"
  /src/cudart/libcudart.so.12
  /src/cudart/libcudart.so.13

  $ CUDA_DEVICE_MAX_CONNECTIONS=4 heddle run --device cuda -- sh -c 'echo $CUDA_DEVICE_MAX_CONNECTIONS'
  4
  $ heddle run --device cpu -- sh -c 'echo ${HEDDLE_DRIVER_LIB##*/}'
  libcuda.so.1

A socket named by a relative path is found by the program from any folder:

  $ heddle run --device cuda --socket s/sock -- sh -c 'echo ${HEDDLE_SOCKET#'"$PWD"'}'
  /s/sock
  $ HEDDLE_SOCKET=sock heddle run --device cuda -- sh -c 'cd /; echo ${HEDDLE_SOCKET#'"$PWD"'}'
  /sock
  $ heddle run --socket $(printf %0100d 0)/$(printf %0100d 0) -- true 2>&1 | sed 's/000*/0/g;s| /.*0:| 0:|'
  heddle run: error: 0: too long
    hint: sockets' paths have at most 107 bytes

The system's loader could misread these paths, so heddle run reports them:

  $ for odd in 'a:b' 'a;b' 'a$ORIGIN' 'a${LIB}' 'a$PLATFORMb' 'a$b'; do
  >   mkdir -p "$odd/src/shim" "$odd/src/dev/cpu" "$odd/src/cudart"
  >   cp $BUILD/heddle "$odd"
  >   cp $BUILD/src/shim/libcuda.so.1 "$odd/src/shim"
  >   cp $BUILD/src/dev/cpu/libcuda.so.1 "$odd/src/dev/cpu"
  >   cp $BUILD/src/cudart/libcudart.so.13 "$odd/src/cudart"
  >   "$odd/heddle" run --device cuda -- echo "$odd" 2>err; echo $?
  >   "$odd/heddle" run --device cpu -- true 2>/dev/null; echo $?
  >   HEDDLE_DRIVER_LIB=there "$odd/heddle" run --device auto -- true 2>/dev/null; echo $?
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
  $ "a:b/heddle" run -- true 2>&1 | sed "s|$PWD||"
  heddle run: error: the system's loader cannot be told of /a:b/src/dev/cpu/libcuda.so.1
    hint: install heddle in a folder without ':', ';' and '$ORIGIN' in its path

Numbers and names out of range are usage errors:

  $ heddle run -w 0 -- true 2>/dev/null; echo $?
  2
  $ heddle run -p urgent -- true 2>/dev/null; echo $?
  2
  $ heddle run --class 12345678901234567890123456789012 -- true 2>&1 | head -n 1
  heddle run: error: --class: '12345678901234567890123456789012' has more than 31 characters
  $ HEDDLE_PRIORITY=urgent heddle run -- true 2>err; echo $?; head -n 1 err
  2
  heddle run: error: HEDDLE_PRIORITY: 'urgent' is not one of high|normal|low

  $ HEDDLE_PRIORITY=urgent HEDDLE_DEVICE=tpu HEDDLE_WEIGHT=1e3 heddle doctor >out; echo $?; grep environment out | sort
  1
  bad   environment  HEDDLE_DEVICE=tpu: not one of cuda|cpu|auto; heddle run refuses it
  bad   environment  HEDDLE_PRIORITY=urgent: not one of high|normal|low|N; heddle run refuses it
  note  environment  HEDDLE_WEIGHT=1e3: not a number from 1 to 1000; 1 is used
  $ HEDDLE_PRIORITY=low HEDDLE_DEVICE=cpu HEDDLE_WEIGHT=1000 heddle doctor | grep environment
  [1]

Without a driver, nothing replaces it: the program runs, and fails, as it would without heddle.
The virtual GPU is used only on request.

  $ cat >without <<'EOF'
  > import ctypes
  > try: print(ctypes.CDLL("libcuda.so.1").cuInit(0))
  > except OSError as e: print(e)
  > EOF
  $ if [ -e /dev/nvidiactl ] || python3 without | grep -q '^[0-9]'; then
  >   printf '%s\n' 'a driver is there' >out; for i in 1 2; do echo libcuda.so.1: cannot open shared object file: No such file or directory; done
  >   echo 'heddle run: warning: no NVIDIA driver was found: python3 runs as it would without heddle (--device cpu is the virtual GPU)'
  > else
  >   python3 without; HEDDLE_DEVICE= heddle run -- python3 without 2>err; cat err
  > fi
  libcuda.so.1: cannot open shared object file: No such file or directory
  libcuda.so.1: cannot open shared object file: No such file or directory
  heddle run: warning: no NVIDIA driver was found: python3 runs as it would without heddle (--device cpu is the virtual GPU)
  $ heddle run -- python3 without
  0
  $ HEDDLE_DEVICE= heddle run --device cpu -- python3 without
  0

Each process reports an invalid HEDDLE_... variable once: the program's shim, the virtual GPU its own
words, and heddle.

  $ cat >twice <<'EOF'
  > import ctypes
  > cuda = ctypes.CDLL("libcuda.so.1")
  > print(cuda.cuInit(0), cuda.cuInit(0))
  > EOF
  $ HEDDLE_CACHE_MB=lots HEDDLE_FORM_WAIT_MS=-5 HEDDLE_PRIORTY=high HEDDLE_VGPU=cram-run-$$,smms=4 \
  >   heddle run --device cpu -- python3 twice 2>err; sort err | sed "s/cram-run-$$/NAME/"
  0 0
  heddle: HEDDLE_CACHE_MB=lots: not a number from 0 to 4294967295; 512 is used
  heddle: HEDDLE_FORM_WAIT_MS=-5: not a number from 0 to 1000000; 20 is used
  heddle: HEDDLE_PRIORTY: heddle reads no such variable; HEDDLE_PRIORITY is one
  virtual GPU: HEDDLE_VGPU=NAME,smms=4: 'smms=4' is not understood: the words are NAME, sms=, devices=, workers=, blocks=, threads=, registers=, memory=, report=, converge=, fma=, turns=, garbage=, weak=, assemble=, crash=, hang=, count=, once and serial; see heddle-environment(7)
  $ HEDDLE_VGPU=cram-run-$$,converge=joins heddle run --device cpu -- python3 twice 2>&1 | sed "s/cram-run-$$/NAME/"
  virtual GPU: HEDDLE_VGPU=NAME,converge=joins: 'converge=joins' is not understood: converge is none or postdom; see heddle-environment(7)
  0 0
  $ HEDDLE_CACHE_MB= HEDDLE_PRIORITY=1 heddle run --device cpu -- python3 twice
  0 0
  $ HEDDLE_DRIVER_LIB=/nothere heddle run --device cuda -- python3 twice
  heddle: HEDDLE_DRIVER_LIB is no driver's library: /nothere: cannot open shared object file: No such file or directory
  100 100
  $ HEDDLE_WIEGHT=2 heddle version --json >out
  heddle version: warning: HEDDLE_WIEGHT: heddle reads no such variable; HEDDLE_WEIGHT is one
  $ HEDDLE_WIEGHT=2 heddled --check-config >out
  heddled: warning: HEDDLE_WIEGHT: heddle reads no such variable; HEDDLE_WEIGHT is one

One device of several: the program sees only this one, and numbers count the visible ones.

  $ export HEDDLE_VGPU=cli-run-$$,devices=2
  $ heddle run --device cpu:1 -- sh -c 'echo $HEDDLE_DEVICE $CUDA_VISIBLE_DEVICES'
  cpu 1
  $ CUDA_VISIBLE_DEVICES=1,0 heddle run --device cpu:1 -- sh -c 'echo $CUDA_VISIBLE_DEVICES'
  0
  $ CUDA_VISIBLE_DEVICES=1,0 heddle run --device cpu -- sh -c 'echo $CUDA_VISIBLE_DEVICES'
  1,0
  $ heddle run --device cpu:2 -- echo started
  heddle run: error: --device cpu:2: there are 2 such devices: cpu:0 to cpu:1
    hint: heddle run -h says more
  [2]
  $ CUDA_VISIBLE_DEVICES=1 heddle run --device cpu:1 -- echo started
  heddle run: error: --device cpu:1: there is 1 such device in CUDA_VISIBLE_DEVICES=1: cpu:0
    hint: heddle run -h says more
  [2]
  $ CUDA_VISIBLE_DEVICES= heddle run --device cpu:0 -- echo started
  virtual GPU: CUDA_VISIBLE_DEVICES= shows none of its 2 devices
  heddle run: error: --device cpu:0: there is no such device in CUDA_VISIBLE_DEVICES=
    hint: heddle run -h says more
  [2]
  $ heddle run --device cpu: -- echo started
  heddle run: error: --device: 'cpu:' names no device; cpu:0 and cuda:0 are the first ones
    hint: heddle run -h says more
  [2]
  $ heddle run --device cpu:one -- echo started
  heddle run: error: --device: 'cpu:one' names no device; cpu:0 and cuda:0 are the first ones
    hint: heddle run -h says more
  [2]
  $ heddle run --device auto:1 -- echo started
  heddle run: error: --device: 'auto:1' is not one of cpu|cuda|auto
    hint: heddle run -h says more
  [2]
  $ heddle doctor | grep -o 'virtual GPU .*sm_[0-9]*'
  virtual GPU  cpu:0, heddle virtual GPU 0, sm_90
  virtual GPU  cpu:1, heddle virtual GPU 1, sm_90

A file that is not a program is reported with the next step; options after the program belong to the program.

  $ mkdir kinds && cd kinds && mkdir folder
  $ for i in a.cu a.c a.cc a.cpp a.ptx a.cubin a.fatbin a.o a.so a.py a.sh plain; do echo >$i; done
  $ for i in a.cu ./a.cu ./a.c ./a.cc ./a.cpp ./a.ptx ./a.cubin ./a.fatbin ./a.o ./a.so ./a.py ./a.sh ./plain ./folder none ./none; do
  >   heddle run --device cpu -- $i; echo $?
  > done 2>&1 | paste -sd ' ' | sed 's/heddle run: error: /\n/g; s/   *hint:/:/g'
  
  a.cu: CUDA source, not a program: build it, then run that: nvcc -cudart shared a.cu -o a 127 
  ./a.cu: CUDA source, not a program: build it, then run that: nvcc -cudart shared ./a.cu -o ./a 126 
  ./a.c: C source, not a program: build it, then run that: cc ./a.c -o ./a -lcuda 126 
  ./a.cc: C++ source, not a program: build it, then run that: c++ ./a.cc -o ./a -lcuda 126 
  ./a.cpp: C++ source, not a program: build it, then run that: c++ ./a.cpp -o ./a -lcuda 126 
  ./a.ptx: PTX, not a program: heddle exec ./a.ptx KERNEL ARG... runs a kernel of it 126 
  ./a.cubin: device code, not a program: run the program that loads it 126 
  ./a.fatbin: device code, not a program: run the program that loads it 126 
  ./a.o: an object file, not a program: link it, then run that: nvcc -cudart shared ./a.o 126 
  ./a.so: a library, not a program: run a program that loads it 126 
  ./a.py: a script that is not executable: name its interpreter: python3 ./a.py 126 
  ./a.sh: a script that is not executable: name its interpreter: sh ./a.sh 126 
  ./plain: not executable: if it is a program: chmod +x ./plain 126 
  ./folder: a folder, not a program 126 
  none: not found in PATH 127 
  ./none: No such file or directory 127
  $ cd ..
  $ if [ -e /dev/nvidiactl ] || python3 without | grep -q '^[0-9]'; then
  >   for i in 1 2; do echo 'heddle run --device cpu -- true'; done; echo 'heddle record --device cpu -- true'
  > else
  >   for i in --device=cpu '--device cpu'; do HEDDLE_DEVICE= heddle run true $i; done 2>&1 | grep -o 'heddle run --device cpu -- true'
  >   HEDDLE_DEVICE= heddle record -o x true --device cpu 2>&1 | grep -o 'heddle record --device cpu -- true'
  > fi
  heddle run --device cpu -- true
  heddle run --device cpu -- true
  heddle record --device cpu -- true
