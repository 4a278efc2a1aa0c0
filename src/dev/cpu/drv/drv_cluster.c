/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Thread block clusters. Each block of the virtual GPU is a cluster of its own, so it runs a kernel
 * only if its clusters have one block. A kernel's clusters get their size from .reqnctapercluster,
 * from the function's attributes, or from the launch's attribute. Every other size is refused, at
 * the launch as well as in the questions of occupancy: one block for a cluster of several would
 * compute wrong values. */
#include "drv_func.h"

static bool is_set(const int size[3])
{
	return size[0] && size[1] && size[2];
}

bool drv_cluster_of(const CUlaunchAttribute *a, uint32_t ret_size[3])
{
	uint32_t x = a->value.clusterDim.x, y = a->value.clusterDim.y, z = a->value.clusterDim.z;

	ret_size[0] = x;
	ret_size[1] = y;
	ret_size[2] = z;
	return (x && y && z) || (!x && !y && !z);
}

/* Finds the size of the clusters in blocks, 1 × 1 × 1 by default. Returns
 * CUDA_ERROR_INVALID_CLUSTER_SIZE if the kernel and the launch (asked; zeros: nothing) say different
 * sizes, or if the kernel demands that the launch says one. */
static CUresult size_of(const struct drv_func *f, const uint32_t asked[3], uint32_t ret[3])
{
	bool is_asked = asked[0] != 0, is_required = is_set(f->cluster);

	if (f->info.needs_cluster && !is_asked && !is_required)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	for (unsigned i = 0; i < 3; i++) {
		ret[i] = is_required ? (uint32_t)f->cluster[i] : MAX(asked[i], 1u);
		if (is_asked && ret[i] != asked[i])
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	}
	return CUDA_SUCCESS;
}

static bool is_single(const uint32_t size[3])
{
	return size[0] == 1 && size[1] == 1 && size[2] == 1;
}

CUresult drv_cluster_check(const struct drv_launch *l)
{
	struct drv_func *f = l->func;
	uint32_t size[3];
	CUresult r = size_of(f, l->cluster, size);

	for (unsigned i = 0; i < 3 && r == CUDA_SUCCESS; i++)
		if (l->grid[i] % size[i])
			r = CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (r != CUDA_SUCCESS || is_single(size))
		return r;
	if (!f->told_of_clusters)
		drv_report("virtual GPU: kernel %s: clusters of %ux%ux%u blocks: the virtual GPU "
			   "runs clusters of one block only (error 801). Run it on a GPU.\n",
			f->info.name, size[0], size[1], size[2]);
	f->told_of_clusters = true;
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- occupancy ---- */

/* Finds the cluster size of a launch configuration, for occupancy queries. */
static CUresult size_of_config(
	const struct drv_func *f, const CUlaunchConfig *config, uint32_t ret_size[3])
{
	uint32_t asked[3] = {0};

	if (config->numAttrs && !config->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
			!drv_cluster_of(&config->attrs[i], asked))
			return CUDA_ERROR_INVALID_VALUE;
	CUresult r = size_of(f, asked, ret_size);
	if (r != CUDA_SUCCESS)
		return r;
	return is_single(ret_size) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* Like NVIDIA's driver, this ignores the cluster size in the configuration. */
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction fn, const CUlaunchConfig *config)
{
	DRV_ENTER(c);
	const struct drv_func *f = drv_func_of(fn);

	if (!f)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!size || !config)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (is_set(f->cluster) && (f->cluster[0] > 1 || f->cluster[1] > 1 || f->cluster[2] > 1))
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	*size = 1;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction fn, const CUlaunchConfig *config)
{
	DRV_ENTER(c);
	const struct drv_func *f = drv_func_of(fn);
	uint32_t size[3];

	if (!f)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!n || !config)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	CUresult r = size_of_config(f, config, size);
	if (r == CUDA_SUCCESS)
		*n = (int)(drv_blocks_per_sm(f,
				   config->blockDimX * config->blockDimY * config->blockDimZ,
				   config->sharedMemBytes) *
			   drv.config.n_sms);
	return drv_leave(r);
}
