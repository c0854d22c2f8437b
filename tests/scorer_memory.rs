//! A warm scorer allocates nothing.

// The Python extension has an allocator of its own.
#![cfg(not(feature = "python"))]
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(unsafe_code, reason = "an allocator that counts")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::{native, nets, rich};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_call_allocates_nothing() {
    for model in [native(1, 5, &[31; 40]), rich(1), nets(1, 5)] {
        let scorer = model.scorer();
        let values: Vec<f32> = (0..5 * 700).map(|i| (i % 17) as f32 - 8.0).collect();
        let wide: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
        let mut scores = vec![0.0; 700];
        let mut all = |count: usize| {
            scorer.score(&values[..5 * count], &mut scores[..count]).unwrap();
            scorer.score(&wide[..5 * count], &mut scores[..count]).unwrap();
        };
        [700, 1].into_iter().for_each(&mut all);
        let before = COUNT.get();
        [1, 5, 8, 9, 64, 65, 300, 700].into_iter().for_each(&mut all);
        assert_eq!(COUNT.get(), before);
    }
}
