//! `LambdaRank` and `RankNet`: gradients from pairs of docs with different labels.
//!
//! For a pair of which the label of i is the larger (Burges, Ragno, Le 2006; Wu et al. 2010):
//!
//! `rho = 1 / (1 + exp(sigma (s_i - s_j)))`, `lambda = sigma |delta| rho`,
//! `grad_i -= lambda`, `grad_j += lambda`, and `sigma² |delta| rho (1 - rho)` to `hess` of both,
//!
//! where delta is what the exchange of the two docs changes the metric by; `RankNet` has 1 in its
//! place (Burges et al. 2005). Pairs count if one of the two ranks is at most `pairs_to`.
//!
//! Cost: `O(n log n + n pairs_to / 16)` a query and copy of noise.

use super::kernel::Kernels;
use super::options::LambdaOptions;
use super::weight::Rule;
use super::{Objective, State, Target, pairwise};
use crate::error::Result;
use crate::gradient::Gradient;
use crate::interrupt::Interrupt;
use crate::metric::Convention;
use crate::simd::Level;

/// Pairs weighted by the change of a metric.
#[derive(Debug, Clone)]
pub struct LambdaRank {
    options: LambdaOptions,
    level: Level,
}

impl LambdaRank {
    /// The objective, if the options are in range.
    pub fn new(options: LambdaOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { options, level: Level::best() })
    }

    /// With the kernels of a level that may not be the best; the gradients are the same bits.
    #[must_use]
    pub fn at_level(self, level: Level) -> Self {
        Self { level, ..self }
    }
}

impl Objective for LambdaRank {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let rule = Rule::of(self.options.metric.measure());
        let how = (&self.options, rule, Kernels::new(self.level));
        pairwise::gradients(how, (target, &state), gradients, interrupt)
    }

    fn of_part(&self, max_label: f32, _words: &[u64]) -> Option<Box<dyn Objective>> {
        let metric = &self.options.metric;
        let convention = metric.convention().clone();
        let max_label = convention.max_label.or(Some(max_label));
        let metric = metric.with_convention(&Convention { max_label, ..convention }).ok()?;
        Some(Box::new(Self { options: LambdaOptions { metric, ..self.options.clone() }, ..*self }))
    }

    fn needs_pairs(&self) -> bool {
        true
    }
}

/// Pairs that all weigh the same. The metric and its cut play no part; `pairs_to` and noise do.
#[derive(Debug, Clone)]
pub struct RankNet {
    options: LambdaOptions,
    level: Level,
}

impl RankNet {
    /// The objective, if the options are in range.
    pub fn new(options: LambdaOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { options, level: Level::best() })
    }

    /// With the kernels of a level that may not be the best; the gradients are the same bits.
    #[must_use]
    pub fn at_level(self, level: Level) -> Self {
        Self { level, ..self }
    }
}

impl Objective for RankNet {
    fn gradients(
        &self,
        target: &Target<'_>,
        state: State<'_>,
        gradients: &mut [Gradient],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let how = (&self.options, Rule::One, Kernels::new(self.level));
        pairwise::gradients(how, (target, &state), gradients, interrupt)
    }

    fn needs_pairs(&self) -> bool {
        true
    }
}
