//! A model as a part of another.
//!
//! ```text
//! inner       = "model" LF model                     ; at most eight deep, the outermost counted
//! ```

use super::{ModelPart, NoSum, Term};
use crate::error::Result;
use crate::model::binned::AddForest;
use crate::model::composite::no_ranks;
use crate::model::read::{ModelLine, ModelReader};
use crate::model::scorer::ScorerBuilder;
use crate::model::write;
use crate::model::{Model, Normalisation};

impl ModelPart for Model {
    fn read(reader: &mut ModelReader<'_>, mut line: ModelLine<'_>) -> Result<Self> {
        line.end()?;
        reader.model()
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

    fn add_terms<'a>(&'a self, weight: f64, terms: &mut Vec<Term<'a>>) -> Result<(), NoSum> {
        terms.push(Term::Constant(weight * self.intercept()));
        for component in self.components() {
            let mut weight = weight * component.weight;
            match component.normalisation {
                Normalisation::AsIs => {}
                Normalisation::Fixed { mean, scale } => {
                    weight /= scale;
                    terms.push(Term::Constant(-weight * mean));
                }
                Normalisation::Logistic => return Err(NoSum::Logistic),
                Normalisation::Query | Normalisation::QueryRange | Normalisation::QueryTop => {
                    return Err(NoSum::Queries);
                }
            }
            component.part.kind().add_terms(weight, terms)?;
        }
        Ok(())
    }

    fn add_binned<'a>(&'a self, add: &mut AddForest<'a, '_>, sums: &mut [f64]) -> Result<()> {
        Model::add_binned(self, add, sums)
    }

    fn map_categories(&mut self, feature: u32, number: &mut dyn FnMut(u32) -> u32) {
        Model::map_categories(self, feature, number);
    }

    fn inner(&self) -> Option<&Model> {
        Some(self)
    }
}
