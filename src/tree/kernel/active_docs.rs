//! Selects the documents that are active in a sparse run.
#![expect(unsafe_code, reason = "a kernel: AVX-512 behind a run-time check")]

use crate::simd::Level;
use crate::tree::histogram::NodeDocs;

/// Extra room in the output, because whole vectors are written.
pub(crate) const ROOM: usize = 16;

/// Copies the documents that are active in a run, and their gradients, to the front of `docs` and
/// `gradients`; returns their number. Both need [`ROOM`] more than the number of documents.
///
/// # Panics
/// If there is less room.
pub(crate) fn select_active(
    level: Level,
    node_docs: NodeDocs<'_>,
    run: usize,
    docs: &mut [u32],
    gradients: &mut [u64],
) -> usize {
    let NodeDocs { docs: all, packed: of_all, active_runs } = node_docs;
    assert!(all.len() == of_all.len() && all.len() == active_runs.len(), "as many of each");
    assert!(docs.len().min(gradients.len()) >= all.len() + ROOM, "room for all");
    let (mut at, mut len) = (0, 0);
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx512 && level.is_available() {
        at = all.len() / 16 * 16;
        // SAFETY: the features are there; the lengths were checked just now.
        len = unsafe { avx512::select_active(node_docs, run, docs, gradients) };
    }
    for ((&doc, &gradient), active_runs) in all.iter().zip(of_all).zip(active_runs).skip(at) {
        // Branch-free: the next document overwrites an inactive one.
        (docs[len], gradients[len]) = (doc, gradient);
        len += (active_runs >> run & 1) as usize;
    }
    len
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::NodeDocs;
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64,
        _mm512_set1_epi32, _mm512_storeu_si512, _mm512_test_epi32_mask,
    };

    /// Selects from the documents that fill whole vectors.
    ///
    /// # Safety
    /// The three slices of `node_docs` are equally long; `docs` and `gradients` are at least sixteen
    /// longer.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
    pub(super) unsafe fn select_active(
        node_docs: NodeDocs<'_>,
        run: usize,
        docs: &mut [u32],
        gradients: &mut [u64],
    ) -> usize {
        let bit = _mm512_set1_epi32(1 << run);
        let mut len = 0;
        for at in (0..node_docs.docs.len() / 16 * 16).step_by(16) {
            // SAFETY: sixteen of each are there from `at` on.
            let (active_runs, all, low, high) = unsafe {
                let gradients = node_docs.packed.as_ptr().add(at);
                (
                    _mm512_loadu_si512(node_docs.active_runs.as_ptr().add(at).cast()),
                    _mm512_loadu_si512(node_docs.docs.as_ptr().add(at).cast()),
                    _mm512_loadu_si512(gradients.cast()),
                    _mm512_loadu_si512(gradients.add(8).cast()),
                )
            };
            let goes = _mm512_test_epi32_mask(active_runs, bit);
            let of_low = (goes & 0xff).count_ones() as usize;
            // SAFETY: `len <= at`, and there is room for sixteen after the last doc: for those from
            // `len` on, and for eight from at most eight after it.
            unsafe {
                let docs = docs.as_mut_ptr().add(len);
                _mm512_storeu_si512(docs.cast(), _mm512_maskz_compress_epi32(goes, all));
                let gradients = gradients.as_mut_ptr().add(len);
                let low = _mm512_maskz_compress_epi64(goes as u8, low);
                _mm512_storeu_si512(gradients.cast(), low);
                let high = _mm512_maskz_compress_epi64((goes >> 8) as u8, high);
                _mm512_storeu_si512(gradients.add(of_low).cast(), high);
            }
            len += goes.count_ones() as usize;
        }
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::draw;

    #[test]
    fn the_loud_are_picked_at_every_level() {
        for len in [0, 1, 15, 16, 17, 100, 512] {
            for run in [0, 7, 31] {
                let docs: Vec<u32> = (0..len).map(|i| 3 * i).collect();
                let gradients: Vec<u64> = docs.iter().map(|&doc| draw(1, 1, doc.into())).collect();
                let active_runs: Vec<u32> =
                    docs.iter().map(|&doc| draw(2, 2, doc.into()) as u32).collect();
                let node_docs =
                    NodeDocs { docs: &docs, packed: &gradients, active_runs: &active_runs };
                let is_active = |i: &usize| active_runs[*i] >> run & 1 == 1;
                let expected: Vec<_> = (0..docs.len()).filter(is_active).collect();
                for level in Level::available() {
                    let (mut to, mut of) = ([9; 512 + ROOM], [9; 512 + ROOM]);
                    let found = select_active(level, node_docs, run, &mut to, &mut of);
                    let pairs = to.into_iter().zip(of).take(found);
                    assert!(pairs.eq(expected.iter().map(|&i| (docs[i], gradients[i]))));
                    assert_eq!(found, expected.len());
                }
            }
        }
    }
}
