//! 64 docs, 16 cells or 8 sums an instruction.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use super::super::search::Table;
use super::{Lane, Op, SLOTS, Sheet, Slots, portable};
use crate::simd::Level;
use std::arch::x86_64::{
    __m512, __m512i, _CMP_LT_OQ, _mm_loadu_si128, _mm_mask_storeu_epi8, _mm512_add_epi32,
    _mm512_add_pd, _mm512_and_si512, _mm512_castsi512_pd, _mm512_cmp_ps_mask,
    _mm512_cmpgt_epu8_mask, _mm512_cvtepi32_epi8, _mm512_cvtepu8_epi32, _mm512_load_si512,
    _mm512_loadu_pd, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mask_add_epi8,
    _mm512_mask_add_epi32, _mm512_mask_blend_epi32, _mm512_mask_blend_ps, _mm512_maskz_loadu_ps,
    _mm512_permutex2var_epi32, _mm512_permutex2var_ps, _mm512_permutexvar_epi32,
    _mm512_permutexvar_ps, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_setr_epi32,
    _mm512_store_si512, _mm512_storeu_pd, _mm512_test_epi32_mask, _mm512_unpackhi_epi32,
    _mm512_unpacklo_epi32,
};

pub(super) fn circuit(sheet: Sheet<'_>, ops: &[Op], slots: &mut Slots) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: called only after `Level::Avx512.is_available()`, which checks the features of `run`.
    unsafe {
        match sheet.wide {
            1 => run::<1>(sheet.lanes, ops, slots),
            2 => run::<2>(sheet.lanes, ops, slots),
            3 => run::<3>(sheet.lanes, ops, slots),
            _ => run::<4>(sheet.lanes, ops, slots),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn run<const WIDE: usize>(lanes: &[Lane], ops: &[Op], slots: &mut Slots) {
    let columns = lanes.as_chunks::<WIDE>().0;
    for op in ops {
        let codes = &columns[op.column as usize];
        let threshold = _mm512_set1_epi8(op.threshold.cast_signed());
        let add = _mm512_set1_epi8(op.add.cast_signed());
        for (i, codes) in codes.iter().enumerate() {
            let is_right = _mm512_cmpgt_epu8_mask(load(codes), threshold);
            let left = load(&slots.0[op.left as usize % SLOTS][i]);
            let right = load(&slots.0[op.right as usize % SLOTS][i]);
            let chosen = _mm512_mask_add_epi8(left, is_right, right, add);
            store(&mut slots.0[op.to as usize % SLOTS][i], chosen);
        }
    }
}

#[target_feature(enable = "avx512f")]
fn load(lane: &Lane) -> __m512i {
    // SAFETY: a lane is the 64 bytes that are read, on a boundary of 64.
    unsafe { _mm512_load_si512(lane.0.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store(lane: &mut Lane, value: __m512i) {
    // SAFETY: a lane is the 64 bytes that are written, on a boundary of 64.
    unsafe { _mm512_store_si512(lane.0.as_mut_ptr().cast(), value) }
}

pub(super) fn add(leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    debug_assert!(Level::Avx512.is_available());
    // SAFETY: called only after `Level::Avx512.is_available()`, which checks the features.
    unsafe {
        match values.len() {
            32 => look_up::<1>(leaves, values, sums),
            64 => look_up::<2>(leaves, values, sums),
            _ => scalar(leaves, values, sums),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2")]
fn scalar(leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    portable::add(leaves, values, sums);
}

/// 32 values as the low and the high halves of their bits.
struct Halves {
    low: [__m512i; 2],
    high: [__m512i; 2],
}

impl Halves {
    #[target_feature(enable = "avx512f")]
    fn new(values: &[f64; 32]) -> Self {
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        // SAFETY: the four loads read all of the 32 `f64`.
        let [a, b, c, d] =
            [0, 8, 16, 24].map(|at| unsafe { _mm512_loadu_si512(values.as_ptr().add(at).cast()) });
        Self {
            low: [_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(c, even, d)],
            high: [_mm512_permutex2var_epi32(a, odd, b), _mm512_permutex2var_epi32(c, odd, d)],
        }
    }

    #[target_feature(enable = "avx512f")]
    fn low(&self, at: __m512i) -> __m512i {
        _mm512_permutex2var_epi32(self.low[0], at, self.low[1])
    }

    #[target_feature(enable = "avx512f")]
    fn high(&self, at: __m512i) -> __m512i {
        _mm512_permutex2var_epi32(self.high[0], at, self.high[1])
    }
}

/// Looks values up in registers, 32 in each of the parts.
#[target_feature(enable = "avx512f,avx512bw")]
fn look_up<const PARTS: usize>(leaves: &[Lane], values: &[f64], sums: &mut [f64]) {
    let (parts, _) = values.as_chunks::<32>();
    let first = Halves::new(&parts[0]);
    let second = Halves::new(&parts[PARTS - 1]);
    // Where the interleaving below takes its docs from, so that they come out in order.
    let order = _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    let chunks = leaves.iter().flat_map(|lane| lane.0.as_chunks::<16>().0);
    for (leaves, sums) in chunks.zip(sums.as_chunks_mut::<16>().0) {
        // SAFETY: the load reads sixteen bytes.
        let at = _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(leaves.as_ptr().cast()) });
        let at = _mm512_permutexvar_epi32(order, at);
        let (mut low, mut high) = (first.low(at), first.high(at));
        if PARTS == 2 {
            let beyond = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
            low = _mm512_mask_blend_epi32(beyond, low, second.low(at));
            high = _mm512_mask_blend_epi32(beyond, high, second.high(at));
        }
        let halves = [_mm512_unpacklo_epi32(low, high), _mm512_unpackhi_epi32(low, high)];
        for (sums, values) in sums.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
            // SAFETY: the load reads eight `f64`, and the store writes them.
            unsafe {
                let sum =
                    _mm512_add_pd(_mm512_loadu_pd(sums.as_ptr()), _mm512_castsi512_pd(values));
                _mm512_storeu_pd(sums.as_mut_ptr(), sum);
            }
        }
    }
}

pub(super) fn encode(table: &Table<f32>, cells: &[f32], codes: &mut [u8]) {
    debug_assert!(Level::Avx512.is_available());
    let codes = &mut codes[..cells.len()];
    // SAFETY: called only after `Level::Avx512.is_available()`, which checks the features.
    unsafe {
        match table.levels() {
            4 => search::<4>(table.places(), cells, codes),
            5 => search::<5>(table.places(), cells, codes),
            6 => search::<6>(table.places(), cells, codes),
            7 => search::<7>(table.places(), cells, codes),
            _ => search::<8>(table.places(), cells, codes),
        }
    }
}

/// Searches for sixteen cells at once, all levels in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
fn search<const LEVELS: u32>(places: &[f32], cells: &[f32], codes: &mut [u8]) {
    let (parts, _) = places.as_chunks::<16>();
    assert_eq!(parts.len() << 4, 1 << LEVELS, "a table of so many levels");
    // SAFETY: a part is the sixteen `f32` that are read.
    let part = |at: usize| unsafe { _mm512_loadu_ps(parts[at].as_ptr()) };
    let step = |at: __m512i, place: __m512, cell: __m512| {
        let above = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(place, cell);
        let twice = _mm512_add_epi32(at, at);
        _mm512_mask_add_epi32(twice, above, twice, _mm512_set1_epi32(1))
    };
    // Picks by five bits of a place from two parts.
    let pick = |at, first| _mm512_permutex2var_ps(part(first), at, part(first + 1));
    for (cells, codes) in cells.chunks(16).zip(codes.chunks_mut(16)) {
        let some = u16::MAX >> (16 - cells.len());
        // SAFETY: the load reads as many `f32` as there are cells.
        let cell = unsafe { _mm512_maskz_loadu_ps(some, cells.as_ptr()) };
        let mut at = _mm512_set1_epi32(1);
        for _ in 0..4 {
            at = step(at, _mm512_permutexvar_ps(at, part(0)), cell);
        }
        if LEVELS > 4 {
            at = step(at, _mm512_permutexvar_ps(at, part(1)), cell);
        }
        if LEVELS > 5 {
            at = step(at, pick(at, 2), cell);
        }
        let bit = |bit| _mm512_test_epi32_mask(at, _mm512_set1_epi32(bit));
        if LEVELS > 6 {
            at = step(at, _mm512_mask_blend_ps(bit(32), pick(at, 4), pick(at, 6)), cell);
        }
        let bit = |bit| _mm512_test_epi32_mask(at, _mm512_set1_epi32(bit));
        if LEVELS > 7 {
            let low = _mm512_mask_blend_ps(bit(32), pick(at, 8), pick(at, 10));
            let high = _mm512_mask_blend_ps(bit(32), pick(at, 12), pick(at, 14));
            at = step(at, _mm512_mask_blend_ps(bit(64), low, high), cell);
        }
        let code = _mm512_and_si512(at, _mm512_set1_epi32((1 << LEVELS) - 1));
        // SAFETY: the store writes as many bytes as there are cells.
        unsafe {
            _mm_mask_storeu_epi8(codes.as_mut_ptr().cast(), some, _mm512_cvtepi32_epi8(code));
        };
    }
}
