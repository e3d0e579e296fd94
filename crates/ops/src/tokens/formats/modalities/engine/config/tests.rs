use super::*;

const CONFIG: &str = "
settings:
  src_path: data/a.b.jsonl
  jq_pattern: .text
  num_cpus: ${node_env:num_cpus}
  eod_token: <|endoftext|>
  processing_batch_size: 4
  raw_samples_queue_size: 300
  processed_samples_queue_size: ${settings.raw_samples_queue_size}
tokenizer:
  component_key: tokenizer
  variant_key: pretrained_hf_tokenizer
  config:
    pretrained_model_name_or_path: ${modalities_env:config_folder_path}/${cuda_env:NAME}
    truncation: true
    padding: false
    max_length: 512
";

fn around() -> EnvVars {
    let variable = |name: &str| match name {
        "NAME" => Some("tok".to_owned()),
        "RANK" => Some("3".to_owned()),
        _ => None,
    };
    EnvVars { cpus: 6, file: PathBuf::from("conf/pack.yaml"), variable }
}

fn read_text(text: &str) -> Outcome<PackConfig> {
    PackConfig::of(&resolved(&yaml_read::read(text).unwrap(), &around())?)
}

#[test]
fn modalities_configuration_becomes_a_pack_plan() {
    let config = read_text(CONFIG).unwrap();
    assert_eq!((config.cpus, config.batch_lines), (Some(6), 4));
    assert_eq!(config.output, Path::new("data/a.b.pbin"));
    assert_eq!(config.index, Path::new("data/a.b.idx"));
    let plan = config.plan(false).unwrap();
    assert_eq!((plan.tokenizer.as_str(), plan.output.as_str()), ("conf/tok", "data/a.b.pbin"));
    let target = plan.modalities.unwrap();
    assert_eq!((target.truncate_to, target.pad_to), (Some(512), None));
    assert_eq!(target.eod_token.as_deref(), Some("<|endoftext|>"));
    assert_eq!(config.plan(true).unwrap().modalities.unwrap().batch_lines, 4);
}

#[test]
fn missing_and_mistyped_configuration_fields_are_named() {
    for (from, to, field) in [
        ("  src_path: data/a.b.jsonl\n", "", "settings.src_path"),
        ("  processing_batch_size: 4\n", "  processing_batch_size: '4'\n", "settings.processing_batch_size"),
        ("  processing_batch_size: 4\n", "  processing_batch_size: 4.0\n", "settings.processing_batch_size"),
        ("  processing_batch_size: 4\n", "  processing_batch_size: 0\n", "settings.processing_batch_size"),
        ("${node_env:num_cpus}", "true", "settings.num_cpus"),
        ("pretrained_hf_tokenizer", "other", "tokenizer.variant_key"),
        ("padding: false", "padding: 3", "tokenizer.config.padding"),
        ("max_length: 512", "max_length: -1", "tokenizer.config.max_length"),
        ("tokenizer:\n", "tok:\n", "tokenizer"),
    ] {
        let failure = read_text(&CONFIG.replace(from, to)).unwrap_err();
        assert_eq!(failure.subject.field.as_deref(), Some(field), "{failure}");
    }
}

#[test]
fn configuration_references_are_resolved_or_refused_by_name() {
    let value = |text: &str| {
        let tree = yaml_read::read(&format!("a: {{b: 1, c: [x, '${{a.b}}']}}\nv: {text}\n")).unwrap();
        resolved(&tree, &around()).map(|tree| tree.get("v").unwrap().clone())
    };
    assert_eq!(value("${a.b}").unwrap(), Node::Int(1));
    assert_eq!(value("x${a.b}y${a.c.0}").unwrap(), Node::str("x1yx"));
    assert_eq!(value("${a.c.1}").unwrap(), Node::Int(1));
    assert_eq!(value("${cuda_env:RANK}").unwrap(), Node::Int(3));
    assert_eq!(value("${cuda_env:NONE}").unwrap(), Node::Null);
    assert!(value("x${cuda_env:WORLD_SIZE}").unwrap_err().why.contains("no variable 'WORLD_SIZE'"));
    assert_eq!(value("${oc.env:NONE,d}").unwrap(), Node::str("d"));
    assert_eq!(value("${modalities_env:config_file_path}").unwrap(), Node::str("conf/pack.yaml"));
    assert_eq!(value("'\\${a.b}'").unwrap(), Node::str("${a.b}"));
    for wrong in ["${v}", "${a.d}", "${x:y}", "${a.b", "x${a}", "${a.${b}}", "${oc.env:NONE}"] {
        assert!(value(wrong).is_err(), "{wrong}");
    }
}

/// Compares the results with those of OmegaConf 2.3 for the same references.
#[test]
fn nested_and_relative_references_are_resolved_as_by_omegaconf() {
    let tree = "{b: 5, m: {x: 1, y: 2}, k: x, n: NAME, l: [1, 2], i: '1', deep: {u: '${..k}', s: '${.u}', t: '${m.${..k}}', l: [a, '${.0}']},
        v: '${m.${k}}', w: '${m[${k}]}', e: '${oc.env:${n}}', q: '${l.${i}}', r: '${l[1]}', far: '${deep.t}',
        both: 'a${m.${k}}b${l[${i}]}', key: \"${deep['u']}\"}";
    let tree = resolved(&yaml_read::read(tree).unwrap(), &around()).unwrap();
    let at = |name: &str| tree.get(name).unwrap().clone();
    assert_eq!((at("v"), at("w"), at("q"), at("r")), (Node::Int(1), Node::Int(1), Node::Int(2), Node::Int(2)));
    assert_eq!(
        (at("e"), at("far"), at("both"), at("key")),
        (Node::str("tok"), Node::Int(1), Node::str("a1b2"), Node::str("x"))
    );
    let deep = at("deep");
    assert_eq!((deep.get("u"), deep.get("s")), (Some(&Node::str("x")), Some(&Node::str("x"))));
    assert_eq!(
        (deep.get("t"), deep.get("l").unwrap()),
        (Some(&Node::Int(1)), &Node::List(vec![Node::str("a"), Node::str("a")]))
    );
    for wrong in ["${${a}", "${m.${gone}}", "${....b}", "${m[x}", "${m.${m}}", "${l[9]}", "${${k}}"] {
        let tree = yaml_read::read(&format!("{{m: {{x: 1}}, l: [], k: none, v: '{wrong}'}}")).unwrap();
        assert!(resolved(&tree, &around()).is_err(), "{wrong}");
    }
}

#[test]
fn exponentially_growing_references_are_refused() {
    let mut text = "l0: xxxxxxxxxx\n".to_owned();
    for level in 1..15 {
        let before = level - 1;
        text.push_str(&format!("l{level}: {}\n", format!("${{l{before}}}").repeat(10)));
    }
    assert!(resolved(&yaml_read::read(&text).unwrap(), &around()).is_err());
    let nested = format!("v: \"{}k{}\"\n", "${".repeat(100_000), "}".repeat(100_000));
    assert!(resolved(&yaml_read::read(&nested).unwrap(), &around()).is_err());
}
