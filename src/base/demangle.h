/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* C++ names of kernels (Itanium C++ ABI, chapter 5.1), by libstdc++. Without libstdc++.so.6 there are
 * only the names at the beginning of each symbol. The input can be any text. Thread safe. */
#ifndef HEDDLE_DEMANGLE_H
#define HEDDLE_DEMANGLE_H

#include "base/base.h"

/* Appends the C++ name, such as "ns::scale<float, 4>(float*, int)", without the return type.
 * Returns false and leaves *out unchanged if the symbol is not mangled, if its name could be very
 * long (some symbols of 100 bytes have names of gigabytes), or without libstdc++. */
bool demangle(const char *symbol, struct strbuf *out);
/* Writes a kernel's name for people to buf, and returns buf: the C++ name, or the symbol if it is not
 * mangled. A symbol that was cut, or that has no C++ name for another reason, gives the names at its
 * beginning, as in "ns::scale<...>". */
const char *demangle_name(const char *symbol, char *buf, size_t size);
/* Returns true if `wanted`, a name typed by a user, matches this symbol. `wanted` can be the symbol
 * itself, or the symbol's C++ name with or without parameters, template arguments and enclosing
 * namespaces: "scale", "ns::scale", "scale<float, 4>", "scale(float*, int)". Spaces are ignored. */
bool demangle_matches(const char *symbol, const char *wanted);

#endif
