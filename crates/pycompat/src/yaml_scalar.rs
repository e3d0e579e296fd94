//! Selects the style of a text as PyYAML does, and recognizes unquoted texts that YAML 1.1 does not parse as text.

use super::node::Node;
use super::yaml_read::unquoted;
use regex::Regex;
use std::sync::LazyLock;

/// The style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
}

/// The styles that the characters of a text permit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) empty: bool,
    plain: bool,
    single: bool,
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether PyYAML may write a non-ASCII character unescaped.
fn is_printable(c: char) -> bool {
    c == '\u{85}' || ('\u{a0}'..='\u{fffd}').contains(&c) && c != '\u{feff}' || ('\u{10000}'..'\u{10ffff}').contains(&c)
}

/// Whether a character separates words next to indicators.
fn is_blank(c: char) -> bool {
    matches!(c, '\0' | ' ' | '\t' | '\r') || is_break(c)
}

/// Determines the styles that the characters of `text` permit. Non-ASCII characters are escaped unless `allow_unicode`.
pub(super) fn analyze(text: &str, allow_unicode: bool) -> Analysis {
    let mut found = Findings::default();
    let starts_document = text.starts_with("---") || text.starts_with("...");
    let mut previous: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        found.add(c, previous, next);
        found.special |= c != '\n' && !(' '..='~').contains(&c) && !(allow_unicode && is_printable(c));
        previous = Some(c);
    }
    let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
    let edges = edge(text.chars().next()) || edge(previous);
    let only_double = found.space_before_break || found.special;
    Analysis {
        multiline: found.breaks,
        empty: text.is_empty(),
        plain: !(starts_document || found.indicator || edges || found.breaks || found.space_after_break || only_double),
        single: !(found.space_after_break || only_double),
    }
}

#[derive(Default)]
struct Findings {
    indicator: bool,
    breaks: bool,
    special: bool,
    space_after_break: bool,
    space_before_break: bool,
}

impl Findings {
    fn add(&mut self, c: char, previous: Option<char>, next: Option<char>) {
        let ends_here = next.is_none_or(is_blank);
        self.indicator |= match (c, previous) {
            ('#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`', None) => {
                true
            }
            ('?' | '-', None) | (':', _) => ends_here,
            ('#', Some(before)) => is_blank(before),
            _ => false,
        };
        self.breaks |= is_break(c);
        self.space_after_break |= c == ' ' && previous.is_some_and(is_break);
        self.space_before_break |= is_break(c) && previous == Some(' ');
    }
}

/// Returns the style that PyYAML selects outside flow collections. `for_loader` quotes text that the loaders would not parse as text.
pub(super) fn style(text: &str, analysis: &Analysis, simple_key: bool, for_loader: bool) -> Style {
    let plain_here = !(simple_key && (analysis.empty || analysis.multiline));
    let misread = for_loader && !matches!(unquoted(text), Node::Str(_));
    if plain_here && analysis.plain && !is_ambiguous(text) && !misread {
        Style::Plain
    } else if analysis.single && !(simple_key && analysis.multiline) {
        Style::Single
    } else {
        Style::Double
    }
}

static AMBIGUOUS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    [
        ("yYnNtTfFoO", r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\n?$"),
        (
            "-+0123456789.",
            concat!(
                r"^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?",
                r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?",
                r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*",
                r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\n?$"
            ),
        ),
        (
            "-+0123456789",
            concat!(
                r"^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)",
                r"|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)\n?$"
            ),
        ),
        ("<", r"^<<\n?$"),
        ("~nN", r"^(?:~|null|Null|NULL)\n?$"),
        (
            "0123456789",
            concat!(
                r"^(?:[0-9]{4}-[0-9][0-9]-[0-9][0-9]",
                r"|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9][0-9]:[0-9][0-9](?:\.[0-9]*)?",
                r"(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9][0-9])?))?)\n?$"
            ),
        ),
        ("=", r"^=\n?$"),
    ]
    .into_iter()
    .filter_map(|(first, pattern)| Regex::new(pattern).ok().map(|regex| (first, regex)))
    .collect()
});

/// Whether YAML 1.1 parses the unquoted text as something other than text.
pub(super) fn is_ambiguous(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return true };
    AMBIGUOUS.iter().any(|(firsts, regex)| firsts.contains(first) && regex.is_match(text))
}

/// Returns the escape of a character in double quotes; `None` if it needs none.
pub(super) fn escaped(c: char, allow_unicode: bool) -> Option<String> {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' if !allow_unicode => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        ' '..='~' => return None,
        // Even with `allow_unicode`, characters beyond the basic plane are escaped in double quotes.
        '\u{a0}'..='\u{fffd}' if allow_unicode && is_printable(c) => return None,
        _ => {
            let code = u32::from(c);
            return Some(match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            });
        }
    };
    Some(format!("\\{short}"))
}
