# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk -F '[ ,]+' -f unnoticed.awk EVENTS
# Counts how often a launch of tenant 2 grew while more of its workers were present than the
# previous shrink (and its relay) allowed: they had not noticed the shrink yet.
function value(key,   i) {
	for (i = 1; i < NF; i++)
		if ($i == "\"" key "\":")
			return $(i + 1)
}
/"event": "shrink", "tenant": 2,/ { may_stay = value("workers") + 1 }
/"event": "grow", "tenant": 2,/ {
	n += may_stay && value("present") > may_stay
	may_stay = 0
}
END { print n + 0 }
