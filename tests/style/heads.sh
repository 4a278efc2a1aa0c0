#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Every source file starts with its licence, followed by its purpose in 1 to 20 lines.
. "$(dirname "$0")/lib.sh"
{
	files '*.c' '*.h' '*.cu' '*.cuh' '*.def' | xargs -r awk '
	function bad(what) { print FILENAME ":1: " what; done = 1 }
	FNR == 1 { done = 0 }
	done { next }
	FNR == 1 && $0 != "/* SPDX-License-Identifier: Apache-2.0" { bad("no SPDX line") }
	FNR == 2 && $0 != " * Copyright 2026 The heddle authors */" { bad("no copyright line") }
	FNR == 3 && $0 != "" { bad("no blank line behind the licence") }
	FNR == 4 && !/^\/\*/ { bad("no comment that says what the file is for") }
	FNR >= 4 && /\*\// { done = 1 }
	FNR == 24 && !done { bad("head comment longer than 20 lines") }'
	files '*.sh' '*.py' run .ci/run | xargs -r awk '
	FNR == 1 && /^#!/ { shift_by = 1; next }
	FNR == 1 { shift_by = 0 }
	FNR == 1 + shift_by && $0 != "# SPDX-License-Identifier: Apache-2.0" {
		print FILENAME ":1: no SPDX line"
		nextfile
	}
	FNR > 4 { nextfile }'
	files meson.build '*/meson.build' meson_options.txt | xargs -r awk '
	FNR == 1 && $0 != "# SPDX-License-Identifier: Apache-2.0" { print FILENAME ":1: no SPDX line" }
	{ nextfile }'
} | verdict
