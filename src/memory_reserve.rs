//! A global allocator with a reserve, so that a process at the limit of its memory gets an error and is not ended.
//!
//! Rust ends the process where memory cannot be had. With this allocator the reserve is given back to the system
//! first, and the allocation is tried again; all work then ends at its next [`Interrupt::check`](crate::Interrupt)
//! with an [`ErrorKind::Resource`](crate::ErrorKind). What is larger than the reserve is allocated fallibly, or
//! asked for beforehand.
//!
//! The Python extension has it. A program that embeds the crate may:
//!
//! ```
//! use rustrank::MemoryReserve;
//!
//! #[global_allocator]
//! static ALLOCATOR: MemoryReserve = MemoryReserve::of_system();
//!
//! # fn main() -> rustrank::Result<()> {
//! // Once at the start, and after each piece of work, to have the reserve again.
//! MemoryReserve::fill()?;
//! # Ok(())
//! # }
//! ```
#![expect(unsafe_code, reason = "an allocator")]

use crate::error::{Error, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The size of the reserve: what ends a piece of work may need so much.
const BYTES: usize = 32 << 20;
const LAYOUT: Layout = match Layout::from_size_align(BYTES, 16) {
    Ok(layout) => layout,
    Err(_) => panic!(),
};

/// The reserve; null before it is filled and once it was given back.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// Whether it was given back, and not filled since.
static IS_SPENT: AtomicBool = AtomicBool::new(false);

/// Another allocator, with a reserve for when it has no more memory.
#[derive(Debug)]
pub struct MemoryReserve<A = System>(A);

impl MemoryReserve {
    /// The system's allocator with a reserve.
    pub const fn of_system() -> Self {
        Self(System)
    }

    /// Fills the reserve, if it is not full; an error if there is not so much memory.
    ///
    /// Only for programs whose global allocator is a `MemoryReserve`.
    pub fn fill() -> Result<()> {
        if !RESERVE.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        // SAFETY: the size of the layout is not 0.
        let made = unsafe { std::alloc::alloc(LAYOUT) };
        if made.is_null() {
            return Err(Error::out_of_memory());
        }
        let none = ptr::null_mut();
        if RESERVE.compare_exchange(none, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // Another thread was first.
            // SAFETY: it was allocated above with this layout, and nobody else knows it.
            unsafe { std::alloc::dealloc(made, LAYOUT) };
        }
        IS_SPENT.store(false, Ordering::Release);
        Ok(())
    }
}

impl<A: GlobalAlloc> MemoryReserve<A> {
    /// That allocator with a reserve.
    pub const fn new(allocator: A) -> Self {
        Self(allocator)
    }

    /// Gives the reserve back and allocates again; null if there is no reserve, or it would not do.
    fn again(&self, bytes: usize, allocate: impl Fn(&A) -> *mut u8) -> *mut u8 {
        if bytes >= BYTES {
            return ptr::null_mut();
        }
        let reserve = RESERVE.swap(ptr::null_mut(), Ordering::AcqRel);
        if !reserve.is_null() {
            IS_SPENT.store(true, Ordering::Release);
            // SAFETY: `fill` allocated it with this layout by this allocator, and only one thread can
            // have swapped it out.
            unsafe { self.0.dealloc(reserve, LAYOUT) };
        }
        // Without a reserve too: another thread may just have given it back.
        allocate(&self.0)
    }
}

/// Returns an error if the reserve was given back: work should end.
pub(crate) fn check() -> Result<()> {
    if IS_SPENT.load(Ordering::Relaxed) { Err(Error::out_of_memory()) } else { Ok(()) }
}

// SAFETY: every call is passed on to the other allocator as it came, perhaps twice if it returned null.
unsafe impl<A: GlobalAlloc> GlobalAlloc for MemoryReserve<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let allocate = |allocator: &A| unsafe { allocator.alloc(layout) };
        let made = allocate(&self.0);
        if made.is_null() { self.again(layout.size(), allocate) } else { made }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let allocate = |allocator: &A| unsafe { allocator.alloc_zeroed(layout) };
        let made = allocate(&self.0);
        if made.is_null() { self.again(layout.size(), allocate) } else { made }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises; where it returns null, the old block is as it was.
        let allocate = |allocator: &A| unsafe { allocator.realloc(old, layout, size) };
        let made = allocate(&self.0);
        if made.is_null() { self.again(size, allocate) } else { made }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(block, layout) }
    }
}
