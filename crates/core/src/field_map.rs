//! Parses field-map expressions, such as `detail.json[caption][long],txt`. Evaluation needs samples and is part of `source`.

/// One option of a field-map expression: the name of a part, and steps into its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOption {
    /// Part name; may contain dots.
    pub part: String,
    /// `[name]` steps: an index of a list, or a key of a map.
    pub steps: Vec<String>,
}

/// A parsed expression: options that are tried from left to right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldExpression {
    /// The options; at least one.
    pub options: Vec<FieldOption>,
}

impl FieldExpression {
    /// Parses an expression. Never fails: as in the reference program, an invalid option becomes an option whose part name is the *whole*
    /// text; the other options are unchanged (docs/formats/energon.md §10).
    pub fn parse(text: &str) -> Self {
        let whole = || FieldOption { part: text.to_owned(), steps: Vec::new() };
        Self { options: text.split(',').map(|option| parse_option(option).unwrap_or_else(whole)).collect() }
    }
    /// Whether every option is valid. An invalid option refers to a part that hardly ever exists.
    pub fn fits_grammar(text: &str) -> bool {
        Self::defect(text).is_none()
    }
    /// Returns what is wrong with the first invalid option and how to correct it, not escaped for display.
    pub fn defect(text: &str) -> Option<String> {
        let options: Vec<&str> = text.split(',').collect();
        let position = options.iter().position(|option| parse_option(option).is_none())?;
        let option = options[position];
        Some(if !option.is_empty() {
            defect_of(option)
        } else if position + 1 == options.len() && position > 0 {
            "an alternative is empty: remove the trailing comma".to_owned()
        } else if position == 0 {
            "an alternative is empty: remove the comma at the beginning".to_owned()
        } else {
            "an alternative is empty: remove one of the commas".to_owned()
        })
    }
}

/// Returns the reason why a non-empty option is invalid.
fn defect_of(option: &str) -> String {
    let mut open = false;
    for (at, c) in option.char_indices() {
        match c {
            '[' if open => return format!("missing ] in '{option}'"),
            ']' if !open => return format!("extra ] in '{option}'"),
            '[' => open = true,
            ']' if option[..at].ends_with('[') => return format!("nothing between [ and ] in '{option}'"),
            ']' => open = false,
            _ if !open && option[..at].contains(']') => return format!("text between ] and [ in '{option}'"),
            _ => {}
        }
    }
    if open {
        format!("missing ] in '{option}'")
    } else {
        format!("no part before [ in '{option}'")
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
    fn options_parts_and_steps_are_distinguished() {
        let e = FieldExpression::parse("detail.json[caption][long],txt");
        assert_eq!(e.options.len(), 2);
        assert_eq!(e.options[0].part, "detail.json");
        assert_eq!(e.options[0].steps, ["caption", "long"]);
        assert_eq!(e.options[1], FieldOption { part: "txt".into(), steps: vec![] });
    }

    #[test]
    fn field_map_grammar_error_names_the_faulty_text() {
        let cases = [
            ("jpg,", "an alternative is empty: remove the trailing comma"),
            (",jpg", "an alternative is empty: remove the comma at the beginning"),
            ("jpg,,png", "an alternative is empty: remove one of the commas"),
            ("json[caption", "missing ] in 'json[caption'"),
            ("json[a[b]", "missing ] in 'json[a[b]'"),
            ("txt,json[caption]][7]", "extra ] in 'json[caption]][7]'"),
            ("json]", "extra ] in 'json]'"),
            ("json[]", "nothing between [ and ] in 'json[]'"),
            ("json[a]x", "text between ] and [ in 'json[a]x'"),
            ("[a]", "no part before [ in '[a]'"),
        ];
        for (text, defect) in cases {
            assert_eq!(FieldExpression::defect(text).as_deref(), Some(defect), "{text}");
        }
        assert_eq!(FieldExpression::defect("detail.json[caption][0],txt"), None);
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
