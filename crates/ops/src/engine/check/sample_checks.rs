//! Checks of every sample while its rows are read: whether it has the parts that the field map needs, and which excludes match.

use gristmill_core::field_map::FieldExpression;
use gristmill_core::text::{agree, count, count_verb, shell_quote};
use gristmill_core::{Outcome, Problem, ProblemKind, ProblemSink, Subject};
use gristmill_data::formats::energon::dataset_yaml::{DatasetYaml, SampleSource};
use gristmill_storage::location::hint_for;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Limit of samples that are named individually, per field and shard.
const MAX_NAMED_SAMPLES: u64 = 3;
/// Limit of parts of field maps that are checked.
const MAX_PARTS: usize = 128;

/// The parts that each field needs: one part of each list is enough.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldParts {
    bits: HashMap<String, u32>,
    /// Name and expression of each field, and the bits of the parts that may fill it.
    fields: Vec<(String, String, u128)>,
}

impl FieldParts {
    /// Reads the fields from a dataset yaml; empty unless it has a field map.
    pub(super) fn of(yaml: Option<&DatasetYaml>) -> Self {
        let mut out = Self::default();
        let Some(SampleSource::FieldMap(fields)) = yaml.map(|y| &y.source) else { return out };
        for field in fields {
            let mut mask = 0;
            for option in FieldExpression::parse(&field.expr).options {
                let next = out.bits.len();
                if next < MAX_PARTS {
                    mask |= 1 << *out.bits.entry(option.part).or_insert(next as u32);
                } else {
                    mask = u128::MAX;
                }
            }
            out.fields.push((field.field.clone(), field.expr.clone(), mask));
        }
        out
    }
}

/// Checks the samples of one shard.
pub(super) struct SampleChecker<'a> {
    root: &'a Path,
    shard: &'a str,
    fields: Option<&'a FieldParts>,
    has: u128,
    missing_counts: Vec<u64>,
    named: Vec<Vec<String>>,
    excluded: HashSet<&'a str>,
    part_names: HashSet<&'a str>,
    /// Number of AppleDouble samples that the loader reads as samples, and the key of the first.
    apple_doubles: u64,
    first_apple_double: String,
}

impl<'a> SampleChecker<'a> {
    /// Creates a checker. `fields` is `None` for a shard that is in no split. `excluded` contains the keys that `split.yaml` excludes in
    /// this shard.
    pub(super) fn new(
        root: &'a Path,
        shard: &'a str,
        fields: Option<&'a FieldParts>,
        excluded: HashSet<&'a str>,
    ) -> Self {
        let n = fields.map_or(0, |f| f.fields.len());
        Self {
            root,
            shard,
            fields,
            has: 0,
            missing_counts: vec![0; n],
            named: vec![Vec::new(); n],
            excluded,
            part_names: HashSet::new(),
            apple_doubles: 0,
            first_apple_double: String::new(),
        }
    }
    /// Creates a checker that checks nothing, for comparisons only.
    pub(super) fn nothing(root: &'a Path, shard: &'a str) -> Self {
        Self::new(root, shard, None, HashSet::new())
    }
    pub(super) fn part(&mut self, name: &str) {
        if let Some(bit) = self.fields.and_then(|f| f.bits.get(name)) {
            self.has |= 1 << bit;
        }
    }
    /// Ends a sample whose parts were passed before. Excluded samples are never loaded, so they may lack any part.
    pub(super) fn sample(&mut self, key: &str) {
        let has = std::mem::take(&mut self.has);
        if let Some(&excluded) = self.excluded.get(key) {
            self.part_names.insert(excluded);
            return;
        }
        let Some(fields) = self.fields else { return };
        for (i, (_, _, mask)) in fields.fields.iter().enumerate() {
            if has & mask == 0 {
                self.missing_counts[i] += 1;
                if self.missing_counts[i] <= MAX_NAMED_SAMPLES {
                    self.named[i].push(key.to_owned());
                }
            }
        }
    }
    /// Whether this key is excluded in the shard.
    pub(super) fn excludes(&self, key: &str) -> bool {
        self.excluded.contains(key)
    }
    /// Records a sample that consists only of AppleDouble entries.
    pub(super) fn apple_double(&mut self, key: &str) {
        self.has = 0;
        if let Some(&excluded) = self.excluded.get(key) {
            self.part_names.insert(excluded);
        } else if self.fields.is_some() {
            if self.apple_doubles == 0 {
                key.clone_into(&mut self.first_apple_double);
            }
            self.apple_doubles += 1;
        }
    }
    /// Omits the AppleDouble samples from the report.
    pub(super) fn forget_apple_doubles(&mut self) {
        self.apple_doubles = 0;
    }
    /// Discards the parts of a sample that has no row.
    pub(super) fn drop_parts(&mut self) {
        self.has = 0;
    }
    /// Resets the state, for a second pass over the same shard.
    pub(super) fn restart(&mut self) {
        self.has = 0;
        self.part_names.clear();
        self.apple_doubles = 0;
        self.missing_counts.iter_mut().for_each(|n| *n = 0);
        self.named.iter_mut().for_each(Vec::clear);
    }

    /// Reports the findings of all samples of the shard.
    pub(super) fn finish(self, problems: &dyn ProblemSink) -> Outcome<()> {
        if let Some(fields) = self.fields {
            for (i, (field, expr, _)) in fields.fields.iter().enumerate() {
                let lacking = self.missing_counts[i];
                for key in &self.named[i] {
                    let message =
                        format!("this sample has no part for field '{field}' ({expr}); the trainer fails on it");
                    let subject = Subject::shard(self.shard).key(key);
                    problems.report(Problem::problem(ProblemKind::SampleLacksPart, subject, message).with_hint(
                        format!("exclude it ({}/{key}), or add an alternative to the field map", self.shard),
                    ))?;
                }
                if lacking > MAX_NAMED_SAMPLES {
                    let message = format!(
                        "{} no part for field '{field}' ({expr})",
                        count_verb(lacking - MAX_NAMED_SAMPLES, "more sample", "has", "have")
                    );
                    let subject = Subject::shard(self.shard);
                    problems.report(Problem::problem(ProblemKind::SampleLacksPart, subject, message))?;
                }
            }
        }
        self.report_apple_doubles(problems)?;
        let mut lost: Vec<&str> = self.excluded.difference(&self.part_names).copied().collect();
        lost.sort_unstable();
        for key in lost.iter().take(MAX_NAMED_SAMPLES as usize) {
            let subject = Subject::shard(self.shard).key(*key);
            let message = "this exclude matches no sample: the shard has no such key";
            problems.report(
                Problem::problem(ProblemKind::MatchesNothing, subject, message)
                    .with_hint("correct it in split.yaml, or remove it"),
            )?;
        }
        if let Some(more) = lost.len().checked_sub(MAX_NAMED_SAMPLES as usize).filter(|n| *n > 0) {
            let message = format!("{} more match no sample of this shard", count(more as u64, "exclude"));
            problems.report(Problem::problem(ProblemKind::MatchesNothing, Subject::shard(self.shard), message))?;
        }
        Ok(())
    }

    /// Reports AppleDouble samples. AppleDouble files between samples are not damage if they are excluded.
    fn report_apple_doubles(&self, problems: &dyn ProblemSink) -> Outcome<()> {
        if self.apple_doubles == 0 {
            return Ok(());
        }
        let item = crate::engine::outputs::exclude_item(self.shard, Some(&self.first_apple_double));
        let samples = count(self.apple_doubles, "sample");
        let verb = agree(self.apple_doubles, "consists", "consist");
        let message = format!(
            "{samples} {verb} of AppleDouble files of macOS (names that begin with ._) and {} not excluded",
            agree(self.apple_doubles, "is", "are")
        );
        let subject = Subject::shard(self.shard).key(&self.first_apple_double);
        let command = hint_for(self.root, "gristmill prepare PATH --update --exclude-sample");
        let problem = Problem::problem(ProblemKind::AppleDouble, subject, message);
        problems.report(problem.with_hint(format!("{command} {}", shell_quote(&item))))
    }
}
