//! The options of `--format olmo`.

use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::DocumentId;
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

/// The value of `--id-key` for ids made of the file name and the line number.
const LINE: &str = "none";

pub(in super::super) const CHOICE: Choice = Choice { name: "olmo", help: "part-0-NNNNN.npy and .csv.gz" };
pub(in super::super) const GROUP: Group<PackPlan> =
    Group::new("OLMo", "formats", OPTIONS).needs("--format olmo", |plan| plan.olmo.is_some());

const OPTIONS: &[Spec] = &[Spec::new(
    "id-key",
    "PATH",
    "Keys of the id of a document, separated by dots; none: an id from the name of the file and the line",
    Access::Text {
        get: |plan| match &plan.olmo.as_ref()?.id {
            id if *id == DocumentId::default() => None,
            DocumentId::Key(path) => Some(path.clone()),
            DocumentId::Line => Some(LINE.to_owned()),
        },
        set: |plan, path| {
            if let Some(target) = &mut plan.olmo {
                target.id = match path {
                    None => DocumentId::default(),
                    Some(path) if path == LINE => DocumentId::Line,
                    Some(path) => DocumentId::Key(path),
                };
            }
            Ok(())
        },
    },
)
.default("id")];
