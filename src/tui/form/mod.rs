//! The guided form: steps with fields over one plan, each answer checked against the data as it is given.
//!
//! What every guided command does alike is here once: the list of steps, the fields and the keys in them, what blocks a step, drafts,
//! saving the plan, handing on to the run. A command fills it in with its own
//!
//! * [`Step`]s and [`Field`]s, with their words;
//! * [`Answers`]: the plan, and what typing and switching do to it. Pure;
//! * [`Guide`]: the workers that find out what is known of the data, what the steps draw of it, the run.
//!
//! What is around a step ([`frame`]) serves the guided prepare, too, whose steps have states of their own.

mod draft;
pub mod frame;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod view;
mod words;

pub use draft::{forget, load, place, save, Draft, FormPlan};
pub use screen::{Contexts, FormScreen, Guide, PlanOf};
pub use state::{Answers, Form, Place, StepOf};
pub use view::{draw, draw_all_fields, draw_below, draw_fields, file_line, from_row, listing_lines, Look};
pub use words::{Field, Kind, Setting, Step};
