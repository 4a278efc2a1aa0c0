/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Creates and maps the shared page, which is a sealed memfd. The seals ensure that neither side can
 * shrink the page while the other has mapped it. */
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return round_up(sizeof(struct wire_page), (uint64_t)sysconf(_SC_PAGESIZE));
}

int wire_page_create(uint32_t tenant, struct wire_page **ret, int *ret_fd)
{
	size_t bytes = page_bytes();
	struct wire_page *p = MAP_FAILED;
	int fd, r;

	fd = memfd_create("heddle-tenant", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) == 0 &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		r = -errno;
		close(fd);
		return r;
	}
	p->magic = WIRE_PAGE_MAGIC;
	p->version = WIRE_PAGE_VERSION;
	p->bytes = (uint32_t)bytes;
	p->n_slots = WIRE_SLOTS;
	p->tenant = tenant;
	*ret = p;
	*ret_fd = fd;
	return 0;
}

/* Maps a memfd whose size is sealed for good. Asks for the seals first: only files in memory have
 * them, and the system answers for any other file without asking its file system, which could
 * block. */
static int map_sealed(int fd, struct wire_page **ret)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct wire_page *p;
	struct stat st;
	int has = fcntl(fd, F_GET_SEALS);

	if (has < 0 || (has & seals) != seals)
		return -EPROTO;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((size_t)st.st_size != page_bytes())
		return -EPROTO;
	p = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static bool is_page(const struct wire_page *p)
{
	return p->magic == WIRE_PAGE_MAGIC && p->version == WIRE_PAGE_VERSION &&
	       p->n_slots == WIRE_SLOTS;
}

int wire_page_map(int fd, struct wire_page **ret)
{
	struct wire_page *p = NULL;
	int r = map_sealed(fd, &p);

	if (r < 0)
		return r;
	if (!is_page(p)) {
		wire_page_unmap(p);
		return -EPROTO;
	}
	*ret = p;
	return 0;
}

/* Accept only files of tmpfs. In a hugetlbfs file, a page can be missing when it is accessed, and
 * heddled would then get the signal SIGBUS. */
int wire_page_adopt(int fd, struct wire_page **ret)
{
	struct statfs fs;

	if (fcntl(fd, F_GET_SEALS) < 0) /* checked first, as in map_sealed */
		return -EPROTO;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type != TMPFS_MAGIC)
		return -EPROTO;
	return wire_page_map(fd, ret);
}

int wire_page_number(int fd, uint64_t *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}

void wire_page_unmap(struct wire_page *p)
{
	if (p)
		munmap(p, page_bytes());
}
