/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks the headers of a shared object before dlopen maps it. */
#include "policy_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#define OUR_NAME    "x86-64"
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#define OUR_NAME    "AArch64"
#else
#error "which machine is this?"
#endif

static const char *machine_name(uint32_t machine)
{
	static const struct {
		uint32_t machine;
		const char *name;
	} names[] = {{EM_386, "32-bit x86"}, {EM_X86_64, "x86-64"}, {EM_ARM, "32-bit Arm"},
		{EM_AARCH64, "AArch64"}, {EM_RISCV, "RISC-V"}, {EM_PPC64, "POWER"}};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i].machine == machine)
			return names[i].name;
	}
	return "another machine";
}

static uint64_t end_of(uint64_t from, uint64_t bytes)
{
	return from > UINT64_MAX - bytes ? UINT64_MAX : from + bytes;
}

/* Returns how many bytes the headers promise; 0: they cannot be read. */
static uint64_t promised_bytes(int fd, const Elf64_Ehdr *e)
{
	uint64_t most = end_of(e->e_shoff, (uint64_t)e->e_shnum * e->e_shentsize);

	most = MAX(most, end_of(e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr)));
	for (uint32_t i = 0; i < e->e_phnum; i++) {
		uint64_t at = end_of(e->e_phoff, i * sizeof(Elf64_Phdr));
		Elf64_Phdr p;

		if (at > INT64_MAX || pread(fd, &p, sizeof(p), (off_t)at) != sizeof(p))
			return 0;
		most = MAX(most, end_of(p.p_offset, p.p_filesz));
	}
	return most;
}

int policy_elf_check(int fd, uint64_t bytes, char *ret_why, size_t size)
{
	Elf64_Ehdr e = {0};
	ssize_t n = pread(fd, &e, sizeof(e), 0);
	uint64_t most;

	if (n < SELFMAG || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) {
		snprintf(ret_why, size, "it is no shared object: build it with cc -shared -fPIC");
		return -EINVAL;
	}
	if (n < (ssize_t)sizeof(e)) {
		snprintf(ret_why, size, "it is truncated: build or copy it again");
		return -EINVAL;
	}
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
		e.e_machine != OUR_MACHINE) {
		snprintf(ret_why, size, "it is built for %s, this heddle for " OUR_NAME,
			machine_name(e.e_machine));
		return -EINVAL;
	}
	if (e.e_type != ET_DYN || e.e_phentsize != sizeof(Elf64_Phdr) || !e.e_phnum) {
		snprintf(ret_why, size, "it is no shared object: build it with cc -shared -fPIC");
		return -EINVAL;
	}
	most = promised_bytes(fd, &e);
	if (most && most <= bytes)
		return 0;
	snprintf(ret_why, size,
		"it is truncated: its headers need %llu bytes, it has %llu: build or copy it again",
		(unsigned long long)most, (unsigned long long)bytes);
	return -EINVAL;
}
