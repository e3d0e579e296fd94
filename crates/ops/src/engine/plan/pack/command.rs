//! Converts a plan of packing to the equivalent command.

use super::super::flags as f;
use super::super::CommandLine;
use super::flags as p;
use gristmill_core::pack::{
    DocumentShuffle, EndToken, ForagerTarget, MaskedParts, ModalitiesTarget, NameProfile, NanosetsTarget, SampleSize,
    TextField, TokenType, DEFAULT_BATCH_LINES, DEFAULT_SEED,
};
use gristmill_core::PackPlan;

/// The types of parts that are not trained on by default (docs/formats/forager.md §3.4).
pub const MASKED_BY_DEFAULT: [&str; 2] = ["system", "prompt"];

impl CommandLine {
    /// Returns the command equivalent to this plan of packing.
    pub fn of_pack(plan: &PackPlan) -> Self {
        let mut line = Self::default();
        line.push("gristmill");
        line.push("pack");
        let like_flags = plan.inputs.iter().any(|input| input.starts_with('-'));
        if !like_flags {
            plan.inputs.iter().for_each(|input| line.push(input));
        }
        for format in plan.formats() {
            line.value(p::FORMAT, format.word());
        }
        line.shared(plan);
        line.modalities(plan.modalities.as_ref());
        line.nanosets(plan.nanosets.as_ref());
        line.forager(plan.forager.as_ref());
        line.masks(plan);
        line.flag_if(plan.overwrite, p::FORCE_OVERWRITE);
        line.flag_if(plan.compat, f::COMPAT);
        if like_flags {
            line.push("--");
            plan.inputs.iter().for_each(|input| line.push(input));
        }
        line
    }

    fn maybe(&mut self, flag: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.value(flag, value);
        }
    }

    fn number(&mut self, flag: &str, value: Option<u64>) {
        self.maybe(flag, value.map(|value| value.to_string()).as_deref());
    }

    fn shared(&mut self, plan: &PackPlan) {
        match &plan.text {
            TextField::Key(key) if key == "text" => {}
            TextField::Key(key) => self.value(p::TEXT_KEY, key),
            TextField::Jq(program) => self.value(p::JQ, program),
        }
        self.maybe(p::GLOB, plan.glob.as_deref());
        self.maybe(p::PATHS_FILE, plan.paths_file.as_deref());
        self.maybe(p::TOKENIZER, Some(plan.tokenizer.as_str()).filter(|tokenizer| !tokenizer.is_empty()));
        self.maybe(p::TOKENIZER_NAME, plan.tokenizer_name.as_deref());
        plan.special_tokens.iter().for_each(|token| self.value(p::SPECIAL_TOKEN, token));
        match &plan.end {
            Some(EndToken::Text(text)) => self.value(p::EOS_TOKEN, text),
            Some(EndToken::Id(id)) => self.value(p::EOS_ID, &id.to_string()),
            None => {}
        }
        self.maybe(p::OUTPUT, Some(plan.output.as_str()).filter(|output| !output.is_empty()));
        self.number(p::SEED, (plan.seed != DEFAULT_SEED).then_some(plan.seed));
    }

    fn modalities(&mut self, target: Option<&ModalitiesTarget>) {
        let Some(target) = target else { return };
        self.maybe(p::EOD_TOKEN, target.eod_token.as_deref());
        self.maybe(p::INDEX, target.index.as_deref());
        self.number(p::TRUNCATE_TO, target.truncate_to.map(u64::from));
        self.number(p::PAD_TO, target.pad_to.map(u64::from));
        self.maybe(p::PAD_TOKEN, target.pad_token.as_deref());
        self.flag_if(target.skip_bad_lines, p::SKIP_BAD_LINES);
        self.number(p::BATCH_LINES, (target.batch_lines != DEFAULT_BATCH_LINES).then_some(target.batch_lines));
    }

    fn nanosets(&mut self, target: Option<&NanosetsTarget>) {
        let Some(target) = target else { return };
        self.number(p::TASKS, target.tasks.map(u64::from));
        self.number(p::RANK, target.rank.map(u64::from));
        if target.shuffle == DocumentShuffle::Documents {
            self.value(p::SHUFFLE, "documents");
        }
        self.number(p::CHUNK_SIZE, target.chunk_size);
        self.number(p::MAX_TOKENS_PER_FILE, target.max_tokens_per_file);
        self.maybe(p::PREFIX, target.prefix.as_deref());
        if target.names == NameProfile::Classic {
            self.value(p::NAMES, "classic");
        }
        self.number(p::SKIP, (target.skip > 0).then_some(target.skip));
        self.number(p::LIMIT, target.limit);
        self.maybe(p::LOGGING_DIR, target.logging_dir.as_deref());
    }

    fn forager(&mut self, target: Option<&ForagerTarget>) {
        let Some(target) = target else { return };
        match target.sample_size {
            // Not answered yet.
            SampleSize::Fixed(0) => {}
            SampleSize::Fixed(size) => self.value(p::SAMPLE_SIZE, &size.to_string()),
            SampleSize::Variable => self.push(p::VARIABLE),
        }
        self.maybe(p::DTYPE, target.token_type.map(type_word));
        let usual = ForagerTarget::new(target.sample_size);
        if target.file_suffix != usual.file_suffix {
            self.value(p::FILE_SUFFIX, &target.file_suffix);
        }
        if target.index_folder != usual.index_folder {
            self.value(p::INDEX_FOLDER, &target.index_folder);
        }
        self.flag_if(!target.special_tokens, p::NO_SPECIAL_TOKENS);
    }

    /// Adds the flag for loss masks, once for all formats that have them, unless they differ.
    fn masks(&mut self, plan: &PackPlan) {
        let of_nanosets = plan.nanosets.as_ref().map(|target| target.loss_masks);
        let masks = plan.forager.as_ref().and_then(|target| target.masks.as_ref());
        let of_forager = plan.forager.is_some().then_some(masks.is_some());
        match (of_nanosets.unwrap_or(false), of_forager.unwrap_or(false)) {
            (false, false) => {}
            (true, false) if of_forager.is_some() => self.push(&format!("{}=nanosets", p::LOSS_MASKS)),
            (false, true) if of_nanosets.is_some() => self.push(&format!("{}=forager", p::LOSS_MASKS)),
            _ => self.push(p::LOSS_MASKS),
        }
        let Some(MaskedParts { parts, mask_end }) = masks else { return };
        if parts.iter().map(String::as_str).ne(MASKED_BY_DEFAULT) {
            self.value(p::MASK_PARTS, &parts.join(","));
        }
        self.flag_if(*mask_end, p::MASK_EOS);
    }
}

/// Returns the value of `--dtype`.
pub fn type_word(token_type: TokenType) -> &'static str {
    match token_type {
        TokenType::U8 => "u8",
        TokenType::U16 => "u16",
        TokenType::U32 => "u32",
        TokenType::I32 => "i32",
        TokenType::I64 => "i64",
        TokenType::U64 => "u64",
    }
}
