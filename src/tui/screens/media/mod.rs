//! Media metadata: the answers, what they would record, and the screen of `prepare-media`.

pub mod form;
pub mod seen;
