//! What the tests of all stores share.

mod azure;
pub(super) mod server;
