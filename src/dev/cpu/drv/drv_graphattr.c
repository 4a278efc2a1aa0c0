/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Attributes of kernel nodes: whether the launch is cooperative, its clusters and its priority. The
 * launch is checked again with each new attribute, so that a node that the virtual GPU cannot run
 * correctly is refused. Other attributes are refused with CUDA_ERROR_NOT_SUPPORTED. A graph's
 * kernels run with the priority of the stream in which it is launched; a node's own is only kept. */
#include "drv_func.h"
#include "drv_graph.h"

#include <string.h>

static struct drv_launch *launch_of(CUgraphNode node)
{
	struct graph_node *n = drv_get(node, OBJ_NODE);

	return n && n->op->kind == OP_KERNEL ? &n->op->launch : NULL;
}

void drv_attributes_copy(struct drv_launch *to, const struct drv_launch *from)
{
	memcpy(to->cluster, from->cluster, sizeof(to->cluster));
	to->cooperative = from->cooperative;
	to->priority = from->priority;
}

/* Replaces the attributes if the launch would be valid with the new ones. */
static CUresult take_launch(struct drv_launch *to, const struct drv_launch *with)
{
	CUresult r = drv_launch_check(with);

	if (r == CUDA_SUCCESS)
		drv_attributes_copy(to, with);
	return r;
}

CUresult cuGraphKernelNodeSetAttribute(
	CUgraphNode node, CUlaunchAttributeID id, const CUlaunchAttributeValue *value)
{
	DRV_ENTER(c);
	struct drv_launch *l = launch_of(node), with;
	CUlaunchAttribute a = {.id = id};

	if (!l || !value)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	with = *l;
	a.value = *value;
	switch ((int)id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		with.cooperative = value->cooperative != 0;
		break;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		if (!drv_cluster_of(&a, with.cluster))
			return drv_leave(CUDA_ERROR_INVALID_VALUE);
		break;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		with.priority = value->priority;
		break;
	default:
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	}
	return drv_leave(take_launch(l, &with));
}

CUresult cuGraphKernelNodeGetAttribute(
	CUgraphNode node, CUlaunchAttributeID id, CUlaunchAttributeValue *value)
{
	DRV_ENTER(c);
	const struct drv_launch *l = launch_of(node);

	if (!l || !value)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	switch ((int)id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		value->cooperative = l->cooperative;
		break;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		value->clusterDim.x = l->cluster[0];
		value->clusterDim.y = l->cluster[1];
		value->clusterDim.z = l->cluster[2];
		break;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		value->priority = l->priority;
		break;
	default:
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	}
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	DRV_ENTER(c);
	struct drv_launch *to = launch_of(dst), with;
	const struct drv_launch *from = launch_of(src);

	if (!to || !from)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	with = *to;
	drv_attributes_copy(&with, from);
	return drv_leave(take_launch(to, &with));
}
