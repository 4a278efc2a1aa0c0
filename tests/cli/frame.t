The frame: verbs, help, options, errors. Each verb has its own test file.

No verb, an unknown verb, and a group without its second word:

  $ heddle 2>err; echo $?
  2
  $ head -n 1 err
  usage: heddle VERB ...
  $ heddle weave
  heddle: error: no such verb: 'weave'
    hint: heddle -h lists them
  [2]
  $ heddle rnu
  heddle: error: no such verb: 'rnu'
    hint: heddle run is one; heddle -h lists all
  [2]
  $ heddle bnch 2>&1 | tail -n 1
    hint: heddle bench is one; heddle -h lists all
  $ heddle ptx preemt
  heddle ptx: error: no such verb: 'preemt'
    hint: heddle ptx preempt is one; heddle ptx -h lists all
  [2]
  $ heddle help corn
  heddle help: error: no such verb: 'corn'; corun is one
    hint: heddle help -h says more
  [2]
  $ heddle help ptx cehck 2>&1 | head -n 1
  heddle help: error: no such verb: 'ptx cehck'; ptx check is one
  $ heddle ptx 2>&1 | head -n 1
  heddle ptx: error: a verb is missing
  $ heddle ptx frobnicate 2>&1 | head -n 1
  heddle ptx: error: no such verb: 'frobnicate'

Help goes to standard output and succeeds:

  $ heddle -h | head -n 1
  usage: heddle VERB ...
  $ heddle --help | grep -c '^  heddle version '
  1
  $ heddle version -h
  usage: heddle version [--json]
  
  Print the version and its commit.
  
        --json                    print the result as JSON
    -h, --help                    print this help
  
  JSON: version, commit (null: not known; -dirty at the end: built with local
  changes).
  $ heddle help version | head -n 1
  usage: heddle version [--json]
  $ heddle help nonsense
  heddle help: error: no such verb: 'nonsense'
    hint: heddle help -h says more
  [2]

Every verb has help, a summary without a full stop, and --json with its keys:

  $ heddle help --json | python3 -c '
  > import json, sys
  > for verb in json.load(sys.stdin)["verbs"]: print(verb["name"])' >verbs
  $ while read -r verb; do
  >   heddle $verb -h >help || echo "$verb: no help"
  >   grep -q '^ *--json' help || echo "$verb: no --json"
  >   grep -q '^JSON: ' help || echo "$verb: keys not documented"
  >   grep -q '^[A-Z].*\.\.$' help && echo "$verb: summary ends in a full stop"
  >   awk -v v="$verb" 'NR > 1 && length > 80 { print v ": line too long: " $0 }' help
  > done <verbs
  $ heddle --print-man | sed -n 's/^## heddle //p' | cmp - verbs
  $ heddle help version --json | grep -c '"name"'
  1

Wrong options and operands:

  $ heddle version --frob
  heddle version: error: no such option: '--frob'
  usage: heddle version [--json]
    hint: heddle version -h says more
  [2]
  $ heddle exec --gird 4 2>&1 | head -n 1
  heddle exec: error: no such option: '--gird'; --grid is one
  $ heddle exec --grid 4 --block many k.ptx k
  heddle exec: error: --block many: wants one to three whole numbers from 1, such as 64, 4,2 or 4x2x1
    hint: heddle exec -h says more
  [2]
  $ heddle version -x 2>&1 | head -n 1
  heddle version: error: no such option: '-x'
  $ heddle version --json=yes 2>&1 | head -n 1
  heddle version: error: --json takes no value
  $ heddle version extra 2>&1 | head -n 1
  heddle version: error: unexpected: 'extra'
  $ heddle version -- --json 2>&1 | head -n 1
  heddle version: error: unexpected: '--json'

heddle version names the release and the source tree from which heddle was built:

  $ heddle version | sed -E 's/[0-9a-f]{12}(-dirty)?|unknown/COMMIT/'
  heddle 0.1.0 (commit COMMIT)
  $ heddled --version | sed -E 's/[0-9a-f]{12}(-dirty)?|unknown/COMMIT/'
  heddled 0.1.0 (commit COMMIT)

Other programs can read the JSON:

  $ heddle version --json | python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["schema"], d["command"])'
  1 version

Failure to write the output is an error:

  $ heddle help >/dev/full
  heddle: error: cannot write to standard output: No space left on device
  [1]

The shells accept the completions for everything in the table:

  $ for s in bash zsh fish; do heddle --print-completion $s >c.$s || echo $s; done
  $ heddle --print-completion tcsh
  usage: heddle --print-completion bash|zsh|fish [heddle|heddled]
  [2]
  $ bash -n c.bash
  $ if command -v zsh >/dev/null; then zsh -n c.zsh; fi
  $ if command -v fish >/dev/null; then fish -n c.fish; fi

heddle-bench runs the verbs of bench. Without it these print an error, and the other verbs work:

  $ mkdir alone
  $ cp "$(command -v heddle)" alone/
  $ alone/heddle bench tasks
  heddle bench tasks: error: cannot run heddle-bench: No such file or directory
    hint: install it in the folder of heddle; this verb is a part of it
  [1]
  $ alone/heddle bench tasks -h | head -n 1
  heddle bench tasks: error: cannot run heddle-bench: No such file or directory
    hint: install it in the folder of heddle; this verb is a part of it
  $ alone/heddle help bench tasks | head -n 1
  usage: heddle bench tasks [--device auto|cpu|cuda]
  $ alone/heddle version | cut -d ' ' -f 1
  heddle
  $ heddle-bench tasks --nothing 2>&1 | head -n 1
  heddle bench tasks: error: no such option: '--nothing'
  $ heddle-bench nothing
  heddle bench: error: no such verb: 'nothing'
    hint: heddle bench -h lists them
  [2]
