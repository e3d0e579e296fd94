//! Traverses the tree of a metadataset: opens every path, and checks the rules that span several files.

use super::facts::{MixNode, MixNodeKind, MixSplit};
use super::join_plan::JoinPlan;
use super::overlaps::{MemberUses, Usage};
use super::paths::{resolve, PathTarget};
use super::sets::{unchecked_members, MemberCache, MemberSource, MixFile, SplitView, UnusableMember, WebSet};
use super::subset::{Window, RANGE_NOT_INHERITED};
use super::{aux, share};
use gristmill_core::text::grouped;
use gristmill_core::{Handles, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::formats::energon::metadataset::{
    version_2_hint, Blend, Leaf, Mark, Member, Metadataset, Mistake, Node, Reference,
};
use gristmill_storage::files;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

mod joins;

/// Maximum nesting of metadatasets.
const MAX_DEPTH: usize = 32;
/// Maximum number of nodes of a metadataset, including nested files.
const MAX_NODES: usize = 100_000;
/// Maximum number of samples in one epoch, which the loader counts with 64 bits.
const MAX_EPOCH_SAMPLES: u64 = i64::MAX as u64;

/// How the samples of a node are repeated or weighted; all members of a blend must have the same mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain,
    Weighted,
    Repeated,
}

/// The position of the traversal.
#[derive(Clone)]
struct WalkPosition<'a> {
    file: &'a Rc<MixFile>,
    split: &'a str,
    window: Option<Window>,
    /// Whether the file has version 1, in which a window is passed on to members unchecked.
    is_old: bool,
    /// Number of repetitions of the samples in one epoch: the product of all repetitions above.
    repetitions: f64,
}

/// The state and the results of the traversal.
pub(super) struct Walk<'a> {
    pub(super) library: MemberCache,
    handles: Handles<'a>,
    pub(super) problems: Vec<Problem>,
    pub(super) joins: Vec<JoinPlan>,
    pub(super) with_aux: Vec<aux::AuxMember>,
    /// The files that contain the current position, outermost first.
    open: Vec<PathBuf>,
    /// Path, location and message of each reported problem.
    reported: HashSet<(String, Mark, String)>,
    /// Nested files that were read without mistakes, without duplicates.
    pub(super) nested: Vec<Rc<MixFile>>,
    surveyed: HashSet<PathBuf>,
    nodes: usize,
    /// Position of the current split in the outermost file.
    split: usize,
    /// Whether the current split has a member that is refused for the number of its samples in one epoch.
    has_large_epoch: bool,
    pub(super) usages: MemberUses,
}

impl<'a> Walk<'a> {
    pub(super) fn new(handles: Handles<'a>) -> Self {
        Self {
            library: MemberCache::default(),
            handles,
            problems: Vec::new(),
            joins: Vec::new(),
            with_aux: Vec::new(),
            open: Vec::new(),
            reported: HashSet::new(),
            nested: Vec::new(),
            surveyed: HashSet::new(),
            nodes: 0,
            split: 0,
            has_large_epoch: false,
            usages: MemberUses::default(),
        }
    }

    /// Reports a refusal, unless the same one was reported before.
    pub(super) fn refuse(&mut self, file: &MixFile, at: Mark, kind: ProblemKind, why: UnusableMember) {
        self.report_once(file, at, kind, Severity::Refusal, why);
    }

    pub(super) fn report_once(
        &mut self,
        file: &MixFile,
        at: Mark,
        kind: ProblemKind,
        severity: Severity,
        why: UnusableMember,
    ) {
        let at = if file.is_written { at } else { Mark::default() };
        if !self.reported.insert((file.shown.clone(), at, why.message.clone())) {
            return;
        }
        let subject = Subject::path(&file.shown);
        let subject = if file.is_written { subject.line(at.line.into()).column(at.column.into()) } else { subject };
        self.problems.push(Problem { subject, kind, severity, message: why.message, hint: why.hint });
    }

    fn report_mistakes(&mut self, file: &MixFile, mistakes: &[Mistake], severity: Severity) {
        for mistake in mistakes {
            let at = Mark { line: mistake.line, column: mistake.column };
            let why = UnusableMember { message: mistake.message.clone(), hint: mistake.hint.clone() };
            self.report_once(file, at, ProblemKind::BadMetadataset, severity, why);
        }
    }

    /// Traverses all splits of the outermost file.
    pub(super) fn file(&mut self, file: &Rc<MixFile>) -> Outcome<Vec<MixSplit>> {
        let Some(data) = self.open_file(file) else { return Ok(Vec::new()) };
        self.open.push(identity(&file.path));
        let mut splits = Vec::new();
        for (number, split) in data.splits.iter().enumerate() {
            (self.split, self.has_large_epoch) = (number, false);
            let is_old = data.version == 1;
            let place = WalkPosition { file, split: &split.name, window: None, is_old, repetitions: 1.0 };
            let (mut root, _) = self.node(&place, &split.node)?;
            root.line = split.at.line.into();
            share::assign(&mut root);
            if root.samples_per_epoch == Some(0) && root.samples.is_some_and(|samples| samples > 0) {
                let why =
                    UnusableMember::new("its repetitions leave no sample in an epoch, and the loader waits forever");
                let why = why.hint("raise the repetitions");
                self.report_once(file, split.at, ProblemKind::BadMember, Severity::Problem, why);
            }
            if !self.has_large_epoch && root.samples_per_epoch.is_some_and(|samples| samples > MAX_EPOCH_SAMPLES) {
                self.refuse_epoch(file, split.at);
            }
            splits.push(MixSplit { name: split.name.clone(), root });
        }
        self.open.pop();
        Ok(splits)
    }

    /// Collects the joins of all splits of a file, including those with problems.
    pub(super) fn all_joins(&mut self, file: &Rc<MixFile>) -> Outcome<()> {
        for split in file.data.iter().flat_map(|data| &data.splits) {
            let leaves = match &split.node {
                Node::Leaf(leaf) => vec![leaf],
                Node::Blend(blend) => blend.members.iter().map(|member| &member.leaf).collect(),
            };
            let place = WalkPosition { file, split: &split.name, window: None, is_old: false, repetitions: 1.0 };
            for leaf in leaves {
                self.handles.cancel.check()?;
                if let Leaf::Join(join) = leaf {
                    self.join(&place, join);
                }
            }
        }
        Ok(())
    }

    /// Returns the content of a file; `None` if it has mistakes. Reports mistakes and remarks.
    fn open_file<'f>(&mut self, file: &'f MixFile) -> Option<&'f Metadataset> {
        match &file.data {
            Ok(data) => {
                self.report_mistakes(file, &data.remarks, Severity::Note);
                Some(data)
            }
            Err(mistakes) => {
                self.report_mistakes(file, mistakes, Severity::Refusal);
                self.report_mistakes(file, unchecked_members(mistakes).as_slice(), Severity::Note);
                None
            }
        }
    }

    fn node(&mut self, place: &WalkPosition<'_>, node: &Node) -> Outcome<(MixNode, Mode)> {
        match node {
            Node::Leaf(leaf) => self.leaf(place, leaf),
            Node::Blend(blend) => self.blend(place, blend),
        }
    }

    fn leaf(&mut self, place: &WalkPosition<'_>, leaf: &Leaf) -> Outcome<(MixNode, Mode)> {
        self.handles.cancel.check()?;
        self.nodes += 1;
        let (node, mode) = match leaf {
            Leaf::Reference(reference) => self.reference(place, reference)?,
            Leaf::Join(join) => (self.join(place, join), Mode::Plain),
        };
        let is_too_large = |samples: u64| samples as f64 * place.repetitions > MAX_EPOCH_SAMPLES as f64;
        if node.samples.is_some_and(is_too_large) {
            self.refuse_epoch(place.file, at_of(leaf));
        }
        Ok((node, mode))
    }

    fn blend(&mut self, place: &WalkPosition<'_>, blend: &Blend) -> Outcome<(MixNode, Mode)> {
        let (kind, mode, label) = match blend.is_epochized {
            true => (MixNodeKind::BlendEpochized, Mode::Repeated, "blend_epochized"),
            false => (MixNodeKind::Blend, Mode::Weighted, "blend"),
        };
        let mut node = new_node(label, kind, blend.at);
        let mut place = place.clone();
        if !place.is_old {
            match Window::below(place.window, blend.subset.as_ref()) {
                Ok(window) if window.is_some_and(|window| window.has_samples()) => {
                    let at = blend.subset.map_or(blend.at, |subset| subset.at);
                    self.refuse(place.file, at, ProblemKind::BadMetadataset, UnusableMember::new(RANGE_NOT_INHERITED));
                    place.window = None;
                }
                Ok(window) => place.window = window,
                Err(why) => self.refuse(place.file, blend.at, ProblemKind::BadMetadataset, UnusableMember::new(why)),
            }
        }
        for member in &blend.members {
            if self.nodes >= MAX_NODES {
                let message = format!("the file resolves to more than {MAX_NODES} members; the rest is not checked");
                self.refuse(place.file, blend.at, ProblemKind::BadMetadataset, UnusableMember::new(message));
                break;
            }
            let child = self.member(&place, member, mode)?;
            node.children.push(child);
        }
        Ok((node, mode))
    }

    fn member(&mut self, place: &WalkPosition<'_>, member: &Member, mode: Mode) -> Outcome<MixNode> {
        let repetitions = if mode == Mode::Repeated { place.repetitions * member.amount } else { place.repetitions };
        let (mut child, inner) = self.leaf(&WalkPosition { repetitions, ..place.clone() }, &member.leaf)?;
        if inner != Mode::Plain && inner != mode {
            let at = at_of(&member.leaf);
            let (mine, other) = match mode {
                Mode::Repeated => ("an epochized blend", "a weighted one"),
                _ => ("a weighted blend", "an epochized one"),
            };
            let message = format!("{mine} cannot hold {other}, not even through another file");
            let hint = "name its members here, with weights or repetitions multiplied out";
            self.refuse(place.file, at, ProblemKind::BadMetadataset, UnusableMember::new(message).hint(hint));
        }
        match mode {
            Mode::Repeated => child.repetitions = Some(member.amount),
            _ => child.weight = Some(member.amount),
        }
        Ok(child)
    }

    fn refuse_epoch(&mut self, file: &MixFile, at: Mark) {
        self.has_large_epoch = true;
        let message =
            format!("repetitions times samples are more than {} samples an epoch", grouped(MAX_EPOCH_SAMPLES));
        self.refuse(file, at, ProblemKind::BadMetadataset, UnusableMember::new(message).hint("lower the repetitions"));
    }

    /// Returns the use of a data set by a member, for finding samples that are read more than once.
    fn usage(&self, place: &WalkPosition<'_>, reference: &Reference, is_jsonl: bool) -> Usage {
        let path = match resolve(place.file.folder(), &reference.path) {
            Ok(PathTarget::Local(path)) => identity(&path),
            _ => PathBuf::from(&reference.path),
        };
        let line = place.file.is_written.then(|| format!("{}:{}", place.file.shown, reference.at.line));
        Usage::new(path, self.split, &reference.path, line, is_jsonl)
    }

    fn reference(&mut self, place: &WalkPosition<'_>, reference: &Reference) -> Outcome<(MixNode, Mode)> {
        let mut node = new_node(&reference.path, MixNodeKind::Unusable, reference.at);
        node.aux = reference.aux.iter().map(|aux| (aux.name.clone(), aux::written(&aux.target))).collect();
        let split = reference.split_part.as_deref().unwrap_or(place.split);
        let mut place = WalkPosition { split, ..place.clone() };
        if !place.is_old {
            match Window::below(place.window, reference.subset.as_ref()) {
                Ok(window) => place.window = window,
                Err(why) => {
                    self.refuse(place.file, reference.at, ProblemKind::BadMetadataset, UnusableMember::new(why))
                }
            }
        }
        match self.open_member(place.file, reference) {
            Some(MemberSource::Web(set)) => {
                node.kind = MixNodeKind::WebDataset;
                self.web(&place, reference, &set, &mut node);
            }
            Some(MemberSource::Jsonl(_)) if place.is_old => {
                let why = UnusableMember::new("version 1 cannot have JSONL files as members")
                    .hint(format!("{}, and use 'blend'", version_2_hint()));
                self.refuse(place.file, reference.at, ProblemKind::BadMember, why);
            }
            Some(MemberSource::Jsonl(samples)) => {
                node.kind = MixNodeKind::Jsonl;
                self.jsonl(&place, reference, samples, &mut node);
            }
            Some(MemberSource::Mix(file)) => {
                node.kind = MixNodeKind::Metadataset;
                let mode = self.nested(&place, reference, &file, &mut node)?;
                return Ok((node, mode));
            }
            None => {}
        }
        Ok((node, Mode::Plain))
    }

    /// Opens the target of a reference, or reports why that fails.
    fn open_member(&mut self, file: &MixFile, reference: &Reference) -> Option<MemberSource> {
        let place = match resolve(file.folder(), &reference.path) {
            Ok(place) => place,
            Err(why) => {
                self.refuse(file, reference.at, ProblemKind::BadMember, UnusableMember::new(why));
                return None;
            }
        };
        let PathTarget::Local(path) = place else {
            let why = UnusableMember::new("the member is at a URL and is not opened; its samples are not counted");
            self.report_once(file, reference.at, ProblemKind::BadMember, Severity::Note, why);
            return None;
        };
        match self.library.open(&path) {
            Ok(opened) => Some(opened),
            Err(why) => {
                self.refuse(file, reference.at, ProblemKind::BadMember, why);
                None
            }
        }
    }

    fn web(&mut self, place: &WalkPosition<'_>, reference: &Reference, set: &Rc<WebSet>, node: &mut MixNode) {
        node.split_part = Some(place.split.to_owned());
        let split_config = reference.split_config.as_ref();
        let at = |config: Option<&(Mark, String)>| config.map_or(reference.at, |(at, _)| *at);
        let view = match self.library.split(set, split_config.map(|(_, name)| name.as_str()), place.split) {
            Ok(view) => Some(view),
            Err(why) => {
                self.refuse(place.file, at(split_config), ProblemKind::BadMember, why);
                None
            }
        };
        let usage = self.usage(place, reference, false);
        match view.as_ref().map(|view| (view, Window::of(place.window, view.declared()))) {
            Some((view, Ok((start, end)))) => {
                let out = share::excluded_positions(set, view);
                node.samples = Some(share::without_excluded(&out, start, end));
                self.usages.add_web(usage, (set, view), &out, (start, end));
            }
            Some((_, Err(why))) => {
                self.refuse_range(place, reference, why);
                self.usages.add(usage, Vec::new());
            }
            None => self.usages.add(usage, Vec::new()),
        }
        if view.is_some() {
            self.warn_of_nothing(place, reference, node.samples);
        }
        let config = reference.dataset_config.as_ref();
        match self.library.is_crude(set, config.map(|(_, name)| name.as_str())) {
            Ok(is_crude) if !is_crude && !reference.aux.is_empty() => {
                let at = reference.aux.first().map_or(reference.at, |aux| aux.at);
                let why = UnusableMember::new(
                    "aux sources are for crude data sets only, and its samples have a type; the loader stops at it",
                )
                .hint("leave 'aux' out, or prepare the data set with --sample-type CrudeWebdataset");
                self.refuse(place.file, at, ProblemKind::BadMember, why);
            }
            Ok(_) => self.aux(place, reference, &MemberSource::Web(Rc::clone(set)), view),
            Err(why) => self.refuse(place.file, at(config), ProblemKind::BadMember, why),
        }
    }

    fn jsonl(&mut self, place: &WalkPosition<'_>, reference: &Reference, samples: u64, node: &mut MixNode) {
        for (key, config) in [("dataset_config", &reference.dataset_config), ("split_config", &reference.split_config)]
        {
            if let Some((at, _)) = config {
                let why = UnusableMember::new(format!("a JSONL file has no '{key}', and the loader stops at it"));
                self.refuse(place.file, *at, ProblemKind::BadMetadataset, why);
            }
        }
        let mut ranges = Vec::new();
        match Window::of(place.window, samples) {
            Ok((start, end)) => {
                node.samples = Some(end - start);
                ranges.push((start, end));
            }
            Err(why) => self.refuse_range(place, reference, why),
        }
        let usage = self.usage(place, reference, true);
        self.usages.add(usage, ranges);
        self.warn_of_nothing(place, reference, node.samples);
        self.aux(place, reference, &MemberSource::Jsonl(samples), None);
    }

    fn refuse_range(&mut self, place: &WalkPosition<'_>, reference: &Reference, why: String) {
        let at = reference.subset.map_or(reference.at, |subset| subset.at);
        self.refuse(place.file, at, ProblemKind::BadMetadataset, UnusableMember::new(why));
    }

    fn warn_of_nothing(&mut self, place: &WalkPosition<'_>, reference: &Reference, samples: Option<u64>) {
        if samples == Some(0) {
            let why = UnusableMember::new("it has no sample left").hint("widen its subset, or leave it out");
            self.report_once(place.file, reference.at, ProblemKind::BadMember, Severity::Problem, why);
        }
    }

    fn aux(
        &mut self,
        place: &WalkPosition<'_>,
        reference: &Reference,
        opened: &MemberSource,
        view: Option<Rc<SplitView>>,
    ) {
        let mut sources = Vec::new();
        for source in &reference.aux {
            match aux::open(&mut self.library, place.file, source) {
                Ok(Some(opened)) => sources.push(opened),
                Ok(None) => {
                    let why = UnusableMember::new("the aux source is at a URL and is not opened");
                    self.report_once(place.file, source.at, ProblemKind::BadMember, Severity::Note, why);
                }
                Err(why) => self.refuse(place.file, source.at, ProblemKind::BadMember, why),
            }
        }
        let path = resolve(place.file.folder(), &reference.path);
        if let (Ok(PathTarget::Local(path)), true) = (path, !sources.is_empty() && sources.len() == reference.aux.len())
        {
            let label = reference.path.clone();
            let (file, at) = (Rc::clone(place.file), reference.at);
            self.with_aux.push(aux::AuxMember { label, file, at, path, opened: opened.clone(), view, sources });
        }
    }

    fn nested(
        &mut self,
        place: &WalkPosition<'_>,
        reference: &Reference,
        file: &Rc<MixFile>,
        node: &mut MixNode,
    ) -> Outcome<Mode> {
        node.split_part = Some(place.split.to_owned());
        let aux_at = reference.aux.first().map(|aux| aux.at);
        for (key, at) in [
            ("aux", aux_at),
            ("dataset_config", reference.dataset_config.as_ref().map(|(at, _)| *at)),
            ("split_config", reference.split_config.as_ref().map(|(at, _)| *at)),
        ] {
            if let Some(at) = at {
                let why =
                    UnusableMember::new(format!("another metadataset takes no '{key}', and the loader stops at it"))
                        .hint("it belongs to the members in that file");
                self.refuse(place.file, at, ProblemKind::BadMetadataset, why);
            }
        }
        let identity = identity(&file.path);
        if self.open.contains(&identity) {
            let message = "the metadatasets refer to each other in a cycle";
            let why = UnusableMember::new(message).hint("remove one of the references");
            self.refuse(place.file, reference.at, ProblemKind::BadMetadataset, why);
            return Ok(Mode::Plain);
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!("metadatasets are nested deeper than {MAX_DEPTH} files");
            self.refuse(place.file, reference.at, ProblemKind::BadMetadataset, UnusableMember::new(message));
            return Ok(Mode::Plain);
        }
        let Some(data) = self.open_file(file) else {
            let count = file.data.as_ref().err().map_or(0, Vec::len);
            let message = match count {
                1 => "there is a mistake in that file".to_owned(),
                _ => format!("there are {count} mistakes in that file"),
            };
            let why = UnusableMember::new(message);
            self.refuse(place.file, reference.at, ProblemKind::BadMember, why);
            return Ok(Mode::Plain);
        };
        self.open_nested_members(file, data);
        let Some(split) = data.splits.iter().find(|split| split.name == place.split) else {
            let known: Vec<&str> = data.splits.iter().map(|split| split.name.as_str()).collect();
            let message = format!("that metadataset has no split '{}', only: {}", place.split, known.join(", "));
            let why = UnusableMember::new(message).hint("name another with split_part");
            self.refuse(place.file, reference.at, ProblemKind::BadMember, why);
            return Ok(Mode::Plain);
        };
        self.open.push(identity);
        let is_old = data.version == 1;
        let inner =
            WalkPosition { file, split: &split.name, window: place.window, is_old, repetitions: place.repetitions };
        let walked = self.node(&inner, &split.node);
        self.open.pop();
        let (child, mode) = walked?;
        node.children.push(child);
        Ok(mode)
    }

    /// Opens the members of all splits of a nested file, as the loader does, including unused splits.
    fn open_nested_members(&mut self, file: &Rc<MixFile>, data: &Metadataset) {
        if !self.surveyed.insert(file.path.clone()) {
            return;
        }
        self.nested.push(Rc::clone(file));
        let each = data.splits.iter().flat_map(|split| match &split.node {
            Node::Leaf(leaf) => vec![leaf],
            Node::Blend(blend) => blend.members.iter().map(|member| &member.leaf).collect(),
        });
        for leaf in each {
            match leaf {
                Leaf::Reference(reference) => {
                    self.open_member(file, reference);
                }
                Leaf::Join(join) => {
                    for member in &join.members {
                        self.open_member(file, &member.reference);
                    }
                }
            }
        }
    }
}

fn at_of(leaf: &Leaf) -> Mark {
    match leaf {
        Leaf::Reference(reference) => reference.at,
        Leaf::Join(join) => join.at,
    }
}

/// Returns a path that identifies a file independently of links.
fn identity(path: &Path) -> PathBuf {
    files::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn new_node(label: &str, kind: MixNodeKind, at: Mark) -> MixNode {
    MixNode {
        label: label.to_owned(),
        kind,
        line: at.line.into(),
        share: 0.0,
        weight: None,
        repetitions: None,
        samples: None,
        samples_per_epoch: None,
        oversampling: None,
        split_part: None,
        aux: Vec::new(),
        children: Vec::new(),
    }
}
