//! Types shared by all crates of Gristmill: plans, problems, failures, facts, progress and cancel handles, and safe display of names. Uses
//! no files, threads or terminal.

mod apple_double;
pub mod catch_panic;
pub mod dedup;
pub mod did_you_mean;
pub mod facts;
pub mod failure;
pub mod field_map;
pub mod handles;
pub mod kinds;
pub mod lfs;
pub mod media;
pub mod mix;
pub mod options;
pub mod pack;
pub mod plan;
pub mod problem;
pub mod report_line;
pub mod run_options;
mod safe;
pub mod sample;
pub mod sample_type;
pub mod shard;
pub mod shard_plan;
mod shell;
mod sync;
pub mod table;
pub mod text;
pub mod utc;

pub use apple_double::{AppleDouble, AppleDoublePlace, MAX_APPLE_DOUBLE_KEYS};
pub use dedup::DedupPlan;
pub use facts::{
    DatasetFacts, DatasetKind, DuplicateKeys, PartFacts, PartSets, PreparedFacts, ShardFacts, ShardState, TableKind,
    TokenKind,
};
pub use failure::{ExitClass, Failure, Outcome};
pub use handles::{
    Cancel, Handles, NullProblemSink, ProblemLog, ProblemSink, Progress, RecordedProblems, RecordingSink,
    UnlistedProblems, WaitScope,
};
pub use kinds::{KindInfo, Refusal, Support};
pub use media::{AvFacts, ImageFacts, MediaFacts, MediaFilter, MediaPlan, MediaType};
pub use mix::{MixKind, MixMember, MixPlan};
pub use pack::PackPlan;
pub use plan::{Duplicates, PrepareMediaPlan, PreparePlan, Rerun, SampleMapping, Scope, SplitPlan, Tgz};
pub use problem::{Problem, ProblemKind, Severity, Subject};
pub use run_options::RunOptions;
pub use sample::{HiddenSample, PartRow, SampleRow, SampleSketch};
pub use shard::{FileStamp, Shard, ShardId};
pub use shard_plan::ShardPlan;
pub use sync::Mutex;
