//! The name that was probably meant.

/// The candidate nearest to `text`, if one is near enough to be worth a question. Case does not count.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = text.chars().take(200).flat_map(char::to_lowercase).collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let chars: Vec<char> = candidate.chars().take(200).flat_map(char::to_lowercase).collect();
        let far = distance(&wanted, &chars);
        let allowed = (wanted.len().max(chars.len()) / 3).max(1);
        let contained = wanted.len() >= 3 && contains(&chars, &wanted);
        let far = if contained { far.min(allowed) } else { far };
        if far <= allowed && best.is_none_or(|(b, _)| far < b) {
            best = Some((far, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn contains(long: &[char], short: &[char]) -> bool {
    long.windows(short.len()).any(|window| window == short)
}

/// Edits (insert, delete, replace) from one text to the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_finds_the_name_that_was_meant() {
        let names = ["CaptioningSample", "VQASample", "TextSample", "OCRSample"];
        assert_eq!(nearest("CaptionSample", names), Some("CaptioningSample"));
        assert_eq!(nearest("textsample", names), Some("TextSample"));
        assert_eq!(nearest("captioning", names), Some("CaptioningSample"));
        assert_eq!(nearest("Zebra", names), None);
        assert_eq!(nearest("", names), None);
    }
}
