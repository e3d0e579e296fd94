//! A value of a JSON or YAML file: numbers, text, lists and maps that keep their order.

/// One value. Text and numbers are distinct: an unquoted `12` in YAML is [`Node::Int`], not text.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    List(Vec<Node>),
    /// A map; keys are unique and keep their order.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Creates a text.
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }
    /// Creates a list of texts.
    pub fn strings<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::List(items.into_iter().map(Self::str).collect())
    }
    /// Returns the text, if the value is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }
    /// Returns the items, if the value is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }
    /// Returns the entries, if the value is a map.
    pub fn as_map(&self) -> Option<&[(String, Node)]> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }
    /// Returns the value of a key, if the value is a map that contains it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    /// Describes the value in user-facing words: `a list`, `the number 12`.
    pub fn describe(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => format!("the truth value {value}"),
            Self::Int(value) => format!("the number {value}"),
            Self::Float(value) => format!("the number {value}"),
            Self::Str(text) => format!("the text '{}'", shortened(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a map".to_owned(),
        }
    }
}

fn shortened(text: &str) -> String {
    const LIMIT: usize = 80;
    if text.chars().count() <= LIMIT {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(LIMIT).collect();
    short.push('…');
    short
}
