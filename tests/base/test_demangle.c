/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Names of kernels as compilers mangle them. What they stand for is what binutils' c++filt says of
 * the same symbols, without the type that a template returns. */
#include "base/demangle.h"
#include "unit.h"

#include <string.h>

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
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = {0};

		assert_true(demangle(rows[i].symbol, &b));
		assert_string_equal(b.at, rows[i].name);
		strbuf_finish(&b);
	}
}

/* Names for people: of symbols that were cut to 63 bytes, too. */
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
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(demangle_name(rows[i].symbol, buf, sizeof(buf)), rows[i].name);
	assert_string_equal(demangle_name("_Z6vecaddPKfS0_Pfi", buf, 10), "vecadd(fl");
}

static void no_names(void **state)
{
	static const char *const rows[] = {"", "vecadd", "_Z", "_Z5ab", "_Z1fS_", "_Z1fPT_",
		"_Z1fv.1", "_Z1fILiE", "_ZN1aC1Ev", "_Z99999999999999999999999a"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = {0};

		assert_false(demangle(rows[i], &b));
		assert_int_equal(b.len, 0);
	}
}

/* A name of 2 MB, for each argument is twice the one before, and one with too many parts. */
static void too_large(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct strbuf doubling = {0}, many = {0}, b = {0};

	(void)state;
	strbuf_puts(&doubling, "_Z1f1aIS_S_E");
	for (unsigned i = 0; i < 32; i += 2)
		strbuf_printf(&doubling, "1aIS%c_S%c_E", digits[i], digits[i]);
	strbuf_puts(&many, "_Z1f");
	for (unsigned i = 0; i < 300; i++)
		strbuf_puts(&many, "Pi");
	assert_false(demangle(doubling.at, &b));
	assert_false(demangle(many.at, &b));
	assert_int_equal(b.len, 0);
	strbuf_finish(&doubling);
	strbuf_finish(&many);
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
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(demangle_matches(scale, rows[i].wanted), rows[i].is);
	assert_true(demangle_matches("plain", "plain"));
	assert_false(demangle_matches("plain", "plai"));
	/* A "::" within arguments is no end of a name. */
	assert_false(demangle_matches("_Z1fIN2ns1SEEvT_", "S>"));
	assert_true(demangle_matches("_ZN12_GLOBAL__N_14kernEPA4_f", "kern(float (*) [4])"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(names_for_people),
		cmocka_unit_test(no_names),
		cmocka_unit_test(too_large),
		cmocka_unit_test(matches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
