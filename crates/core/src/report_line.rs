//! Lines of reports and descriptions, as all front ends print them.

/// The style of the first words of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineTone {
    /// The style of ordinary text.
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
    /// The rest of the line, including its leading space; escaped for display.
    pub rest: String,
}

impl ReportLine {
    /// Creates a line of ordinary text; an empty one separates other lines.
    pub fn plain(rest: impl Into<String>) -> Self {
        Self { rest: rest.into(), ..Self::default() }
    }

    /// Creates a line that starts with the result of the run.
    pub fn success(lead: impl Into<String>, rest: impl Into<String>) -> Self {
        Self { tone: LineTone::Success, lead: lead.into(), rest: rest.into() }
    }

    /// Returns the line with ASCII characters instead of block characters.
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
