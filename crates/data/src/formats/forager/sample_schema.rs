//! `sample_schema.json`: the arrays of a sample (docs/formats/forager.md §1.3).

use gristmill_core::pack::TokenType;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::read::read_whole;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Maximum size of a schema, in bytes; a larger file is refused.
const MAX_SCHEMA_BYTES: u64 = 1 << 20;
/// Name of the array of tokens.
const TOKENS: &str = "tokens";

/// One array of every sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySchema {
    /// Name of the array.
    pub name: String,
    /// Numpy name of the type.
    pub dtype: String,
    /// Offset in the sample, in bytes.
    pub offset: u64,
}

/// Layout of a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleSchema {
    /// Number of values in each array.
    pub sample_size: u64,
    /// Arrays: the tokens first, then the others by name.
    pub arrays: Vec<ArraySchema>,
    /// Bytes of one sample.
    pub total_bytes_per_sample: u64,
}

impl SampleSchema {
    /// Creates the schema of samples of `size` tokens; `others` are further arrays with one byte per token.
    pub fn new(size: u64, tokens: TokenType, others: &[&str]) -> Self {
        let mut names: Vec<&str> = others.to_vec();
        names.sort_unstable();
        let first = size.saturating_mul(tokens.bytes() as u64);
        let array = |name: &str, dtype: &str, offset| ArraySchema { name: name.into(), dtype: dtype.into(), offset };
        let mut arrays = vec![array(TOKENS, tokens.numpy_name(), 0)];
        arrays.extend(names.iter().zip(0_u64..).map(|(name, number)| array(name, "uint8", first + number * size)));
        let total_bytes_per_sample = first + names.len() as u64 * size;
        Self { sample_size: size, arrays, total_bytes_per_sample }
    }

    /// Returns the text of the file.
    pub fn render(&self) -> String {
        // As Python's `json.dump` with an indent of two spaces: no newline at the end.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads the file; returns `None` when it is missing, a data failure when its content is invalid.
    pub fn read(path: &Path) -> Outcome<Option<Self>> {
        let Some(bytes) = read_whole(path, MAX_SCHEMA_BYTES)? else { return Ok(None) };
        let schema: Self = serde_json::from_slice(&bytes)
            .map_err(|error| Failure::data("reading the sample schema", error.to_string()).on(Subject::path(path)))?;
        Ok(Some(schema))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_schema_matches_the_reference() {
        let path = Path::new("../../tests/golden/forager/aux_loss_mask/expected/index/sample_schema.json");
        let schema = SampleSchema::read(path).unwrap().unwrap();
        assert_eq!(SampleSchema::new(schema.sample_size, TokenType::U32, &["loss_mask"]), schema);
        assert_eq!(schema.render().as_bytes(), std::fs::read(path).unwrap());
    }
}
