//! The token folders in a training configuration of nanotron.

use super::TokenizerSettings;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_pycompat::{yaml_read, Node};
use std::path::Path;

const ACTIVITY: &str = "reading the training configuration";

/// The part of a configuration that determines the mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Name of the selected stage; raw.
    pub stage: Option<String>,
    /// Token folders, as written.
    pub folders: Vec<String>,
    /// Weights of the folders; `None` weighs each folder by its number of windows.
    pub weights: Option<Vec<f64>>,
    /// Tokens of a sample, without the last one, which is only predicted.
    pub sequence_length: Option<u64>,
    /// Training steps times the global batch size.
    pub samples: Option<u64>,
    /// Seed of the data.
    pub seed: Option<u64>,
    /// Tokenizer settings of the configuration.
    pub tokenizer: TokenizerSettings,
}

/// Reads a configuration. `dataset_folder` may be one folder, a list (with or without `dataset_weights` next to it), or a map from folders
/// to weights, as in older releases. If several stages have token folders, `stage` must name one of them.
pub fn read_training(path: &Path, text: &str, stage: Option<&str>) -> Outcome<Training> {
    let failed = |why: String| Failure::data(ACTIVITY, why).on(Subject::path(path));
    let root = yaml_read::read(text).map_err(|error| {
        Failure::data(ACTIVITY, error.message).on(Subject::path(path).line(error.line).column(error.column))
    })?;
    let stages = root.get("data_stages").and_then(Node::as_list).unwrap_or_default();
    let older = root.get("data");
    let all: Vec<(Option<&str>, &Node)> = stages
        .iter()
        .filter_map(|stage| Some((stage.get("name").and_then(Node::as_str), stage.get("data")?)))
        .chain(older.map(|data| (None, data)))
        .filter(|(_, data)| data.get("dataset").is_some_and(|set| set.get("dataset_folder").is_some()))
        .collect();
    let (name, data) = choose(&all, stage).map_err(|failure| failure.on(Subject::path(path)))?;
    let set = data.get("dataset").unwrap_or(&Node::Null);
    let (folders, mut weights) = folders(set.get("dataset_folder").unwrap_or(&Node::Null)).map_err(&failed)?;
    if let Some(list) = set.get("dataset_weights").filter(|node| **node != Node::Null) {
        weights = Some(numbers(list).ok_or_else(|| failed("dataset_weights is not a list of numbers".into()))?);
    }
    let tokenizer = match root.get("tokenizer").and_then(|node| node.get("tokenizer_name_or_path")) {
        None | Some(Node::Null) => None,
        Some(Node::Str(name)) => Some(name.clone()),
        Some(other) => return Err(failed(format!("tokenizer_name_or_path is {}, not text", other.describe()))),
    };
    // nanotron replaces -1 by the size of the tokenizer's vocabulary.
    let model = root.get("model").and_then(|model| model.get("model_config"));
    let model = model.filter(|model| model.get("vocab_size") != Some(&Node::Int(-1)));
    let tokens = root.get("tokens");
    let number = |node: Option<&Node>, key: &str| match node.and_then(|node| node.get(key)) {
        None | Some(Node::Null) => Ok(None),
        Some(Node::Int(value)) => u64::try_from(*value).map(Some).map_err(|_| failed(format!("{key} is {value}"))),
        Some(other) => Err(failed(format!("{key} is {}, not a whole number", other.describe()))),
    };
    let mut samples = number(tokens, "train_steps")?;
    let factors = [
        number(tokens, "micro_batch_size")?,
        Some(number(tokens, "batch_accumulation_per_replica")?.unwrap_or(1)),
        Some(number(root.get("parallelism"), "dp")?.unwrap_or(1)),
    ];
    for factor in factors {
        samples = samples.zip(factor).map(|(all, factor)| all.saturating_mul(factor));
    }
    Ok(Training {
        stage: name.map(str::to_owned),
        folders,
        weights,
        sequence_length: number(tokens, "sequence_length")?,
        samples,
        seed: number(Some(data), "seed")?,
        tokenizer: TokenizerSettings { tokenizer, vocab_size: number(model, "vocab_size")? },
    })
}

type Stage<'a> = (Option<&'a str>, &'a Node);

fn choose<'a>(all: &[Stage<'a>], wanted: Option<&str>) -> Outcome<Stage<'a>> {
    let names = || all.iter().filter_map(|(name, _)| *name).collect::<Vec<_>>();
    let listed = || names().iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    match (all, wanted) {
        ([], _) => Err(Failure::data(ACTIVITY, "no stage has a dataset_folder")
            .with_hint("token folders are listed in data_stages: - data: dataset: dataset_folder")),
        (_, Some(wanted)) => all.iter().find(|(name, _)| *name == Some(wanted)).copied().ok_or_else(|| {
            let failure = Failure::usage(ACTIVITY, format!("there is no stage '{wanted}' with token folders"));
            match nearest(wanted, names()) {
                Some(near) => failure.with_hint(format!("--stage '{near}'")),
                None => failure.with_hint(format!("stages: {}", listed())),
            }
        }),
        ([only], None) => Ok(*only),
        (_, None) => Err(Failure::usage(ACTIVITY, format!("{} stages have token folders", all.len()))
            .with_hint(format!("--stage with one of {}", listed()))),
    }
}

fn folders(node: &Node) -> Result<(Vec<String>, Option<Vec<f64>>), String> {
    match node {
        Node::Str(folder) => Ok((vec![folder.clone()], None)),
        Node::List(items) => {
            let folders: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            Ok((folders.ok_or("dataset_folder has an item that is no text")?, None))
        }
        Node::Map(entries) => {
            let weights: Option<Vec<f64>> = entries.iter().map(|(_, weight)| as_number(weight)).collect();
            let weights = weights.ok_or("dataset_folder has a weight that is no number")?;
            Ok((entries.iter().map(|(folder, _)| folder.clone()).collect(), Some(weights)))
        }
        other => Err(format!("dataset_folder is {}", other.describe())),
    }
}

fn numbers(node: &Node) -> Option<Vec<f64>> {
    node.as_list()?.iter().map(as_number).collect()
}

fn as_number(node: &Node) -> Option<f64> {
    match node {
        Node::Int(value) => Some(*value as f64),
        Node::Float(value) => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, stage: Option<&str>) -> Outcome<Training> {
        read_training(Path::new("train.yaml"), text, stage)
    }

    const TOKENS: &str = "tokens: {train_steps: 10, micro_batch_size: 4, batch_accumulation_per_replica: 2, \
                          sequence_length: 256}\nparallelism: {dp: 3, tp: 8}\n";

    #[test]
    fn dataset_folders_are_a_string_a_list_or_a_map() {
        let of = |dataset: &str| {
            read(&format!("data_stages:\n- name: s\n  data: {{seed: 7, dataset: {dataset}}}\n{TOKENS}"), None).unwrap()
        };
        let one = of("{dataset_folder: a}");
        assert_eq!((one.folders, one.weights), (vec!["a".to_owned()], None));
        assert_eq!((one.samples, one.sequence_length, one.seed), (Some(240), Some(256), Some(7)));
        assert_eq!(one.stage.as_deref(), Some("s"));
        assert_eq!(of("{dataset_folder: [a, b]}").weights, None);
        let listed = of("{dataset_folder: [a, b], dataset_weights: [0.25, 3]}");
        assert_eq!((listed.folders.len(), listed.weights), (2, Some(vec![0.25, 3.0])));
        let map = of("{dataset_folder: {x/y: 0.1, z: 1}}");
        assert_eq!((map.folders, map.weights), (vec!["x/y".to_owned(), "z".into()], Some(vec![0.1, 1.0])));
    }

    #[test]
    fn unset_tokenizer_settings_are_not_compared() {
        let of =
            |rest: &str| read(&format!("data: {{dataset: {{dataset_folder: a}}}}\n{rest}"), None).unwrap().tokenizer;
        let settings = of("tokenizer: {tokenizer_name_or_path: a/b}\nmodel: {model_config: {vocab_size: 1024}}");
        assert_eq!((settings.tokenizer.as_deref(), settings.vocab_size), (Some("a/b"), Some(1024)));
        for open in [
            "",
            "tokenizer: null\nmodel: null",
            "tokenizer: {tokenizer_name_or_path: null}\nmodel: {model_config: null}",
            "tokenizer: {tokenizer_max_length: 5}\nmodel: {model_config: {vocab_size: null}}",
            "model: {model_config: {vocab_size: -1}}",
        ] {
            assert!(of(open).is_empty(), "{open}");
        }
    }

    #[test]
    fn one_of_several_training_stages_must_be_named() {
        let text = "data_stages:\n- {name: base, data: {dataset: {dataset_folder: a}}}\n\
                    - {name: decay, data: {dataset: {dataset_folder: b}}}\n\
                    - {name: other, data: {dataset: {hf_dataset_or_datasets: c}}}\n";
        assert_eq!(read(text, Some("decay")).unwrap().folders, ["b"]);
        assert!(read(text, None).unwrap_err().hint.unwrap().contains("'base', 'decay'"));
        assert!(read(text, Some("dekay")).unwrap_err().hint.unwrap().contains("decay"));
        assert!(read(text, Some("other")).is_err());
        let older = read("data: {dataset: {dataset_folder: a}}", None).unwrap();
        assert_eq!((older.folders, older.samples, older.stage), (vec!["a".to_owned()], None, None));
    }

    #[test]
    fn invalid_training_configuration_is_refused_with_its_place() {
        for text in [
            "",
            "a: [",
            "data: {dataset: {dataset_folder: 3}}",
            "data: {dataset: {dataset_folder: [1]}}",
            "data: {dataset: {dataset_folder: {a: b}}}",
            "data: {dataset: {dataset_folder: a, dataset_weights: 3}}",
            "data: {seed: x, dataset: {dataset_folder: a}}",
            "data: {dataset: {dataset_folder: a}}\ntokens: {train_steps: -1}",
            "data: {dataset: {dataset_folder: a}}\ntokenizer: {tokenizer_name_or_path: 3}",
            "data: {dataset: {dataset_folder: a}}\nmodel: {model_config: {vocab_size: -2}}",
            "data: {dataset: {dataset_folder: a}}\nmodel: {model_config: {vocab_size: many}}",
        ] {
            let failure = read(text, None).unwrap_err();
            assert_eq!(failure.subject.path.as_deref(), Some("train.yaml"), "{text}");
        }
    }
}
