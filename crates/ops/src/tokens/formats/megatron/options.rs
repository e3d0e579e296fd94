//! The options of `--format megatron`: all of them are shared with other formats.

use gristmill_core::options::{Choice, Group};
use gristmill_core::PackPlan;

pub(in super::super) const CHOICE: Choice = Choice { name: "megatron", help: "A pair of .bin and .idx" };
pub(in super::super) const GROUP: Group<PackPlan> =
    Group::new("Megatron", "formats", &[]).needs("--format megatron", |plan| plan.megatron.is_some());
