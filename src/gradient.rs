//! The gradient and hessian of a document, computed by an objective.

/// The first and second derivative of the loss with respect to the score of one document.
///
/// A document whose score should rise has a negative `grad`; `hess` is never negative.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gradient {
    /// dLoss / dscore.
    pub grad: f32,
    /// d²Loss / dscore², or a bound on it.
    pub hess: f32,
}

impl Gradient {
    /// Whether both are finite.
    #[inline]
    pub(crate) fn is_finite(self) -> bool {
        self.grad.is_finite() & self.hess.is_finite()
    }
}
