heddle ps and status, without a daemon and with one.

  $ mkdir -m 777 heddle
  $ if [ -e /run/heddle/heddled.sock ]; then echo 1; else env -u HEDDLE_SOCKET XDG_RUNTIME_DIR=$PWD heddle status 2>&1 | grep -c "other users can write to $PWD/heddle"; fi
  1
  $ export HEDDLE_SOCKET=$PWD/sock
  $ heddle ps 2>&1 | sed "s|$PWD|DIR|"
  heddle ps: error: no heddled listens on DIR/sock
    hint: start it: heddled
  $ heddle status 2>/dev/null
  [1]
  $ heddled --config-root /nonexistent --policy none 2>log & echo $! >pid
  $ for i in $(seq 1000); do heddle status >/dev/null 2>&1 && break; sleep 0.02; done
  $ heddle ps
  no tenants
  $ heddle ps --json
  {
    "schema": 2,
    "command": "ps",
    "tenants": []
  }
  $ cat log | sed 's/on .*/on SOCKET/'
  heddled: policy none, MPS off, listening on SOCKET
  $ heddle status | sed -n 2,3p
  policy none, MPS off
  0 tenants, 0 launches
  $ heddle status --json | grep -E '"(schema|policy|mps|tenants)"'
    "schema": 1,
    "policy": "none",
    "mps": "off",
    "tenants": 0,
  $ heddle doctor | grep -c '^ok    daemon'
  1
  $ kill $(cat pid); wait; test -e sock
  [1]

A configuration file that is not a regular file is ignored at once (a FIFO would block); /dev/null is an empty file.

  $ mkdir -p fifo/etc/heddle && mkfifo fifo/etc/heddle/heddled.conf
  $ timeout 60 heddled --config-root fifo --check-config
  heddled: error: fifo/etc/heddle/heddled.conf: not a regular file
  [1]
  $ ln -sf /dev/null fifo/etc/heddle/heddled.conf
  $ timeout 60 heddled --config-root fifo --check-config
  the configuration is in order

A user's limits do not grow because a tool asks for more:

  $ heddled --config-root /nonexistent --set user_connections=1 --events events 2>log & echo $! >pid
  $ for i in $(seq 1000); do heddle status >/dev/null 2>&1 && break; sleep 0.02; done
  $ HEDDLE_VGPU=quota-$$ heddle run --device cpu -- $BUILD/examples/va --for-ms 100000 >/dev/null 2>&1 & echo $! >prog
  $ for i in $(seq 1000); do grep -q join events && break; sleep 0.02; done
  $ heddle status 2>&1 | sed "s|$PWD|DIR|"
  heddle status: error: the heddled at DIR/sock has as many connections of this user, or answers that none of them takes, as one may have
    hint: what one user may have: heddled(8), user_connections
  $ kill $(cat prog) $(cat pid); wait

Configuration: /etc before /usr/lib, drop-ins by name, the command line last.

  $ mkdir -p root/etc/heddle/heddled.conf.d root/usr/lib/heddle/heddled.conf.d
  $ printf '[heddled]\npolicy = none\n' > root/usr/lib/heddle/heddled.conf
  $ printf '[heddled]\npolicy = sometimes\n' > root/etc/heddle/heddled.conf
  $ heddled --config-root root
  heddled: error: root/etc/heddle/heddled.conf:2: policy: 'sometimes' is not one of hpf|ffs|greedy|split|none|profile|fixed|./FILE
  [1]
  $ printf '[heddled]\nwarp = 9\nsocket = /nonexistent/a\n' > root/etc/heddle/heddled.conf
  $ heddled --config-root root 2>&1 | sed 's/there are .*, log, .*/there are .../'
  heddled: error: root/etc/heddle/heddled.conf:2: no such key: warp; there are ...
  $ printf '[heddled]\n\nmps = maybe\n[daemon]\ngates = on\n' > root/etc/heddle/heddled.conf
  $ heddled --config-root=root --check-config
  heddled: error: root/etc/heddle/heddled.conf:3: mps: 'maybe' is not one of on|off
  heddled: error: root/etc/heddle/heddled.conf:5: no such section: [daemon]; there is [heddled]
  [1]
  $ printf '[heddled]\ngroup = no-such-group\nlatency_us = soon\n' > root/etc/heddle/heddled.conf
  $ heddled --config-root root --check-config
  heddled: error: root/etc/heddle/heddled.conf:2: group: this system has no group 'no-such-group'
  heddled: error: root/etc/heddle/heddled.conf:3: latency_us: 'soon' is not a whole number of us from 0 to 1000000
  [1]
  $ printf '%s\n' '[heddled]' 'user_tenants = 5' 'user_devices = 257' 'user_connections = -1' \
  >   'silence_ms = 86400001' 'standstill_ms = 0' > root/etc/heddle/heddled.conf
  $ heddled --config-root root --check-config
  heddled: error: root/etc/heddle/heddled.conf:3: user_devices: '257' is not a whole number from 0 to 256
  heddled: error: root/etc/heddle/heddled.conf:4: user_connections: '-1' is not a whole number from 0 to 4096
  heddled: error: root/etc/heddle/heddled.conf:5: silence_ms: '86400001' is not a whole number of ms from 0 to 86400000
  [1]
  $ printf '[heddled]nlatency_us = 50n' > root/etc/heddle/heddled.conf
  $ heddled --config-root root --check-config
  heddled: error: root/etc/heddle/heddled.conf:1: text after the section's name: 'nlatency_us = 50n'
  [1]
  $ printf ' [heddled] ; a remark\nsocket = /nonexistent/a\n' > root/etc/heddle/heddled.conf
  $ heddled --config-root root --check-config
  the configuration is in order
  $ printf '[heddled]\nsocket = /nonexistent/a\n' > root/etc/heddle/heddled.conf
  $ heddled --config-root root --check-config
  the configuration is in order
  $ heddled --config-root=root
  heddled: error: cannot listen on /nonexistent/a: No such file or directory
  [1]
  $ printf '[heddled]\nsocket = /nonexistent/b\n' > root/usr/lib/heddle/heddled.conf.d/50-b.conf
  $ printf '[heddled]\nsocket = /nonexistent/c\n' > root/etc/heddle/heddled.conf.d/60-c.conf
  $ heddled --config-root root 2>&1 | tail -n 1
  heddled: error: cannot listen on /nonexistent/c: No such file or directory
  $ mv root/etc/heddle/heddled.conf.d/60-c.conf root/etc/heddle/heddled.conf.d/50-b.conf
  $ printf '[heddled]\nsocket = /nonexistent/d\n' > root/usr/lib/heddle/heddled.conf.d/50-b.conf
  $ heddled --config-root root 2>&1 | tail -n 1
  heddled: error: cannot listen on /nonexistent/c: No such file or directory
  $ heddled --config-root root --socket /nonexistent/e 2>&1 | tail -n 1
  heddled: error: cannot listen on /nonexistent/e: No such file or directory
  $ heddled --policy fair 2>&1 | head -n 1
  heddled: error: policy: 'fair' is not one of hpf|ffs|greedy|split|none|profile|fixed|./FILE
  $ heddled --config-root root --set warp=9 2>&1 | sed -n 's/there are .*, log, .*/there are .../p'
  heddled: error: no such key: warp; there are ...
  $ heddled --config-root root --set max_overhead=0 2>&1 | head -n 1
  heddled: error: max_overhead: '0' is not a whole number of percent from 1 to 100
  $ heddled --config-root root --set max_overhead=101 2>&1 | head -n 1
  heddled: error: max_overhead: '101' is not a whole number of percent from 1 to 100
  $ for key in max_overhead mps_answer_ms extra_sms opaque_us opaque_hold_us max_tenants user_tenants user_devices \
  >     user_connections silence_ms min_managed_us latency_us linger_max_us spin_us grace_us standstill_ms; do
  >   for value in x 1x -1 99999999999; do
  >     heddled --config-root root --set $key=$value --check-config 2>&1 | sed -n "s/'$value'/VALUE/; 1p"
  >   done | uniq -c
  >   most=$(heddled --set $key=x 2>&1 | sed -n 's/.* to //; 1p')
  >   heddled --config-root root --set $key=$most --check-config | grep -v 'is in order'
  >   heddled --config-root root --set $key=$((most + 1)) --check-config 2>&1 | grep -q 'a whole number' || echo $key
  > done | sed 's/^ *4 heddled: error: //'
  max_overhead: VALUE is not a whole number of percent from 1 to 100
  mps_answer_ms: VALUE is not a whole number of ms from 0 to 86400000
  extra_sms: VALUE is not a whole number of SMs from 0 to 256
  opaque_us: VALUE is not a whole number of us from 0 to 10000000
  opaque_hold_us: VALUE is not a whole number of us from 0 to 10000000
  max_tenants: VALUE is not a whole number from 0 to 4096
  user_tenants: VALUE is not a whole number from 0 to 4096
  user_devices: VALUE is not a whole number from 0 to 256
  user_connections: VALUE is not a whole number from 0 to 4096
  silence_ms: VALUE is not a whole number of ms from 0 to 86400000
  min_managed_us: VALUE is not a whole number of us from 0 to 4000000
  latency_us: VALUE is not a whole number of us from 0 to 1000000
  linger_max_us: VALUE is not a whole number of us from 0 to 1000000
  spin_us: VALUE is neither auto nor a whole number of us from 0 to 10000000
  grace_us: VALUE is not a whole number of us from 0 to 10000000
  standstill_ms: VALUE is not a whole number of ms from 0 to 86400000
  $ heddled --config-root root --policy ./none.so --check-config
  heddled: error: policy: ./none.so: No such file or directory
  [1]
  $ touch open.so; chmod 666 open.so
  $ heddled --config-root root --set policy=./open.so --check-config 2>&1 | sed "s|$PWD/||"
  heddled: error: policy: open.so: other users can write to it: remove that right (chmod go-w)
  $ chmod 644 open.so; chmod 755 .
  $ heddled --config-root root --policy ./open.so --check-config
  the configuration is in order
  $ heddled --config-root root --policy ./open.so --socket $PWD/sock 2>&1 | sed "s|$PWD/||"
  heddled: error: policy: open.so: it cannot be loaded: it is no shared object: build it with cc -shared -fPIC
  $ heddled --config-root root --set policy_options=$(printf %01024d 0) --check-config 2>&1 | head -n 1
  heddled: error: policy_options: too long
  $ heddled --config-root root --policy greedy --set policy_options=pairs=on --check-config
  the configuration is in order
  $ heddled --config-root root --policy greedy --set policy_options=pairs=unknown --check-config
  heddled: error: policy_options: pairs: 'unknown' is not one of on|off
  [1]
  $ heddled --config-root root --policy split --set policy_options=halves --check-config
  heddled: error: policy_options: policy split has no option 'halves'; there are whole=PERCENT and mixed=PERCENT
  [1]
  $ heddled --config-root root --policy greedy --set policy_options=pair --socket $PWD/sock
  heddled: error: policy_options: policy greedy has no option 'pair'; there is pairs=on|off
  [1]
  $ heddled --config-root root --set gates=off --set gates=perhaps --check-config 2>&1 | head -n 1
  heddled: error: gates: 'perhaps' is not one of on|off
  $ heddled --set gates 2>&1 | head -n 1
  heddled: error: --set: 'gates' is not KEY=VALUE
  $ heddled --pol none 2>&1 | head -n 1
  heddled: error: no such option: '--pol'
  $ heddled serve 2>&1 | head -n 1
  heddled: error: unexpected: 'serve'
  $ heddled -h | head -n 1 | cut -c 1-40
  usage: heddled [--policy FILE] [--mps on
  $ heddled --policy fair >/dev/null 2>&1
  [2]

SIGHUP reads the files again; the command line still comes last. All of the new settings apply, or none;
settings that need a restart are reported.

  $ rm -r root && mkdir -p root/etc/heddle
  $ printf '[heddled]\npolicy = none\n' > root/etc/heddle/heddled.conf
  $ heddled --config-root root --socket $PWD/sock --set latency_us=50 2>log & echo $! >pid
  $ for i in $(seq 1000); do heddle status >/dev/null 2>&1 && break; sleep 0.02; done
  $ again() { n=$(wc -l <log); kill -HUP $(cat pid); for i in $(seq 1000); do [ $(wc -l <log) -ge $((n + $1)) ] && break; sleep 0.02; done; tail -n +$((n + 1)) log; heddle status | sed -n 2p; }
  $ printf '[heddled]\npolicy = hpf\nlatency_us = x\n' > root/etc/heddle/heddled.conf
  $ again 2
  heddled: error: root/etc/heddle/heddled.conf:3: latency_us: 'x' is not a whole number of us from 0 to 1000000
  heddled: error: the configuration is unchanged
  policy none, MPS off
  $ printf '[heddled]\npolicy = hpf\nmps = on\nmps_stays = off\nsocket = /nonexistent/a\nstate = /nonexistent/s\n' > root/etc/heddle/heddled.conf
  $ again 2
  heddled: warning: mps, mps_stays, state: takes effect when heddled is restarted
  heddled: the configuration was read again: policy hpf
  policy hpf, MPS off
  $ again 1
  heddled: the configuration was read again: policy hpf
  policy hpf, MPS off
  $ printf '[heddled]\nlog = error\n' > root/etc/heddle/heddled.conf
  $ n=$(wc -l <log); kill -HUP $(cat pid); for i in $(seq 50); do heddle status >/dev/null; done; tail -n +$((n + 1)) log
  $ kill $(cat pid); wait

Without MPS, greedy says what it shares: on a GPU, and on the virtual GPU.

  $ heddled --config-root /nonexistent --policy greedy 2>log & echo $! >pid
  $ for i in $(seq 1000); do heddle status >/dev/null 2>&1 && break; sleep 0.02; done
  $ kill $(cat pid); wait; sed -n 2p log
  heddled: without MPS a GPU runs one program at a time: policy greedy shares it among the launches of one program; the virtual GPU runs several, and they share it
