//! A data set for tests.
