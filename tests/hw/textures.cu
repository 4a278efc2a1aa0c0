/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads textures and surfaces of every kind that the virtual GPU supports, at texel positions,
 * between them and outside, and prints the values. programs-build.sh builds it, and programs.sh
 * compares the virtual GPU's values with recorded ones of a GPU. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                       \
	do {                                                              \
		cudaError_t e = call;                                     \
		if (e != cudaSuccess) {                                   \
			printf("%s: %s\n", #call, cudaGetErrorString(e)); \
			exit(1);                                          \
		}                                                         \
	} while (0)

enum { N = 64, W = 8, H = 6, D = 4 };

/* Coordinate of sample i of N: from below the first texel to above the last. */
__device__ float place(int i, float size, float step)
{
	return -0.7f * size + (float)i * step * size;
}

template <class T> __device__ float first(T v)
{
	return (float)v.x;
}
template <> __device__ float first(float v)
{
	return v;
}
template <> __device__ float first(unsigned char v)
{
	return v;
}
template <> __device__ float first(short v)
{
	return v;
}

template <class T> __global__ void in_1d(cudaTextureObject_t t, float size, float *out)
{
	int i = threadIdx.x;
	out[i] = first(tex1D<T>(t, place(i, size, 0.037f)));
}

template <class T> __global__ void in_2d(cudaTextureObject_t t, float w, float h, float *out)
{
	int i = threadIdx.x;
	out[i] = first(tex2D<T>(t, place(i, w, 0.0371f), place((i * 7) % N, h, 0.0353f)));
}

__global__ void level_2d(cudaTextureObject_t t, float w, float h, float *out)
{
	int i = threadIdx.x;
	float x = place(i, w, 0.0371f), y = place((i * 7) % N, h, 0.0353f);
	float4 g = tex2Dgather<float4>(t, x, y, 0);
	out[i] = tex2DLod<float>(t, x, y, 0) + 3 * g.x + 5 * g.y + 7 * g.z + 11 * g.w;
}

__global__ void in_3d(cudaTextureObject_t t, float *out)
{
	int i = threadIdx.x;
	out[i] = tex3D<float>(t, place(i, W, 0.0371f), place((i * 7) % N, H, 0.0353f),
		place((i * 11) % N, D, 0.0367f));
}

__global__ void in_layers(cudaTextureObject_t t, float *out)
{
	int i = threadIdx.x;
	out[i] = tex2DLayered<float>(
		t, place(i, W, 0.0371f), place((i * 7) % N, H, 0.0353f), i % 6 - 1);
}

__global__ void in_row_layers(cudaTextureObject_t t, float *out)
{
	int i = threadIdx.x;
	out[i] = tex1DLayered<float>(t, place(i, W, 0.0371f), i % 6 - 1);
}

__global__ void in_cube(cudaTextureObject_t t, float *out)
{
	int i = threadIdx.x;
	out[i] = texCubemap<float>(t, place(i, 1, 0.0371f) + 0.01f, place((i * 7) % N, 1, 0.0353f),
		place((i * 11) % N, 1, 0.0367f));
}

__global__ void fetch(cudaTextureObject_t t, float *out)
{
	int i = threadIdx.x;
	float4 v = tex1Dfetch<float4>(t, i - 8);
	out[i] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
}

__global__ void on_surface(cudaSurfaceObject_t s, float *out)
{
	int i = threadIdx.x;
	float near, none;
	surf2Dwrite((float)(i * i), s, (i - 16) * 4, i % H, cudaBoundaryModeZero);
	__syncthreads();
	surf2Dread(&near, s, (i - 20) * 4, i % H, cudaBoundaryModeClamp);
	surf2Dread(&none, s, (i - 20) * 4, i % H, cudaBoundaryModeZero);
	out[i] = near + 2 * none;
}

__global__ void on_volume(cudaSurfaceObject_t s, float *out)
{
	int i = threadIdx.x;
	uchar4 v;
	surf3Dread(&v, s, (i % W) * 4, i % H, i % D);
	out[i] = (float)(v.x + 2 * v.y + 3 * v.z + 4 * v.w);
}

static float *results;

static void show(const char *what)
{
	float v[N];
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(v, results, sizeof(v), cudaMemcpyDeviceToHost));
	printf("%s:", what);
	for (int i = 0; i < N; i++)
		printf(" %.5f", v[i]);
	printf("\n");
}

static cudaTextureObject_t texture_of(cudaResourceDesc r, cudaTextureAddressMode mode,
	cudaTextureFilterMode filter, cudaTextureReadMode read, bool normalized)
{
	cudaTextureDesc d = {};
	cudaTextureObject_t t;
	for (int i = 0; i < 3; i++)
		d.addressMode[i] = mode;
	d.filterMode = filter;
	d.readMode = read;
	d.normalizedCoords = normalized;
	for (int i = 0; i < 4; i++)
		d.borderColor[i] = 0.25f * (float)(i + 1);
	CHECK(cudaCreateTextureObject(&t, &r, &d, NULL));
	return t;
}

/* Creates an array of w x h x d texels with varying contents. */
template <class T> static cudaArray_t array_of(size_t w, size_t h, size_t d, unsigned flags)
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<T>();
	size_t n = w * (h ? h : 1) * (d ? d : 1);
	std::vector<T> v(n);
	cudaArray_t a;
	for (size_t i = 0; i < n * sizeof(T); i++)
		((unsigned char *)v.data())[i] = (unsigned char)(i * 37 + (i >> 4));
	if (sizeof(T) % 4 == 0 && c.f == cudaChannelFormatKindFloat)
		for (size_t i = 0; i < n * sizeof(T) / 4; i++)
			((float *)v.data())[i] = (float)((i * 29) % 101) / 8;
	CHECK(cudaMalloc3DArray(&a, &c, make_cudaExtent(w, h, d), flags));
	cudaMemcpy3DParms p = {};
	p.srcPtr = make_cudaPitchedPtr(v.data(), w * sizeof(T), w, h ? h : 1);
	p.dstArray = a;
	p.extent = make_cudaExtent(w, h ? h : 1, d ? d : 1);
	p.kind = cudaMemcpyHostToDevice;
	CHECK(cudaMemcpy3D(&p));
	return a;
}

static cudaResourceDesc resource_of(cudaArray_t a)
{
	cudaResourceDesc r = {};
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	return r;
}

static const cudaTextureAddressMode modes[] = {
	cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder};

static void lines_and_planes(void)
{
	cudaResourceDesc line = resource_of(array_of<float>(W, 0, 0, 0));
	cudaResourceDesc plane = resource_of(array_of<float>(W, H, 0, cudaArrayTextureGather));
	cudaResourceDesc bytes = resource_of(array_of<uchar4>(W, H, 0, 0));
	cudaResourceDesc shorts = resource_of(array_of<short>(W, H, 0, 0));
	for (int k = 0; k < 32; k++) {
		cudaTextureAddressMode mode = modes[k & 3];
		cudaTextureFilterMode filter = k & 4 ? cudaFilterModeLinear : cudaFilterModePoint;
		bool unit = k & 8, floats = k & 16;
		float w = unit ? 1 : W, h = unit ? 1 : H;
		char name[80];
		snprintf(name, sizeof(name), "mode %d filter %d unit %d floats %d", k & 3,
			!!(k & 4), unit, floats);
		if (!floats) {
			in_1d<float><<<1, N>>>(
				texture_of(line, mode, filter, cudaReadModeElementType, unit), w,
				results);
			show(name);
			in_2d<float><<<1, N>>>(
				texture_of(plane, mode, filter, cudaReadModeElementType, unit), w,
				h, results);
			show(name);
			level_2d<<<1, N>>>(
				texture_of(plane, mode, filter, cudaReadModeElementType, unit), w,
				h, results);
			show(name);
		} else {
			in_2d<float4><<<1, N>>>(
				texture_of(bytes, mode, filter, cudaReadModeNormalizedFloat, unit),
				w, h, results);
			show(name);
			in_2d<float><<<1, N>>>(
				texture_of(shorts, mode, filter, cudaReadModeNormalizedFloat, unit),
				w, h, results);
			show(name);
		}
		if (!floats && !(k & 4)) {
			in_2d<uchar4><<<1, N>>>(
				texture_of(bytes, mode, filter, cudaReadModeElementType, unit), w,
				h, results);
			show(name);
			in_2d<short><<<1, N>>>(
				texture_of(shorts, mode, filter, cudaReadModeElementType, unit), w,
				h, results);
			show(name);
		}
	}
}

static void volumes_and_layers(void)
{
	cudaResourceDesc volume = resource_of(array_of<float>(W, H, D, 0));
	cudaResourceDesc layers = resource_of(array_of<float>(W, H, D, cudaArrayLayered));
	cudaResourceDesc rows = resource_of(array_of<float>(W, 0, D, cudaArrayLayered));
	cudaResourceDesc cube = resource_of(array_of<float>(W, W, 6, cudaArrayCubemap));
	for (int k = 0; k < 2; k++) {
		cudaTextureFilterMode filter = k ? cudaFilterModeLinear : cudaFilterModePoint;
		in_3d<<<1, N>>>(texture_of(volume, cudaAddressModeClamp, filter,
					cudaReadModeElementType, false),
			results);
		show("volume");
		in_layers<<<1, N>>>(texture_of(layers, cudaAddressModeBorder, filter,
					    cudaReadModeElementType, false),
			results);
		show("layers");
		in_row_layers<<<1, N>>>(texture_of(rows, cudaAddressModeClamp, filter,
						cudaReadModeElementType, false),
			results);
		show("rows");
	}
	in_cube<<<1, N>>>(texture_of(cube, cudaAddressModeClamp, cudaFilterModePoint,
				  cudaReadModeElementType, true),
		results);
	show("cube");
}

static void memory(void)
{
	std::vector<float> v(W * H * 4);
	cudaResourceDesc r = {};
	void *p;
	size_t pitch;
	for (size_t i = 0; i < v.size(); i++)
		v[i] = (float)((i * 31) % 97) / 4;
	CHECK(cudaMallocPitch(&p, &pitch, W * 16, H));
	CHECK(cudaMemcpy2D(p, pitch, v.data(), W * 16, W * 16, H, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypePitch2D;
	r.res.pitch2D.devPtr = p;
	r.res.pitch2D.desc = cudaCreateChannelDesc<float4>();
	r.res.pitch2D.width = W;
	r.res.pitch2D.height = H;
	r.res.pitch2D.pitchInBytes = pitch;
	in_2d<float4><<<1, N>>>(texture_of(r, cudaAddressModeClamp, cudaFilterModeLinear,
					cudaReadModeElementType, false),
		W, H, results);
	show("rows of memory");
	CHECK(cudaMalloc(&p, v.size() * 4));
	CHECK(cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice));
	r = {};
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = p;
	r.res.linear.desc = cudaCreateChannelDesc<float4>();
	r.res.linear.sizeInBytes = v.size() * 4;
	fetch<<<1, N>>>(texture_of(r, cudaAddressModeClamp, cudaFilterModePoint,
				cudaReadModeElementType, false),
		results);
	show("memory");
}

static void surfaces(void)
{
	cudaArray_t plane = array_of<float>(W * 4, H, 0, cudaArraySurfaceLoadStore);
	cudaResourceDesc r = resource_of(plane);
	cudaSurfaceObject_t s;
	float back[W * 4 * H];
	CHECK(cudaCreateSurfaceObject(&s, &r));
	on_surface<<<1, N>>>(s, results);
	show("surface");
	CHECK(cudaMemcpy2DFromArray(back, W * 16, plane, 0, 0, W * 16, H, cudaMemcpyDeviceToHost));
	printf("it holds:");
	for (int i = 0; i < W * 4 * H; i++)
		printf(" %.3f", back[i]);
	printf("\n");
	r = resource_of(array_of<uchar4>(W, H, D, cudaArraySurfaceLoadStore));
	CHECK(cudaCreateSurfaceObject(&s, &r));
	on_volume<<<1, N>>>(s, results);
	show("volume's bytes");
}

int main()
{
	CHECK(cudaMalloc(&results, N * sizeof(*results)));
	lines_and_planes();
	volumes_and_layers();
	memory();
	surfaces();
	return 0;
}
