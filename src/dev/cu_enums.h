/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Enumerations of the CUDA driver API, generated from cu_enums.def and cu_result.def. */
#ifndef HEDDLE_CU_ENUMS_H
#define HEDDLE_CU_ENUMS_H

typedef enum CUresult_enum {
#define CU_RES(name, value, text) name = value,
#include "cu_result.def"
#undef CU_RES
} CUresult;

#define CU_ENUM(type)            \
	typedef enum type##_enum \
	{
#define CU_VAL(name, value) name = value,
#define CU_ENUM_END(type) \
	}                 \
	type;
#include "cu_enums.def"
#undef CU_ENUM
#undef CU_VAL
#undef CU_ENUM_END

#define CU_CUDA_VERSION 13000 /* API version from which all names and values here are taken */

/* Special stream handles. */
#define CU_STREAM_LEGACY     ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

#define CU_LAUNCH_PARAM_END            ((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE    ((void *)0x02)

#define CUDA_ARRAY3D_LAYERED        0x01
#define CUDA_ARRAY3D_SURFACE_LDST   0x02
#define CUDA_ARRAY3D_CUBEMAP        0x04
#define CUDA_ARRAY3D_TEXTURE_GATHER 0x08

#define CU_TRSF_READ_AS_INTEGER        0x01
#define CU_TRSF_NORMALIZED_COORDINATES 0x02

#define CU_MEMHOSTALLOC_PORTABLE      0x01
#define CU_MEMHOSTALLOC_DEVICEMAP     0x02
#define CU_MEMHOSTALLOC_WRITECOMBINED 0x04
#define CU_MEMHOSTREGISTER_PORTABLE   0x01
#define CU_MEMHOSTREGISTER_DEVICEMAP  0x02
#define CU_MEMHOSTREGISTER_IOMEMORY   0x04
#define CU_MEMHOSTREGISTER_READ_ONLY  0x08

#define CU_DEVICE_CPU     (-1)
#define CU_DEVICE_INVALID (-2)

/* Launches, kernel nodes and streams share these attributes. */
typedef CUlaunchAttributeID CUstreamAttrID;
typedef CUlaunchAttributeID CUkernelNodeAttrID;

#endif
