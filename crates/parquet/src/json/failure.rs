//! The original failure of a column, which the decoders of the crate `parquet` cannot return.

use gristmill_core::Failure;
use parquet::errors::ParquetError;
use std::sync::{Arc, Mutex};

/// The first failure of any column.
pub(crate) type FirstFailure = Arc<Mutex<Option<Failure>>>;

/// Stores the failure if it is the first one, and returns an error for the decoders.
pub(super) fn keep(first: &FirstFailure, failure: Failure) -> ParquetError {
    let error = ParquetError::General(failure.why.clone());
    if let Ok(mut first) = first.lock() {
        first.get_or_insert(failure);
    }
    error
}
