//! Flags → [`PackPlan`].

use super::args::{
    DtypeArg, ForagerArgs, FormatArg, MasksArg, ModalitiesArgs, NamesArg, NanosetsArgs, PackArgs, ShuffleArg,
};
use crate::cli::paths;
use gristmill_core::pack::{
    DocumentShuffle, EndToken, ForagerTarget, MaskedParts, ModalitiesTarget, NameProfile, NanosetsTarget, SampleSize,
    TextField, TokenType, DEFAULT_BATCH_LINES, DEFAULT_SEED,
};
use gristmill_core::{Failure, Outcome, PackFormat, PackPlan, Subject};
use gristmill_ops::engine::plan::pack::{flags as p, MASKED_BY_DEFAULT};
use std::path::Path;

/// Returns the plan of the flags. Missing values are empty: inputs, formats, tokenizer, output, and 0 as the size of a Forager sample.
pub fn from_args(args: &PackArgs, compat: bool) -> Result<PackPlan, Vec<Failure>> {
    let mut formats = formats(&args.format);
    if formats.is_empty() && args.modalities.config.is_some() {
        formats.push(PackFormat::Modalities);
    }
    refuse_foreign(args, &formats)?;
    fill(args, &formats, compat).map_err(|failure| vec![failure])
}

fn formats(asked: &[FormatArg]) -> Vec<PackFormat> {
    let word = |format: &FormatArg| match format {
        FormatArg::Modalities => PackFormat::Modalities,
        FormatArg::Nanosets => PackFormat::Nanosets,
        FormatArg::Forager => PackFormat::Forager,
    };
    asked.iter().map(word).collect()
}

fn fill(args: &PackArgs, formats: &[PackFormat], compat: bool) -> Outcome<PackPlan> {
    let inputs = args.inputs.iter().map(|path| paths::local(path)).collect::<Outcome<Vec<_>>>()?;
    let output = match &args.output {
        Some(path) => paths::local(path)?,
        None => usual_output(&inputs, formats),
    };
    let mut plan = PackPlan::new(inputs, args.tokenizer.clone().unwrap_or_default(), output);
    plan.glob = args.glob.clone();
    plan.paths_file = optional(args.nanosets.paths_file.as_deref())?;
    plan.text = match (&args.text_key, &args.jq) {
        (_, Some(program)) => TextField::Jq(program.clone()),
        (Some(key), None) => TextField::Key(key.clone()),
        (None, None) => TextField::default(),
    };
    plan.tokenizer_name = args.tokenizer_name.clone();
    plan.special_tokens.clone_from(&args.special_tokens);
    plan.end = match (&args.eos_token, args.eos_id) {
        (Some(text), _) => Some(EndToken::Text(text.clone())),
        (None, Some(id)) => Some(EndToken::Id(id)),
        (None, None) => None,
    };
    plan.seed = args.seed.unwrap_or(DEFAULT_SEED);
    plan.overwrite = args.force_overwrite;
    plan.compat = compat;
    for format in formats {
        match format {
            PackFormat::Modalities => plan.modalities = Some(modalities(&args.modalities)?),
            PackFormat::Nanosets => plan.nanosets = Some(nanosets(&args.nanosets, args.loss_masks)?),
            PackFormat::Forager => plan.forager = Some(forager(&args.forager, args.loss_masks)),
        }
    }
    if let Some(path) = &args.modalities.config {
        super::config::fill_in(&mut plan, args, path)?;
    }
    Ok(plan)
}

/// Returns the default output: for Forager alone the input folder, or the folder of the input file; empty otherwise.
fn usual_output(inputs: &[String], formats: &[PackFormat]) -> String {
    let ([input], true) = (inputs, formats.iter().all(|format| *format == PackFormat::Forager) && !formats.is_empty())
    else {
        return String::new();
    };
    let path = Path::new(input);
    if path.is_dir() {
        return input.clone();
    }
    match path.parent().map(|parent| parent.to_string_lossy().into_owned()) {
        Some(parent) if !parent.is_empty() => parent,
        _ => ".".into(),
    }
}

fn optional(path: Option<&Path>) -> Outcome<Option<String>> {
    path.map(paths::local).transpose()
}

fn modalities(args: &ModalitiesArgs) -> Outcome<ModalitiesTarget> {
    Ok(ModalitiesTarget {
        eod_token: args.eod_token.clone(),
        index: optional(args.index.as_deref())?,
        truncate_to: args.truncate_to,
        pad_to: args.pad_to,
        pad_token: args.pad_token.clone(),
        skip_bad_lines: args.skip_bad_lines,
        batch_lines: args.batch_lines.unwrap_or(DEFAULT_BATCH_LINES),
    })
}

fn nanosets(args: &NanosetsArgs, masks: Option<MasksArg>) -> Outcome<NanosetsTarget> {
    Ok(NanosetsTarget {
        tasks: args.tasks,
        rank: args.rank,
        shuffle: match args.shuffle {
            Some(ShuffleArg::Documents) => DocumentShuffle::Documents,
            Some(ShuffleArg::None) | None => DocumentShuffle::None,
        },
        chunk_size: args.chunk_size,
        max_tokens_per_file: args.max_tokens_per_file,
        loss_masks: matches!(masks, Some(MasksArg::All | MasksArg::Nanosets)),
        prefix: args.prefix.clone(),
        names: match args.names {
            Some(NamesArg::Classic) => NameProfile::Classic,
            Some(NamesArg::Modern) | None => NameProfile::Modern,
        },
        skip: args.skip.unwrap_or(0),
        limit: args.limit,
        logging_dir: optional(args.logging_dir.as_deref())?,
    })
}

fn forager(args: &ForagerArgs, masks: Option<MasksArg>) -> ForagerTarget {
    let size = if args.variable { SampleSize::Variable } else { SampleSize::Fixed(args.sample_size.unwrap_or(0)) };
    let mut target = ForagerTarget::new(size);
    target.token_type = args.dtype.map(|dtype| match dtype {
        DtypeArg::U8 => TokenType::U8,
        DtypeArg::U16 => TokenType::U16,
        DtypeArg::U32 => TokenType::U32,
        DtypeArg::I32 => TokenType::I32,
        DtypeArg::I64 => TokenType::I64,
        DtypeArg::U64 => TokenType::U64,
    });
    target.masks = matches!(masks, Some(MasksArg::All | MasksArg::Forager)).then(|| MaskedParts {
        parts: args.mask_parts.clone().unwrap_or_else(|| MASKED_BY_DEFAULT.map(str::to_owned).to_vec()),
        mask_end: args.mask_eos,
    });
    if let Some(suffix) = &args.file_suffix {
        target.file_suffix.clone_from(suffix);
    }
    if let Some(name) = &args.index_folder {
        target.index_folder.clone_from(name);
    }
    target.special_tokens = !args.no_special_tokens;
    target
}

/// Refuses flags of formats that are not requested: ignoring them would hide a mistake.
fn refuse_foreign(args: &PackArgs, formats: &[PackFormat]) -> Result<(), Vec<Failure>> {
    let (m, n, g) = (&args.modalities, &args.nanosets, &args.forager);
    let given: [(bool, &'static str, &[PackFormat]); 30] = {
        use PackFormat::{Forager, Modalities, Nanosets};
        [
            (m.eod_token.is_some(), p::EOD_TOKEN, &[Modalities]),
            (m.index.is_some(), p::INDEX, &[Modalities]),
            (m.config.is_some(), p::CONFIG, &[Modalities]),
            (m.skip_bad_lines, p::SKIP_BAD_LINES, &[Modalities]),
            (m.truncate_to.is_some(), p::TRUNCATE_TO, &[Modalities]),
            (m.pad_to.is_some(), p::PAD_TO, &[Modalities]),
            (m.pad_token.is_some(), p::PAD_TOKEN, &[Modalities]),
            (m.batch_lines.is_some(), p::BATCH_LINES, &[Modalities]),
            (n.tasks.is_some(), p::TASKS, &[Nanosets]),
            (n.rank.is_some(), p::RANK, &[Nanosets]),
            (n.shuffle.is_some(), p::SHUFFLE, &[Nanosets]),
            (n.chunk_size.is_some(), p::CHUNK_SIZE, &[Nanosets]),
            (n.max_tokens_per_file.is_some(), p::MAX_TOKENS_PER_FILE, &[Nanosets]),
            (n.prefix.is_some(), p::PREFIX, &[Nanosets]),
            (n.names.is_some(), p::NAMES, &[Nanosets]),
            (n.paths_file.is_some(), p::PATHS_FILE, &[Nanosets]),
            (n.skip.is_some(), p::SKIP, &[Nanosets]),
            (n.limit.is_some(), p::LIMIT, &[Nanosets]),
            (n.logging_dir.is_some(), p::LOGGING_DIR, &[Nanosets]),
            (g.sample_size.is_some(), p::SAMPLE_SIZE, &[Forager]),
            (g.variable, p::VARIABLE, &[Forager]),
            (g.dtype.is_some(), p::DTYPE, &[Forager]),
            (g.mask_parts.is_some(), p::MASK_PARTS, &[Forager]),
            (g.mask_eos, p::MASK_EOS, &[Forager]),
            (g.file_suffix.is_some(), p::FILE_SUFFIX, &[Forager]),
            (g.index_folder.is_some(), p::INDEX_FOLDER, &[Forager]),
            (g.no_special_tokens, p::NO_SPECIAL_TOKENS, &[Forager]),
            (args.loss_masks == Some(MasksArg::All), p::LOSS_MASKS, &[Nanosets, Forager]),
            (args.loss_masks == Some(MasksArg::Nanosets), p::LOSS_MASKS, &[Nanosets]),
            (args.loss_masks == Some(MasksArg::Forager), p::LOSS_MASKS, &[Forager]),
        ]
    };
    if formats.is_empty() {
        // The format is asked for first; each of these flags may fit the answer.
        return Ok(());
    }
    let foreign = given.into_iter().filter(|(given, _, of)| *given && !of.iter().any(|one| formats.contains(one)));
    let mut failures: Vec<Failure> = foreign
        .map(|(_, flag, of)| {
            let words: Vec<String> = of.iter().map(|format| format!("{} {}", p::FORMAT, format.word())).collect();
            Failure::usage("reading the command line", format!("it belongs to {}", words.join(" and ")))
                .on(Subject::field(flag))
                .with_hint(format!("add {}, or leave the flag out", words.join(" or ")))
        })
        .collect();
    // The masks of Nanosets come from ranges in the documents; mask parts apply only to the lines of Forager.
    if failures.is_empty() && args.loss_masks == Some(MasksArg::Nanosets) {
        let given = [(g.mask_parts.is_some(), p::MASK_PARTS), (g.mask_eos, p::MASK_EOS)];
        failures.extend(given.into_iter().filter(|(given, _)| *given).map(|(_, flag)| {
            Failure::usage("reading the command line", "it is about the loss masks of forager, and none are asked for")
                .on(Subject::field(flag))
                .with_hint(format!("{} writes masks for both, or leave the flag out", p::LOSS_MASKS))
        }));
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures)
    }
}
