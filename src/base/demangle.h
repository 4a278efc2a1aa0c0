/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Demangles names of kernels (Itanium C++ ABI, chapter 5.1). It does not support constructs
 * without use in kernels: operators, constructors, expressions, pointers to members. Accepts any
 * bytes; thread safe. */
#ifndef HEDDLE_DEMANGLE_H
#define HEDDLE_DEMANGLE_H

#include "base/base.h"

/* Appends "ns::scale<float, 4>(float*, int)", without the return type. False: the symbol is not
 * mangled, or uses an unsupported construct; *out is unchanged. */
bool demangle(const char *symbol, struct strbuf *out);
/* True if `wanted`, as a user writes it, matches this symbol: the symbol itself, or its C++ name
 * with or without parameters, template arguments and enclosing namespaces: "scale", "ns::scale",
 * "scale<float, 4>", "scale(float*, int)". Spaces do not count. */
bool demangle_matches(const char *symbol, const char *wanted);

#endif
