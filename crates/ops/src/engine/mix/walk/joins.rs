//! Joins in the tree of a metadataset.

use super::super::facts::{MixNode, MixNodeKind};
use super::super::sets::{MemberSource, UnusableMember, WebSet};
use super::super::subset::Window;
use super::super::{join_plan, share};
use super::{new_node, Walk, WalkPosition};
use gristmill_core::ProblemKind;
use gristmill_data::formats::energon::metadataset::{Join, JoinMember};
use std::rc::Rc;

impl Walk<'_> {
    pub(super) fn join(&mut self, place: &WalkPosition<'_>, join: &Join) -> MixNode {
        let mut node = new_node("join", MixNodeKind::Join, join.at);
        let window = match Window::below(place.window, join.subset.as_ref()) {
            Ok(window) => window,
            Err(why) => {
                self.refuse(place.file, join.at, ProblemKind::BadMetadataset, UnusableMember::new(why));
                None
            }
        };
        let mut inputs = Vec::with_capacity(join.members.len());
        for member in &join.members {
            let reference = &member.reference;
            let mut child = new_node(&reference.path, MixNodeKind::Unusable, reference.at);
            let split = reference.split_part.as_deref().or(join.split_part.as_deref()).unwrap_or(place.split);
            child.split_part = Some(split.to_owned());
            match self.open_member(place.file, reference) {
                Some(MemberSource::Web(set)) => {
                    child.kind = MixNodeKind::WebDataset;
                    inputs.extend(self.join_member(place, member, &set, split, &mut child));
                }
                Some(_) => {
                    let why = UnusableMember::new("only prepared folders of tars can be joined");
                    self.refuse(place.file, reference.at, ProblemKind::BadMember, why);
                }
                None => {}
            }
            node.children.push(child);
        }
        if inputs.len() == join.members.len() {
            let plan = join_plan::plan(place.file, place.split, join.at, inputs);
            let total = plan.rows().or_else(|| plan.rows_expected());
            match total.map(|total| Window::of(window, total)) {
                Some(Ok((start, end))) => node.samples = Some(end - start),
                Some(Err(why)) => {
                    let at = join.subset.map_or(join.at, |subset| subset.at);
                    self.refuse(place.file, at, ProblemKind::BadMetadataset, UnusableMember::new(why));
                }
                None => {}
            }
            self.joins.push(plan);
        }
        node
    }

    fn join_member(
        &mut self,
        place: &WalkPosition<'_>,
        member: &JoinMember,
        set: &Rc<WebSet>,
        split: &str,
        child: &mut MixNode,
    ) -> Option<join_plan::JoinInput> {
        let reference = &member.reference;
        let config = reference.dataset_config.as_ref();
        if let Err(why) = self.library.is_crude(set, config.map(|(_, name)| name.as_str())) {
            self.refuse(place.file, reference.at, ProblemKind::BadMember, why);
        }
        let split_config = reference.split_config.as_ref().map(|(_, name)| name.as_str());
        let view = match self.library.split(set, split_config, split) {
            Ok(view) => view,
            Err(why) => {
                self.refuse(place.file, reference.at, ProblemKind::BadMember, why);
                return None;
            }
        };
        child.samples = Some(share::without_excluded(&share::excluded_positions(set, &view), 0, view.declared()));
        match join_plan::input(set, &view, member.nonmatch, &reference.path, child.samples) {
            Ok(input) => Some(input),
            Err(why) => {
                self.refuse(place.file, reference.at, ProblemKind::BadMember, why);
                None
            }
        }
    }
}
