/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels' names as C++ compilers mangle them (Itanium C++ ABI, chapter 5.1), written as C++ writes
 * them. What kernels have no use for (operators, constructors, expressions, pointers to members) is
 * not read. Any bytes may be given; thread safe. */
#ifndef HEDDLE_DEMANGLE_H
#define HEDDLE_DEMANGLE_H

#include "base/base.h"

/* Appends "ns::scale<float, 4>(float*, int)", without the type that it returns. False: the symbol
 * is not mangled, or in a way that is not read; *out is as it was. */
bool demangle(const char *symbol, struct strbuf *out);
/* Whether a user who writes `wanted` may mean this symbol: the symbol itself, or its name in C++
 * with or without parameters, template arguments and enclosing namespaces: "scale", "ns::scale",
 * "scale<float, 4>", "scale(float*, int)". Spaces do not count. */
bool demangle_matches(const char *symbol, const char *wanted);

#endif
