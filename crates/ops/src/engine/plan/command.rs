//! Converts a plan to the equivalent command.

use super::flags as f;
use crate::formats::energon::split_yaml::SplitFile;
use gristmill_core::plan::{FieldExpr, DATASET_YAML};
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::{Duplicates, Loading, MediaFilter, MediaPlan, PreparePlan, Rerun, Scope, SplitPlan, Tgz};
use std::path::Path;

/// The most single excludes that are written as flags; more are written to a file.
const EXCLUDES_AS_FLAGS: usize = 8;

/// The name of the file with splits made by hand in the printed command.
pub const SPLITS_FILE: &str = "splits.yaml";
/// The name of the file with many excludes in the printed command.
pub const EXCLUDES_FILE: &str = "excludes.txt";

/// A plan as arguments, and the files that they name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Program, command, path, flags; not quoted.
    pub arguments: Vec<String>,
    /// Name and content of the files that the command needs.
    pub files: Vec<(String, String)>,
}

impl CommandLine {
    /// Returns the command equivalent to `plan`.
    pub fn of(plan: &PreparePlan) -> Self {
        let mut line = Self::default();
        line.push("gristmill");
        line.push("prepare");
        if !plan.path.starts_with('-') {
            line.push(&plan.path);
        }
        // Without this flag the command would ask on a terminal what the other flags have answered.
        line.push(f::YES);
        line.rerun(plan);
        line.splits(plan);
        line.excludes(plan);
        line.loading(plan);
        line.rest(plan);
        if plan.path.starts_with('-') {
            line.push("--");
            line.push(&plan.path);
        }
        line
    }

    /// Returns the command quoted for a shell, on one line unless an argument itself has several.
    pub fn text(&self) -> String {
        self.arguments.iter().map(|a| shell_quote(a)).collect::<Vec<_>>().join(" ")
    }

    /// Creates a command that begins with these words: the program, and its command.
    pub fn of_words(words: &[&str]) -> Self {
        Self { arguments: words.iter().map(|word| (*word).to_owned()).collect(), files: Vec::new() }
    }

    pub(super) fn push(&mut self, argument: &str) {
        self.arguments.push(argument.to_owned());
    }

    /// Adds a path that is not the value of a flag: one that looks like a flag is prefixed with `./`.
    pub fn path(&mut self, path: &Path) {
        let path = path.to_string_lossy();
        self.arguments.push(if path.starts_with('-') { format!("./{path}") } else { path.into_owned() });
    }

    /// Adds a flag if `wanted`.
    pub fn flag_if(&mut self, wanted: bool, flag: &str) {
        if wanted {
            self.push(flag);
        }
    }

    /// Adds a flag with its value. A value that looks like a flag is joined to it with `=`.
    pub fn value(&mut self, flag: &str, value: &str) {
        if value.starts_with('-') || value.is_empty() {
            self.arguments.push(format!("{flag}={value}"));
        } else {
            self.push(flag);
            self.push(value);
        }
    }

    fn rerun(&mut self, plan: &PreparePlan) {
        self.flag_if(plan.rerun == Rerun::Update, f::UPDATE);
        self.flag_if(plan.rerun == Rerun::Overwrite, f::FORCE_OVERWRITE);
        if let Some(split) = &plan.new_to {
            self.value(f::NEW_TO, split);
        }
        self.flag_if(plan.reset_excludes, f::RESET_EXCLUDES);
        self.flag_if(plan.scope == Scope::TarIndexOnly, f::TAR_INDEX_ONLY);
        self.flag_if(plan.scope == Scope::WithoutSampleTables, f::SKIP_SAMPLE_TABLES);
        self.flag_if(plan.skip_bad_lines, f::SKIP_BAD_LINES);
    }

    fn splits(&mut self, plan: &PreparePlan) {
        match &plan.splits {
            SplitPlan::Unset => {}
            SplitPlan::Ratio(text) => self.value(f::SPLIT_RATIO, text),
            SplitPlan::Patterns(patterns) => {
                for p in patterns {
                    self.value(f::SPLIT_PARTS, &format!("{}:{}", p.name, p.pattern));
                }
            }
            SplitPlan::Listed(lists) => {
                let split_parts = lists.iter().map(|l| (l.name.clone(), l.shards.clone())).collect();
                let file = SplitFile { split_parts, exclude: plan.excludes.clone(), ..SplitFile::default() };
                self.value(f::SPLITS_FROM, SPLITS_FILE);
                self.files.push((SPLITS_FILE.to_owned(), file.render()));
            }
        }
        self.flag_if(plan.shuffle_tars, f::SHUFFLE_TARS);
        self.flag_if(plan.allow_empty_splits, f::ALLOW_EMPTY_SPLITS);
    }

    fn excludes(&mut self, plan: &PreparePlan) {
        for pattern in &plan.exclude_shards {
            self.value(f::EXCLUDE, pattern);
        }
        if matches!(plan.splits, SplitPlan::Listed(_)) {
            return;
        }
        let fits_a_line = |item: &&String| {
            !item.is_empty() && !item.contains(['\n', '\r']) && item.trim() == *item && !item.starts_with('#')
        };
        if plan.excludes.len() > EXCLUDES_AS_FLAGS && plan.excludes.iter().all(|i| fits_a_line(&i)) {
            self.value(f::EXCLUDE_FROM, EXCLUDES_FILE);
            let text: String = plan.excludes.iter().flat_map(|item| [item.as_str(), "\n"]).collect();
            self.files.push((EXCLUDES_FILE.to_owned(), text));
            return;
        }
        for item in &plan.excludes {
            self.value(f::EXCLUDE_SAMPLE, item);
        }
    }

    fn loading(&mut self, plan: &PreparePlan) {
        match &plan.loading {
            Loading::Unset => {}
            Loading::NoDatasetYaml => self.push(f::SKIP_DATASET_YAML),
            Loading::Crude { cooker } => {
                self.value(f::SAMPLE_TYPE, CRUDE_CLASS);
                self.flag_if(*cooker, f::COOKER);
            }
            Loading::FieldMap { sample_type, fields } => {
                self.value(f::SAMPLE_TYPE, sample_type);
                self.field_map(fields);
            }
            Loading::SampleLoader { sample_type } => {
                self.value(f::SAMPLE_TYPE, sample_type);
                self.push(f::SAMPLE_LOADER);
            }
        }
        if plan.dataset_yaml_name != DATASET_YAML {
            self.value(f::DATASET_YAML_NAME, &plan.dataset_yaml_name);
        }
    }

    fn field_map(&mut self, fields: &[FieldExpr]) {
        let plain = |x: &FieldExpr| super::classes::is_identifier(&x.field) && !x.expr.is_empty();
        if fields.iter().all(plain) {
            for x in fields {
                self.value(f::FIELD_MAP, &format!("{}={}", x.field, x.expr));
            }
            return;
        }
        let map: serde_json::Map<String, serde_json::Value> =
            fields.iter().map(|x| (x.field.clone(), x.expr.clone().into())).collect();
        self.value(f::FIELD_MAP, &serde_json::Value::Object(map).to_string());
    }

    fn rest(&mut self, plan: &PreparePlan) {
        if plan.duplicates == Duplicates::KeepFirst {
            self.value(f::DUPLICATES, "keep-first");
        }
        if plan.tgz == Tgz::Rewrite {
            self.value(f::TGZ, "rewrite");
        }
        if let Some(media) = &plan.media {
            self.media(media);
        }
        self.flag_if(plan.compat, f::COMPAT);
    }

    fn media(&mut self, plan: &MediaPlan) {
        match &plan.filter {
            MediaFilter::Extension => self.push(f::MEDIA_BY_EXTENSION),
            MediaFilter::Header => self.push(f::MEDIA_BY_HEADER),
            MediaFilter::Glob(patterns) => self.value(f::MEDIA_BY_GLOB, &patterns.join(",")),
        }
        self.flag_if(plan.decode, f::DECODE);
    }
}

/// Returns the command equivalent to `plan`, quoted for a shell. Splits made by hand and long exclude lists are in files: see
/// [`CommandLine::of`].
pub fn command_line(plan: &PreparePlan) -> String {
    CommandLine::of(plan).text()
}

/// Returns the command to show after the plan was carried out: [`command_line`], or where that would need files of its own, the one that
/// replays the plan which the run stored in the data set.
pub fn command_line_after_run(plan: &PreparePlan) -> String {
    let line = CommandLine::of(plan);
    if line.files.is_empty() {
        return line.text();
    }
    let root = std::path::Path::new(&plan.path);
    let saved = gristmill_storage::run_folder::RunFolder::for_webdataset(root).plan();
    format!("gristmill run {}", shell_quote(&saved.to_string_lossy()))
}

/// Quotes one argument for a POSIX shell. Invisible characters are written as escapes (`$'\n'`), so that a copied line is the same line.
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if gristmill_core::text::display_safe(text) == text {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut out = String::from("$'");
    for c in text.chars() {
        escape_into(&mut out, c);
    }
    out.push('\'');
    out
}

fn escape_into(out: &mut String, c: char) {
    use std::fmt::Write as _;
    let mut utf8 = [0; 4];
    let alone: &str = c.encode_utf8(&mut utf8);
    match c {
        '\'' => out.push_str("\\'"),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        c if gristmill_core::text::display_safe(alone) == alone => out.push(c),
        _ => {
            for byte in alone.bytes() {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}
