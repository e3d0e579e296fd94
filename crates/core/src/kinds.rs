//! The properties of each kind of data set: its names, and the operations that refuse it.

use super::facts::DatasetKind;
use super::failure::Failure;
use super::pack::RAW_INDEX_TITLE;
use super::problem::Subject;
use super::text::shell_quote;

/// Whether an operation supports a kind of data set; the error is the refusal.
pub type Support = Result<(), Refusal>;

/// The refusal of a kind of data set by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, in the words of a failure.
    pub why: &'static str,
    /// An alternative; `{}` is replaced by the path, quoted for a shell.
    pub hint: &'static str,
}

impl Refusal {
    /// Returns the usage failure for a path; `what` is the activity.
    pub fn on(self, what: &str, path: &str) -> Failure {
        let hint = self.hint.replace("{}", &shell_quote(path));
        Failure::usage(what, self.why).on(Subject::path(path)).with_hint(hint)
    }
}

/// The properties of one kind of data set.
#[derive(Debug)]
pub struct KindInfo {
    /// Name of the kind in results.
    pub id: &'static str,
    /// The user-facing name, for lists and titles.
    pub title: &'static str,
    /// One or two words for a data set that is not prepared.
    pub raw: &'static str,
    /// One or two words for a data set that is prepared.
    pub prepared: &'static str,
    /// One or two words for a data set that cannot be used.
    pub broken: &'static str,
    /// Whether the data set can be opened as a folder of shards.
    pub shards: Support,
    /// Whether `prepare-media` describes its media.
    pub media: Support,
    /// Whether `lint` and `verify` support it.
    pub check: Support,
    /// Whether `repair` supports it.
    pub repair: Support,
    /// Whether the browser opens it.
    pub browse: Support,
    /// Whether `facts` supports it.
    pub figures: Support,
    /// Whether it can be a member of a Megatron-Energon mixture. The reason follows its path, and `{kind}` is replaced by the title.
    pub member: Support,
    /// Whether `info` shows more than names and sizes without reading all data.
    pub is_described: bool,
    /// Additional flags of `lint` and `verify` for this kind.
    pub flags: &'static [&'static str],
    /// The reason why it has no splits and excludes; `None` if it has them.
    pub why_no_splits: Option<&'static str>,
}

impl DatasetKind {
    /// Returns the properties of the kind. Token layouts and kinds of tables have their own names: see [`id`](Self::id) and
    /// [`title`](Self::title).
    pub fn info(self) -> &'static KindInfo {
        match self {
            Self::PreparedWebDataset => &PREPARED_WEB_DATASET,
            Self::RawWebDataset => &RAW_WEB_DATASET,
            Self::Filesystem => &FILESYSTEM,
            Self::Jsonl => &JSONL,
            Self::Metadataset => &METADATASET,
            Self::Tokens(_) => &TOKENS,
            Self::PackedFormats => &PACKED_FORMATS,
            Self::MixtureIndex => &MIXTURE_INDEX,
            Self::Table(_) => &TABLE,
            Self::TableFolder(_) => &TABLE_FOLDER,
            Self::LooseMedia => &LOOSE_MEDIA,
            Self::DedupIndex => &DEDUP_INDEX,
            Self::PlainFolder => &PLAIN_FOLDER,
            Self::SingleShard => &SINGLE_SHARD,
            Self::PackedJsonl => &PACKED_JSONL,
            Self::RawIndex => &RAW_INDEX,
            Self::OtherFile => &OTHER_FILE,
        }
    }
}

const fn unsupported(why: &'static str, hint: &'static str) -> Support {
    Err(Refusal { why, hint })
}

const NO_FOLDER_REPAIR: Support = unsupported(
    "a prepared folder is not repaired",
    "gristmill prepare {} --update looks at what changed and writes its files again",
);

const NO_FIGURES: Support = unsupported("this kind of data has no figures", "gristmill info {} says what it is");

const NO_MEMBER_HINT: &str = "a member is a prepared folder of tars, a .jsonl file or a metadataset ending in .yaml";

const PREPARED_WEB_DATASET: KindInfo = KindInfo {
    id: "prepared-web-dataset",
    title: "WebDataset",
    raw: "not prepared",
    prepared: "prepared",
    broken: "has mistakes",
    shards: Ok(()),
    media: Ok(()),
    check: Ok(()),
    repair: NO_FOLDER_REPAIR,
    browse: Ok(()),
    figures: Ok(()),
    member: Ok(()),
    is_described: true,
    flags: &["--decode"],
    why_no_splits: None,
};

const RAW_WEB_DATASET: KindInfo = KindInfo {
    id: "raw-web-dataset",
    repair: unsupported("it has no index that could be repaired", "gristmill prepare {} makes its index"),
    media: unsupported(
        "the folder holds tar shards that are not prepared",
        "gristmill prepare {} with the same --media-metadata flag describes media on the way; \
         loose media need a folder without shards",
    ),
    member: unsupported("is not prepared", "gristmill prepare {}"),
    why_no_splits: Some("it is not prepared, so it has no splits yet"),
    is_described: false,
    ..PREPARED_WEB_DATASET
};

const PLAIN_FOLDER: KindInfo = KindInfo {
    id: "plain-folder",
    title: "folder",
    raw: "no metadata",
    repair: unsupported(
        "a folder of files cannot be repaired",
        "gristmill repair takes packed tokens; gristmill prepare-media {} describes loose media",
    ),
    figures: unsupported(
        "this kind of data has no figures",
        "give a data set, a folder of described media, a .jsonl file, or a file of rows",
    ),
    member: unsupported("is not a data set: no .nv-meta and no tar shard is in it", NO_MEMBER_HINT),
    why_no_splits: Some("a folder without tar shards has no splits"),
    is_described: false,
    ..PREPARED_WEB_DATASET
};

const LOOSE_MEDIA: KindInfo = KindInfo {
    id: "loose-media",
    title: "media folder",
    prepared: "described",
    figures: unsupported("nothing is recorded of these files yet", "gristmill prepare-media {} describes them"),
    ..PLAIN_FOLDER
};

const FILESYSTEM: KindInfo = KindInfo {
    id: "filesystem",
    repair: unsupported("media metadata is not repaired", "gristmill prepare-media {} makes it again"),
    figures: Ok(()),
    member: unsupported(
        "holds media metadata only; the loader takes such folders as aux sources only",
        "name it under 'aux:' as filesystem://FOLDER",
    ),
    is_described: true,
    ..LOOSE_MEDIA
};

const JSONL: KindInfo = KindInfo {
    id: "jsonl",
    title: "JSONL",
    raw: "not indexed",
    prepared: "indexed",
    shards: unsupported("it is a JSONL file, not a folder of tar shards", "use prepare, info, lint or verify"),
    media: unsupported("JSONL files have no media metadata", "give the folder that the media are in"),
    repair: unsupported("the index of a JSONL file is not repaired", "gristmill prepare {} makes it again"),
    flags: &[],
    why_no_splits: Some("a JSONL file has no splits"),
    ..PREPARED_WEB_DATASET
};

const METADATASET: KindInfo = KindInfo {
    id: "metadataset",
    title: "metadataset",
    prepared: "readable",
    shards: unsupported("it is a metadataset, not a folder of tar shards", "use prepare, info, lint or verify"),
    media: unsupported(
        "metadatasets have no media metadata of their own",
        "give the data set or folder that the media are in",
    ),
    repair: unsupported("a metadataset is not repaired", "gristmill mix check {} reports what is wrong with it"),
    browse: unsupported("its members are browsed, each by itself", "gristmill info {} names them"),
    figures: unsupported(
        "a metadataset has no figures of its own",
        "gristmill info {} shows the shares of its members",
    ),
    flags: &[],
    why_no_splits: Some("a metadataset names its splits itself"),
    ..PREPARED_WEB_DATASET
};

const TOKENS: KindInfo = KindInfo {
    id: "tokens",
    title: "packed tokens",
    prepared: "packed",
    broken: "unusable",
    shards: unsupported("it holds packed tokens, which training reads as they are", "browse shows them"),
    media: unsupported("it holds tokens, no media", "give a prepared data set, or a folder of media"),
    repair: Ok(()),
    figures: NO_FIGURES,
    member: unsupported("holds tokens for {kind}, which the loader of mixtures does not read", NO_MEMBER_HINT),
    flags: &["--tokenizer"],
    why_no_splits: Some("packed tokens have no splits"),
    ..PREPARED_WEB_DATASET
};

const PACKED_FORMATS: KindInfo = KindInfo {
    id: "packed-formats",
    title: "packed formats",
    broken: "has mistakes",
    check: unsupported(
        "the formats of a folder are checked one by one",
        "gristmill info {} names their state; give the folder of one format",
    ),
    repair: unsupported(
        "the formats of a folder are repaired one by one",
        "gristmill info {} names their state; give the folder of one format",
    ),
    browse: unsupported(
        "the formats of a folder are browsed one by one",
        "gristmill info {} names their state; give the folder of one format",
    ),
    flags: &[],
    ..TOKENS
};

const MIXTURE_INDEX: KindInfo = KindInfo {
    id: "mixture-index",
    title: "mixture index",
    prepared: "readable",
    check: unsupported(
        "lint and verify do not read an index of a mixture",
        "gristmill info {} reports what is wrong with it",
    ),
    repair: unsupported(
        "an index of a mixture cannot be repaired",
        "gristmill info {} reports what is wrong; gristmill mix index makes it again",
    ),
    browse: unsupported(
        "the token folders of a mixture are browsed, not its index",
        "gristmill info {} counts their samples; give one of the folders",
    ),
    ..PACKED_FORMATS
};

const TABLE: KindInfo = KindInfo {
    id: "table",
    title: "table",
    shards: unsupported(
        "it has rows of a table, and no tar shards",
        "pack makes tokens of them; info and browse show them",
    ),
    media: unsupported("it holds rows of text, no media", "give a prepared data set, or a folder of media"),
    repair: unsupported(
        "files of rows are not repaired",
        "gristmill lint {} reports what is wrong with them; get them again from their source",
    ),
    member: unsupported("holds rows of {kind}, which the loader of mixtures does not read", NO_MEMBER_HINT),
    flags: &[],
    why_no_splits: Some("a file of rows has no splits"),
    ..PREPARED_WEB_DATASET
};

const TABLE_FOLDER: KindInfo = KindInfo { id: "table-folder", why_no_splits: PLAIN_FOLDER.why_no_splits, ..TABLE };

const OTHER_FILE: KindInfo = KindInfo {
    id: "other-file",
    title: "file",
    broken: "unusable",
    shards: unsupported(
        "it is neither a folder of tar shards nor a .jsonl or .yaml file",
        "give a folder that holds tar shards, a .jsonl file, or a metadataset (.yaml)",
    ),
    media: unsupported("it is a file", "give a prepared data set, or a folder of media"),
    repair: unsupported("this kind of file is not supported", "packed files (.pbin) can be repaired"),
    browse: unsupported(
        "a file of this kind cannot be browsed",
        "give a folder of tar shards, one .tar, a .jsonl file (packed or not), a Parquet, Arrow, CSV or TSV file or a \
         folder of them, packed tokens, or a folder of media files",
    ),
    figures: unsupported(
        "this kind of data has no figures",
        "give a data set, a folder of described media, a .jsonl file, or a file of rows",
    ),
    member: unsupported("is not a data set", NO_MEMBER_HINT),
    flags: &[],
    why_no_splits: Some("it is not a prepared data set"),
    is_described: false,
    ..PREPARED_WEB_DATASET
};

const SINGLE_SHARD: KindInfo = KindInfo {
    id: "shard",
    title: "shard",
    shards: unsupported(
        "it names single shards",
        "give the folder that holds them; browse, info, lint and mount take single shards",
    ),
    media: unsupported("it names single shards", "give the folder that holds them"),
    repair: unsupported("a shard is not repaired", "gristmill lint {} reports what is wrong with it"),
    browse: Ok(()),
    figures: NO_FIGURES,
    ..OTHER_FILE
};

const PACKED_JSONL: KindInfo = KindInfo {
    id: "packed-jsonl",
    title: "packed JSONL",
    repair: unsupported("a compressed file is not repaired", "gristmill browse {} shows its lines"),
    browse: Ok(()),
    figures: unsupported("its lines are counted once it is unpacked", "gristmill browse {} shows them"),
    ..OTHER_FILE
};

const RAW_INDEX: KindInfo = KindInfo {
    id: "raw-index",
    title: RAW_INDEX_TITLE,
    flags: &["--source"],
    is_described: true,
    figures: NO_FIGURES,
    ..OTHER_FILE
};

const DEDUP_INDEX: KindInfo = KindInfo {
    id: "dedup-index",
    title: "index of dedup",
    shards: unsupported("it is an index of duplicates, not a folder of tar shards", "gristmill verify {} checks it"),
    media: unsupported("it is an index of duplicates", "give a prepared data set, or a folder of media"),
    repair: unsupported("an index of duplicates is not repaired", "gristmill dedup with --export-index makes it again"),
    browse: unsupported("an index of duplicates cannot be browsed", "gristmill verify {} checks it"),
    is_described: true,
    figures: NO_FIGURES,
    ..OTHER_FILE
};
