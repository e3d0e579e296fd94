//! Weights, summed in the same order as in numpy.

/// Number of values from which numpy sums in eight lanes.
const LANES: usize = 8;
/// Number of values above which numpy halves the list first.
const BLOCK: usize = 128;

/// Divides each weight by the sum of all weights, as numpy does in double precision.
pub fn normalise(weights: &[f64]) -> Vec<f64> {
    let sum = pairwise_sum(weights);
    weights.iter().map(|weight| weight / sum).collect()
}

/// Returns the sum as computed by numpy, whose order of additions affects the last digits.
fn pairwise_sum(values: &[f64]) -> f64 {
    let count = values.len();
    if count < LANES {
        // numpy starts with zero, which only affects the sign of a zero.
        return values.iter().fold(0.0, |sum, value| sum + value);
    }
    if count > BLOCK {
        let half = count / 2;
        let (front, back) = values.split_at(half - half % LANES);
        return pairwise_sum(front) + pairwise_sum(back);
    }
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (number, chunk) in whole.iter().enumerate() {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = if number == 0 { *value } else { *lane + value };
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| sum + value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalised_weights_of_the_documentation_have_the_expected_rounding() {
        let weights = normalise(&[0.1, 0.5, 0.3, 0.1]);
        assert_eq!(
            weights,
            [0.100_000_000_000_000_02, 0.500_000_000_000_000_1, 0.300_000_000_000_000_04, 0.100_000_000_000_000_02]
        );
    }

    #[test]
    fn pairwise_sum_halves_long_lists_at_multiples_of_eight() {
        // numpy splits 300 values into 144 and 156, and these into 72, 72, 72 and 84.
        let values: Vec<f64> = (0..300).map(|n| 1.0 / (n as f64 + 1.0)).collect();
        let parts = [0..72, 72..144, 144..216, 216..300].map(|part| pairwise_sum(&values[part]));
        assert_eq!(pairwise_sum(&values), (parts[0] + parts[1]) + (parts[2] + parts[3]));
        assert_eq!(pairwise_sum(&[]), 0.0);
    }
}
