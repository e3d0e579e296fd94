//! The second rule of the design: a room imports only from rooms below it.

use std::path::Path;

/// From the ground up. Rooms on one floor do not import from each other.
const FLOORS: &[&[&str]] = &[
    &["model"],
    &["storage"],
    &["formats"],
    &["media", "tokenize"],
    &["source"],
    &["preview"],
    &["engine"],
    &["job"],
    &["tui", "prompt"],
    &["cli"],
];

fn floor_of(room: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&room))
}

/// Rooms named in `crate::ROOM` paths, single or in braces, comments left out.
fn imports(source: &str) -> Vec<String> {
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let room: String = name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            rooms.push(room);
        }
    }
    rooms
}

#[test]
fn imports_point_down() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut looked_at = 0;
    let mut wrong = Vec::new();
    for entry in walkdir::WalkDir::new(&src) {
        let entry = entry.unwrap();
        if entry.path().extension().is_none_or(|e| e != "rs") {
            continue;
        }
        let relative = entry.path().strip_prefix(&src).unwrap();
        let room = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let Some(floor) = floor_of(&room) else {
            assert!(["main.rs", "lib.rs"].contains(&room.as_str()), "{room} is on no floor");
            continue;
        };
        looked_at += 1;
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for other in imports(&text) {
            let Some(other_floor) = floor_of(&other) else { continue };
            if other != room && other_floor >= floor {
                wrong.push(format!("{} imports {other}", relative.display()));
            }
        }
    }
    assert!(looked_at > 50, "only {looked_at} files were looked at");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
