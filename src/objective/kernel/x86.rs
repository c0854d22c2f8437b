//! The loops compiled for x86 levels.
#![expect(unsafe_code, reason = "a kernel: features behind a run-time check")]

use super::{Pairs, math, pairs as loops};
use crate::simd::Level;

macro_rules! compiled_for {
    ($name:ident, $level:expr, $features:literal) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn pairs<const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
                #[target_feature(enable = $features)]
                fn run<const SHAPE: usize>(pairs: &mut Pairs<'_>) -> f32 {
                    loops::run::<SHAPE>(pairs)
                }
                debug_assert!($level.is_available());
                // SAFETY: `Kernels::new` takes a level only if it `is_available`, which checks the
                // features that `run` is compiled for.
                unsafe { run::<SHAPE>(pairs) }
            }

            pub(in super::super) fn exps(sigma: f32, scores: &[f32], exps: &mut [f32]) {
                #[target_feature(enable = $features)]
                fn run(sigma: f32, scores: &[f32], exps: &mut [f32]) {
                    math::exps(sigma, scores, exps);
                }
                debug_assert!($level.is_available());
                // SAFETY: as in `pairs`.
                unsafe { run(sigma, scores, exps) }
            }

            pub(in super::super) fn perturb(
                noise: (f32, u64),
                docs: (&[u64], &[f32]),
                perturbed: &mut [f32],
            ) {
                #[target_feature(enable = $features)]
                fn run(noise: (f32, u64), docs: (&[u64], &[f32]), perturbed: &mut [f32]) {
                    math::perturb(noise, docs, perturbed);
                }
                debug_assert!($level.is_available());
                // SAFETY: as in `pairs`.
                unsafe { run(noise, docs, perturbed) }
            }

            pub(in super::super) fn ranks(scores: &[f32], ranks: &mut [u32]) {
                #[target_feature(enable = $features)]
                fn run(scores: &[f32], ranks: &mut [u32]) {
                    math::ranks(scores, ranks);
                }
                debug_assert!($level.is_available());
                // SAFETY: as in `pairs`.
                unsafe { run(scores, ranks) }
            }
        }
    };
}

compiled_for!(avx2, Level::Avx2, "avx2,bmi1,bmi2,popcnt");
compiled_for!(avx512, Level::Avx512, "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt");
