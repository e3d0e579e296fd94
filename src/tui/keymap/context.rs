//! The contexts in which keys are pressed, and the layers in which a key is looked up.

macro_rules! contexts {
    ($($name:ident, [$($layer:ident),*], $title:literal, $help:literal;)*) => {
        /// The context in which a key is pressed. Each screen returns one; see [`Context::layers`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Context {
            $(#[doc = $help] $name,)*
        }
        impl Context {
            /// All contexts.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Returns the layers in which a key is looked up, innermost first.
            pub fn layers(self) -> &'static [Self] {
                match self { $(Self::$name => &[Self::$name $(, Self::$layer)*],)* }
            }
            /// Returns the heading of its section in help; unique per context.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

// A context, its outer layers, its heading, its description.
contexts! {
    Global, [], "everywhere", "Works everywhere, unless a nearer context says otherwise.";
    List, [Global], "moving", "Works wherever there is a list.";
    Home, [List, Global], "home", "The home screen's list.";
    HomeFilter, [Global], "home: filter", "The home screen's filter: letters type.";
    Jobs, [List, Global], "jobs", "The jobs panel.";
    Picker, [Global], "help and commands", "A list that is filtered by typing: help, palette.";
    Question, [Global], "question", "A question with a few answers.";
    Page, [List, Global], "page", "A page of text.";
    Prepare, [List, Global], "prepare", "A step of the guided prepare.";
    PrepareText, [Global], "prepare: text", "A text field in a step of the guided prepare: letters type.";
    PrepareExpression, [PrepareText, Global], "prepare: expression", "An expression of the field map: letters type, Tab completes.";
    PrepareRail, [Prepare, List, Global], "prepare: steps", "The list of steps on the left.";
    PrepareShards, [Prepare, List, Global], "prepare: shards", "The list of shards.";
    PrepareHand, [Prepare, List, Global], "prepare: splits by hand", "The columns of shards that are divided by hand.";
    PrepareReview, [Prepare, List, Global], "prepare: review", "The review of what will be written.";
    Guided, [List, Global], "form: step", "A step of a form.";
    GuidedText, [Global], "form: step, text", "A text field in a step of a form: letters type.";
    GuidedRail, [Guided, List, Global], "form: steps", "The list of steps of a form.";
    GuidedReview, [Guided, List, Global], "form: review", "The review of what a run would do.";
    Weights, [Guided, List, Global], "form: weights", "A step of a form with a list of weights.";
    Dedup, [Guided, List, Global], "dedup", "A step of the form of dedup.";
    DedupRail, [GuidedRail, Dedup, Guided, List, Global], "dedup: steps", "The list of steps of the form of dedup.";
    DedupReview, [GuidedReview, Dedup, Guided, List, Global], "dedup: review", "The review of what will be deduplicated.";
    Shard, [Guided, List, Global], "shard", "A step of the form of shard, with samples.";
    ShardInputs, [Shard, Guided, List, Global], "shard: inputs", "The list of inputs in the form of shard.";
    ShardSize, [Shard, Guided, List, Global], "shard: size", "The sliders of the size of a shard.";
    ShardText, [GuidedText, Global], "shard: text", "A text field in a step of the form of shard: letters type.";
    ShardRail, [GuidedRail, Shard, Guided, List, Global], "shard: steps", "The list of steps of the form of shard.";
    Splits, [List, Global], "splits", "The columns of the split editor.";
    SplitsExcludes, [Splits, List, Global], "splits: excludes", "The excludes in the split editor.";
    SplitsList, [List, Global], "splits: choose", "A list of choices over the split editor.";
    SplitsText, [Global], "splits: text", "A text field over the split editor: letters type.";
    SplitsReview, [List, Global], "splits: changes", "The diff of what the split editor would write.";
    SplitsLeaks, [List, Global], "splits: leaks", "The leaks that were found.";
    Browse, [List, Global], "browse", "The browser: its lists of shards and samples.";
    BrowseDetail, [Browse, List, Global], "browse: sample", "The browser's view of one sample.";
    BrowseReader, [BrowseDetail, Browse, List, Global], "browse: reader", "The browser's reader: the texts of one sample over the whole screen.";
    BrowseText, [Global], "browse: text", "A line to type into over the browser: letters type.";
    Problems, [List, Global], "problems", "The list of problems: of a run that has ended, of a job, in the browser.";
    BrowseSheet, [List, Global], "browse: contact sheet", "The sheet of random samples.";
    Repeats, [List, Global], "repeats", "Documents with their repeated text.";
    Form, [List, Global], "form", "A form on one page.";
    FormText, [Global], "form: text", "A text field of a form: letters type.";
    Run, [List, Global], "run", "A job that was started from a screen.";
    RunProblems, [Problems, Run, List, Global], "run: problems", "The problems of a run that has ended.";
    JobsProblems, [Problems, Jobs, List, Global], "jobs: problems", "The problems of the selected job, which has ended.";
}

impl Context {
    /// Returns the stable name, as used in the settings file: `prepare-shards`.
    pub fn id(self) -> String {
        let mut id = String::new();
        for c in format!("{self:?}").chars() {
            if c.is_uppercase() && !id.is_empty() {
                id.push('-');
            }
            id.push(c.to_ascii_lowercase());
        }
        id
    }

    /// Whether letters are typed or select an answer in this context: keys that type cannot be bound in it.
    pub fn takes_text(self) -> bool {
        self != Self::Global && !self.layers().contains(&Self::List)
    }
}
