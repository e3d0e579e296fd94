//! Finds the name that the user probably meant.

/// Returns the candidate most similar to `text`; `None` if no candidate is similar enough to suggest it. Ignores case.
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

/// Returns the number of edits (insert, delete, replace, swap of neighbours) from one text to the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_name_for_typing_error() {
        let names = ["CaptioningSample", "VQASample", "TextSample", "OCRSample"];
        assert_eq!(nearest("CaptionSample", names), Some("CaptioningSample"));
        assert_eq!(nearest("textsample", names), Some("TextSample"));
        assert_eq!(nearest("captioning", names), Some("CaptioningSample"));
        assert_eq!(nearest("txet", ["text", "image"]), Some("text"));
        assert_eq!(nearest("Zebra", names), None);
        assert_eq!(nearest("", names), None);
    }
}
