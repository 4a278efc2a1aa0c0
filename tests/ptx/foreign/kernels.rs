// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The heddle authors
//
// Kernels in Rust without its libraries, which nobody ships for this target: lang items are declared here.
#![feature(no_core, lang_items, intrinsics, abi_ptx, rustc_attrs, arbitrary_self_types, link_llvm_intrinsics)]
#![no_core]
#![crate_type = "lib"]
#![allow(internal_features, dead_code)]

#[lang = "pointee_sized"]
trait PointeeSized {}
#[lang = "meta_sized"]
trait MetaSized: PointeeSized {}
#[lang = "sized"]
trait Sized: MetaSized {}
#[lang = "copy"]
trait Copy {}
impl Copy for u32 {}
impl Copy for i32 {}
impl Copy for u64 {}
impl Copy for f32 {}
impl Copy for bool {}
impl<T: PointeeSized> Copy for *mut T {}
impl<T: PointeeSized> Copy for *const T {}

macro_rules! operator {
    ($item:literal $name:ident $fn:ident $op:tt $($t:ty)*) => {
        #[lang = $item]
        trait $name<R = Self> { type Output; fn $fn(self, r: R) -> Self::Output; }
        $(impl $name for $t { type Output = $t; #[inline(always)] fn $fn(self, r: $t) -> $t { self $op r } })*
    };
}
operator!("add" Add add + u32 i32 u64 f32);
operator!("sub" Sub sub - u32 i32 u64 f32);
operator!("mul" Mul mul * u32 i32 u64 f32);
operator!("bitand" BitAnd bitand & u32 u64);
operator!("bitxor" BitXor bitxor ^ u32 u64);

#[lang = "eq"]
trait PartialEq<R: PointeeSized = Self> { fn eq(&self, r: &R) -> bool; fn ne(&self, r: &R) -> bool; }
#[lang = "partial_ord"]
trait PartialOrd<R: PointeeSized = Self> { fn lt(&self, r: &R) -> bool; fn le(&self, r: &R) -> bool; fn gt(&self, r: &R) -> bool; fn ge(&self, r: &R) -> bool; }
macro_rules! compare { ($($t:ty)*) => { $(
    impl PartialEq for $t { #[inline(always)] fn eq(&self, r: &$t) -> bool { *self == *r } #[inline(always)] fn ne(&self, r: &$t) -> bool { *self != *r } }
    impl PartialOrd for $t { #[inline(always)] fn lt(&self, r: &$t) -> bool { *self < *r } #[inline(always)] fn le(&self, r: &$t) -> bool { *self <= *r }
        #[inline(always)] fn gt(&self, r: &$t) -> bool { *self > *r } #[inline(always)] fn ge(&self, r: &$t) -> bool { *self >= *r } }
)* } }
compare!(u32 i32 u64 f32);

#[rustc_intrinsic]
const unsafe fn arith_offset<T>(p: *const T, n: isize) -> *const T;

#[inline(always)]
unsafe fn at(p: *mut f32, i: u32) -> *mut f32 { arith_offset(p as *const f32, i as isize) as *mut f32 }

extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    fn tid() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    fn ctaid() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    fn ntid() -> i32;
}

#[inline(always)]
unsafe fn index() -> u32 { (ctaid() * ntid() + tid()) as u32 }

#[no_mangle]
pub unsafe extern "ptx-kernel" fn add(x: *mut f32, y: *mut f32, n: u32) {
    let i = index();
    if i < n { *at(y, i) = *at(x, i) + *at(y, i); }
}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn power(x: *mut f32, y: *mut f32, n: u32) {
    let i = index();
    if i < n {
        let v = *at(x, i);
        let mut r: f32 = 1.0;
        let mut k: u32 = 0;
        while k < n { r = r * v; k = k + 1; }
        *at(y, i) = r;
    }
}

#[inline(never)]
fn mixed(mut h: u32, n: u32) -> u32 {
    let mut k: u32 = 0;
    while k < n { h = (h ^ k) * 16777619; k = k + 1; }
    h
}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn hash(x: *mut f32, y: *mut f32, n: u32) {
    let i = index();
    *at(y, i) = (mixed(i, n) & 1023) as f32 * *at(x, i);
}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn walk(x: *mut f32, y: *mut f32, n: u32) {
    let mut i = index();
    while i < n {
        if *at(x, i) < 0.0 { *at(y, i) = 0.0; } else if *at(x, i) > 1.0 { *at(y, i) = 1.0; }
        i = i + ntid() as u32;
    }
}
