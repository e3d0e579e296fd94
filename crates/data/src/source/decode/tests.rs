use super::*;
use gristmill_core::field_map::FieldExpression;
use std::collections::BTreeMap;

fn sample(parts: &[(&str, &[u8])]) -> BTreeMap<String, DecodedPart> {
    parts.iter().map(|(n, b)| ((*n).to_owned(), decode_part(n, b))).collect()
}

fn run(expr: &str, parts: &BTreeMap<String, DecodedPart>) -> Result<Value, String> {
    eval(&FieldExpression::parse(expr), &|name| parts.get(name)).map_err(|e| e.to_string())
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(width, height).write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

#[test]
fn each_suffix_is_decoded_as_the_trainer_does() {
    assert_eq!(decode_part("txt", "grüße\n".as_bytes()), Ok(Value::Text("grüße\n".into())));
    assert_eq!(decode_part("cls", b" 12\n"), Ok(Value::Int(12)));
    assert_eq!(decode_part("id", b"1_000"), Ok(Value::Int(1000)));
    assert!(decode_part("id", b"1__0").is_err());
    assert!(matches!(decode_part("id", "9".repeat(40).as_bytes()), Ok(Value::Bytes { .. })));
    assert_eq!(decode_part("a.b.json", b"[1]"), Ok(Value::Json(serde_json::json!([1]))));
    assert_eq!(decode_part("json", b"\"x\""), Ok(Value::Text("x".into())));
    assert_eq!(part_class("JSON"), PartClass::Bytes, "the trainer takes this suffix in lower case only");
    assert_eq!(part_class("MP4"), PartClass::Media);
    assert_eq!(part_class("jsonl"), PartClass::Bytes);
    assert!(decode_part("JSON", b"[1]").unwrap().describe().contains("lower case"));
    assert!(decode_part("ppm", b"P6").unwrap().is_array());
    assert_eq!(decode_part("mp", b"abc"), Ok(Value::Bytes { len: 3, label: "MessagePack, decoded by the trainer" }));
    assert_eq!(
        decode_part("", b"abc"),
        Ok(Value::Bytes { len: 3, label: "raw bytes: the trainer does not decode this suffix" })
    );
    assert_eq!(decode_part("mp4", b"abc"), Ok(Value::Media { format: "mp4".into(), len: 3 }));
}

#[test]
fn picture_format_is_detected_from_content_not_from_name() {
    let expected = Value::Image { format: "png".into(), width: 7, height: 5 };
    assert_eq!(decode_part("jpg", &png(7, 5)), Ok(expected));
    assert!(decode_part("jpg", b"not a picture").unwrap_err().contains("not a picture"));
    assert!(decode_part("jpg", b"").unwrap_err().contains("empty"));
    assert!(decode_part("png", &png(7, 5)[..20]).is_err());
}

#[test]
fn decoding_errors_state_the_position() {
    assert_eq!(decode_part("txt", b"ab\xff").unwrap_err(), "it is not UTF-8 at byte 2");
    assert_eq!(decode_part("cls", b"cat").unwrap_err(), "'cat' is not a whole number");
    let message = decode_part("json", b"{\"a\": }").unwrap_err();
    assert!(message.contains("line 1, column 7"), "{message}");
    assert!(decode_part("json", b"{} x").is_err());
}

#[test]
fn json_nested_a_thousand_deep_is_read_and_deeper_is_refused() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n)).into_bytes();
    assert!(decode_part("json", &nested(1000)).is_ok());
    assert!(decode_part("json", &nested(1001)).unwrap_err().contains("deeper"));
    assert!(decode_part("json", &nested(1_000_000)).unwrap_err().contains("deeper"));
    let in_string = format!("\"{}\"", "[".repeat(5000));
    assert!(decode_part("json", in_string.as_bytes()).is_ok());
}

#[test]
fn json_that_only_python_accepts_is_decoded() {
    let read = |text: &str| decode_part("json", text.as_bytes());
    let expected = serde_json::json!({"a": null, "b": [null, "NaN", -1]});
    assert_eq!(read(r#"{"a": NaN, "b": [-Infinity, "NaN", -1]}"#), Ok(Value::Json(expected)));
    assert_eq!(read(r#""x\ud83dy""#), Ok(Value::Text("x\u{fffd}y".into())));
    assert_eq!(read(r#"["\ud83d\ude00", "\udc00"]"#), Ok(Value::Json(serde_json::json!(["😀", "\u{fffd}"]))));
    assert_eq!(read("\u{feff}{}"), Ok(Value::Json(serde_json::json!({}))));
    for bad in ["Nan", "[NaN", "{'a': 1}", "\"\\ud83d", "\"\\é"] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[test]
fn an_array_shows_type_and_shape_and_objects_are_refused() {
    let file = |descr: &str| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (3, 4), }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    assert_eq!(decode_part("npy", &file("<f4")), Ok(Value::Array { dtype: "<f4".into(), shape: vec![3, 4] }));
    assert!(decode_part("npy", &file("|O")).unwrap_err().contains("objects"));
    assert!(decode_part("npy", b"\x93NUMPY\x01\x00\xff\xff").is_err());
    assert!(decode_part("npy", b"zip").is_err());
}

#[test]
fn a_zip_bomb_is_refused() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0u8; 5 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    assert!(decode_part("txt.gz", &bomb).unwrap_err().contains("decompresses to too many bytes"));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"hello").unwrap();
    assert_eq!(decode_part("txt.gz", &encoder.finish().unwrap()), Ok(Value::Text("hello".into())));
}

#[test]
fn field_map_steps_index_maps_and_lists_and_negative_indices_count_from_the_end() {
    let s = sample(&[("detail.json", br#"{"caption": {"long": "L"}, "n": [1, 2.5, "z"], "0": true}"#), ("txt", b"T")]);
    assert_eq!(run("detail.json[caption][long],txt", &s), Ok(Value::Text("L".into())));
    assert_eq!(run("detail.json[n][0]", &s), Ok(Value::Int(1)));
    assert_eq!(run("detail.json[n][-1]", &s), Ok(Value::Text("z".into())));
    assert_eq!(run("detail.json[n][1]", &s), Ok(Value::Json(serde_json::json!(2.5))));
    assert_eq!(run("detail.json[0]", &s), Ok(Value::Json(serde_json::json!(true))));
    assert_eq!(run("detail.json[short],txt", &s), Ok(Value::Text("T".into())));
}

#[test]
fn failure_of_the_last_alternative_is_reported_for_the_sample() {
    let s = sample(&[("json", br#"{"a": [1]}"#), ("txt", b"T")]);
    assert_eq!(run("txt[x]", &s).unwrap_err(), "txt has no [x]: it is text, not a list or map");
    assert_eq!(run("txt[x],json[a][1]", &s).unwrap_err(), "json[a] has no [1]: the list has 1 item");
    assert_eq!(run("json[b]", &s).unwrap_err(), "json has no [b]: its keys are 'a'");
    assert_eq!(run("json[a][b]", &s).unwrap_err(), "json[a] has no [b]: a list takes a whole number");
    assert_eq!(run("json[b],png", &s).unwrap_err(), "no part 'png' in this sample");
    assert_eq!(run("json[a", &s).unwrap_err(), "no part 'json[a' in this sample");
}

/// The expected values are results of the reference's field access on these expressions.
#[test]
fn unusual_field_expressions_give_the_values_of_the_reference() {
    let s = sample(&[("json", br#"[["p", "q"], {"a": 1}]"#), ("txt", b"T"), ("b.json", br#"{"a": 3, "-1": "m"}"#)]);
    let text = |t: &str| Ok(Value::Text(t.into()));
    assert_eq!(run("txt,", &s), text("T"));
    assert_eq!(run(",txt,", &s), text("T"));
    assert_eq!(run("json[a],txt,json[a", &s), text("T"));
    assert_eq!(run("[b]1,b.json[a]", &s), Ok(Value::Int(3)));
    assert_eq!(run("b.json[-1]", &s), text("m"));
    assert_eq!(run("json[ 0 ][+1]", &s), text("q"));
    assert_eq!(run("json[0][-2]", &s), text("p"));
    for fails in ["json[0][-3]", "json[0][2]", "json[1][b]", "json[1_0]", "json[0][0][0]", "json[]", "", "txt[a]"] {
        assert!(run(fails, &s).is_err(), "{fails}");
    }
}

#[test]
fn undecodable_part_fails_the_sample_although_another_alternative_succeeds() {
    let s = sample(&[("json", b"{"), ("txt", b"T")]);
    assert!(run("txt,json[a]", &s).unwrap_err().starts_with("'json' cannot be decoded"));
    assert_eq!(run("txt", &s), Ok(Value::Text("T".into())));
}

proptest::proptest! {
    #[test]
    fn decoding_never_panics(name in "(txt|json|jsonl|cls|npy|png|jpg|webp|gif|txt.gz|mp|)", bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        let _ = decode_part(&name, &bytes);
    }

    #[test]
    fn evaluation_never_panics(expr in "[a-c\\[\\],0-9-]{0,20}", json in "[\\[\\]{}\"a-c:,0-9]{0,30}") {
        let parts = sample(&[("a", b"x"), ("b.json", json.as_bytes()), ("json", json.as_bytes())]);
        let _ = run(&expr, &parts);
    }
}
