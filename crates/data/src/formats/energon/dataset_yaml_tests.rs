use super::*;
use proptest::prelude::*;

fn golden(case: &str) -> (std::path::PathBuf, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon").join(case).join("expected");
    let text = std::fs::read_to_string(root.join(".nv-meta/dataset.yaml")).unwrap();
    (root, text)
}

fn field(field: &str, expr: &str) -> FieldExpr {
    FieldExpr { field: field.to_owned(), expr: expr.to_owned() }
}

#[test]
fn golden_files_are_written_byte_for_byte_and_read() {
    let captioning = SampleMapping::FieldMap {
        sample_type: "CaptioningSample".into(),
        fields: vec![field("image", "jpg"), field("caption", "detail.json[caption][long],txt")],
    };
    let text = SampleMapping::FieldMap { sample_type: "TextSample".into(), fields: vec![field("text", "txt")] };
    for (case, loading) in [
        ("captioning_fieldmap", captioning),
        ("presplit_folders", text),
        ("odd_names", SampleMapping::Crude { cooker: false }),
    ] {
        let (root, bytes) = golden(case);
        assert_eq!(DatasetYaml::render(&loading).unwrap(), bytes, "{case}");
        let read = DatasetYaml::read(&root, layout::DATASET_YAML).unwrap().unwrap();
        assert_eq!(read.is_crude(), case == "odd_names");
        assert_eq!(read.to_loading(), Some(loading.clone()).filter(|_| !read.is_crude()));
        if let SampleMapping::FieldMap { sample_type, fields } = loading {
            assert_eq!(read.sample_type.built_in().unwrap().class, sample_type);
            assert_eq!(read.source, SampleSource::FieldMap(fields));
        }
    }
    assert_eq!(DatasetYaml::read(&golden("odd_names").0, "other.yaml").unwrap(), None);
}

#[test]
fn a_sample_loader_names_the_generated_file() {
    let loading = SampleMapping::SampleLoader { sample_type: "VQAOCRSample".into() };
    let text = DatasetYaml::render(&loading).unwrap();
    assert_eq!(
        text,
        "sample_type:\n  __module__: megatron.energon.flavors.vqa_and_ocr\n  __class__: VQAOCRSample\n\
         sample_loader: sample_loader.py:sample_loader\npart_filter: sample_loader.py:part_filter\n"
    );
    let read = DatasetYaml::parse(&text).unwrap();
    assert_eq!(read.sample_type.built_in().unwrap().class, "VQAOCRSample");
    assert_eq!(
        read.source,
        SampleSource::Loader {
            function: SAMPLE_LOADER.into(),
            part_filter: Some(PartFilter::Function(PART_FILTER.into()))
        }
    );
    assert_eq!(DatasetYaml::render(&SampleMapping::NoDatasetYaml), None);
}

#[test]
fn own_sample_class_keeps_its_module() {
    let loading = SampleMapping::FieldMap { sample_type: "my.types:Pair".into(), fields: vec![field("a", "08")] };
    let text = DatasetYaml::render(&loading).unwrap();
    assert!(text.contains("__module__: my.types\n  __class__: Pair\n") && text.contains("a: '08'\n"));
    let read = DatasetYaml::parse(&text).unwrap();
    assert_eq!(read.sample_type, PythonClass { module: "my.types".into(), class: "Pair".into() });
    assert_eq!(read.sample_type.built_in(), None);
    let shadow = PythonClass::named("mine:TextSample");
    assert_eq!(shadow.built_in(), None);
}

#[test]
fn the_old_style_with_a_top_level_class_is_read() {
    for (old, new) in [
        ("CaptioningWebdataset", "CaptioningSample"),
        ("VQAWebdataset", "VQASample"),
        ("VidQAWebdataset", "VidQASample"),
        ("VQAOCRWebdataset", "VQAOCRSample"),
        ("ImageClassificationWebdataset", "ImageClassificationSample"),
        ("SimilarityInterleavedWebdataset", "SimilarityInterleavedSample"),
        ("MultiChoiceVQAWebdataset", "MultiChoiceVQASample"),
        ("OCRWebdataset", "OCRSample"),
    ] {
        let text =
            format!("__module__: megatron.energon\n__class__: {old}\nfield_map:\n  image: jpg\nsubflavors: {{a: 1}}\n");
        let read = DatasetYaml::parse(&text).unwrap();
        assert_eq!(read.sample_type.built_in().unwrap().class, new);
        assert_eq!(read.old_class.as_deref(), Some(old));
        assert_eq!(read.subflavors.unwrap().get("a"), Some(&Node::Int(1)));
    }
    let own = DatasetYaml::parse("__module__: my\n__class__: Own\nfield_map: {a: txt}\n").unwrap();
    assert_eq!((own.sample_type.class.as_str(), own.old_class.as_deref()), ("Own", Some("Own")));
}

#[test]
fn crude_files_take_filters_subflavors_and_a_decoder() {
    let text = "__module__: megatron.energon\n__class__: CrudeWebdataset\nsubflavors:\n  x: y\npart_filter: [jpg, txt]\ndecoder: null\n";
    let read = DatasetYaml::parse(text).unwrap();
    assert!(read.is_crude() && read.decoder == Some(Node::Null));
    assert_eq!(read.source, SampleSource::Parts(Some(PartFilter::Parts(vec!["jpg".into(), "txt".into()]))));
}

#[test]
fn dataset_yaml_that_the_loader_refuses_is_refused() {
    let typed = "sample_type: {__module__: megatron.energon, __class__: TextSample}\n";
    for (text, said) in [
        (format!("{typed}field_map: {{text: txt}}\nfieldmap: {{}}\n"), "unknown key 'fieldmap'"),
        (format!("{typed}field_map: {{text: txt}}\nsample_loader: a:b\n"), "exclude each other"),
        (format!("{typed}field_map: {{text: txt}}\npart_filter: [txt]\n"), "cannot be used with"),
        (format!("{typed}sample_loader: a:b\n"), "needs a 'part_filter'"),
        (typed.to_owned(), "is needed"),
        ("field_map: {text: txt}\n".to_owned(), "'sample_type' is missing"),
        (format!("{typed}field_map: {{text: 12}}\n"), "the field 'text' must be text, here is the number 12"),
        ("sample_type: {__module__: x}\nfield_map: {}\n".to_owned(), "needs '__module__' and '__class__'"),
        ("__class__: TextWebdataset\nfield_map: {}\n".to_owned(), "needs '__module__'"),
        ("__module__: megatron.energon\n__class__: CrudeWebdataset\nfield_map: {}\n".to_owned(), "takes neither"),
    ] {
        let error = DatasetYaml::parse(&text).unwrap_err();
        assert!(error.message.contains(said), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_field_map_survives_writing_and_reading(
        fields in prop::collection::btree_map("[ -~é]{0,20}", any::<String>(), 0..5), class in "[A-Za-z.]{1,9}:[A-Za-z]{1,9}"
    ) {
        let fields: Vec<FieldExpr> = fields.iter().map(|(f, e)| field(f, e)).collect();
        let loading = SampleMapping::FieldMap { sample_type: class.clone(), fields: fields.clone() };
        let read = DatasetYaml::parse(&DatasetYaml::render(&loading).unwrap()).unwrap();
        prop_assert_eq!(read.source, SampleSource::FieldMap(fields));
        prop_assert_eq!(read.sample_type, PythonClass::named(&class));
    }
}

#[test]
fn field_map_of_own_class_converts_back_to_an_answer() {
    let fields = vec![field("a", "txt")];
    let loading = SampleMapping::FieldMap { sample_type: "own.types:MySample".into(), fields };
    let yaml = DatasetYaml::parse(&DatasetYaml::render(&loading).unwrap()).unwrap();
    assert_eq!(yaml.to_loading(), Some(loading));
}
