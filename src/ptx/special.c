/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The names of the special registers. Each distinct name of a module is looked up once. */
#include "ptx/special.h"

#include <stdbool.h>
#include <string.h>

#define TRIPLE(name, sr)                                                           \
	{"%" name ".x", sr##_X}, {"%" name ".y", sr##_Y}, {"%" name ".z", sr##_Z}, \
	{                                                                          \
		"%" name, sr                                                       \
	}

static const struct {
	const char *name;
	enum ptx_special sr;
} exact[] = {TRIPLE("tid", PTX_SR_TID), TRIPLE("ntid", PTX_SR_NTID), TRIPLE("ctaid", PTX_SR_CTAID),
	TRIPLE("nctaid", PTX_SR_NCTAID), {"%laneid", PTX_SR_LANEID}, {"%warpid", PTX_SR_WARPID},
	{"%nwarpid", PTX_SR_NWARPID}, {"%smid", PTX_SR_SMID}, {"%nsmid", PTX_SR_NSMID},
	{"%gridid", PTX_SR_GRIDID}, {"%clock", PTX_SR_CLOCK}, {"%clock_hi", PTX_SR_CLOCK_HI},
	{"%clock64", PTX_SR_CLOCK64}, {"%globaltimer", PTX_SR_GLOBALTIMER},
	{"%globaltimer_lo", PTX_SR_GLOBALTIMER_LO}, {"%globaltimer_hi", PTX_SR_GLOBALTIMER_HI},
	{"%lanemask_eq", PTX_SR_LANEMASK_EQ}, {"%lanemask_lt", PTX_SR_LANEMASK_LT},
	{"%lanemask_le", PTX_SR_LANEMASK_LE}, {"%lanemask_gt", PTX_SR_LANEMASK_GT},
	{"%lanemask_ge", PTX_SR_LANEMASK_GE}, {"%dynamic_smem_size", PTX_SR_DYNAMIC_SMEM},
	{"%total_smem_size", PTX_SR_TOTAL_SMEM}, {"%aggr_smem_size", PTX_SR_AGGR_SMEM},
	{"%reserved_smem_offset_begin", PTX_SR_RESERVED_SMEM},
	{"%reserved_smem_offset_end", PTX_SR_RESERVED_SMEM},
	{"%reserved_smem_offset_cap", PTX_SR_RESERVED_SMEM}, {"%tid.w", PTX_SR_OTHER},
	{"%ntid.w", PTX_SR_OTHER}, {"%ctaid.w", PTX_SR_OTHER}, {"%nctaid.w", PTX_SR_OTHER}};

/* Register families: digits or a component (".x") can follow the name. The families in `numbered`
 * have their own enum values; those in `other` are all PTX_SR_OTHER, because no pass needs to
 * distinguish them. */
static const struct {
	const char *name;
	enum ptx_special sr;
} numbered[] = {{"%envreg", PTX_SR_ENVREG}, {"%reserved_smem_offset_", PTX_SR_RESERVED_SMEM}};

static const char *const other[] = {"%is_explicit_cluster", "%clusterid", "%nclusterid",
	"%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank", "%cluster_nctarank", "%pm",
	"%current_graph_exec"};

static bool is_suffix(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len && s[i] >= '0' && s[i] <= '9')
		i++;
	if (len - i == 3 && !memcmp(s + i, "_64", 3))
		return i > 0;
	if (len - i == 2 && s[i] == '.')
		return s[i + 1] >= 'w' && s[i + 1] <= 'z';
	return i == len;
}

enum ptx_special ptx_special_from_name(const char *name, size_t len)
{
	size_t n;

	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		if (strlen(exact[i].name) == len && !memcmp(exact[i].name, name, len))
			return exact[i].sr;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		n = strlen(numbered[i].name);
		if (len > n && !memcmp(name, numbered[i].name, n) && is_suffix(name + n, len - n))
			return numbered[i].sr;
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		n = strlen(other[i]);
		if (len >= n && !memcmp(name, other[i], n) && is_suffix(name + n, len - n))
			return PTX_SR_OTHER;
	}
	return PTX_SR_UNKNOWN;
}
