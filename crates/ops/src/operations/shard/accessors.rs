//! Accessors of parts of a plan.

/// Accessors of a switch in a part of the plan.
macro_rules! switch_of {
    ($($field:ident).+) => {
        Access::Switch { get: |plan| plan.$($field).+, set: |plan, is_on| plan.$($field).+ = is_on }
    };
}
