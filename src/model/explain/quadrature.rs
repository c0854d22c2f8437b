//! Gauss's quadrature: integrals from 0 to 1 of polynomials, exactly.

/// The points and weights for polynomials of every degree up to some.
#[derive(Debug, Default)]
pub(super) struct Quadrature {
    /// By the number of points, from one on.
    rules: Vec<Vec<(f64, f64)>>,
}

impl Quadrature {
    /// For products of up to `factors - 1` linear factors.
    pub(super) fn up_to(factors: usize) -> Self {
        Self { rules: (1..=factors.div_ceil(2)).map(rule).collect() }
    }

    /// Points and weights for products of `factors - 1` linear factors; `factors` is at least 1.
    pub(super) fn rule(&self, factors: usize) -> &[(f64, f64)] {
        &self.rules[factors.div_ceil(2) - 1]
    }
}

/// The rule of `count` points, exact up to degree `2 * count - 1`: the roots of Legendre's
/// polynomial, by Newton's method, from -1..1 to 0..1.
pub(super) fn rule(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    let point = |i: usize| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..100 {
            let (value, before) = legendre(count, x);
            slope = n * (before - x * value) / (1.0 - x * x);
            let step = value / slope;
            x -= step;
            if step.abs() <= 1e-16 {
                break;
            }
        }
        (f64::midpoint(1.0, x), 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..count).map(point).collect()
}

/// Legendre's polynomials of degrees `n` and `n - 1`.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut value, mut before) = (1.0, 0.0);
    for k in 1..=n {
        let k = k as f64;
        (value, before) = (((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k, value);
    }
    (value, before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_integrated_to_the_last_bits() {
        for count in [1i32, 2, 3, 5, 8, 20, 100, 512] {
            let rule = rule(count as usize);
            for power in [0, 1, 2, 3, 7, 2 * count - 1].into_iter().filter(|p| *p < 2 * count) {
                let sum: f64 = rule.iter().map(|(t, weight)| weight * t.powi(power)).sum();
                let exact = 1.0 / f64::from(power + 1);
                assert!((sum - exact).abs() < 1e-13, "{count} points, power {power}: {sum}");
            }
        }
    }
}
