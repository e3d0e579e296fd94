//! The field-map grammar: `detail.json[caption][long],txt`. Parsing only; evaluation needs samples and lives in `source`.

/// One option of a field-map expression: a part, then steps into its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOption {
    /// Part name; may hold dots.
    pub part: String,
    /// `[name]` steps: an index on a list, a key on a map.
    pub steps: Vec<String>,
}

/// A parsed expression: options tried from left to right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldExpression {
    /// At least one.
    pub options: Vec<FieldOption>,
}

impl FieldExpression {
    /// Parses an expression. Never fails: an option that does not fit the grammar is read as one whose part has the *whole*
    /// text as its name, as the reference reads it; the other options stay (Energon format page, "dataset.yaml").
    pub fn parse(text: &str) -> Self {
        let whole = || FieldOption { part: text.to_owned(), steps: Vec::new() };
        Self { options: text.split(',').map(|option| parse_option(option).unwrap_or_else(whole)).collect() }
    }
    /// Whether every option fits the grammar; one that does not names a part that hardly ever exists.
    pub fn fits_grammar(text: &str) -> bool {
        text.split(',').all(|option| parse_option(option).is_some())
    }
}

fn parse_option(text: &str) -> Option<FieldOption> {
    let end = text.find(['[', ']']).unwrap_or(text.len());
    let (part, mut rest) = text.split_at(end);
    if part.is_empty() {
        return None;
    }
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let inner = rest.strip_prefix('[')?;
        let close = inner.find(']')?;
        let step = &inner[..close];
        if step.is_empty() || step.contains('[') {
            return None;
        }
        steps.push(step.to_owned());
        rest = &inner[close + 1..];
    }
    Some(FieldOption { part: part.to_owned(), steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_parts_and_steps_are_told_apart() {
        let e = FieldExpression::parse("detail.json[caption][long],txt");
        assert_eq!(e.options.len(), 2);
        assert_eq!(e.options[0].part, "detail.json");
        assert_eq!(e.options[0].steps, ["caption", "long"]);
        assert_eq!(e.options[1], FieldOption { part: "txt".into(), steps: vec![] });
    }

    #[test]
    fn text_outside_the_grammar_is_one_part_name() {
        for text in ["json[a", "json[a]x,txt", "", "json]"] {
            assert!(!FieldExpression::fits_grammar(text), "{text}");
            assert_eq!(FieldExpression::parse(text).options[0].part, text);
        }
        let mixed = FieldExpression::parse("txt,json[a");
        assert_eq!(mixed.options[0].part, "txt");
        assert_eq!(mixed.options[1].part, "txt,json[a");
    }
}
