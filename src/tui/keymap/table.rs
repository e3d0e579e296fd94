//! The table itself: every action with its words, every context, and which key does what where.

macro_rules! actions {
    ($($name:ident, $id:literal, $label:literal, $help:literal;)*) => {
        /// Something a person can ask for by a key, from `?`, or by name from `:`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action {
            $(#[doc = $help] $name,)*
        }
        impl Action {
            /// All actions, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// The stable name, as a configuration and the palette write it.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }
            /// One or two words for the bottom bar.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
            /// One sentence for help.
            pub fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)* }
            }
        }
    };
}

actions! {
    // Everywhere. The frame does these itself.
    Help, "help", "help", "Lists what works here; typing filters, Enter runs the item.";
    Palette, "commands", "commands", "Finds any action by its name and runs it.";
    Jobs, "jobs", "jobs", "Shows running and finished jobs, their progress, problems and log.";
    Quit, "quit", "quit", "Leaves the program; asks first when a job is running.";
    Interrupt, "interrupt", "stop", "Stops the job in focus; pressed twice in a row, leaves the program.";
    Suspend, "suspend", "suspend", "Puts the program to sleep and returns to the shell; `fg` comes back.";
    Redraw, "redraw", "redraw", "Draws the whole screen again.";
    SaveScreen, "save-screen", "save screen", "Saves what is on the screen as a picture (SVG) into the current folder.";
    // Moving, wherever there is a list.
    Up, "up", "up", "Moves to the row above.";
    Down, "down", "down", "Moves to the row below.";
    First, "first", "first", "Moves to the first row.";
    Last, "last", "last", "Moves to the last row.";
    HalfUp, "half-page-up", "half page up", "Moves half a page up.";
    HalfDown, "half-page-down", "half page down", "Moves half a page down.";
    PageUp, "page-up", "page up", "Moves a page up.";
    PageDown, "page-down", "page down", "Moves a page down.";
    Left, "left", "left", "Moves to the left.";
    Right, "right", "right", "Moves to the right.";
    NextPane, "next-pane", "pane", "Moves the focus to the next pane.";
    PreviousPane, "previous-pane", "previous pane", "Moves the focus to the previous pane.";
    Accept, "accept", "accept", "Takes what is selected or typed.";
    Close, "close", "back", "Goes one step back, without losing anything.";
    // Home.
    Open, "open", "open", "Opens what is selected: enters a folder, prepares a data set, browses one that is prepared.";
    Enter, "enter", "enter folder", "Enters the folder, even when it is a data set.";
    Parent, "parent", "parent folder", "Goes to the folder above.";
    Find, "find", "find", "Filters the list as you type; Enter or Esc returns to the list.";
    Recent, "recent", "recent", "Shows the data sets that were opened last.";
    Prepare, "prepare", "prepare", "Guides through preparing the data set for training.";
    Resume, "resume", "resume", "Goes on with the preparation that was interrupted.";
    Pack, "pack", "pack tokens", "Guides through packing text into tokens for Modalities, Nanosets and Forager.";
    Dedup, "dedup", "dedup", "Guides through removing repeated text: each minimum length is estimated from the data.";
    Media, "media", "media metadata", "Records the sizes and durations of pictures, sounds and videos.";
    Facts, "facts", "facts", "Draws how sizes, formats, durations and lengths are distributed.";
    Splits, "splits", "splits", "Edits which shards belong to which split, and what is excluded.";
    Mix, "mix", "mix", "Puts prepared data sets together into a mixture, and writes its file.";
    Info, "info", "info", "Shows what is known of the data set: shards, samples, splits.";
    Hidden, "hidden", "hidden files", "Shows or hides entries whose names start with a dot.";
    Reload, "reload", "reload", "Reads what is on the screen again from the disk.";
    Edit, "edit", "edit", "Opens the file in your editor ($VISUAL, $EDITOR) and comes back.";
    // Splits and excludes, in their editor and in the browser.
    MoveTo, "move-to", "move", "Moves the selected shards to a split that you choose.";
    ByPattern, "by-pattern", "pattern", "Moves or excludes the shards whose names a regular expression matches.";
    Balance, "balance", "balance", "Moves as few shards as it takes to reach a ratio of samples; shows the result first.";
    AddExclude, "add-exclude", "add exclude", "Excludes what you type: a shard, shard/key, or a range such as shard/{001..009}.";
    Note, "note", "note", "Writes a note beside an exclude, as a comment in the file.";
    LeakCheck, "leak-check", "leak check", "Looks for samples that are in two splits, by key and by content.";
    RepairAll, "repair-all", "repair all", "Ends all sure leaks, each by its best way, as one change that undo takes back.";
    EditText, "edit-text", "edit as text", "Opens the file with its unwritten changes in your editor ($VISUAL, $EDITOR), then takes it back.";
    RenameSplit, "rename-split", "rename split", "Gives the selected split another name.";
    Write, "write", "write", "Shows the changes as a diff, and writes them when you agree.";
    // Browser.
    Browse, "browse", "browse", "Shows shards, samples and their parts, sample by sample; nothing is written by looking.";
    FindKey, "find-key", "find key", "Finds samples by key: plain text anywhere in it, ^text at its beginning, /text/ as a regular expression.";
    FindNext, "find-next", "next found", "Moves to the next sample that was found.";
    FindPrevious, "find-previous", "previous found", "Moves to the previous sample that was found.";
    GoToNumber, "go-to-number", "go to number", "Moves to a sample by its number, counted from 0; typing the digits does it, too.";
    Random, "random", "random", "Moves to a sample drawn by chance from all that are listed.";
    NextProblem, "next-problem", "next problem", "Moves to the next sample with a problem.";
    PreviousProblem, "previous-problem", "previous problem", "Moves to the previous sample with a problem.";
    FilterSamples, "filter-samples", "filter", "Lists only samples of a split, with or without a part, excluded, of a size, or with problems.";
    ExcludeSample, "exclude-sample", "exclude", "Excludes the sample (in the list of shards: the shard) or all that is marked, or takes it back in; written by w.";
    LoaderView, "loader-view", "as loaded", "Shows the sample as the training loader gets it; of packed tokens the windows that training reads, by a sequence length.";
    Tokenizer, "tokenizer", "tokenizer", "Asks for the tokenizer that gives ids their text: a file, a folder, or a name in the hub's cache.";
    OffsetView, "offset-view", "offsets", "Shows the bytes of the tar header beside the row of the index that points at them.";
    ContactSheet, "contact-sheet", "contact sheet", "Shows a sheet of samples drawn by chance; the same seed draws the same ones.";
    NewSeed, "new-seed", "new seed", "Draws other samples, by another seed.";
    SetSeed, "set-seed", "set seed", "Asks for the seed, so that two people look at the same samples.";
    CopyKey, "copy-key", "copy key", "Copies the sample's key to the clipboard (OSC 52, works over SSH).";
    CopyPath, "copy-path", "copy path", "Copies the path of the file that the sample lies in to the clipboard.";
    OpenPart, "open-part", "edit a copy", "Opens a read-only copy of the part in your editor ($VISUAL, $EDITOR).";
    Export, "export", "export", "Writes the part or the whole sample into a folder of your choice.";
    FindText, "find-text", "find text", "Looks for words in what is shown of the part.";
    CopyValue, "copy-value", "copy value", "Copies the value of the selected line, or the whole short text, to the clipboard.";
    CopyField, "copy-field", "copy field path", "Copies where the selected line is, as an expression of the field map.";
    NextPart, "next-part", "next part", "Shows the next part of the sample.";
    PreviousPart, "previous-part", "previous part", "Shows the previous part of the sample.";
    Zoom, "zoom", "large", "Gives the whole screen to what is shown of the sample, or takes it back.";
    Repeats, "repeats", "repeats", "Draws what repeats on the text of the documents; nothing is written.";
    KeptCopy, "kept-copy", "kept copy", "Goes to the copy that stays of the range that repeats.";
    Passages, "passages", "passages", "Lists the passages that repeat most, with how often they occur; again, the documents.";
    ByFile, "by-file", "by file", "Lists the text of each file before and after; again, the documents.";
    // Jobs.
    CancelJob, "cancel-job", "cancel job", "Asks the selected job to stop at the next safe point; nothing half-written stays.";
    ShowLog, "log", "log", "Switches between the job's log and its problems.";
    ClearFinished, "clear-finished", "clear finished", "Takes finished jobs off the list.";
    // Guided prepare.
    Next, "next", "next", "Accepts this step's answers and goes to the next step.";
    NextField, "next-field", "field", "Moves to the next field of this step, then to the list of steps.";
    PreviousField, "previous-field", "previous field", "Moves to the previous field of this step.";
    Toggle, "toggle", "choose", "Chooses the option, or switches it on or off.";
    Complete, "complete", "complete", "Completes what is typed from the parts and keys seen in the data.";
    Exclude, "exclude", "exclude", "Leaves the selected shard out, or takes it back in.";
    MoveToNextSplit, "move", "move", "Moves the selected shards to the next split.";
    MoveToPreviousSplit, "move-back", "move back", "Moves the selected shards to the split before.";
    Mark, "mark", "mark", "Starts or ends marking a range of rows; what is done next is done to all of them.";
    AddSplit, "add-split", "add split", "Adds a split; its name is asked for.";
    DropSplit, "drop-split", "drop split", "Takes the selected split away; its shards are then in none.";
    AddAux, "add-aux", "add media source", "Adds a source of media to the selected data set of a mixture.";
    DropRow, "drop-row", "drop row", "Empties the row in focus.";
    Undo, "undo", "undo", "Takes back the last change.";
    Redo, "redo", "redo", "Does again what was taken back.";
    Details, "details", "details", "Shows everything about the selected row.";
    StartAfresh, "start-afresh", "start afresh", "Forgets the answers of the draft and begins with what the data suggests.";
    Run, "run", "run", "Starts the preparation with the answers given.";
    DryRun, "dry-run", "dry run", "Scans and checks everything as a run would, and writes nothing.";
    SavePlan, "save-plan", "save plan", "Saves the answers as a plan file that `gristmill run` replays.";
    Copy, "copy", "copy", "Copies the equivalent command line to the clipboard (OSC 52, works over SSH).";
    Background, "background", "background", "Leaves the job running and returns to the home screen.";
    Retry, "retry", "retry", "Starts the same preparation again; after an interruption it goes on where it stopped.";
    GoLength, "go-length", "step: length", "Jumps to the step Minimum length.";
    GoMode, "go-mode", "step: mode", "Jumps to the step Mode.";
    GoSource, "go-source", "step: source", "Jumps to the step Source.";
    GoSplits, "go-splits", "step: splits", "Jumps to the step Splits.";
    GoSampleType, "go-sample-type", "step: type", "Jumps to the step Sample type.";
    GoFieldMap, "go-field-map", "step: fields", "Jumps to the step Field map.";
    GoMedia, "go-media", "step: media", "Jumps to the step Media.";
    GoText, "go-text", "step: text", "Jumps to the step Text.";
    GoTokenizer, "go-tokenizer", "step: tokenizer", "Jumps to the step Tokenizer.";
    GoFormats, "go-formats", "step: formats", "Jumps to the step Formats.";
    Advanced, "advanced", "all settings", "Shows every setting of this step, or only those that matter most.";
    GoReview, "go-review", "step: review", "Jumps to the step Review.";
}

/// Where keys are pressed. Each screen names one; see [`Context::layers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Works everywhere, unless a nearer context says otherwise.
    Global,
    /// Works wherever there is a list.
    List,
    /// The home screen's list.
    Home,
    /// The home screen's filter: letters type.
    HomeFilter,
    /// The jobs panel.
    Jobs,
    /// A list that is filtered by typing: help, palette.
    Picker,
    /// A question with a few answers.
    Question,
    /// A page of text.
    Page,
    /// A step of the guided prepare.
    Prepare,
    /// A text field in a step of the guided prepare: letters type.
    PrepareText,
    /// An expression of the field map: letters type, Tab completes.
    PrepareExpression,
    /// The list of steps on the left.
    PrepareRail,
    /// The list of shards.
    PrepareShards,
    /// The columns of shards that are divided by hand.
    PrepareHand,
    /// The review of what will be written.
    PrepareReview,
    /// A step of the guided pack.
    Pack,
    /// A text field in a step of the guided pack: letters type.
    PackText,
    /// The list of steps of the guided pack.
    PackRail,
    /// The review of what will be packed.
    PackReview,
    /// A step of the guided dedup.
    Dedup,
    /// A text field in a step of the guided dedup: letters type.
    DedupText,
    /// The list of steps of the guided dedup.
    DedupRail,
    /// The review of what will be deduplicated.
    DedupReview,
    /// The columns of the split editor.
    Splits,
    /// The excludes in the split editor.
    SplitsExcludes,
    /// A list over the split editor from which something is chosen.
    SplitsList,
    /// A text field over the split editor: letters type.
    SplitsText,
    /// The diff of what the split editor would write.
    SplitsReview,
    /// The leaks that were found.
    SplitsLeaks,
    /// The browser: its lists of shards and samples.
    Browse,
    /// The browser's view of one sample.
    BrowseDetail,
    /// A line to type into over the browser: letters type.
    BrowseText,
    /// The sheet of samples drawn by chance.
    BrowseSheet,
    /// Documents with what repeats in them.
    Repeats,
    /// A form on one page: answers, and what they come to.
    Form,
    /// A text field of a form: letters type.
    FormText,
    /// A job that was started from a screen: the run step of the guided prepare, and other runs.
    Run,
}

impl Context {
    /// All contexts.
    pub const ALL: &'static [Self] = &[
        Self::Global,
        Self::List,
        Self::Home,
        Self::HomeFilter,
        Self::Jobs,
        Self::Picker,
        Self::Question,
        Self::Page,
        Self::Prepare,
        Self::PrepareText,
        Self::PrepareExpression,
        Self::PrepareRail,
        Self::PrepareShards,
        Self::PrepareHand,
        Self::PrepareReview,
        Self::Pack,
        Self::PackText,
        Self::PackRail,
        Self::PackReview,
        Self::Dedup,
        Self::DedupText,
        Self::DedupRail,
        Self::DedupReview,
        Self::Splits,
        Self::SplitsExcludes,
        Self::SplitsList,
        Self::SplitsText,
        Self::SplitsReview,
        Self::SplitsLeaks,
        Self::Browse,
        Self::BrowseDetail,
        Self::BrowseText,
        Self::BrowseSheet,
        Self::Repeats,
        Self::Form,
        Self::FormText,
        Self::Run,
    ];

    /// The layers in which a key is looked up, nearest first.
    pub fn layers(self) -> &'static [Self] {
        match self {
            Self::Global => &[Self::Global],
            Self::List => &[Self::List, Self::Global],
            Self::Home => &[Self::Home, Self::List, Self::Global],
            Self::HomeFilter => &[Self::HomeFilter, Self::Global],
            Self::Jobs => &[Self::Jobs, Self::List, Self::Global],
            Self::Picker => &[Self::Picker, Self::Global],
            Self::Question => &[Self::Question, Self::Global],
            Self::Page => &[Self::Page, Self::List, Self::Global],
            Self::Prepare => &[Self::Prepare, Self::List, Self::Global],
            Self::PrepareText => &[Self::PrepareText, Self::Global],
            Self::PrepareExpression => &[Self::PrepareExpression, Self::PrepareText, Self::Global],
            Self::PrepareRail => &[Self::PrepareRail, Self::Prepare, Self::List, Self::Global],
            Self::PrepareShards => &[Self::PrepareShards, Self::Prepare, Self::List, Self::Global],
            Self::PrepareHand => &[Self::PrepareHand, Self::Prepare, Self::List, Self::Global],
            Self::PrepareReview => &[Self::PrepareReview, Self::Prepare, Self::List, Self::Global],
            Self::Pack => &[Self::Pack, Self::List, Self::Global],
            Self::PackText => &[Self::PackText, Self::Global],
            Self::PackRail => &[Self::PackRail, Self::Pack, Self::List, Self::Global],
            Self::PackReview => &[Self::PackReview, Self::Pack, Self::List, Self::Global],
            Self::Dedup => &[Self::Dedup, Self::List, Self::Global],
            Self::DedupText => &[Self::DedupText, Self::Global],
            Self::DedupRail => &[Self::DedupRail, Self::Dedup, Self::List, Self::Global],
            Self::DedupReview => &[Self::DedupReview, Self::Dedup, Self::List, Self::Global],
            Self::Splits => &[Self::Splits, Self::List, Self::Global],
            Self::SplitsExcludes => &[Self::SplitsExcludes, Self::Splits, Self::List, Self::Global],
            Self::SplitsList => &[Self::SplitsList, Self::List, Self::Global],
            Self::SplitsText => &[Self::SplitsText, Self::Global],
            Self::SplitsReview => &[Self::SplitsReview, Self::List, Self::Global],
            Self::SplitsLeaks => &[Self::SplitsLeaks, Self::List, Self::Global],
            Self::Browse => &[Self::Browse, Self::List, Self::Global],
            Self::BrowseDetail => &[Self::BrowseDetail, Self::Browse, Self::List, Self::Global],
            Self::BrowseText => &[Self::BrowseText, Self::Global],
            Self::BrowseSheet => &[Self::BrowseSheet, Self::List, Self::Global],
            Self::Repeats => &[Self::Repeats, Self::List, Self::Global],
            Self::Form => &[Self::Form, Self::List, Self::Global],
            Self::FormText => &[Self::FormText, Self::Global],
            Self::Run => &[Self::Run, Self::List, Self::Global],
        }
    }

    /// The stable name, as a configuration writes it: `prepare-shards`.
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

    /// Whether letters are typed, or choose by themselves, where this context is: keys that type cannot be bound in it.
    pub fn takes_text(self) -> bool {
        self != Self::Global && !self.layers().contains(&Self::List)
    }

    /// The heading of its section in help; each has its own.
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "everywhere",
            Self::List => "moving",
            Self::Home => "home",
            Self::HomeFilter => "home: filter",
            Self::Jobs => "jobs",
            Self::Picker => "help and commands",
            Self::Question => "question",
            Self::Page => "page",
            Self::Prepare => "prepare",
            Self::PrepareText => "prepare: text",
            Self::PrepareExpression => "prepare: expression",
            Self::PrepareRail => "prepare: steps",
            Self::PrepareShards => "prepare: shards",
            Self::PrepareHand => "prepare: splits by hand",
            Self::PrepareReview => "prepare: review",
            Self::Pack => "pack",
            Self::PackText => "pack: text",
            Self::PackRail => "pack: steps",
            Self::PackReview => "pack: review",
            Self::Dedup => "dedup",
            Self::DedupText => "dedup: text",
            Self::DedupRail => "dedup: steps",
            Self::DedupReview => "dedup: review",
            Self::Splits => "splits",
            Self::SplitsExcludes => "splits: excludes",
            Self::SplitsList => "splits: choose",
            Self::SplitsText => "splits: text",
            Self::SplitsReview => "splits: changes",
            Self::SplitsLeaks => "splits: leaks",
            Self::Browse => "browse",
            Self::BrowseDetail => "browse: sample",
            Self::BrowseText => "browse: text",
            Self::BrowseSheet => "browse: contact sheet",
            Self::Repeats => "repeats",
            Self::Form => "form",
            Self::FormText => "form: text",
            Self::Run => "run",
        }
    }
}

/// One line of the table: the default keys of an action in a context.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The layer it belongs to.
    pub context: Context,
    /// What it does.
    pub action: Action,
    /// Default keys, most typical first (`enter`, `ctrl-d`, `g g`).
    pub keys: &'static [&'static str],
    /// Shown in the bottom bar, in table order.
    pub in_bar: bool,
}

const fn bar(context: Context, action: Action, keys: &'static [&'static str]) -> Binding {
    Binding { context, action, keys, in_bar: true }
}
const fn key(context: Context, action: Action, keys: &'static [&'static str]) -> Binding {
    Binding { context, action, keys, in_bar: false }
}

use Action as A;
use Context as C;

/// The default keys. The bottom bar shows the marked ones, nearest layer first.
pub const BINDINGS: &[Binding] = &[
    bar(C::Home, A::Open, &["enter"]),
    bar(C::Home, A::Find, &["/"]),
    bar(C::Home, A::NextPane, &["tab"]),
    bar(C::Home, A::Recent, &["r"]),
    key(C::Home, A::PreviousPane, &["backtab"]),
    key(C::Home, A::Enter, &["l", "right"]),
    key(C::Home, A::Parent, &["h", "backspace", "left", "-"]),
    key(C::Home, A::Prepare, &["p"]),
    key(C::Home, A::Resume, &["c"]),
    key(C::Home, A::Browse, &["b"]),
    key(C::Home, A::Pack, &["t"]),
    key(C::Home, A::Dedup, &["d"]),
    key(C::Home, A::Media, &["m"]),
    key(C::Home, A::Facts, &["f"]),
    key(C::Home, A::Info, &["i"]),
    key(C::Home, A::Splits, &["s"]),
    key(C::Home, A::Mix, &["x"]),
    key(C::Home, A::Edit, &["e"]),
    key(C::Home, A::Hidden, &["."]),
    key(C::Home, A::Reload, &["f5"]),
    key(C::Home, A::Close, &["esc"]),
    bar(C::HomeFilter, A::Accept, &["enter"]),
    bar(C::HomeFilter, A::Close, &["esc"]),
    key(C::HomeFilter, A::Up, &["up", "ctrl-p"]),
    key(C::HomeFilter, A::Down, &["down", "ctrl-n"]),
    key(C::HomeFilter, A::NextPane, &["tab"]),
    bar(C::Jobs, A::Close, &["esc"]),
    bar(C::Jobs, A::ShowLog, &["enter", "l"]),
    bar(C::Jobs, A::CancelJob, &["x"]),
    bar(C::Jobs, A::ClearFinished, &["c"]),
    bar(C::Picker, A::Accept, &["enter"]),
    bar(C::Picker, A::Close, &["esc"]),
    key(C::Picker, A::Up, &["up", "ctrl-p"]),
    key(C::Picker, A::Down, &["down", "ctrl-j", "ctrl-n"]),
    key(C::Picker, A::PageUp, &["pageup"]),
    key(C::Picker, A::PageDown, &["pagedown"]),
    bar(C::Question, A::Accept, &["enter"]),
    bar(C::Question, A::Close, &["esc"]),
    key(C::Question, A::Up, &["up", "backtab"]),
    key(C::Question, A::Down, &["down", "tab"]),
    bar(C::Page, A::Close, &["esc"]),
    bar(C::PrepareRail, A::Accept, &["enter", "l", "right"]),
    bar(C::PrepareShards, A::Exclude, &["x"]),
    bar(C::PrepareHand, A::MoveToNextSplit, &["m", ">"]),
    bar(C::PrepareHand, A::Mark, &["V", "v"]),
    bar(C::PrepareHand, A::AddSplit, &["a"]),
    bar(C::PrepareHand, A::Undo, &["u"]),
    key(C::PrepareHand, A::MoveToPreviousSplit, &["M", "<"]),
    key(C::PrepareHand, A::DropSplit, &["D"]),
    key(C::PrepareHand, A::Redo, &["ctrl-r"]),
    bar(C::PrepareReview, A::Run, &["enter", "R"]),
    bar(C::PrepareReview, A::SavePlan, &["s", "ctrl-s"]),
    bar(C::PrepareReview, A::DryRun, &["d"]),
    bar(C::PrepareReview, A::Copy, &["y"]),
    bar(C::Prepare, A::Next, &["enter"]),
    bar(C::Prepare, A::Close, &["esc"]),
    bar(C::Prepare, A::NextField, &["tab"]),
    key(C::Prepare, A::PreviousField, &["backtab"]),
    key(C::Prepare, A::Toggle, &["space"]),
    key(C::Prepare, A::Left, &["left", "h"]),
    key(C::Prepare, A::Right, &["right", "l"]),
    key(C::Prepare, A::Details, &["i"]),
    key(C::Prepare, A::Facts, &["f"]),
    key(C::Prepare, A::Splits, &["s", "S"]),
    key(C::Prepare, A::SavePlan, &["ctrl-s"]),
    key(C::Prepare, A::StartAfresh, &["N"]),
    key(C::Prepare, A::GoSource, &["1", "alt-1"]),
    key(C::Prepare, A::GoSplits, &["2", "alt-2"]),
    key(C::Prepare, A::GoSampleType, &["3", "alt-3"]),
    key(C::Prepare, A::GoFieldMap, &["4", "alt-4"]),
    key(C::Prepare, A::GoMedia, &["5", "alt-5"]),
    key(C::Prepare, A::GoReview, &["6", "alt-6"]),
    bar(C::PrepareExpression, A::Complete, &["tab", "ctrl-n"]),
    bar(C::PrepareText, A::Next, &["enter"]),
    bar(C::PrepareText, A::Close, &["esc"]),
    bar(C::PrepareText, A::NextField, &["tab"]),
    key(C::PrepareText, A::PreviousField, &["backtab"]),
    key(C::PrepareText, A::Up, &["up"]),
    key(C::PrepareText, A::Down, &["down"]),
    key(C::PrepareText, A::PageUp, &["pageup"]),
    key(C::PrepareText, A::PageDown, &["pagedown"]),
    key(C::PrepareText, A::DropRow, &["ctrl-x"]),
    key(C::PrepareText, A::SavePlan, &["ctrl-s"]),
    key(C::PrepareText, A::GoSource, &["alt-1"]),
    key(C::PrepareText, A::GoSplits, &["alt-2"]),
    key(C::PrepareText, A::GoSampleType, &["alt-3"]),
    key(C::PrepareText, A::GoFieldMap, &["alt-4"]),
    key(C::PrepareText, A::GoMedia, &["alt-5"]),
    key(C::PrepareText, A::GoReview, &["alt-6"]),
    bar(C::PackRail, A::Accept, &["enter", "l", "right"]),
    bar(C::PackReview, A::Run, &["enter", "R"]),
    bar(C::PackReview, A::SavePlan, &["s", "ctrl-s"]),
    bar(C::PackReview, A::Copy, &["y"]),
    bar(C::Pack, A::Next, &["enter"]),
    bar(C::Pack, A::Advanced, &["a"]),
    bar(C::Pack, A::Close, &["esc"]),
    bar(C::Pack, A::NextField, &["tab"]),
    bar(C::Pack, A::Toggle, &["space"]),
    key(C::Pack, A::PreviousField, &["backtab"]),
    key(C::Pack, A::Left, &["left", "h"]),
    key(C::Pack, A::Right, &["right", "l"]),
    key(C::Pack, A::SavePlan, &["ctrl-s"]),
    key(C::Pack, A::StartAfresh, &["N"]),
    key(C::Pack, A::GoSource, &["1", "alt-1"]),
    key(C::Pack, A::GoText, &["2", "alt-2"]),
    key(C::Pack, A::GoTokenizer, &["3", "alt-3"]),
    key(C::Pack, A::GoFormats, &["4", "alt-4"]),
    key(C::Pack, A::GoReview, &["5", "alt-5"]),
    bar(C::PackText, A::Next, &["enter"]),
    bar(C::PackText, A::Close, &["esc"]),
    bar(C::PackText, A::NextField, &["tab"]),
    key(C::PackText, A::PreviousField, &["backtab"]),
    key(C::PackText, A::Up, &["up"]),
    key(C::PackText, A::Down, &["down"]),
    key(C::PackText, A::PageUp, &["pageup"]),
    key(C::PackText, A::PageDown, &["pagedown"]),
    key(C::PackText, A::DropRow, &["ctrl-x"]),
    key(C::PackText, A::Advanced, &["alt-a"]),
    key(C::PackText, A::SavePlan, &["ctrl-s"]),
    key(C::PackText, A::GoSource, &["alt-1"]),
    key(C::PackText, A::GoText, &["alt-2"]),
    key(C::PackText, A::GoTokenizer, &["alt-3"]),
    key(C::PackText, A::GoFormats, &["alt-4"]),
    key(C::PackText, A::GoReview, &["alt-5"]),
    bar(C::DedupRail, A::Accept, &["enter", "l", "right"]),
    bar(C::DedupReview, A::Run, &["enter", "R"]),
    bar(C::DedupReview, A::SavePlan, &["s", "ctrl-s"]),
    bar(C::DedupReview, A::Copy, &["y"]),
    bar(C::Dedup, A::Next, &["enter"]),
    bar(C::Dedup, A::Advanced, &["a"]),
    bar(C::Dedup, A::Close, &["esc"]),
    bar(C::Dedup, A::NextField, &["tab"]),
    bar(C::Dedup, A::Toggle, &["space"]),
    bar(C::Dedup, A::CancelJob, &["x"]),
    bar(C::Dedup, A::Repeats, &["D"]),
    key(C::Dedup, A::Reload, &["f5"]),
    key(C::Dedup, A::PreviousField, &["backtab"]),
    key(C::Dedup, A::Left, &["left", "h"]),
    key(C::Dedup, A::Right, &["right", "l"]),
    key(C::Dedup, A::SavePlan, &["ctrl-s"]),
    key(C::Dedup, A::StartAfresh, &["N"]),
    key(C::Dedup, A::GoSource, &["1", "alt-1"]),
    key(C::Dedup, A::GoLength, &["2", "alt-2"]),
    key(C::Dedup, A::GoMode, &["3", "alt-3"]),
    key(C::Dedup, A::GoReview, &["4", "alt-4"]),
    bar(C::DedupText, A::Next, &["enter"]),
    bar(C::DedupText, A::Close, &["esc"]),
    bar(C::DedupText, A::NextField, &["tab"]),
    key(C::DedupText, A::PreviousField, &["backtab"]),
    key(C::DedupText, A::Up, &["up"]),
    key(C::DedupText, A::Down, &["down"]),
    key(C::DedupText, A::PageUp, &["pageup"]),
    key(C::DedupText, A::PageDown, &["pagedown"]),
    key(C::DedupText, A::DropRow, &["ctrl-x"]),
    key(C::DedupText, A::Advanced, &["alt-a"]),
    key(C::DedupText, A::SavePlan, &["ctrl-s"]),
    key(C::DedupText, A::GoSource, &["alt-1"]),
    key(C::DedupText, A::GoLength, &["alt-2"]),
    key(C::DedupText, A::GoMode, &["alt-3"]),
    key(C::DedupText, A::GoReview, &["alt-4"]),
    bar(C::SplitsExcludes, A::Exclude, &["x", "delete"]),
    bar(C::SplitsExcludes, A::Note, &["n"]),
    bar(C::Splits, A::Right, &["right", "l"]),
    bar(C::Splits, A::MoveTo, &["m"]),
    bar(C::Splits, A::Exclude, &["x"]),
    bar(C::Splits, A::Mark, &["V", "v"]),
    bar(C::Splits, A::Write, &["w"]),
    bar(C::Splits, A::Undo, &["u"]),
    bar(C::Splits, A::ByPattern, &["/"]),
    bar(C::Splits, A::Balance, &["b"]),
    bar(C::Splits, A::LeakCheck, &["L"]),
    bar(C::Splits, A::EditText, &["e"]),
    bar(C::Splits, A::Redo, &["ctrl-r"]),
    key(C::Splits, A::Left, &["left", "h"]),
    key(C::Splits, A::NextPane, &["tab"]),
    key(C::Splits, A::PreviousPane, &["backtab"]),
    key(C::Splits, A::AddExclude, &["a"]),
    key(C::Splits, A::Note, &["n"]),
    key(C::Splits, A::AddSplit, &["A"]),
    key(C::Splits, A::RenameSplit, &["R"]),
    key(C::Splits, A::DropSplit, &["D"]),
    key(C::Splits, A::Details, &["i", "enter"]),
    key(C::Splits, A::Reload, &["f5"]),
    key(C::Splits, A::Close, &["esc"]),
    bar(C::SplitsList, A::Accept, &["enter"]),
    bar(C::SplitsList, A::Close, &["esc"]),
    bar(C::SplitsText, A::Accept, &["enter"]),
    bar(C::SplitsText, A::Close, &["esc"]),
    bar(C::SplitsText, A::NextField, &["tab"]),
    key(C::SplitsText, A::PreviousField, &["backtab"]),
    key(C::SplitsText, A::Up, &["up", "ctrl-p"]),
    key(C::SplitsText, A::Down, &["down", "ctrl-n"]),
    key(C::SplitsText, A::PageUp, &["pageup"]),
    key(C::SplitsText, A::PageDown, &["pagedown"]),
    bar(C::SplitsReview, A::Accept, &["enter", "w"]),
    bar(C::SplitsReview, A::EditText, &["e"]),
    bar(C::SplitsReview, A::Close, &["esc"]),
    bar(C::SplitsLeaks, A::Exclude, &["x"]),
    bar(C::SplitsLeaks, A::MoveTo, &["m"]),
    bar(C::SplitsLeaks, A::Accept, &["enter"]),
    bar(C::SplitsLeaks, A::RepairAll, &["X"]),
    bar(C::SplitsLeaks, A::Undo, &["u"]),
    bar(C::SplitsLeaks, A::Redo, &["ctrl-r"]),
    bar(C::SplitsLeaks, A::Write, &["w"]),
    bar(C::SplitsLeaks, A::Close, &["esc"]),
    bar(C::Browse, A::FindKey, &["/"]),
    bar(C::Browse, A::GoToNumber, &["#"]),
    bar(C::Browse, A::Random, &["r"]),
    bar(C::Browse, A::ExcludeSample, &["x"]),
    bar(C::Browse, A::MoveTo, &["s"]),
    bar(C::Browse, A::LoaderView, &["v"]),
    bar(C::Browse, A::Tokenizer, &["T"]),
    bar(C::Browse, A::OffsetView, &["o"]),
    bar(C::Browse, A::ContactSheet, &["c"]),
    bar(C::Browse, A::Facts, &["f"]),
    bar(C::Browse, A::Write, &["w"]),
    bar(C::Browse, A::Repeats, &["D"]),
    key(C::Browse, A::Mark, &["V"]),
    key(C::Browse, A::Splits, &["S"]),
    key(C::Browse, A::FindNext, &["n"]),
    key(C::Browse, A::FindPrevious, &["N"]),
    key(C::Browse, A::NextProblem, &["]"]),
    key(C::Browse, A::PreviousProblem, &["["]),
    key(C::Browse, A::FilterSamples, &["F"]),
    key(C::Browse, A::Undo, &["u"]),
    key(C::Browse, A::Redo, &["ctrl-r"]),
    key(C::Browse, A::CopyKey, &["y"]),
    key(C::Browse, A::CopyPath, &["Y"]),
    key(C::Browse, A::OpenPart, &["e"]),
    key(C::Browse, A::Export, &["E"]),
    key(C::Browse, A::NextPart, &["."]),
    key(C::Browse, A::PreviousPart, &[","]),
    key(C::Browse, A::Zoom, &["enter", "z"]),
    key(C::Browse, A::NextPane, &["tab"]),
    key(C::Browse, A::PreviousPane, &["backtab"]),
    key(C::Browse, A::Left, &["h", "left"]),
    key(C::Browse, A::Right, &["l", "right"]),
    key(C::Browse, A::Reload, &["f5"]),
    key(C::Browse, A::Close, &["esc"]),
    bar(C::BrowseDetail, A::NextPart, &["."]),
    bar(C::BrowseDetail, A::Zoom, &["z"]),
    bar(C::BrowseDetail, A::Toggle, &["enter", "space"]),
    bar(C::BrowseDetail, A::FindText, &["/"]),
    bar(C::BrowseDetail, A::CopyValue, &["y"]),
    key(C::BrowseDetail, A::CopyField, &["Y"]),
    bar(C::BrowseText, A::Accept, &["enter"]),
    bar(C::BrowseText, A::Close, &["esc"]),
    bar(C::BrowseSheet, A::Accept, &["enter"]),
    bar(C::BrowseSheet, A::NewSeed, &["n", "r"]),
    bar(C::BrowseSheet, A::SetSeed, &["s"]),
    bar(C::BrowseSheet, A::Close, &["esc"]),
    key(C::BrowseSheet, A::Left, &["h", "left"]),
    key(C::BrowseSheet, A::Right, &["l", "right"]),
    bar(C::Repeats, A::FindNext, &["n"]),
    bar(C::Repeats, A::KeptCopy, &["enter"]),
    bar(C::Repeats, A::Passages, &["p"]),
    bar(C::Repeats, A::ByFile, &["f"]),
    bar(C::Repeats, A::NextPane, &["tab"]),
    bar(C::Repeats, A::Right, &["+", "=", "right", "l"]),
    bar(C::Repeats, A::Close, &["esc"]),
    key(C::Repeats, A::FindPrevious, &["N"]),
    key(C::Repeats, A::Left, &["-", "left", "h"]),
    key(C::Repeats, A::PreviousPane, &["backtab"]),
    key(C::Repeats, A::Undo, &["u", "backspace"]),
    key(C::Repeats, A::CopyPath, &["y", "Y"]),
    key(C::Repeats, A::Toggle, &["space"]),
    key(C::Repeats, A::Reload, &["f5"]),
    bar(C::Form, A::Run, &["enter", "R"]),
    bar(C::Form, A::Close, &["esc"]),
    bar(C::Form, A::NextField, &["tab"]),
    bar(C::Form, A::Toggle, &["space"]),
    key(C::Form, A::PreviousField, &["backtab"]),
    key(C::Form, A::Left, &["left", "h", "-"]),
    key(C::Form, A::Right, &["right", "l", "+", "="]),
    key(C::Form, A::AddAux, &["a"]),
    key(C::Form, A::DropRow, &["D"]),
    key(C::Form, A::Copy, &["y"]),
    key(C::Form, A::SavePlan, &["s", "ctrl-s"]),
    bar(C::FormText, A::Run, &["enter"]),
    bar(C::FormText, A::Close, &["esc"]),
    bar(C::FormText, A::NextField, &["tab"]),
    key(C::FormText, A::PreviousField, &["backtab"]),
    key(C::FormText, A::Up, &["up"]),
    key(C::FormText, A::Down, &["down"]),
    key(C::FormText, A::DropRow, &["ctrl-x"]),
    key(C::FormText, A::SavePlan, &["ctrl-s"]),
    bar(C::Run, A::Background, &["b"]),
    bar(C::Run, A::CancelJob, &["x"]),
    bar(C::Run, A::Browse, &["o"]),
    bar(C::Run, A::Splits, &["s"]),
    bar(C::Run, A::ShowLog, &["enter", "l"]),
    bar(C::Run, A::Close, &["esc"]),
    key(C::Run, A::Retry, &["r"]),
    key(C::Run, A::Copy, &["y"]),
    key(C::List, A::Up, &["k", "up"]),
    key(C::List, A::Down, &["j", "down"]),
    key(C::List, A::First, &["g g", "home"]),
    key(C::List, A::Last, &["G", "end"]),
    key(C::List, A::HalfUp, &["ctrl-u"]),
    key(C::List, A::HalfDown, &["ctrl-d"]),
    key(C::List, A::PageUp, &["pageup", "ctrl-b"]),
    key(C::List, A::PageDown, &["pagedown", "ctrl-f"]),
    bar(C::Global, A::Jobs, &["J"]),
    bar(C::Global, A::Help, &["?", "f1"]),
    bar(C::Global, A::Palette, &[":", "ctrl-p"]),
    bar(C::Global, A::Quit, &["q"]),
    key(C::Global, A::SaveScreen, &["f2"]),
    key(C::Global, A::Interrupt, &["ctrl-c"]),
    key(C::Global, A::Suspend, &["ctrl-z"]),
    key(C::Global, A::Redraw, &["ctrl-l"]),
];
