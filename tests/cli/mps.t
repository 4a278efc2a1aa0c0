heddle status, doctor and run with an MPS that stops answering. A script simulates its control program.

  $ mkdir bin && export PATH=$PWD/bin:$PATH HEDDLE_SOCKET=$PWD/sock
  $ cat >bin/nvidia-cuda-mps-control <<'E'
  > #!/bin/sh
  > cd $CUDA_MPS_PIPE_DIRECTORY || exit
  > if [ "$1" = -f ]; then mkfifo control; read -r word <control; rm control; exit; fi
  > read -r word
  > [ ! -e hangs ] || exec sleep 100
  > [ "$word" != quit ] || echo quit >control
  > E
  $ chmod +x bin/nvidia-cuda-mps-control
  $ heddled --config-root /nonexistent --mps on --set mps_answer_ms=1000 2>log & echo $! >pid
  $ for i in $(seq 1000); do heddle status 2>/dev/null | grep -q 'MPS on' && break; sleep 0.02; done
  $ heddle doctor | grep MPS
  ok    MPS          on: a fault of one tenant reaches all
  $ grep -o 'MPS has no server for uid.*' log | sed 's/uid [0-9]*/uid N/'
  MPS has no server for uid N yet (none started): the first program starts it
  $ heddle run --device cpu -- env | grep CUDA_MPS | sed "s|$PWD|DIR|"
  CUDA_MPS_PIPE_DIRECTORY=DIR/mps-pipe
  $ touch mps-pipe/hangs
  $ for i in $(seq 1000); do heddle status | grep -q 'MPS on' || break; sleep 0.02; done
  $ heddle status | sed -n 2p
  policy hpf, MPS not answering
  $ heddle status --json | grep '"mps"'
    "mps": "not answering",
  $ heddle doctor | grep MPS
  note  MPS          not answering: programs that start now run without it, and heddled starts it again
  $ heddle run --device cpu -- env | grep CUDA_MPS
  [1]
  $ rm mps-pipe/hangs
  $ for i in $(seq 1000); do heddle status | grep -q 'MPS on' && break; sleep 0.02; done
  $ heddle status | sed -n 2p
  policy hpf, MPS on
  $ kill $(cat pid); wait
