/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Textures and surfaces: tex, tld4, suld, sust on objects without mipmaps. Filter weights have 8
 * bits of fraction, as in the CUDA C++ Programming Guide. Details that the guide leaves open follow
 * measurements with tests/hw/textures.cu on an H100 (driver 580.159). Accesses that PTX leaves
 * undefined (an object of another shape than the instruction's, a freed array) are faults here.
 *
 * Fields of an instruction:
 * - a: the handle; op: enum vtex_op; round: enum vgpu_image_shape
 * - x: index in func->ext of vec data registers (VX_NONE if not wanted), then the coordinates, with
 *   the layer first
 * - imm: index of two range caches; size: bytes per element (surfaces) */
#include "exec_ctl.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "dev/cpu/texture.h"
#include "half.h"
#include "vec.h"

struct point {
	int64_t at[3]; /* texel coordinates; for a cubemap the last one is the face */
	int64_t layer;
};

static const char *const shape_names[] = {"linear", "1d", "2d", "3d", "cube"};

/* ---- finding the texture or surface ---- */

static bool range_find(struct vx *x, struct vgpu_range *cache, uint64_t addr, uint64_t bytes)
{
	if (cache->generation != vgpu_mem_generation(x->b->mem) ||
		addr - cache->base >= cache->end - cache->base) {
		if (!vgpu_mem_range(x->b->mem, addr, cache))
			return false;
	}
	return bytes <= cache->end - addr;
}

/* Returns the texture or surface that a lane accesses. Returns NULL after a fault. */
static const struct vgpu_image *image_of(
	struct vx *x, const struct vinsn *in, unsigned lane, uint64_t handle)
{
	struct vgpu_range *cache = &x->b->ranges[in->imm];
	const struct vgpu_image *im = (const void *)(uintptr_t)handle;
	bool surface = in->op >= VT_LOAD;
	const char *what = surface ? "surface" : "texture";

	if (!range_find(x, &cache[0], handle, sizeof(*im)) || !cache[0].read_only || handle % 16 ||
		im->magic != VGPU_IMAGE_MAGIC || im->is_surface != surface) {
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, handle, "0x%" PRIx64 " is no %s object",
			handle, what);
		return NULL;
	}
	bool fetch = im->shape == VIMG_LINEAR && in->round == VIMG_1D && in->op == VT_FETCH;
	if ((im->shape != in->round && !fetch) || (im->layers > 0) != !!(in->flags & VI_LAYERED)) {
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, handle,
			"the %s object at 0x%" PRIx64
			" is %s%s, which this instruction cannot read",
			what, handle, im->layers ? "layered " : "", shape_names[im->shape]);
		return NULL;
	}
	if (!range_find(x, &cache[1], im->base, im->bytes)) {
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, im->base,
			"the memory of the %s object at 0x%" PRIx64 " is freed", what, handle);
		return NULL;
	}
	return im;
}

static unsigned dimensions_of(unsigned shape)
{
	return shape == VIMG_1D ? 1 : shape == VIMG_2D ? 2 : 3;
}

static int64_t clamp_coordinate(int64_t v, int64_t n)
{
	return v < 0 ? 0 : v >= n ? n - 1 : v;
}

static char *texel_at(const struct vgpu_image *im, const struct point *p)
{
	int64_t slice = im->shape == VIMG_CUBE ? p->layer * 6 + p->at[2]
			: im->layers           ? p->layer
					       : p->at[2];

	return (char *)(uintptr_t)im->base + (uint64_t)slice * im->slice +
	       (uint64_t)p->at[1] * im->pitch +
	       (uint64_t)p->at[0] * im->channels * im->channel_bytes;
}

/* ---- textures ---- */

/* Returns a texel's coordinate in [0, n), or -1 if it is in the border. */
static int64_t texel_coordinate(const struct vgpu_image *im, unsigned axis, int64_t v)
{
	int64_t n = im->size[axis], w;
	unsigned mode = im->address[axis];

	if ((mode == VIMG_WRAP || mode == VIMG_MIRROR) && !im->normalized)
		mode = VIMG_CLAMP;
	switch (mode) {
	case VIMG_WRAP:
		return ((v % n) + n) % n;
	case VIMG_MIRROR:
		w = ((v % (2 * n)) + 2 * n) % (2 * n);
		return w < n ? w : 2 * n - 1 - w;
	case VIMG_CLAMP:
		return clamp_coordinate(v, n);
	default:
		return v < 0 || v >= n ? -1 : v;
	}
}

/* Returns one channel in the form in which the instruction returns it. */
static uint32_t read_channel(const struct vgpu_image *im, const char *p)
{
	bool is_signed = im->kind == VIMG_SIGNED;
	uint32_t v = 0;

	memcpy(&v, p, im->channel_bytes);
	if (im->kind == VIMG_FLOAT)
		return im->channel_bytes == 2 ? f32_bits(half_to_f32(v, HALF_F16)) : v;
	if (is_signed && im->channel_bytes < 4)
		v = (uint32_t)(im->channel_bytes == 1 ? (int8_t)v : (int16_t)v);
	if (!im->to_float)
		return v;
	if (is_signed)
		return f32_bits(fmaxf(
			(float)(int32_t)v / (im->channel_bytes == 1 ? 127.f : 32767.f), -1.f));
	return f32_bits((float)v / (im->channel_bytes == 1 ? 255.f : 65535.f));
}

static void read_texel(const struct vgpu_image *im, const struct point *p, uint32_t ret[4])
{
	unsigned n = im->shape == VIMG_3D ? 3 : 2;
	bool is_float = im->kind == VIMG_FLOAT || im->to_float;
	struct point q = *p;
	const char *from;

	for (unsigned a = 0; a < n && a < 3; a++) {
		q.at[a] = texel_coordinate(im, a, p->at[a]);
		if (q.at[a] >= 0)
			continue;
		for (unsigned c = 0; c < 4; c++)
			ret[c] = is_float ? f32_bits(im->border[c]) : (uint32_t)im->border[c];
		return;
	}
	from = texel_at(im, &q);
	for (unsigned c = 0; c < 4; c++)
		ret[c] = c < im->channels ? read_channel(im, from + c * im->channel_bytes)
			 : c < 3          ? 0
			 : is_float       ? f32_bits(1.f)
					  : 1;
}

/* Converts coordinates to the lower texel on each axis, and to the weight of its upper neighbor in
 * units of 1/256. */
static void place_point(const struct vgpu_image *im, unsigned n, const float c[3], bool between,
	struct point *ret, int weight[3])
{
	for (unsigned a = 0; a < n; a++) {
		double v = im->normalized ? (double)c[a] * (double)im->size[a] : (double)c[a];
		double low;

		if (!(v > -1e9 && v < 1e9)) /* infinities, NaN */
			v = v > 0 ? 1e9 : v < 0 ? -1e9 : 0;
		v -= between ? 0.5 : 0;
		low = floor(v);
		ret->at[a] = (int64_t)low;
		weight[a] = (int)floor((v - low) * 256 + 0.5);
	}
}

/* Computes the weights of the corners between which a texture is filtered, in units of 1/256, as an
 * H100 does. The sum of the weights over each side and each edge is a product of the axes' weights,
 * rounded once. Bit k of a corner's number is set for the upper neighbor on axis k. */
static void corner_weights(unsigned n, const int weight[3], int ret[8])
{
	for (unsigned corner = 0; corner < 1u << n; corner++) {
		double product = 256;

		for (unsigned a = 0; a < n; a++)
			if (corner >> a & 1)
				product *= weight[a] / 256.0;
		ret[corner] = (int)floor(product + 0.5);
	}
	for (unsigned a = 0; a < n; a++)
		for (unsigned corner = 0; corner < 1u << n; corner++)
			if (!(corner >> a & 1))
				ret[corner] -= ret[corner | 1u << a];
}

/* Returns the number of steps of an integer-coded fraction. An H100 filters such texels in 16 bits,
 * whatever their size. */
static float fraction_steps(const struct vgpu_image *im)
{
	return im->kind == VIMG_SIGNED ? 32767.f : 65535.f;
}

static double in_steps(const struct vgpu_image *im, float v)
{
	return im->to_float ? (double)rintf(v * fraction_steps(im)) : (double)v;
}

static void sample_image(const struct vgpu_image *im, unsigned n, const float c[3], int64_t face,
	int64_t layer, uint32_t ret[4])
{
	struct point low = {.layer = layer};
	int weight[3], corners[8];
	double sum[4] = {0};

	low.at[2] = face;
	place_point(im, n, c, im->linear, &low, weight);
	if (!im->linear) {
		read_texel(im, &low, ret);
		return;
	}
	corner_weights(n, weight, corners);
	for (unsigned corner = 0; corner < 1u << n; corner++) {
		struct point p = low;
		uint32_t v[4];

		for (unsigned a = 0; a < n; a++)
			p.at[a] += corner >> a & 1;
		if (!corners[corner])
			continue;
		read_texel(im, &p, v);
		for (unsigned k = 0; k < 4; k++)
			sum[k] += corners[corner] * in_steps(im, bits_f32(v[k]));
	}
	for (unsigned k = 0; k < 4; k++) {
		double of = sum[k] / 256;

		ret[k] = f32_bits(
			im->to_float ? (float)floor(of + 0.5) / fraction_steps(im) : (float)of);
	}
}

/* Returns the face of a cube that a direction vector points to, and the position in that face. */
static int64_t face_of(const float d[3], float ret[2])
{
	float ax = fabsf(d[0]), ay = fabsf(d[1]), az = fabsf(d[2]), m, s, t;
	int64_t face;

	if (az >= ax && az >= ay) {
		face = 4 + (d[2] < 0);
		m = az;
		s = d[2] < 0 ? -d[0] : d[0];
		t = -d[1];
	} else if (ay >= ax) {
		face = 2 + (d[1] < 0);
		m = ay;
		s = d[0];
		t = d[1] < 0 ? -d[2] : d[2];
	} else {
		face = d[0] < 0;
		m = ax;
		s = d[0] < 0 ? d[2] : -d[2];
		t = -d[1];
	}
	ret[0] = (s / m + 1) / 2;
	ret[1] = (t / m + 1) / 2;
	return face;
}

/* Reads one channel of each of the four texels that a linear filter would read. */
static void gather_texels(const struct vgpu_image *im, const float c[3], int64_t layer,
	unsigned which, uint32_t ret[4])
{
	static const uint8_t dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
	struct point low = {.layer = layer};
	int weight[3];

	place_point(im, 2, c, true, &low, weight);
	for (unsigned k = 0; k < 4; k++) {
		struct point p = low;
		uint32_t v[4];

		p.at[0] += dx[k];
		p.at[1] += dy[k];
		read_texel(im, &p, v);
		ret[k] = v[which];
	}
}

/* Reads the texel at integer coordinates. For a texture in linear memory, a coordinate out of range
 * gives zero. */
static void fetch_texel(
	const struct vgpu_image *im, const uint32_t *c, unsigned n, int64_t layer, uint32_t ret[4])
{
	struct point p = {.layer = layer};

	for (unsigned a = 0; a < n; a++)
		p.at[a] = (int32_t)c[a];
	memset(ret, 0, 4 * sizeof(*ret));
	if (im->shape != VIMG_LINEAR || (p.at[0] >= 0 && p.at[0] < im->size[0]))
		read_texel(im, &p, ret);
}

static void lane_tex(
	const struct vinsn *in, const struct vgpu_image *im, const uint32_t *c, uint32_t ret[4])
{
	int64_t layer = 0, face = 0;
	unsigned n = dimensions_of(in->round);
	float v[3] = {0};

	if (in->flags & VI_LAYERED) {
		uint32_t wanted = *c++; /* an H100 also treats the layer as unsigned */

		layer = MIN((int64_t)wanted, im->layers - 1);
	}
	if (in->op == VT_FETCH) {
		fetch_texel(im, c, n, layer, ret);
		return;
	}
	for (unsigned a = 0; a < n; a++)
		v[a] = bits_f32(c[a]);
	/* An H100 reads a 1D texture as the first row of a 2D texture, at v = 0. So with the border
	 * address mode, the filter also reads the border above that row. */
	if (in->round == VIMG_1D && im->linear && im->address[1] == VIMG_BORDER)
		n = 2;
	if (in->round == VIMG_CUBE) {
		float d[3] = {v[0], v[1], v[2]};

		face = face_of(d, v);
		n = 2;
	}
	if (in->op == VT_GATHER)
		gather_texels(im, v, layer, in->size, ret);
	else
		sample_image(im, n, v, face, layer, ret);
}

const struct vinsn *vop_tex(struct vx *x, const struct vinsn *in)
{
	const uint32_t *reg = x->f->frame->fn->ext + in->x;
	unsigned n = dimensions_of(in->round) + !!(in->flags & VI_LAYERED);

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		const struct vgpu_image *im = image_of(x, in, i, VX_U64(x, in->a)[i]);
		uint32_t c[4] = {0}, v[4];

		if (!im)
			return NULL;
		for (unsigned k = 0; k < n; k++)
			c[k] = VX_U32(x, reg[in->vec + k])[i];
		lane_tex(in, im, c, v);
		for (unsigned k = 0; k < in->vec; k++)
			if (reg[k] != VX_NONE)
				VX_U32(x, reg[k])[i] = v[k];
	}
	return in + 1;
}

/* ---- surfaces ---- */

/* Returns the host address of a surface access, whose first coordinate is in bytes. Returns NULL if
 * there is nothing to access; if *ret_fault is then true, the block ends with a fault. */
static char *surface_at(struct vx *x, const struct vinsn *in, unsigned lane,
	const struct vgpu_image *im, const uint32_t *c, bool *ret_fault)
{
	unsigned n = dimensions_of(in->round), access = in->size * in->vec;
	int64_t element = im->channels * im->channel_bytes, row = im->size[0] * element;
	int64_t at = 0;
	struct point p = {0};
	bool outside;

	*ret_fault = true;
	if (in->flags & VI_LAYERED) {
		p.layer = (int32_t)*c++;
		outside = p.layer < 0 || p.layer >= im->layers;
		p.layer = clamp_coordinate(p.layer, im->layers);
	} else {
		outside = false;
	}
	at = (int32_t)c[0];
	if (at % access) {
		vx_fault(x, in, VGPU_FAULT_ALIGN, lane, (uint64_t)at,
			"byte %" PRId64 " of a surface's row, which is not a multiple of %u", at,
			access);
		return NULL;
	}
	outside |= at < 0 || at + access > row;
	at = at < 0 ? 0 : at + access > row ? MAX(row - access, 0) : at;
	for (unsigned a = 1; a < n; a++) {
		p.at[a] = (int32_t)c[a];
		outside |= p.at[a] < 0 || p.at[a] >= im->size[a];
		p.at[a] = clamp_coordinate(p.at[a], im->size[a]);
	}
	if (row < access || (outside && in->c == VT_TRAP)) {
		vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, VX_U64(x, in->a)[lane],
			"access of %u bytes outside a surface of %" PRId64 " x %" PRId64
			" x %" PRId64 " elements of %" PRId64 " bytes",
			access, im->size[0], im->size[1], MAX(im->size[2], im->layers), element);
		return NULL;
	}
	*ret_fault = false;
	return outside && in->c == VT_ZERO ? NULL : texel_at(im, &p) + at;
}

const struct vinsn *vop_surf(struct vx *x, const struct vinsn *in)
{
	const uint32_t *reg = x->f->frame->fn->ext + in->x;
	unsigned n = dimensions_of(in->round) + !!(in->flags & VI_LAYERED);

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		const struct vgpu_image *im = image_of(x, in, i, VX_U64(x, in->a)[i]);
		uint32_t c[4] = {0};
		bool fault;
		char *p;

		if (!im)
			return NULL;
		for (unsigned k = 0; k < n; k++)
			c[k] = VX_U32(x, reg[in->vec + k])[i];
		p = surface_at(x, in, i, im, c, &fault);
		if (fault)
			return NULL;
		for (unsigned k = 0; k < in->vec; k++, p += p ? in->size : 0) {
			void *r = in->size > 4 ? (void *)&VX_U64(x, reg[k])[i]
					       : (void *)&VX_U32(x, reg[k])[i];
			uint64_t v = 0;

			if (in->op == VT_STORE && p) {
				memcpy(p, r, in->size);
			} else if (in->op == VT_LOAD && reg[k] != VX_NONE) {
				if (p)
					memcpy(&v, p, in->size);
				memcpy(r, &v, in->size > 4 ? 8 : 4);
			}
		}
	}
	if (in->op == VT_STORE)
		x->w->progress = true;
	return in + 1;
}
