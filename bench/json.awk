# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# One JSON value as lines of a path and what stands there, with a tab between: "pairs.0.low<tab>cfd".
# Members of an array are numbered from 0, null is nothing, true and false are words; strings are as
# they stand, escapes and all. Exit status 1: it is no JSON, or more than one value.
{ text = text $0 "\n" }

function bad() {
	print FILENAME ": no JSON, at byte " at > "/dev/stderr"
	failed = 1
	exit 1
}

# The next character after white space.
function peek() {
	while (at <= length(text) && index(" \t\r\n", substr(text, at, 1)))
		at++
	return substr(text, at, 1)
}

function expect(c) {
	if (peek() != c)
		bad()
	at++
}

function string(   from, c) {
	expect("\"")
	for (from = at; (c = substr(text, at, 1)) != "\""; at++) {
		if (c == "" || c == "\n")
			bad()
		if (c == "\\")
			at++
	}
	at++
	return substr(text, from, at - 1 - from)
}

function word(   rest) {
	rest = substr(text, at, 64)
	if (!match(rest, /^(-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null)/))
		bad()
	at += RLENGTH
	return substr(rest, 1, RLENGTH)
}

function below(path, name) {
	return path == "" ? name : path "." name
}

function value(path,   c, n, key) {
	c = peek()
	if (c == "{" || c == "[") {
		at++
		if (peek() == (c == "{" ? "}" : "]")) {
			at++
			return
		}
		do {
			key = n++
			if (c == "{") {
				key = string()
				expect(":")
			}
			value(below(path, key))
		} while (peek() == "," && at++)
		expect(c == "{" ? "}" : "]")
	} else {
		n = c == "\"" ? string() : word()
		print path "\t" (c != "\"" && n == "null" ? "" : n)
	}
}

END {
	if (failed)
		exit 1
	at = 1
	value("")
	if (peek() != "")
		bad()
}
