//! Instruction data: conversations are rendered with a chat template and distributed to partitions (docs/formats/modalities.md §5.6,
//! `prepare_instruction_tuning_data`).

mod settings;
pub mod template;

pub use settings::{Partition, Settings};

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind};
use gristmill_pycompat::json_loads::loads;
use gristmill_pycompat::json_write::spaced;
use gristmill_pycompat::random::MersenneTwister;
use gristmill_pycompat::Node;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::read::{open_read, ReadFile};
use template::ChatTemplate;

/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;
/// Bytes read at a time.
const READ_BYTES: usize = 1 << 20;

/// The file of one partition that is being written.
pub struct PartitionFile {
    /// The output file.
    pub file: BufferedFile,
    /// Length of each line in bytes, without its line end, for the raw index.
    pub lengths: Vec<u64>,
}

/// Renders every line of the source with the template and writes it to a partition. `written` has one entry for each partition with a
/// share, in the order of [`Settings::partitions`].
///
/// A line that cannot be rendered is a problem; with `compat` it ends the run, as in the reference program. It does not affect the
/// partitions of the other lines.
pub fn write_partitions(
    settings: &Settings,
    compat: bool,
    written: &mut [PartitionFile],
    handles: &Handles<'_>,
) -> Outcome<()> {
    let template = ChatTemplate::new(&settings.template, &settings.template_data)?;
    let file = open_read(&settings.source)?;
    handles.progress.restart(0, file.len());
    let partitions = settings.partitions();
    let mut sum = 0;
    let running: Vec<u64> = Partition::ALL
        .iter()
        .map(|partition| {
            sum += settings.share(*partition);
            sum
        })
        .collect();
    let mut twister = MersenneTwister::seeded_by(&settings.seed);
    each_line(&file, handles, &mut |number, line| {
        let chosen = Partition::ALL.get(twister.choose(&running));
        let record = line.ok_or_else(|| "it is longer than 64 MiB".to_owned()).and_then(parsed);
        let made = record.map_err(|why| (ProblemKind::BadLine, why)).and_then(|record| {
            transformed(record, settings, &template).map_err(|why| (ProblemKind::BadConversation, why))
        });
        let target =
            partitions.iter().position(|partition| Some(partition) == chosen).and_then(|at| written.get_mut(at));
        match (made, target) {
            (Ok(text), Some(target)) => {
                target.lengths.push(text.len() as u64);
                target.file.write_all(text.as_bytes())?;
                target.file.write_all(b"\n")
            }
            (Ok(_), None) => Ok(()),
            (Err((kind, why)), _) => {
                let place = Subject::path(&settings.source).line(number);
                if compat {
                    return Err(Failure::data("preparing instruction data", why).on(place));
                }
                handles.problems.report(Problem::problem(kind, place, format!("{why}; left out")))
            }
        }
    })
}

/// Returns the keys and values of a line.
fn parsed(line: &[u8]) -> Result<Vec<(String, Node)>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    match loads(text).map_err(|error| format!("it cannot be read as JSON: {} (byte {})", error.message, error.at))? {
        Node::Map(entries) => Ok(entries),
        _ => Err("it is no JSON object".into()),
    }
}

/// Returns a line in the form in which it is written.
fn transformed(
    mut entries: Vec<(String, Node)>,
    settings: &Settings,
    template: &ChatTemplate,
) -> Result<String, String> {
    let key = &settings.messages_key;
    let messages = entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value);
    let Some(messages) = messages else { return Err(format!("it has no '{key}'")) };
    let Node::List(items) = messages else { return Err(format!("'{key}' is not a list of messages")) };
    for item in items {
        let Node::Map(fields) = item else { return Err(format!("'{key}' holds something else than messages")) };
        for (name, value) in fields.iter_mut().filter(|(name, _)| name == "role" || name == "from") {
            let role = value.as_str().and_then(|role| settings.roles.iter().find(|(from, _)| from == role));
            let Some((_, to)) = role else {
                return Err(format!("the role mapping has no entry for {name}: {}", value.describe()));
            };
            *value = Node::str(to.as_str());
        }
    }
    let chat = Node::Str(template.render(messages)?);
    match entries.iter_mut().find(|(name, _)| name == "chat") {
        Some((_, value)) => *value = chat,
        None => entries.push(("chat".into(), chat)),
    }
    Ok(spaced(&Node::Map(entries)))
}

/// Callback for the number and the bytes of a line.
type LineCallback<'a> = dyn FnMut(u64, Option<&[u8]>) -> Outcome<()> + 'a;

/// Iterates over lines, counted from 1. A line that is too long is passed as `None`. The last line need not have a line end.
fn each_line(file: &ReadFile, handles: &Handles<'_>, each: &mut LineCallback<'_>) -> Outcome<()> {
    let mut block = vec![0; READ_BYTES];
    let mut line: Vec<u8> = Vec::new();
    let (mut at, mut number, mut is_long, mut is_open) = (0, 0, false, false);
    loop {
        handles.cancel.check()?;
        let count = file.read_at(&mut block, at).map_err(|e| Failure::io("reading the lines", file.path(), &e))?;
        let Some(bytes) = block.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            is_long |= line.len() + text.len() > MAX_LINE_BYTES;
            if !is_long {
                line.extend_from_slice(text);
            }
            is_open = text.len() == piece.len();
            if !is_open {
                number += 1;
                each(number, (!is_long).then_some(line.as_slice()))?;
                handles.progress.add(1, 0);
                line.clear();
                is_long = false;
            }
        }
        at += count as u64;
        handles.progress.add(0, count as u64);
    }
    if is_open {
        each(number + 1, (!is_long).then_some(line.as_slice()))?;
    }
    Ok(())
}
