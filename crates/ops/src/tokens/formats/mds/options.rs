//! The options of `--format mds`.

use super::shard::{DEFAULT_SIZE_LIMIT, MAX_SHARD_BYTES};
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

pub(in super::super) const CHOICE: Choice = Choice { name: "mds", help: "shard.NNNNN.mds and index.json" };
pub(in super::super) const GROUP: Group<PackPlan> =
    Group::new("MDS", "formats", OPTIONS).needs("--format mds", |plan| plan.mds.is_some());

const OPTIONS: &[Spec] = &[
    Spec::new("no-wrap", "", "Drop the rest of a document in which a sample ends", switch!(mds?.no_wrap)).advanced(),
    Spec::new(
        "size-limit",
        "BYTES",
        "Begin a new shard before it is larger than this",
        Access::Number {
            least: 1,
            most: MAX_SHARD_BYTES,
            get: |plan| plan.mds.as_ref()?.size_limit.filter(|limit| *limit != DEFAULT_SIZE_LIMIT),
            set: |plan, bytes| {
                if let Some(target) = &mut plan.mds {
                    target.size_limit = bytes.filter(|bytes| *bytes != DEFAULT_SIZE_LIMIT);
                }
            },
        },
    )
    .default("67108864")
    .advanced(),
    Spec::new(
        "hashes",
        "A,B",
        "Hashes of each shard in the index: sha1, sha256, md5, blake2b, xxh64, xxh128 and others of Python",
        list!(Some(','), mds?.hashes),
    )
    .unset("none")
    .advanced(),
    Spec::new(
        "compression",
        "NAME[:LEVEL]",
        "Compress each shard: zstd, gz, br, bz2 or snappy",
        text!(mds?.compression),
    )
    .unset("none")
    .advanced(),
];
