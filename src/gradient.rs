//! What an objective says of a doc and a tree is grown from.

/// The first and second derivative of the loss by the score of one doc.
///
/// A doc whose score should rise has a negative `grad`; `hess` is never negative.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gradient {
    /// dLoss / dscore.
    pub grad: f32,
    /// d²Loss / dscore², or a bound on it.
    pub hess: f32,
}
