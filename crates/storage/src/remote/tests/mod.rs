//! What the tests of all stores share.

pub(super) mod server;
