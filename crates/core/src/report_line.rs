//! Lines of a report or a description, as every front end prints them.

/// The style of the first words of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineTone {
    /// The style of text.
    #[default]
    Plain,
    /// The style of success.
    Success,
    /// The style of headings.
    Strong,
}

/// A line of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportLine {
    /// The style of the first words.
    pub tone: LineTone,
    /// The first words.
    pub lead: String,
    /// The rest of the line, with its leading blank; safe to print.
    pub rest: String,
}

impl ReportLine {
    /// Creates a line in the style of text; empty to separate others.
    pub fn plain(rest: impl Into<String>) -> Self {
        Self { rest: rest.into(), ..Self::default() }
    }

    /// Creates a line whose first words state how the run ended.
    pub fn success(lead: impl Into<String>, rest: impl Into<String>) -> Self {
        Self { tone: LineTone::Success, lead: lead.into(), rest: rest.into() }
    }

    /// Returns the line with bars of ASCII characters.
    #[must_use]
    pub fn in_ascii(self) -> Self {
        Self { rest: self.rest.replace('█', "#").replace('░', ".").replace('…', "..."), ..self }
    }

    /// Creates a heading.
    pub fn heading(lead: impl Into<String>) -> Self {
        Self { tone: LineTone::Strong, lead: lead.into(), rest: String::new() }
    }
}

impl From<String> for ReportLine {
    fn from(text: String) -> Self {
        Self::plain(text)
    }
}
