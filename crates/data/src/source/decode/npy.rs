//! The header of a numpy array file.

use super::Value;
use gristmill_pycompat::npy::NpyHeader;

/// Returns type and shape from the header. Arrays of Python objects are refused, because reading them runs code.
pub(super) fn header(bytes: &[u8]) -> Result<Value, String> {
    let header = NpyHeader::read(bytes, usize::MAX)?;
    if header.dtype.contains('O') {
        return Err("it is an array of Python objects, which the trainer refuses".into());
    }
    Ok(Value::Array { shape: header.shape()?, dtype: header.dtype })
}
