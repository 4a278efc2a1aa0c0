#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: contrib/first-day.sh ROOT [SUITE...] >doc/first-day.txt
# The typescript of a newcomer's first commands on a bare Debian 12, by script(1), as a user "you" who may
# use sudo. ROOT: a folder that debootstrap --variant=minbase bookworm ROOT made; if it is empty or missing, this script
# makes it. Needs root and the network, and takes twice as long as ./run test. It clones the last commit of this
# tree. SUITEs: only these tests. Lines of installing and of tests that pass are left out, with a mark.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
root=$1
shift
suites=$*
mkdir -p "$root"
root=$(cd "$root" && pwd)
[ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase bookworm "$root" >&2

inside() { # COMMAND...: in ROOT, with processes, terminals and shared memory of its own
	unshare -m -p -f --propagation private sh -euc '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --bind /dev "$root/dev"
		mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
		mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		mount -t sysfs -o ro sysfs "$root/sys"
		exec chroot "$root" "$@"' sh "$root" "$@"
}

# A machine as its owner sets it up: a user, sudo, git, and the project somewhere.
cp /etc/resolv.conf "$root/etc/"
inside sh -euc '
	command -v sudo >/dev/null && command -v git >/dev/null || {
		apt-get -q update
		apt-get -q -y --no-install-recommends install sudo git ca-certificates
	}
	id you >/dev/null 2>&1 || useradd -m -s /bin/bash you
	echo "you ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/you
	rm -rf /home/you/heddle /home/you/.cache /srv/git/heddle.git' >&2
git init -q --bare -b main "$root/srv/git/heddle.git"
git -C "$here" push -q "$root/srv/git/heddle.git" HEAD:refs/heads/main
chmod -R a+rX "$root/srv"
inside git config --system --replace-all safe.directory '*'
cat >"$root/usr/local/bin/first-day" <<END
#!/bin/sh
play() {
	printf '\$ %s\\n' "\$1"
	eval "\$1" || echo "[exit status \$?]"
}
cd
play 'git clone /srv/git/heddle.git'
play 'cd heddle'
play './run demo'
play './run test${suites:+ $suites}'
play 'build/heddle doctor'
play 'build/heddle run --device cpu -- build/examples/va --size small'
END
chmod +x "$root/usr/local/bin/first-day"
typescript=$root/home/you/typescript
inside runuser -u you -- env -i HOME=/home/you USER=you LOGNAME=you SHELL=/bin/sh TERM=xterm LANG=C.UTF-8 \
	PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin COLUMNS=100 script -q -c first-day /home/you/typescript \
	</dev/null >/dev/null

cat <<END
A newcomer's first commands on a bare Debian $(cat "$root/etc/debian_version"), as script(1) had them; made by
contrib/first-day.sh of commit $(git -C "$here" rev-parse --short=12 HEAD) on $(date -u +%Y-%m-%d).
The machine: a Debian that debootstrap made (minbase, with sudo and git), in a chroot of a virtual machine with
$(getconf _NPROCESSORS_ONLN) processors, shared with others (load $(cut -d' ' -f3 /proc/loadavg) at the end); no GPU.
[...] marks what is left out: lines of the package manager, and tests that passed or were skipped.
${suites:+Of the tests only some suites were run; ./run test by itself runs all of them, and takes several times as long.
}
END
# The final text of each line of the terminal, without the lines that are left out.
awk '
function leave_out() {
	if (gone)
		print "[... " gone " lines ...]"
	gone = 0
}
/^Script (started|done)/ { next }
{
	gsub(/\033\[[0-9;?]*[A-Za-z]|\000|\^@/, "")
	n = split($0, piece, "\r")
	text = ""
	for (i = n; i > 0 && text == ""; i--)
		text = piece[i]
	sub(/[ \t]+$/, "", text)
}
text ~ /^\$ / { installs = tests = 0 }
text ~ /^\$ .\/run test/ { tests = 1 }
text ~ /^(Get|Hit|Ign):|^Reading package/ { installs = 1 }
text ~ /^run: / && text !~ /^run: installing/ { installs = 0 }
installs && text !~ /^(run: |\$ )/ || (tests && text ~ /^ *[0-9]+\/[0-9]+ .* (OK|SKIP) /) { gone++; next }
{
	leave_out()
	print text
}' "$typescript"
