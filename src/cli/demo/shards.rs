//! The tar shards of the demo: the bytes are the same on every machine.

use super::canvas::{HEIGHT, WIDTH};
use super::scenes;
use gristmill_core::{Failure, Outcome};
use image::ImageFormat;
use serde_json::json;

/// Number of shards in the demo.
pub const SHARDS: u64 = 6;
/// Number of samples in each shard.
pub const PER_SHARD: u64 = 50;
/// The number of the sample without `json`, for which the field map needs its second alternative.
const WITHOUT_JSON: u64 = 137;
/// The number of the shard with an entry that belongs to no sample.
const WITH_README: u64 = 2;
/// Modification time of every entry in Unix seconds, constant so that the bytes are reproducible.
const MODIFIED: u64 = 1_750_000_000;

const README: &str =
    "Pictures and captions drawn by gristmill's demo. This entry has no part name; indexing skips it.\n";

/// Returns the name of a shard, relative to the data set.
pub fn name(shard: u64) -> String {
    format!("shards/pictures_{shard:04}.tar")
}

/// Builds one shard as a tar archive.
pub fn build(shard: u64) -> Outcome<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for number in shard * PER_SHARD..(shard + 1) * PER_SHARD {
        for (name, content) in sample(number)? {
            append(&mut tar, &name, &content)?;
        }
        if shard == WITH_README && number % PER_SHARD == 9 {
            append(&mut tar, "README", README.as_bytes())?;
        }
    }
    tar.into_inner().map_err(|error| Failure::io("building the demo", name(shard), &error))
}

fn sample(number: u64) -> Outcome<Vec<(String, Vec<u8>)>> {
    let (extension, format) = match number % 10 {
        0..6 => ("jpg", ImageFormat::Jpeg),
        6..8 => ("png", ImageFormat::Png),
        _ => ("webp", ImageFormat::WebP),
    };
    let picture = scenes::paint(number);
    let encoded = picture
        .canvas
        .encode(format)
        .map_err(|error| Failure::environment("drawing a demo picture", error.to_string()))?;
    let facts = json!({
        "id": number,
        "scene": picture.scene,
        "size": { "width": WIDTH, "height": HEIGHT },
        "caption": { "short": picture.short, "long": picture.long },
        "tags": picture.tags,
        "source": { "name": "gristmill demo", "license": "CC0-1.0", "format": extension },
    });
    let key = format!("{number:06}");
    let mut parts = vec![(format!("{key}.{extension}"), encoded)];
    parts.push((format!("{key}.txt"), picture.short.into_bytes()));
    if number != WITHOUT_JSON {
        parts.push((format!("{key}.json"), facts.to_string().into_bytes()));
    }
    Ok(parts)
}

fn append(tar: &mut tar::Builder<Vec<u8>>, name: &str, content: &[u8]) -> Outcome<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(MODIFIED);
    header.set_uid(0);
    header.set_gid(0);
    tar.append_data(&mut header, name, content).map_err(|error| Failure::io("building the demo", name, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_demo_shard_is_deterministic_and_has_expected_entries() {
        let shard = build(WITH_README).unwrap();
        assert_eq!(shard, build(WITH_README).unwrap());
        let mut archive = tar::Archive::new(shard.as_slice());
        let names: Vec<String> =
            archive.entries().unwrap().map(|e| e.unwrap().path().unwrap().to_str().unwrap().to_owned()).collect();
        assert_eq!(names.len() as u64, PER_SHARD * 3 - 1 + 1, "one sample lacks its json, one entry is extra");
        assert!(names.contains(&"README".to_owned()));
        assert!(!names.contains(&format!("{WITHOUT_JSON:06}.json")));
        assert!(names.iter().any(|n| n.ends_with(".webp")) && names.iter().any(|n| n.ends_with(".png")));
    }

    #[test]
    fn every_encoded_picture_can_be_read_back() {
        for number in [0, 6, 8] {
            let parts = sample(number).unwrap();
            let picture = image::load_from_memory(&parts[0].1).unwrap();
            assert_eq!((picture.width(), picture.height()), (WIDTH, HEIGHT));
        }
    }
}
