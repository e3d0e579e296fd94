//! Asks for the field map; each answer is evaluated on real samples.

use super::super::value_line;
use super::Guide;
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::{Field, SampleType};
use gristmill_core::text::display_safe;
use gristmill_core::Outcome;
use gristmill_ops::engine::plan::fields::{check_in, load, DecodedSample};
use gristmill_ops::engine::plan::{classes, suggest};
use std::time::Duration;

/// Number of real samples on which each expression is evaluated.
const SAMPLES: usize = 3;
/// Maximum time to wait for samples.
const SAMPLES_TIMEOUT: Duration = Duration::from_secs(5);

impl Guide {
    /// Asks for one expression per field; `None` goes back to the sample type.
    pub(super) fn field_map(&self, sample_type: &str) -> Outcome<Option<Vec<FieldExpr>>> {
        let facts = self.facts_when(SAMPLES_TIMEOUT, |facts| facts.sketches.len() >= SAMPLES);
        let samples: Vec<DecodedSample> = facts.sketches.iter().take(SAMPLES).map(|s| load(&facts.root, s)).collect();
        if samples.is_empty() {
            self.prompt
                .print("No sample was read yet; expressions are not checked now, but before anything is written.");
        }
        self.prompt.print("An expression is a part, with [name] steps into JSON; alternatives follow a comma: json[caption][long],txt");
        let class = classes::resolve(sample_type).ok().and_then(|class| class.known);
        let suggested = suggest::field_map_for(sample_type, &facts, &samples);
        let mut fields = Vec::new();
        match class {
            Some(known) => {
                for field in known.fields {
                    let default = suggested.iter().find(|f| f.field == field.name).map(|f| f.expr.clone());
                    if let Some(expr) = self.field(field, known, default, &samples)? {
                        fields.push(FieldExpr { field: field.name.to_owned(), expr });
                    }
                }
            }
            None => self.free_fields(&samples, &mut fields)?,
        }
        if fields.is_empty() {
            self.prompt.print("A field map needs one field at least.");
            return Ok(None);
        }
        Ok(Some(fields))
    }

    /// Asks for the expression of a field of a known class; an empty answer omits a field that has a default.
    fn field(
        &self,
        field: &Field,
        class: &SampleType,
        default: Option<String>,
        samples: &[DecodedSample],
    ) -> Outcome<Option<String>> {
        let optional = field.default.is_some();
        let kind = match field.default {
            Some(value) => format!("{}, default {value}; - leaves it out", field.field_type.python()),
            None => field.field_type.python().to_owned(),
        };
        loop {
            let default = default.as_deref().or(optional.then_some("-"));
            let expr = self.prompt.text(&format!("{} ({kind})", field.name), default, false)?;
            if expr == "-" && optional {
                return Ok(None);
            }
            if self.shown(field.name, &expr, Some(class), samples) || self.prompt.confirm("Use it anyway?", false)? {
                return Ok(Some(expr));
            }
        }
    }

    /// Asks for the fields of a user-defined class: names and expressions, until a name is empty.
    fn free_fields(&self, samples: &[DecodedSample], fields: &mut Vec<FieldExpr>) -> Outcome<()> {
        loop {
            let field = self.prompt.text("Field (empty: no more)", None, true)?;
            if field.is_empty() {
                return Ok(());
            }
            let expr = self.prompt.text("Expression", None, false)?;
            if self.shown(&field, &expr, None, samples) || self.prompt.confirm("Use it anyway?", false)? {
                fields.retain(|known: &FieldExpr| known.field != field);
                fields.push(FieldExpr { field, expr });
            }
        }
    }

    /// Prints the result of an expression on real samples; returns `false` if one of them fails.
    fn shown(&self, field: &str, expr: &str, class: Option<&SampleType>, samples: &[DecodedSample]) -> bool {
        let one = [FieldExpr { field: field.to_owned(), expr: expr.to_owned() }];
        let mut fine = true;
        for check in check_in(&one, class, samples, &self.facts()) {
            for (sample, result) in samples.iter().zip(&check.results) {
                let key = display_safe(&sample.key);
                match result {
                    Ok(value) => self.prompt.print(format!("  {key}: {}", value_line(value))),
                    Err(error) => {
                        fine = false;
                        self.prompt.print(format!("  {key}: fails: {}", display_safe(&error.to_string())));
                    }
                }
            }
            let failed = check.results.iter().filter(|result| result.is_err()).count();
            let parts = check.share.map(|share| share.text());
            if let Some(line) = share_line(failed, check.results.len(), parts.as_deref()) {
                self.prompt.print(format!("  {line}"));
            }
            if let Some(warning) = &check.warning {
                self.prompt.print(format!("  Warning: {}", display_safe(warning)));
            }
        }
        fine
    }
}

/// Returns a line with the known share of samples in which an expression resolves. The share of its parts is no such share if their content
/// fails.
fn share_line(failed: usize, tried: usize, parts: Option<&str>) -> Option<String> {
    let parts = parts?;
    Some(if tried > 0 && failed == tried {
        format!("fails on all samples shown ({tried}); its part is in {parts} of the samples seen")
    } else if failed > 0 {
        format!("fails on {failed} of {tried} samples shown; its part is in {parts} of the samples seen")
    } else {
        format!("resolves in {parts} of the samples seen")
    })
}

#[cfg(test)]
mod tests {
    use super::share_line;

    #[test]
    fn field_that_fails_on_all_samples_is_reported_as_failing() {
        let line = share_line(3, 3, Some("100 %")).unwrap();
        assert_eq!(line, "fails on all samples shown (3); its part is in 100 % of the samples seen");
        assert!(share_line(1, 3, Some("60.0 %")).unwrap().starts_with("fails on 1 of 3"));
        assert_eq!(share_line(0, 3, None), None);
    }
}
