/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For tests with bounds on time: the address and the thread sanitizer make programs slower. */
#ifndef HEDDLE_TESTS_SANITIZED_H
#define HEDDLE_TESTS_SANITIZED_H

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
