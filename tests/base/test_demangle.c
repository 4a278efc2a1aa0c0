/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the demangling of kernels' names. */
#include "base/demangle.h"
#include "unit.h"

#include <string.h>

static void need_libstdcxx(void)
{
	struct strbuf b = {0};
	bool is = demangle("_Z1fv", &b);

	strbuf_finish(&b);
	if (!is)
		skip();
}

static void names(void **state)
{
	static const struct {
		const char *symbol, *name;
	} rows[] = {
		{"_Z6vecaddPKfS0_Pfi", "vecadd(float const*, float const*, float*, int)"},
		{"_Z5emptyv", "empty()"},
		{"_Z5scaleIfLi4EEvPT_i", "scale<float, 4>(float*, int)"},
		{"_ZN2ns5inner5scaleIfLi4EEEvPT_i", "ns::inner::scale<float, 4>(float*, int)"},
		{"_ZN12_GLOBAL__N_14kernEPA4_f", "(anonymous namespace)::kern(float (*) [4])"},
		{"_Z1fPFviE", "f(void (*)(int))"},
		{"_Z3fooRSt6vectorIiSaIiEE", "foo(std::vector<int, std::allocator<int> >&)"},
		{"_ZN3cub6DeviceI3PtxIiEE3runEv", "cub::Device<Ptx<int> >::run()"},
		{"_Z6launchIZ4mainEUlfE_EvT_",
			"launch<main::{lambda(float)#1}>(main::{lambda(float)#1})"},
		{"_Z3barIJifdEEvDpT_", "bar<int, float, double>(int, float, double)"},
		{"_Z1gILb1ELj3ELm7ELin5EEvv", "g<true, 3u, 7ul, -5>()"},
		{"_Z9transformI5PlusTIfEEvPKT_PS2_iS1_",
			"transform<PlusT<float> >(PlusT<float> const*, PlusT<float>*, int, "
			"PlusT<float>)"},
		{"_Z1hN2ns1SENS_1TE", "h(ns::S, ns::T)"},
		{"_Z1kP7double2S0_PKS_", "k(double2*, double2*, double2 const*)"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15abs_kernel_cudaERNS_"
		 "18TensorIteratorBaseEENKUlvE_clEvENKUlvE0_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
			"at::native::vectorized_elementwise_kernel<4, "
			"at::native::abs_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::"
			"operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, "
			"std::array<char*, 2ul> >(int, "
			"at::native::abs_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::"
			"operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, "
			"std::array<char*, 2ul>)"},
	};

	(void)state;
	need_libstdcxx();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = {0};

		assert_true(demangle(rows[i].symbol, &b));
		assert_string_equal(b.at, rows[i].name);
		strbuf_finish(&b);
	}
}

/* Tests the short names that messages show, also for symbols that were truncated to 63 bytes. */
static void names_for_people(void **state)
{
	static const struct {
		const char *symbol, *name;
	} rows[] = {
		{"vecadd", "vecadd"},
		{"", ""},
		{"_Z", "_Z"},
		{"_Z6vecaddPKfS0_Pfi", "vecadd(float const*, float const*, float*, int)"},
		{"_Z6vecaddPKfS0_Pf?", "vecadd(...)"},
		{"_Z5scaleIfLi4EEvPT_?", "scale<...>"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15abs_kernel",
			"at::native::vectorized_elementwise_kernel<...>"},
		{"_ZN12_GLOBAL__N_14kernEPA4_?", "(anonymous namespace)::kern(...)"},
		{"_ZN3cub10DeviceScanE?", "cub::DeviceScan(...)"},
		{"_ZN3cub23a_name_that_is_cut_sh", "cub::..."},
		{"_ZSt4copyIPi?", "std::copy<...>"},
		{"_Z99999999999999999999999a", "_Z99999999999999999999999a"},
	};
	char buf[200];

	(void)state;
	need_libstdcxx();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(demangle_name(rows[i].symbol, buf, sizeof(buf)), rows[i].name);
	assert_string_equal(demangle_name("_Z6vecaddPKfS0_Pfi", buf, 10), "vecadd(fl");
}

static void no_names(void **state)
{
	static const char *const rows[] = {"", "i", "vecadd", "_Z", "_Z5ab", "_Z1fS_", "_Z1fILiE",
		"_Z99999999999999999999999a"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = {0};

		assert_false(demangle(rows[i], &b));
		assert_int_equal(b.len, 0);
	}
}

/* Each argument's name is twice as long as the one before, so the last ones would fill any
 * memory. */
static void too_long(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct strbuf short_tail = {0}, long_tail = {0}, b = {0};
	char name[32];

	(void)state;
	strbuf_puts(&short_tail, "_Z1f1aIS_S_E");
	for (unsigned i = 0; i < 34; i += 2)
		strbuf_printf(&short_tail, "1aIS%c_S%c_E", digits[i], digits[i]);
	/* The same, but the substitutions start at S10_, after names to which nothing refers. */
	strbuf_puts(&long_tail, "_Z1f");
	for (unsigned i = 0; i < 40; i++)
		strbuf_printf(&long_tail, "2x%c", i < 26 ? 'a' + (int)i : 'A' + (int)i - 26);
	for (unsigned i = 0; i < 34; i += 2)
		strbuf_printf(&long_tail, "1aIS1%c_S1%c_E", digits[i], digits[i]);
	assert_false(demangle(short_tail.at, &b));
	assert_false(demangle(long_tail.at, &b));
	assert_int_equal(b.len, 0);
	assert_string_equal(demangle_name(short_tail.at, name, sizeof(name)), "f(...)");
	strbuf_finish(&short_tail);
	strbuf_finish(&long_tail);
}

static void matches(void **state)
{
	static const char *const scale = "_ZN2ns5inner5scaleIfLi4EEEvPT_i";
	static const struct {
		const char *wanted;
		bool is;
	} rows[] = {
		{"_ZN2ns5inner5scaleIfLi4EEEvPT_i", true},
		{"scale", true},
		{"inner::scale", true},
		{"ns::inner::scale", true},
		{"scale<float,4>", true},
		{"scale(float*, int)", true},
		{"inner::scale<float, 4>( float * , int )", true},
		{"", false},
		{"cale", false},
		{"ns", false},
		{"ns::scale", false},
		{"scale<float>", false},
		{"scale(float*)", false},
		{"scale<float, 4>(int)", false},
		{"(float*, int)", false},
	};

	(void)state;
	need_libstdcxx();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(demangle_matches(scale, rows[i].wanted), rows[i].is);
	assert_true(demangle_matches("plain", "plain"));
	assert_false(demangle_matches("plain", "plai"));
	/* A "::" within arguments does not end a name. */
	assert_false(demangle_matches("_Z1fIN2ns1SEEvT_", "S>"));
	assert_true(demangle_matches("_ZN12_GLOBAL__N_14kernEPA4_f", "kern(float (*) [4])"));
}

/* A truncated symbol still matches the names at its beginning. */
static void matches_beginning(void **state)
{
	static const char *const cut = "_ZN2ns5scaleIfLi4E";

	(void)state;
	assert_true(demangle_matches(cut, "scale"));
	assert_true(demangle_matches(cut, "ns::scale"));
	assert_false(demangle_matches(cut, "ns"));
	assert_false(demangle_matches(cut, "scale<float>"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(names_for_people),
		cmocka_unit_test(no_names),
		cmocka_unit_test(too_long),
		cmocka_unit_test(matches),
		cmocka_unit_test(matches_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
