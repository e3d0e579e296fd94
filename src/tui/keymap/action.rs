//! All actions: the stable name, label and help sentence of each.

macro_rules! actions {
    ($($name:ident, $id:literal, $label:literal, $help:literal;)*) => {
        /// A command that the user runs by a key, from `?`, or by its name from `:`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action {
            $(#[doc = $help] $name,)*
        }
        impl Action {
            /// All actions, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Returns the stable name, as used in the configuration and the palette.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }
            /// Returns one or two words for the bottom bar.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
            /// Returns one sentence for help.
            pub fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)* }
            }
        }
    };
}

actions! {
    // Available everywhere; the frame runs these actions.
    Help, "help", "help", "Lists what works here; typing filters, Enter runs the item.";
    Palette, "commands", "commands", "Finds any action by its name and runs it.";
    Jobs, "jobs", "jobs", "Shows running and finished jobs, their progress, problems and log.";
    Quit, "quit", "quit", "Leaves the program; asks first when a job is running.";
    Interrupt, "interrupt", "stop", "Stops the job in focus; pressed twice in a row, leaves the program.";
    Suspend, "suspend", "suspend", "Suspends the program and returns to the shell; `fg` resumes it.";
    Redraw, "redraw", "redraw", "Draws the whole screen again.";
    SaveScreen, "save-screen", "save screen", "Saves what is on the screen as a picture (SVG) into the current folder.";
    // Movement in lists.
    Up, "up", "up", "Moves to the row above.";
    Down, "down", "down", "Moves to the row below.";
    First, "first", "first", "Moves to the first row.";
    Last, "last", "last", "Moves to the last row.";
    HalfUp, "half-page-up", "half page up", "Moves half a page up.";
    HalfDown, "half-page-down", "half page down", "Moves half a page down.";
    PageUp, "page-up", "page up", "Moves a page up.";
    PageDown, "page-down", "page down", "Moves a page down.";
    Left, "left", "left", "Moves left, or to the lower value.";
    Right, "right", "right", "Moves right, or to the higher value.";
    NextPane, "next-pane", "pane", "Moves the focus to the next pane.";
    PreviousPane, "previous-pane", "previous pane", "Moves the focus to the previous pane.";
    Accept, "accept", "accept", "Accepts the selected row or the typed text.";
    Close, "close", "back", "Goes back one step; answers are kept.";
    // Home screen.
    Open, "open", "open", "Opens what is selected: enters a folder, prepares a data set, browses one that is prepared.";
    Enter, "enter", "enter folder", "Enters the folder, even when it is a data set.";
    Parent, "parent", "parent folder", "Goes to the folder above.";
    Find, "find", "find", "Filters the list as you type; Enter or Esc returns to the list.";
    Recent, "recent", "recent", "Shows the data sets that were opened last.";
    Prepare, "prepare", "prepare", "Guides through preparing the data set for training.";
    Resume, "resume", "resume", "Resumes the interrupted run.";
    Pack, "pack", "pack tokens", "Guides through packing text into tokens for training frameworks.";
    Dedup, "dedup", "dedup", "Guides through removing repeated text: each minimum length is estimated from the data.";
    Shards, "shards", "shards", "Guides through writing new shards: of files, of rows, or of other shards, shuffled and filtered as wanted.";
    Media, "media", "media metadata", "Records the sizes and durations of pictures, sounds and videos.";
    Facts, "facts", "facts", "Draws how sizes, formats, durations and lengths are distributed.";
    Mount, "mount", "mount", "Mounts the data set as folders and files and shows where; pressed again, unmounts it.";
    Splits, "splits", "splits", "Edits which shards belong to which split, and what is excluded.";
    Mix, "mix", "mix", "Combines prepared data sets into a metadataset and writes its file.";
    Info, "info", "info", "Shows what is known of the data set: shards, samples, splits.";
    Hidden, "hidden", "hidden files", "Shows or hides entries whose names start with a dot.";
    Reload, "reload", "reload", "Reloads what is on the screen from the disk.";
    Edit, "edit", "edit", "Opens the file in your editor ($VISUAL, $EDITOR) and comes back.";
    // Split editor, and splits in the browser.
    MoveTo, "move-to", "move", "Moves the selected shards to a split that you choose.";
    ByPattern, "by-pattern", "pattern", "Moves or excludes the shards whose names a regular expression matches.";
    Balance, "balance", "balance", "Moves as few shards as possible to reach a ratio of samples; shows the result first.";
    AddExclude, "add-exclude", "add exclude", "Excludes what you type: a shard, shard/key, or a range such as shard/{001..009}.";
    Note, "note", "note", "Writes a note next to an exclude, as a comment in the file.";
    LeakCheck, "leak-check", "leak check", "Looks for samples that are in two splits, by key and by content.";
    RepairAll, "repair-all", "repair all", "Repairs all certain leaks, as one change that undo reverts.";
    EditText, "edit-text", "edit as text", "Opens the file with its unwritten changes in your editor ($VISUAL, $EDITOR), then applies the edits.";
    RenameSplit, "rename-split", "rename split", "Renames the selected split.";
    Write, "write", "write", "Shows the changes as a diff, and writes them when you agree.";
    // Browser.
    Browse, "browse", "browse", "Shows shards, samples and their parts, sample by sample; browsing writes nothing.";
    FindKey, "find-key", "find key", "Finds samples by key: plain text anywhere in it, ^text at its beginning, /text/ as a regular expression.";
    FindNext, "find-next", "next found", "Moves to the next one that was found.";
    FindPrevious, "find-previous", "previous found", "Moves to the previous one that was found.";
    GoToNumber, "go-to-number", "go to number", "Moves to a sample by its number, counted from 0; typing the digits does it, too.";
    Random, "random", "random", "Moves to a random sample of those listed.";
    NextProblem, "next-problem", "next problem", "Moves to the next sample with a problem.";
    PreviousProblem, "previous-problem", "previous problem", "Moves to the previous sample with a problem.";
    Problems, "problems", "problems", "Lists the problems that are known of the data set; Enter goes to the sample, x excludes it.";
    FilterSamples, "filter-samples", "filter", "Lists only samples of a split, with or without a part, excluded, of a size, or with problems.";
    ExcludeSample, "exclude-sample", "exclude", "Excludes the sample (or shard) or all that is marked, or includes it again; w writes.";
    LoaderView, "loader-view", "as loaded", "Shows the sample as the training loader gets it; of packed tokens the windows that training reads, by a sequence length.";
    Tokenizer, "tokenizer", "tokenizer", "Asks for the tokenizer that gives ids their text: a file, a folder, or a name in the hub's cache.";
    OffsetView, "offset-view", "offsets", "Shows the bytes of the tar header next to the row of the index that points at them.";
    ContactSheet, "contact-sheet", "contact sheet", "Shows a sheet of random samples; the same seed gives the same ones.";
    NewSeed, "new-seed", "new seed", "Draws other samples, by another seed.";
    SetSeed, "set-seed", "set seed", "Asks for the seed: the same seed shows the same samples.";
    CopyKey, "copy-key", "copy key", "Copies the sample's key to the clipboard (OSC 52, works over SSH).";
    CopyPath, "copy-path", "copy path", "Copies the path of the file that contains the sample to the clipboard.";
    OpenPart, "open-part", "edit a copy", "Opens a read-only copy of the part in your editor ($VISUAL, $EDITOR).";
    Export, "export", "export", "Writes the part, the whole sample or all marked samples into a folder of your choice.";
    WriteSet, "write-set", "write as a set", "Writes what is listed or marked as a new data set; without a filter, all but the excluded.";
    FindText, "find-text", "find text", "Looks for words in what is shown of the part.";
    CopyValue, "copy-value", "copy value", "Copies the value of the selected line, or the whole short text, to the clipboard.";
    CopyField, "copy-field", "copy field path", "Copies where the selected line is, as an expression of the field map.";
    NextPart, "next-part", "next part", "Shows the next part of the sample.";
    PreviousPart, "previous-part", "previous part", "Shows the previous part of the sample.";
    NextSample, "next-sample", "next sample", "Shows the next sample that is listed.";
    PreviousSample, "previous-sample", "previous sample", "Shows the previous sample that is listed.";
    Read, "read", "read", "Opens the text in a reader over the whole screen; folds lists of values, shows pictures large.";
    Zoom, "zoom", "full screen", "Shows the sample on the full screen, or ends that.";
    Repeats, "repeats", "repeats", "Draws what repeats on the text of the documents; nothing is written.";
    KeptCopy, "kept-copy", "kept copy", "Goes to the kept copy of the repeated range.";
    Passages, "passages", "passages", "Lists the passages that repeat most, with how often they occur; again, the documents.";
    ByFile, "by-file", "by file", "Lists the text of each file before and after; again, the documents.";
    // Jobs.
    CancelJob, "cancel-job", "cancel job", "Stops the selected job at the next safe point; no partial output remains.";
    ShowProblems, "show-problems", "problems", "Shows the problems of the job; once it has ended, with a cursor for opening and excluding.";
    ShowLog, "log", "log", "Shows the log of the job; pressed again, returns to the previous view.";
    OpenProblem, "open-problem", "open", "Opens the sample, shard or line that the problem is about in the browser.";
    ExcludeProblem, "exclude-problem", "exclude", "Excludes the sample or shard of the problem, with the problem as note, or includes it again.";
    ExcludeKind, "exclude-kind", "exclude kind", "Excludes what all problems of the selected kind are about, as one change that undo reverts.";
    ClearFinished, "clear-finished", "clear finished", "Removes finished jobs from the list.";
    // Guided prepare.
    Next, "next", "next", "Accepts this step's answers and goes to the next step.";
    NextField, "next-field", "field", "Moves to the next field of this step, then to the list of steps.";
    PreviousField, "previous-field", "previous field", "Moves to the previous field of this step.";
    Toggle, "toggle", "choose", "Chooses what the cursor is on; a switch turns on or off.";
    Complete, "complete", "complete", "Completes the typed text with parts and keys found in the data.";
    Exclude, "exclude", "exclude", "Excludes the selected shard, or includes it again.";
    MoveToNextSplit, "move", "move", "Moves the selected shards to the next split.";
    MoveToPreviousSplit, "move-back", "move back", "Moves the selected shards to the split before.";
    Mark, "mark", "mark", "Starts or ends marking a range of rows; the next action applies to all of them.";
    AddSplit, "add-split", "add split", "Adds a split: type its name.";
    DropSplit, "drop-split", "drop split", "Removes the selected split; its shards are then in no split.";
    DropRow, "drop-row", "drop row", "Empties the row in focus, or takes it out of the list.";
    AddRow, "add-row", "add row", "Goes to the field that adds a row to the list.";
    MoveUp, "move-up", "move up", "Moves the selected row before the one above.";
    MoveDown, "move-down", "move down", "Moves the selected row after the one below.";
    Undo, "undo", "undo", "Undoes the last change; navigation does not count as a change.";
    Redo, "redo", "redo", "Redoes the last undone change.";
    JumpBack, "jump-back", "jump back", "Returns to where the last jump began.";
    Details, "details", "details", "Shows everything about the selected row.";
    StartAfresh, "start-afresh", "discard draft", "Discards the draft and starts with the answers proposed by the data.";
    BeginAnew, "begin-anew", "start over", "Discards the work of a stopped run of another plan, and runs this one.";
    Run, "run", "run", "Starts the run with the answers given, or applies the filter.";
    DryRun, "dry-run", "dry run", "Scans and checks everything as a run would, and writes nothing.";
    SavePlan, "save-plan", "save plan", "Saves the answers as a plan file that `gristmill run` replays.";
    Copy, "copy", "copy", "Copies the equivalent command line to the clipboard (OSC 52, works over SSH).";
    Background, "background", "background", "Leaves the job running and returns to the home screen.";
    Retry, "retry", "retry", "Starts the same run again; an interrupted run is resumed.";
    Advanced, "advanced", "all settings", "Shows every setting of this step, or only those that matter most.";
    GoStep1, "go-step-1", "step 1", "Jumps to the first step of a form.";
    GoStep2, "go-step-2", "step 2", "Jumps to the second step of a form.";
    GoStep3, "go-step-3", "step 3", "Jumps to the third step of a form.";
    GoStep4, "go-step-4", "step 4", "Jumps to the fourth step of a form.";
    GoStep5, "go-step-5", "step 5", "Jumps to the fifth step of a form.";
    GoStep6, "go-step-6", "step 6", "Jumps to the sixth step of a form.";
    GoStep7, "go-step-7", "step 7", "Jumps to the seventh step of a form.";
    GoStep8, "go-step-8", "step 8", "Jumps to the eighth step of a form.";
}

impl Action {
    /// Returns the number of rows by which a movement in a list with `page` visible rows moves; `None` for other actions.
    pub fn rows(self, page: usize) -> Option<isize> {
        let page = isize::try_from(page).unwrap_or(isize::MAX);
        Some(match self {
            Self::Up => -1,
            Self::Down => 1,
            Self::HalfUp => -(page / 2),
            Self::HalfDown => page / 2,
            Self::PageUp => -page,
            Self::PageDown => page,
            Self::First => isize::MIN,
            Self::Last => isize::MAX,
            _ => return None,
        })
    }
}
