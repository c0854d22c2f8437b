//! A model as a part of another.
//!
//! ```text
//! inner       = "model" LF model                     ; at most eight deep, the outermost counted
//! ```

use super::{ModelPart, ScoreTerms};
use crate::error::Result;
use crate::model::Model;
use crate::model::binned::ForestScorer;
use crate::model::composite::no_ranks;
use crate::model::read::{Around, ModelLine, ModelReader};
use crate::model::scorer::ScorerBuilder;
use crate::model::write;

impl ModelPart for Model {
    fn noun(&self) -> &'static str {
        "a model"
    }

    fn read(reader: &mut ModelReader<'_>, line: ModelLine<'_>, around: Around) -> Result<Self> {
        let depth = line.deeper(around)?;
        line.end()?;
        reader.model(depth)
    }

    fn write(&self, text: &mut String) {
        text.push_str("model\n");
        write::model(text, self);
    }

    fn check(&self, model: &Model) -> Result<()> {
        // Without ranks around it, it computes them itself.
        let ranks = model.ranks_features();
        let features = if ranks { self.num_features() } else { self.num_raw_features() };
        model.check_features(features)?;
        if ranks && !self.ranks_features() { Err(no_ranks()) } else { Ok(()) }
    }

    fn build<'a>(&'a self, scorer: &mut ScorerBuilder<'a>) {
        scorer.model(self);
    }

    fn terms(&self) -> Option<ScoreTerms<'_>> {
        Some(ScoreTerms::Model(self))
    }

    fn add_binned<'a>(
        &'a self,
        forests: &mut dyn ForestScorer<'a>,
        sums: &mut [f64],
    ) -> Result<()> {
        Model::add_binned(self, forests, sums)
    }

    fn inner(&self) -> Option<&Model> {
        Some(self)
    }
}
