//! Python files that a person completes: `sample_loader.py` and `cooker.py`.

use crate::model::plan::FieldExpr;

/// The text of `sample_loader.py` for a sample type (`Class` or `module:Class`), with what is known of its fields, and the parts that were found.
pub fn sample_loader_py(sample_type: &str, fields: &[FieldExpr], parts: &[String]) -> String {
    let _ = (sample_type, fields, parts);
    String::new()
}

/// The text of `cooker.py` for crude samples with these parts.
pub fn cooker_py(parts: &[String]) -> String {
    let _ = parts;
    String::new()
}
