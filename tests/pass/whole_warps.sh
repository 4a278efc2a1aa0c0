#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: whole_warps.sh TOOL PTX...
# In a kernel that spins (src/pass/analysis/rising.c), or has paths past barriers that some lanes
# may take alone (tails.c), the worker reconverges lanes before each barrier that whole warps
# reach, with the barrier's own guard (src/pass/virtual/emit.h, WHOLE_WARP, gives the reason). If
# the kernel calls a function that spins, the mask is one that the assembler does not know. Other
# kernels must not do this: it takes a fifth of some kernels' time. The kernels' names say which is
# which. Checks barriers with a number and no count. In kernels that rely on masks of the active
# lanes (masks.c), lanes reconverge at the end of each block.
set -eu
tool=$1
shift
for ptx; do
	"$tool" lean "$ptx" 2>/dev/null | awk -v file="$ptx" '
		function done_with_kernel() {
			if (kernel == "")
				return
			print kernel, barriers, gathered, unseen
			if (gathered != 0 && gathered != barriers)
				print "bad " kernel " of " file ": lanes meet at " gathered " of " barriers
			if (kernel ~ /callee_spin/ ? unseen != barriers : unseen != 0)
				print "bad " kernel " of " file ": a mask that is not known at " unseen
			if (kernel ~ /(^|_)(spin|cas|alone)/ && gathered == 0)
				print "bad " kernel " of " file " spins, and lanes do not meet"
			if (kernel ~ /^(pt_|er_(count|barrier))/ && gathered == 0)
				print "bad " kernel " of " file ": lanes part, and do not meet"
			if (kernel ~ /^(mask_|alike_(early|filter|groups))/ ? ended == 0 : kernel ~ /^(matrix|alike)_/ && ended != 0)
				print "bad " kernel " of " file ": lanes meet at " ended " ends of a block"
			if (kernel == "er_uniform" && gathered != 0)
				print "bad " kernel " of " file ": lanes meet that never part"
			kernel = ""
		}
		/^(\.visible |\.weak )?\.(entry|func)/ {
			done_with_kernel()
			name = $0
			sub(/.*\.(entry|func) */, "", name)
			sub(/[^A-Za-z0-9_$].*/, "", name)
		}
		{ line = $0; sub(/^[ \t]*/, "", line) }
		# a worker begins
		line == "$hd_begin:" { kernel = name; barriers = gathered = unseen = ended = ending = 0 }
		line ~ /^\$hd_end_[0-9]*:$/ { ending = 1 }
		line ~ /^(@.*)?bra \$hd_(top|next);$/ { ending = 0 }
		ending && line == "bar.warp.sync -1;" { ended++ }
		kernel != "" && line ~ /^(@[^ ]* )?bar(rier)?[.]/ && line !~ /bar.warp/ && line ~ /sync [0-9]*;/ {
			guard = ""
			if (match(line, /^@[^ ]* /))
				guard = substr(line, 1, RLENGTH)
			barriers++
			if (last == guard "bar.warp.sync %hd_n;")
				unseen++
			if (last == guard "bar.warp.sync -1;" && before != "$hd_begin:" || last == guard "bar.warp.sync %hd_n;")
				gathered++
		}
		{ before = last; last = line }
		END { done_with_kernel() }'
done | awk '
	/^bad/ { bad++; print; next }
	{ n += $2; met += $3; hidden += $4; kernels++; spins += $3 > 0 }
	END {
		print kernels " workers, " spins " that spin or part; " n " barriers, at " met " lanes meet, at " hidden " unseen"
		exit bad > 0 || hidden == 0 || spins < 5 || spins == kernels
	}'
