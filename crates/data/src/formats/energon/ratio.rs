//! Division of shards into train, val and test by three numbers (docs/formats/energon.md §9.1).

/// Names of the three parts, in order.
pub const PARTS: [&str; 3] = ["train", "val", "test"];

/// Number of shards in each part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allotment {
    /// Shards of train, val and test, taken from the front of the list.
    pub counts: [usize; 3],
    /// Shards at the end of the list that are lost in the reference's arithmetic.
    pub rounded_away: Option<RoundingLoss>,
}

/// Shards lost by rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundingLoss {
    /// Number of shards.
    pub shards: usize,
    /// Part to which they were added: an index into [`PARTS`], whose count includes them. `None` where the loss is reproduced.
    pub given_to: Option<usize>,
}

/// Parses `8,1,1`: three numbers of at least 0 with a positive sum. The error describes the mistake in one sentence.
pub fn parse(text: &str) -> Result<[f64; 3], String> {
    let pieces: Vec<&str> = text.split(',').map(str::trim).collect();
    let [a, b, c] = pieces[..] else {
        let n = pieces.len();
        return Err(format!(
            "three numbers are needed, for train, val and test, as in 8,1,1; {} given",
            gristmill_core::text::count_verb(n as u64, "number", "is", "are")
        ));
    };
    let mut ratio = [0.0; 3];
    for (slot, piece) in ratio.iter_mut().zip([a, b, c]) {
        let value = gristmill_pycompat::number::parse_float(piece).ok_or_else(|| {
            if piece.is_empty() {
                "a number is missing".to_owned()
            } else {
                format!("'{piece}' is not a number")
            }
        })?;
        if !value.is_finite() || value < 0.0 {
            return Err(format!("'{piece}' cannot be used; each number must be 0 or more"));
        }
        *slot = value;
    }
    let sum = ratio[0] + ratio[1] + ratio[2];
    if sum <= 0.0 || !sum.is_finite() {
        return Err("at least one number must be more than 0, and their sum must not overflow".to_owned());
    }
    Ok(ratio)
}

/// Divides `n` shards, with the arithmetic of the reference in `f64`.
///
/// Shards at the end that are lost by rounding are added to the last part with a ratio above 0, unless `compat` requests the loss.
pub fn allot(ratio: &[f64; 3], n: usize, compat: bool) -> Allotment {
    let total = ratio[0] + ratio[1] + ratio[2];
    let mut counts = [0; 3];
    if total <= 0.0 || !total.is_finite() {
        return Allotment { counts, rounded_away: None };
    }
    let (mut running, mut start) = (0.0f64, 0usize);
    for (count, part) in counts.iter_mut().zip(ratio) {
        running += part / total;
        let end = ((n as f64 * running) as usize).clamp(start, n);
        *count = end - start;
        start = end;
    }
    let lost = n - start;
    if lost == 0 {
        return Allotment { counts, rounded_away: None };
    }
    let given_to = if compat { None } else { ratio.iter().rposition(|part| *part > 0.0) };
    if let Some(part) = given_to {
        counts[part] += lost;
    }
    Allotment { counts, rounded_away: Some(RoundingLoss { shards: lost, given_to }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(text: &str, n: usize, compat: bool) -> [usize; 3] {
        allot(&parse(text).unwrap(), n, compat).counts
    }

    #[test]
    fn ratio_divides_shards_as_the_reference() {
        assert_eq!(counts("8,1,1", 4, true), [3, 0, 1]);
        assert_eq!(counts("8,1,1", 1, true), [0, 0, 1]);
        assert_eq!(counts("0.7,0.2,0.1", 10, true), [7, 2, 1]);
        assert_eq!(counts("1,0,0", 10, true), [10, 0, 0]);
        assert_eq!(counts("0,0,3", 10, true), [0, 0, 10]);
        assert_eq!(counts("1,1,1", 0, true), [0, 0, 0]);
    }

    #[test]
    fn shard_lost_by_rounding_goes_to_the_last_split_with_a_nonzero_ratio() {
        for text in ["7,2,1", "6,3,1"] {
            let ratio = parse(text).unwrap();
            let fixed = allot(&ratio, 10, false);
            assert_eq!(fixed.counts[2], 1, "{text}");
            assert_eq!(fixed.rounded_away, Some(RoundingLoss { shards: 1, given_to: Some(2) }));
            let same = allot(&ratio, 10, true);
            assert_eq!(same.counts[2], 0, "{text}");
            assert_eq!(same.rounded_away, Some(RoundingLoss { shards: 1, given_to: None }));
        }
    }

    #[test]
    fn invalid_ratio_is_refused_with_the_reason() {
        assert_eq!(parse(" 8 , 1,1 ").unwrap(), [8.0, 1.0, 1.0]);
        for (text, said) in [
            ("8,1", "2 numbers are given"),
            ("8", "1 number is given"),
            ("", "1 number is given"),
            ("a,1,1", "'a' is not a number"),
            ("8,,1", "a number is missing"),
            ("-1,1,1", "0 or more"),
            ("nan,1,1", "0 or more"),
            ("inf,1,1", "0 or more"),
            ("0,0,0", "more than 0"),
            ("1e308,1e308,1e308", "overflow"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(said), "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn every_shard_is_in_exactly_one_part(a in 0.0f64..100.0, b in 0.0f64..100.0, c in 0.001f64..100.0, n in 0usize..5000) {
            let allotment = allot(&[a, b, c], n, false);
            prop_assert_eq!(allotment.counts.iter().sum::<usize>(), n);
        }
    }
}
