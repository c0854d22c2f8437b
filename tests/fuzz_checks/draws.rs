//! Choices that are drawn from the bytes of an input.

use rustrank::hash;

/// Draws from bytes, in order; when they have ended, from their hash, so that a few bytes make a large input.
pub(crate) struct Draws<'a> {
    bytes: &'a [u8],
    state: u64,
}

impl<'a> Draws<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, state: hash::bytes(bytes) }
    }

    fn byte(&mut self) -> u8 {
        if let Some((&first, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            return first;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash::mix(self.state) as u8
    }

    /// The bytes that nothing was drawn from.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A number below `n`, which is not 0; from as few bytes as that takes.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let mut drawn = usize::from(self.byte());
        if n > 256 {
            drawn |= usize::from(self.byte()) << 8;
        }
        drawn % n
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of some values.
    pub(crate) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// A finite number of any size, often a small one.
    pub(crate) fn finite(&mut self) -> f64 {
        match self.below(8) {
            0 => {
                let value = f64::from_bits(self.word());
                if value.is_finite() { value } else { 0.0 }
            }
            1 => self.one_of(&[0.0, -0.0, 1e300, -1e300, 5e-324, 1e-35, -1e-40, 3.4e38]),
            _ => f64::from(self.byte().cast_signed()) / 8.0,
        }
    }
}
