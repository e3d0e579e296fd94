use super::*;

const HEAD: &str = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n";

fn of_2(body: &str) -> Result<Metadataset, Vec<Mistake>> {
    read(&format!("{HEAD}{body}"))
}

/// Returns the mistakes of a file of version 2, as `line:column message`, lines counted from the first below `splits:`.
fn mistakes(body: &str) -> Vec<String> {
    let all = of_2(body).expect_err(body);
    all.iter().map(|m| format!("{}:{} {}", i64::from(m.line) - 3, m.column, m.message)).collect()
}

fn hint(body: &str) -> String {
    of_2(body).expect_err(body)[0].hint.clone().unwrap_or_default()
}

fn remarks(body: &str) -> Vec<String> {
    of_2(body).unwrap_or_else(|e| panic!("{body}: {e:?}")).remarks.into_iter().map(|m| m.message).collect()
}

fn blend(metadataset: &Metadataset) -> &Blend {
    match &metadataset.splits[0].node {
        Node::Blend(blend) => blend,
        other => panic!("{other:?}"),
    }
}

fn reference(metadataset: &Metadataset) -> &Reference {
    match &metadataset.splits[0].node {
        Node::Leaf(Leaf::Reference(reference)) => reference,
        other => panic!("{other:?}"),
    }
}

const FULL: &str = "  train:
    blend:
    - path: ../a
      weight: 0.25
      split_part: val
      subflavors: {lang: de, n: 3}
      shuffle_over_epochs_multiplier: null
      dataset_config: other.yaml
      split_config: my_split.yaml
      aux:
        media: ../media
        files: filesystem://pics
        remote: filesystem+msc://p/pics
        more: {path: ../m2}
        deep: {fs_path: /abs}
      subset: {range: [12.5%, 50%]}
    - join:
      - path: a
      - {path: b, nonmatch: skip, split_part: x}
      joiner: {__module__: mine, __function__: both}
      weight: 2
      split_part: val
      subflavors: {x: 1}
      subset: {range: [10, end]}
    subset: {range: [0%, 100%]}
  val:
    path: set.jsonl
  test:
    blend_epochized:
    - {path: a, repetitions: 0.5}
    - path: b
  more:
    join:
      text: {path: a}
      image: {path: b, nonmatch: none}
    joiner:
      __module__: mine
      __class__: Joined
";

#[test]
fn every_feature_of_a_metadataset_file_is_read() {
    let read = of_2(FULL).unwrap();
    assert_eq!((read.version, read.splits.len(), read.remarks.len()), (2, 4, 0), "{:?}", read.remarks);
    let train = blend(&read);
    assert!(!train.is_epochized);
    assert_eq!(train.subset.unwrap().range, Range::Percent(0.0, 100.0));
    assert_eq!(train.members[0].amount, 0.25);
    let Leaf::Reference(a) = &train.members[0].leaf else { panic!() };
    assert_eq!(a.path, "../a");
    assert_eq!(a.split_part.as_deref(), Some("val"));
    assert_eq!(a.subflavors.as_ref().unwrap()[1], ("n".to_owned(), Value::Int(3)));
    assert_eq!(a.shuffle_over_epochs, None);
    assert_eq!(a.dataset_config.as_ref().unwrap().1, "other.yaml");
    assert_eq!(a.split_config.as_ref().unwrap().1, "my_split.yaml");
    let targets: Vec<_> = a.aux.iter().map(|aux| (aux.name.as_str(), aux.target.clone())).collect();
    let dataset = |path: &str| AuxTarget::Dataset(path.into());
    let folder = |path: &str| AuxTarget::Folder(path.into());
    let expected = [
        ("media", dataset("../media")),
        ("files", folder("pics")),
        ("remote", folder("msc://p/pics")),
        ("more", dataset("../m2")),
        ("deep", folder("/abs")),
    ];
    assert_eq!(targets, expected);
    assert_eq!(a.subset.unwrap().range, Range::Percent(12.5, 50.0));
    let Leaf::Join(join) = &train.members[1].leaf else { panic!() };
    assert_eq!((join.members.len(), join.is_named), (2, false));
    assert_eq!(join.members[1].nonmatch, Nonmatch::Skip);
    assert_eq!(join.subset.unwrap().range, Range::Samples(10, None));
    assert_eq!((join.joiner.module.as_str(), join.joiner.object.as_str()), ("mine", "both"));
    assert!(!join.joiner.is_class);
    let Node::Leaf(Leaf::Join(named)) = &read.splits[3].node else { panic!() };
    assert!(named.is_named && named.joiner.is_class);
    assert_eq!(named.members[1].name.as_deref(), Some("image"));
    assert_eq!(named.members[1].nonmatch, Nonmatch::None);
}

/// Returns everything except the locations.
fn without_marks(metadataset: &Metadataset) -> String {
    let text = format!("{:?}", metadataset.splits);
    let pattern = regex::Regex::new(r"Mark \{ line: \d+, column: \d+ \}").unwrap();
    pattern.replace_all(&text, "_").into_owned()
}

#[test]
fn rendered_metadataset_is_read_back_unchanged() {
    let first = of_2(FULL).unwrap();
    let text = render(&first);
    let again = read(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    assert_eq!(without_marks(&first), without_marks(&again), "{text}");
    assert_eq!(render(&again), text);
}

#[test]
fn a_file_of_version_1_is_read_and_written_as_version_2() {
    let text = "splits:
  train:
    datasets:
    - path: a
      weight: 3
      subflavor: old
      subflavors: {x: y}
    - {path: b.yaml, split_part: val}
";
    let read_1 = read(text).unwrap();
    assert_eq!(read_1.version, 1);
    assert_eq!(blend(&read_1).members[0].amount, 3.0);
    let Leaf::Reference(a) = &blend(&read_1).members[0].leaf else { panic!() };
    assert_eq!(a.subflavors.as_ref().unwrap()[0], ("__subflavor__".to_owned(), Value::str("old")));
    assert!(read_1.remarks[0].message.contains("deprecated"), "{:?}", read_1.remarks);
    let written = render(&read_1);
    assert!(written.contains("MetadatasetV2") && written.contains("blend:"), "{written}");
    assert_eq!(without_marks(&read(&written).unwrap()), without_marks(&read_1));
    let class = format!("__module__: megatron.energon\n__class__: Metadataset\n{text}");
    assert_eq!(read(&class).unwrap().version, 1);
}

#[test]
fn wrong_metadataset_version_is_refused_with_the_reason_of_the_loader() {
    let split = "splits:\n  train: {path: a}\n";
    let all = read(split).unwrap_err();
    assert!(all[0].message.contains("of version 2, but without '__class__'"), "{all:?}");
    let all = read(&format!("__class__: MetadatasetV2\n{split}")).unwrap_err();
    assert!(all[0].message.contains("without '__module__'"), "{all:?}");
    let all = read(&format!("__module__: megatron.energon\n__class__: MetadataSetV2\n{split}")).unwrap_err();
    assert_eq!(all[0].hint.as_deref(), Some("did you mean 'MetadatasetV2'?"));
    assert_eq!((all[0].line, all[0].column), (2, 1));
    let odd = read(&format!("__module__: mine\n__class__: MetadatasetV2\n{split}")).unwrap();
    assert!(odd.remarks[0].message.contains("'mine' first"), "{:?}", odd.remarks);
}

#[test]
fn an_unknown_key_is_refused_at_its_place_with_the_nearest_known_one() {
    let body = "  train:\n    blend:\n    - path: a\n      weigth: 1\n    - {path: b, zzzz: 2}\n";
    let all = of_2(body).unwrap_err();
    assert_eq!((all[0].line, all[0].column), (7, 7));
    assert_eq!(all[0].message, "a member of a blend has no key 'weigth', and the loader stops at it");
    assert_eq!(all[0].hint.as_deref(), Some("did you mean 'weight'?"));
    assert_eq!((all[1].line, all[1].column), (8, 17));
    assert!(all[1].hint.as_ref().unwrap().starts_with("known keys: path"), "{all:?}");
    let all = read(&format!("{HEAD}  train: {{path: a}}\nsplit: 1\n")).unwrap_err();
    assert_eq!(all[0].hint.as_deref(), Some("did you mean 'splits'?"));
}

#[test]
fn split_has_exactly_one_of_path_blend_blend_epochized_and_join() {
    assert_eq!(
        mistakes("  train: {split_part: x}\n"),
        ["1:10 a split needs one of 'path', 'blend', 'blend_epochized' and 'join'"]
    );
    assert_eq!(hint("  train: {concat: []}\n"), "there is no concat; blend_epochized sees each member once per epoch");
    assert_eq!(hint("  train: {paths: []}\n"), "is 'paths' meant to be 'path'?");
    assert_eq!(hint("  train: {datasets: []}\n"), "'datasets' is of version 1; in version 2 it is 'blend'");
    let both = mistakes("  train:\n    path: a\n    blend: [{path: b}]\n");
    assert_eq!(both, ["3:5 'path' and 'blend' do not go together; a split is one of them"]);
    assert_eq!(mistakes("  train: a\n"), ["1:10 a split must be a map, here is the text 'a'"]);
    assert_eq!(mistakes("  train:\n"), ["1:3 the split 'train' is empty, and the loader stops at that"]);
}

#[test]
fn blends_are_not_nested_into_each_other_in_one_file() {
    let body = "  train:\n    blend_epochized:\n    - blend:\n      - path: a\n";
    assert_eq!(mistakes(body), ["3:7 a member of a blend is a data set or a join, not 'blend'"]);
    assert!(hint(body).contains("not even through another file"), "{}", hint(body));
    assert!(hint("  train: {blend: [{blend: [{path: a}]}]}\n").contains("a metadataset of its own"));
}

#[test]
fn blend_takes_only_weights_and_epochized_blend_only_repetitions() {
    let all = mistakes("  train:\n    blend:\n    - {path: a, repetitions: 2}\n");
    assert_eq!(all, ["3:17 'repetitions' does not belong here; members of this blend have 'weight'"]);
    let all = mistakes("  train:\n    blend_epochized:\n    - {path: a, weight: 2}\n");
    assert_eq!(all, ["3:17 'weight' does not belong here; members of this blend have 'repetitions'"]);
    assert_eq!(hint("  train: {path: a, weight: 2}\n"), "only members of a blend have a weight");
}

#[test]
fn a_weight_is_a_number_above_zero() {
    let weight = |text: &str| mistakes(&format!("  train: {{blend: [{{path: a, weight: {text}}}]}}\n"))[0].clone();
    assert!(weight("0").contains("'weight' is 0; the loader stops"), "{}", weight("0"));
    assert!(weight("0.0").contains("is 0"));
    assert!(weight("-1").contains("is negative"));
    assert!(weight("1e999").contains("is not finite"));
    assert!(weight("'1'").contains("must be a number, here is the text '1'"));
    assert!(weight("many").contains("here is the text 'many'"));
    assert!(weight("[1]").contains("here is a list"));
    assert!(weight("null").contains("here is nothing"));
    assert_eq!(remarks("  train: {blend: [{path: a, weight: yes}]}\n"), ["'weight' is true, which counts as 1"]);
    let zero = mistakes("  train: {blend_epochized: [{path: a, repetitions: 0}]}\n");
    assert!(zero[0].contains("'repetitions' is 0"), "{zero:?}");
}

#[test]
fn a_subset_is_a_range_of_percents_or_of_sample_numbers() {
    let range = |text: &str| {
        let read = of_2(&format!("  train: {{path: a, subset: {{range: {text}}}}}\n"));
        read.map(|read| reference(&read).subset.unwrap().range).map_err(|all| all[0].message.clone())
    };
    assert_eq!(range("[0%, 50%]"), Ok(Range::Percent(0.0, 50.0)));
    assert_eq!(range("['12.5%', 100%]"), Ok(Range::Percent(12.5, 100.0)));
    assert_eq!(range("[0, 0]"), Ok(Range::Samples(0, Some(0))));
    assert_eq!(range("[5, end]"), Ok(Range::Samples(5, None)));
    assert_eq!(range("[5, ' end ']"), Ok(Range::Samples(5, None)));
    for (text, why) in [
        ("[50%, 0%]", "ends before it begins"),
        ("[5, 4]", "ends before it begins"),
        ("[-1, 4]", "0 or more"),
        ("[0%, end]", "the end is 100%"),
        ("[end, end]", "does not begin at its end"),
        ("[0%, 5]", "from percent to percent"),
        ("[0, 5%]", "from percent to percent"),
        ("[0%, 101%]", "here is the text '101%'"),
        ("[-1%, 5%]", "here is the text '-1%'"),
        ("[0.1, 0.5]", "here is the number 0.1"),
        ("['5', '6']", "here is the text '5'"),
        ("[nan%, 5%]", "here is the text 'nan%'"),
        ("[0%]", "must be a list of two, this one has 1"),
        ("50%", "must be a list of two, here is the text '50%'"),
    ] {
        let message = range(text).expect_err(text);
        assert!(message.contains(why), "{text}: {message}");
    }
    assert!(mistakes("  train: {path: a, subset: [0%, 5%]}\n")[0].contains("a subset must be a map"));
    assert!(mistakes("  train: {path: a, subset: {ranges: [0%, 5%]}}\n")[0].contains("a subset needs 'range'"));
}

#[test]
fn a_join_needs_members_and_a_joiner() {
    let joiner = "joiner: {__module__: m, __function__: f}";
    let all = mistakes("  train:\n    join: [{path: a}, {path: b}]\n");
    assert_eq!(all, ["2:5 a join needs a 'joiner', which is missing"]);
    assert!(mistakes(&format!("  train: {{join: [], {joiner}}}\n"))[0].contains("'join' has no member"));
    assert!(mistakes(&format!("  train: {{join: a, {joiner}}}\n"))[0].contains("must be a list or a map"));
    let first = mistakes(&format!("  train: {{join: [{{path: a, nonmatch: skip}}, {{path: b}}], {joiner}}}\n"));
    assert!(first[0].contains("the first member cannot have nonmatch 'skip'"), "{first:?}");
    let bad = mistakes(&format!("  train: {{join: [{{path: a}}, {{path: b, nonmatch: drop}}], {joiner}}}\n"));
    assert!(bad[0].contains("one of error, skip and none"), "{bad:?}");
    let config = mistakes(&format!("  train: {{join: [{{path: a}}, {{path: b}}], {joiner}, dataset_config: x}}\n"));
    assert!(config[0].contains("'dataset_config' is not allowed in a join"), "{config:?}");
    assert_eq!(remarks(&format!("  train: {{join: [{{path: a}}], {joiner}, split_config: null}}\n")).len(), 1);
    let aux = remarks(&format!("  train: {{join: [{{path: a}}, {{path: b, aux: {{x: y}}}}], {joiner}}}\n"));
    assert!(aux[0].contains("'aux' has no effect"), "{aux:?}");
}

#[test]
fn a_joiner_is_a_class_or_function_of_a_module() {
    let joiner = |text: &str| format!("  train: {{join: [{{path: a}}, {{path: b}}], joiner: {text}}}\n");
    assert!(mistakes(&joiner("f"))[0].contains("a joiner must be a map"));
    assert!(mistakes(&joiner("{__module__: m}"))[0].contains("needs '__class__' or '__function__'"));
    assert!(mistakes(&joiner("{__function__: f}"))[0].contains("a joiner needs '__module__'"));
    let class = "{__module__: megatron.energon, __class__: CaptionSample}";
    assert!(mistakes(&joiner(class))[0].contains("no class 'CaptionSample' in megatron.energon"));
    assert_eq!(hint(&joiner(class)), "did you mean 'CaptioningSample'?");
    assert!(remarks(&joiner("{__module__: megatron.energon, __class__: CaptioningSample}")).is_empty());
    let named = "  train:\n    join: {x: {path: a}, y: {path: b}}\n    joiner: {__module__: megatron.energon, __class__: CaptioningSample}\n";
    assert!(mistakes(named)[0].contains("joins by position"), "{:?}", mistakes(named));
}

#[test]
fn an_aux_source_is_a_data_set_or_a_folder() {
    let aux = |text: &str| {
        let read = of_2(&format!("  train: {{path: a, aux: {{x: {text}}}}}\n"));
        read.map(|read| reference(&read).aux[0].target.clone()).map_err(|all| all[0].message.clone())
    };
    assert_eq!(aux("msc://p/x"), Ok(AuxTarget::Dataset("msc://p/x".into())));
    assert_eq!(aux("filesystem:///abs"), Ok(AuxTarget::Folder("/abs".into())));
    for (text, why) in [
        ("{path: a, fs_path: b}", "either 'path' or 'fs_path'"),
        ("{path: 'filesystem://b'}", "takes no 'filesystem://'"),
        ("{paths: b}", "needs 'path'"),
        ("fs+msc://p/x", "does not know 'fs+msc://'"),
        ("'filesystem://'", "names no folder"),
        ("7", "must be text"),
    ] {
        let message = aux(text).expect_err(text);
        assert!(message.contains(why), "{text}: {message}");
    }
    assert!(mistakes("  train: {path: a, aux: [b]}\n")[0].contains("must be a map of names and paths"));
    assert!(remarks("  train: {path: a, aux: {primary: b}}\n")[0].contains("conflicts with"));
}

#[test]
fn invalid_yaml_and_alias_bomb_are_refused_with_their_place() {
    let alias = "a: &a [x, x]\nb: &b [*a, *a]\nsplits: *b\n";
    let all = read(alias).unwrap_err();
    assert!(all[0].message.contains("an alias"), "{all:?}");
    assert_eq!((all[0].line, all[0].column), (2, 8));
    let deep = format!("splits: {}", "[".repeat(100_000));
    assert_eq!(read(&deep).unwrap_err().len(), 1);
    let deep = (0..200).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>();
    assert!(read(&deep).is_err());
    assert!(read("splits: !!python/object:os.system x\n").unwrap_err()[0].message.contains("a tag"));
    assert!(read("splits: {a: 1\n").is_err());
    assert!(read("splits: {}\nsplits: {}\n").unwrap_err()[0].message.contains("duplicate key"));
    assert!(read("").unwrap_err()[0].message.contains("empty"));
    assert!(read("- a\n").unwrap_err()[0].message.contains("here is a list"));
    assert!(read("a: 1\n---\nb: 1\n").unwrap_err()[0].message.contains("second document"));
}

#[test]
fn key_without_value_is_refused_and_null_is_accepted() {
    let all = mistakes("  train:\n    path: a\n    split_part:\n");
    assert!(all[0].contains("'split_part:' has no value"), "{all:?}");
    assert!(mistakes("  train:\n    path: a\n    subflavors:\n      x:\n")[0].contains("there is no value here"));
    assert!(remarks("  train: {path: a, split_part: null, aux: null, subset: null, subflavors: ~}\n").is_empty());
}

#[test]
fn unknown_split_name_is_remarked_on_if_it_resembles_a_usual_one() {
    let reported = of_2("  trian: {path: a}\n").unwrap().remarks;
    assert_eq!(reported[0].hint.as_deref(), Some("is 'trian' meant to be 'train'?"));
    assert!(remarks("  train: {path: a}\n  extra: {path: b}\n").is_empty());
    assert!(mistakes("  {}\n")[0].contains("there is no split"));
    assert!(read(&HEAD.replace("splits:\n", "splits: [a]\n")).unwrap_err()[0].message.contains("map of split names"));
}

#[test]
fn ten_thousand_metadataset_members_are_read_and_their_mistakes_reported() {
    let members: String = (0..10_000).map(|n| format!("    - {{path: d/{n}, weight: {}}}\n", n + 1)).collect();
    let read = of_2(&format!("  train:\n    blend:\n{members}")).unwrap();
    assert_eq!(blend(&read).members.len(), 10_000);
    let wrong = members.replace("weight", "wight");
    assert_eq!(of_2(&format!("  train:\n    blend:\n{wrong}")).unwrap_err().len(), 1_000);
}
