//! Determines the media type of an entry by its name, its first bytes, or a shell pattern (docs/formats/energon.md §12).

use gristmill_core::MediaType;

/// Length of the beginning of an entry that [`type_by_header`] considers, in bytes.
pub const HEADER_BYTES: usize = 8192;

const IMAGES: [&str; 12] = ["bmp", "gif", "ico", "j2k", "jp2", "jpx", "jpeg", "jpg", "png", "tif", "tiff", "webp"];
const AV: [&str; 12] = ["aac", "avi", "flac", "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "ogg", "wav", "webm"];

/// Returns the type by the suffix of the last component of a name, ignoring case.
pub fn type_by_extension(name: &str) -> Option<MediaType> {
    let file = name.split('/').rfind(|part| !part.is_empty() && *part != ".")?;
    let dot = file.rfind('.').filter(|at| *at > 0)?;
    let suffix = &file[dot + 1..];
    // Known suffixes are shorter than this; a name may be arbitrarily long.
    if suffix.is_empty() || suffix.len() > 16 {
        return None;
    }
    let suffix = suffix.to_lowercase();
    if IMAGES.contains(&suffix.as_str()) {
        Some(MediaType::Image)
    } else if AV.contains(&suffix.as_str()) {
        Some(MediaType::Av)
    } else {
        None
    }
}

/// Returns the type by the first [`HEADER_BYTES`] of an entry (fewer only if the entry is shorter). `None` includes bytes that are known to
/// be something else: the caller then decides by the name.
pub fn type_by_header(first: &[u8]) -> Option<MediaType> {
    let first = &first[..first.len().min(HEADER_BYTES)];
    if first.is_empty() {
        None
    } else if drawing(first) || picture(first) {
        Some(MediaType::Image)
    } else if first.len() > 132 && first[128..].starts_with(b"DICM") {
        // Medical images (DICOM) count as documents; the check precedes those for sound and video.
        None
    } else if iso_brand(first, &[b"avif"], true) {
        Some(MediaType::Image)
    } else if sound(first) || video(first) {
        Some(MediaType::Av)
    } else {
        None
    }
}

fn drawing(b: &[u8]) -> bool {
    b.starts_with(b"AC10") || b.starts_with(b"gimp xcf v")
}

fn picture(b: &[u8]) -> bool {
    let tiff = b.starts_with(b"II\x2a\0") || b.starts_with(b"MM\0\x2a");
    b.starts_with(b"\xff\xd8\xff")
        || (b.len() > 50 && b.starts_with(b"\0\0\0\x0c") && &b[16..24] == b"ftypjp2 ")
        || b.starts_with(b"\x89PNG")
        || b.starts_with(b"GIF")
        || (b.len() > 13 && b.starts_with(b"RIFF") && &b[8..14] == b"WEBPVP")
        || (b.len() > 9 && tiff)
        || b.starts_with(b"BM")
        || b.starts_with(b"II\xbc")
        || b.starts_with(b"8BPS")
        || b.starts_with(b"\0\0\x01\0")
        || iso_brand(b, &[b"heic"], true)
}

fn sound(b: &[u8]) -> bool {
    let mpeg = b.len() > 2 && (b.starts_with(b"ID3") || (b[0] == 0xff && matches!(b[1], 0xf2 | 0xf3 | 0xfb)));
    b.starts_with(b"\xff\xf1")
        || b.starts_with(b"\xff\xf9")
        || b.starts_with(b"MThd")
        || mpeg
        || (b.len() > 10 && (&b[4..11] == b"ftypM4A" || b.starts_with(b"M4A ")))
        || b.starts_with(b"OggS")
        || b.starts_with(b"fLaC")
        || (b.len() > 11 && b.starts_with(b"RIFF") && &b[8..12] == b"WAVE")
        || (b.len() > 11 && b.starts_with(b"#!AMR\n"))
        || (b.len() > 11 && b.starts_with(b"FORM") && &b[8..12] == b"AIFF")
}

fn video(b: &[u8]) -> bool {
    let ebml = b.starts_with(b"\x1a\x45\xdf\xa3");
    b.starts_with(b"ftyp3gp")
        || iso_brand(b, &[b"mp41", b"mp42", b"isom"], false)
        || (b.len() > 10 && b.starts_with(b"\0\0\0\x1cftypM4V"))
        || (ebml && memchr::memmem::find(b, b"\x42\x82\x88matroska").is_some())
        || iso_major(b) == Some(b"qt  ")
        || (b.len() > 11 && b.starts_with(b"RIFF") && &b[8..12] == b"AVI ")
        || b.starts_with(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9")
        || (b.len() > 3 && b.starts_with(b"\0\0\x01") && (0xb0..=0xbf).contains(&b[3]))
        || (ebml && memchr::memmem::find(b, b"\x42\x82\x84webm").is_some())
        || b.starts_with(b"FLV\x01")
}

/// Returns the first brand of an ISO media file whose file type box is entirely within `b`.
fn iso_major(b: &[u8]) -> Option<&[u8]> {
    if b.len() < 16 || &b[4..8] != b"ftyp" || b.len() < iso_len(b) {
        return None;
    }
    Some(&b[8..12])
}

fn iso_len(b: &[u8]) -> usize {
    u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize
}

/// Whether the first brand or another brand is one of `brands`. With `generic`, other brands count only if the first brand is a generic
/// image brand.
fn iso_brand(b: &[u8], brands: &[&[u8; 4]], generic: bool) -> bool {
    let Some(major) = iso_major(b) else { return false };
    let among = |brand: &[u8]| brands.iter().any(|wanted| wanted.as_slice() == brand);
    if among(major) {
        return true;
    }
    if generic && major != b"mif1" && major != b"msf1" {
        return false;
    }
    // A brand may begin before the end of the box and extend past it.
    (16..iso_len(b)).step_by(4).any(|at| among(&b[at.min(b.len())..(at + 4).min(b.len())]))
}

/// Whether one of the shell patterns matches the name of an entry, case-sensitively.
///
/// The reference program also requires a match of the lower-cased name, which means that a pattern with a capital letter never matches
/// anything.
pub fn globs_match(patterns: &[String], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    patterns.iter().any(|pattern| glob_matches(pattern, &name))
}

/// One component of a pattern.
enum PatternPart {
    Many,
    One,
    Char(char),
    /// Ranges of characters, both ends included.
    Set {
        ranges: Vec<(char, char)>,
        not: bool,
    },
}

impl PatternPart {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Many | Self::One => true,
            Self::Char(wanted) => *wanted == c,
            Self::Set { ranges, not } => ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *not,
        }
    }
}

/// Matches like Python's `fnmatch.fnmatchcase`: `*` also matches `/`, and an unclosed bracket matches itself.
fn glob_matches(pattern: &str, name: &[char]) -> bool {
    let pieces = pieces_of(pattern);
    // Position from which matching resumes with one more character for the latest star.
    let (mut piece, mut at, mut again) = (0, 0, None);
    while at < name.len() {
        match pieces.get(piece) {
            Some(PatternPart::Many) => {
                piece += 1;
                again = Some((piece, at));
            }
            Some(other) if other.takes(name[at]) => {
                piece += 1;
                at += 1;
            }
            _ => match again {
                Some((after, from)) => {
                    piece = after;
                    at = from + 1;
                    again = Some((after, at));
                }
                None => return false,
            },
        }
    }
    pieces[piece..].iter().all(|rest| matches!(rest, PatternPart::Many))
}

fn pieces_of(pattern: &str) -> Vec<PatternPart> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '*' => pieces.push(PatternPart::Many),
            '?' => pieces.push(PatternPart::One),
            '[' => match bracket_end(&chars, at) {
                Some(end) => {
                    pieces.push(set_of(&chars[at..end]));
                    at = end + 1;
                }
                None => pieces.push(PatternPart::Char('[')),
            },
            other => pieces.push(PatternPart::Char(other)),
        }
    }
    pieces
}

/// Returns the end of the bracket whose content begins at `from`. A `]` in the first position is part of the content.
fn bracket_end(chars: &[char], from: usize) -> Option<usize> {
    let mut at = from;
    if chars.get(at) == Some(&'!') {
        at += 1;
    }
    if chars.get(at) == Some(&']') {
        at += 1;
    }
    (at..chars.len()).find(|at| chars[*at] == ']')
}

/// Parses the content of a bracket. A reversed range is empty and excludes its ends as well.
fn set_of(inside: &[char]) -> PatternPart {
    let (not, inside) = match inside.split_first() {
        Some(('!', rest)) => (true, rest),
        _ => (false, inside),
    };
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < inside.len() {
        if inside.get(at + 1) == Some(&'-') && at + 2 < inside.len() {
            if inside[at] <= inside[at + 2] {
                ranges.push((inside[at], inside[at + 2]));
            }
            at += 3;
        } else {
            ranges.push((inside[at], inside[at]));
            at += 1;
        }
    }
    PatternPart::Set { ranges, not }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_suffix_decides_the_media_type_in_any_case() {
        for name in ["a.jpg", "a/b.c.JPEG", "x.J2K", "a.jpg/", "a.tar.gz.webp", "a b.Tif"] {
            assert_eq!(type_by_extension(name), Some(MediaType::Image), "{name}");
        }
        for name in ["a.mp4", "s/0001.FLAC", "x.m\u{212a}v"] {
            assert_eq!(type_by_extension(name), Some(MediaType::Av), "{name}");
        }
        for name in ["jpg", ".jpg", "a/.png", "a.jpg.txt", "a.", "", "/", "a.opus", "a.heic", "a.jpg/b", "..", "a.jp g"]
        {
            assert_eq!(type_by_extension(name), None, "{name}");
        }
    }

    #[test]
    fn the_first_bytes_distinguish_pictures_from_sound_and_video() {
        let ftyp = |brands: &str| {
            let mut b = (brands.len() as u32 + 12).to_be_bytes().to_vec();
            b.extend_from_slice(b"ftyp");
            b.extend_from_slice(&brands.as_bytes()[..4]);
            b.extend_from_slice(&[0; 4]);
            b.extend_from_slice(&brands.as_bytes()[4..]);
            b
        };
        let cases: Vec<(Vec<u8>, Option<MediaType>)> = vec![
            (b"\xff\xd8\xff\xe0".to_vec(), Some(MediaType::Image)),
            (b"\xff\xd8".to_vec(), None),
            (b"\x89PNG".to_vec(), Some(MediaType::Image)),
            (b"BM".to_vec(), Some(MediaType::Image)),
            (b"II\x2a\0\x08\0\0\0\0".to_vec(), None),
            (b"II\x2a\0\x08\0\0\0\0\0".to_vec(), Some(MediaType::Image)),
            (b"RIFF\0\0\0\0WEBPVP8 ".to_vec(), Some(MediaType::Image)),
            (b"RIFF\0\0\0\0WAVEfmt ".to_vec(), Some(MediaType::Av)),
            (b"ID3\x04".to_vec(), Some(MediaType::Av)),
            (ftyp("isom"), Some(MediaType::Av)),
            (ftyp("avc1mp42"), Some(MediaType::Av)),
            (ftyp("mif1heic"), Some(MediaType::Image)),
            (ftyp("mif1avif"), Some(MediaType::Image)),
            (ftyp("abcdavif"), None),
            (ftyp("qt  "), Some(MediaType::Av)),
            (b"%PDF-1.7".to_vec(), None),
            (b"PK\x03\x04".to_vec(), None),
            (Vec::new(), None),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(type_by_header(&bytes), wanted, "{}", bytes.escape_ascii());
        }
        let mut medical = b"OggS".to_vec();
        medical.resize(140, 0);
        medical[128..132].copy_from_slice(b"DICM");
        assert_eq!(type_by_header(&medical), None);
    }

    #[test]
    fn media_globs_match_like_a_shell_across_folders() {
        let yes = |pattern: &str, name: &str| assert!(globs_match(&[pattern.to_owned()], name), "{pattern} {name}");
        let no = |pattern: &str, name: &str| assert!(!globs_match(&[pattern.to_owned()], name), "{pattern} {name}");
        yes("*.jpg", "a/b/c.jpg");
        yes("*", "");
        yes("a?c", "abc");
        yes("[a-c]x", "bx");
        yes("[!a-c]x", "dx");
        yes("[]]x", "]x");
        yes("[x", "[x");
        yes("*a*b*c", "xxaxxbxxbc");
        yes("*.[jJ][pP][gG]", "A.JPG");
        yes("[a-]", "-");
        no("*.jpg", "a.JPG");
        yes("*.JPG", "a.JPG");
        no("[!a-c]x", "ax");
        no("[c-a]", "b");
        no("[!]x", "ax");
        no("a", "ab");
        assert!(globs_match(&["*.png".to_owned(), "*.jpg".to_owned()], "x.jpg"));
        assert!(!globs_match(&[], "x.jpg"));
    }

    #[test]
    fn media_glob_of_many_stars_is_matched_quickly() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!globs_match(&[pattern], &"a".repeat(20_000)));
    }
}
