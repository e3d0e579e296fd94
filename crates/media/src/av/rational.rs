//! Fractions with FFmpeg's arithmetic: time bases and frame rates.

/// A fraction. A denominator of 0 means that the value is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rational {
    /// The numerator.
    pub num: i64,
    /// The denominator.
    pub den: i64,
}

/// The largest numerator or denominator in FFmpeg.
pub const INT_MAX: i64 = i32::MAX as i64;

impl Rational {
    /// Creates `num / den` without reducing it.
    pub const fn new(num: i64, den: i64) -> Self {
        Self { num, den }
    }

    /// Creates `num / den` in lowest terms; if one of them exceeds `max`, the best approximation within it (like `av_reduce`).
    pub fn reduced(num: i64, den: i64, max: i64) -> Self {
        let negative = (num < 0) != (den < 0);
        let gcd = gcd(num.unsigned_abs(), den.unsigned_abs());
        let (mut num, mut den) = (i128::from(num).abs(), i128::from(den).abs());
        let max = i128::from(max);
        if gcd != 0 {
            num /= i128::from(gcd);
            den /= i128::from(gcd);
        }
        // Convergents of the continued fraction: the last one that fits, then the best fraction between it and the next.
        let (mut before, mut now) = ((0_i128, 1_i128), (1_i128, 0_i128));
        if num <= max && den <= max {
            now = (num, den);
            den = 0;
        }
        while den != 0 {
            let whole = num / den;
            let rest = num - den * whole;
            let next = (whole * now.0 + before.0, whole * now.1 + before.1);
            if next.0 > max || next.1 > max {
                let mut steps = whole;
                if now.0 != 0 {
                    steps = (max - before.0) / now.0;
                }
                if now.1 != 0 {
                    steps = steps.min((max - before.1) / now.1);
                }
                if den * (2 * steps * now.1 + before.1) > num * now.1 {
                    now = (steps * now.0 + before.0, steps * now.1 + before.1);
                }
                break;
            }
            (before, now) = (now, next);
            (num, den) = (den, rest);
        }
        let fit = |value: i128| i64::try_from(value).unwrap_or(i64::MAX);
        Self { num: if negative { -fit(now.0) } else { fit(now.0) }, den: fit(now.1) }
    }

    /// Whether both numbers are above zero.
    pub fn is_positive(self) -> bool {
        self.num > 0 && self.den > 0
    }

    /// Returns the fraction as a float: a single division, like the reference program's `float(fraction)`.
    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

/// Converts `ticks` of a time base to seconds. The order of the two operations determines the last digit.
pub fn seconds(ticks: i64, base: Rational) -> f64 {
    ticks as f64 * (base.num as f64 / base.den as f64)
}

/// The rounding mode of [`rescale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, halves away from zero.
    Near,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// Towards zero.
    Zero,
}

/// Computes `value × by / over` exactly, then rounds; returns 0 if `over` is 0. Saturates on overflow (like `av_rescale_rnd`).
pub fn rescale(value: i64, by: i64, over: i64, rounding: Rounding) -> i64 {
    if over == 0 {
        return 0;
    }
    let (mut product, mut over) = (i128::from(value) * i128::from(by), i128::from(over));
    if over < 0 {
        (product, over) = (-product, -over);
    }
    let result = match rounding {
        Rounding::Down => product.div_euclid(over),
        Rounding::Up => -(-product).div_euclid(over),
        Rounding::Zero => product / over,
        Rounding::Near if product < 0 => -((-product + over / 2) / over),
        Rounding::Near => (product + over / 2) / over,
    };
    i64::try_from(result).unwrap_or(if result < 0 { i64::MIN } else { i64::MAX })
}

/// Converts `ticks` from one time base to another, rounded to the nearest (like `av_rescale_q`).
pub fn rescale_base(ticks: i64, from: Rational, to: Rational) -> i64 {
    rescale(ticks, from.num.saturating_mul(to.den), from.den.saturating_mul(to.num), Rounding::Near)
}

/// Adds a step in seconds to `ticks` of `base`; the result is in ticks. Repeated steps add up without drift (like `av_add_stable` with one
/// step).
pub fn add_stable(base: Rational, ticks: i64, step: Rational) -> i64 {
    let (by, over) = (step.num.saturating_mul(base.den), step.den.saturating_mul(base.num));
    if over <= 0 || by < over && by % over != 0 {
        return ticks;
    }
    if by % over == 0 {
        return ticks.saturating_add(by / over);
    }
    let steps = rescale_base(ticks, base, step);
    let before = rescale_base(steps, step, base);
    rescale_base(steps.saturating_add(1), step, base).saturating_add(ticks.saturating_sub(before))
}

/// Returns the greatest common divisor; 0 for 0 and 0.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_reduced_and_approximated_within_a_limit() {
        assert_eq!(Rational::reduced(48_000, 2_000, INT_MAX), Rational::new(24, 1));
        assert_eq!(Rational::reduced(-30_000, 1001, INT_MAX), Rational::new(-30_000, 1001));
        assert_eq!(Rational::reduced(0, 5, INT_MAX), Rational::new(0, 1));
        assert_eq!(Rational::reduced(5, 0, INT_MAX), Rational::new(1, 0));
        assert_eq!(Rational::reduced(314_159_265, 100_000_000, 1000), Rational::new(355, 113));
        assert_eq!(Rational::reduced(1_000_000_000, 33_366_667, 60_000), Rational::new(30_000, 1001));
        assert_eq!(Rational::reduced(i64::MAX, 1, INT_MAX), Rational::new(INT_MAX, 1));
    }

    #[test]
    fn seconds_have_the_digits_of_the_reference() {
        assert_eq!(seconds(5120, Rational::new(1, 12_288)), 0.416_666_666_666_666_63);
        assert_eq!(seconds(48, Rational::new(1, 100)), 0.48);
    }

    #[test]
    fn rescaling_rounds_in_the_given_direction_without_overflow() {
        assert_eq!(rescale(7, 1, 2, Rounding::Near), 4);
        assert_eq!(rescale(-7, 1, 2, Rounding::Near), -4);
        assert_eq!(rescale(-7, 1, 2, Rounding::Down), -4);
        assert_eq!(rescale(-7, 1, 2, Rounding::Up), -3);
        assert_eq!(rescale(-7, 1, 2, Rounding::Zero), -3);
        assert_eq!(rescale(7, -1, -2, Rounding::Down), 3);
        assert_eq!(rescale(i64::MAX, i64::MAX, 1, Rounding::Near), i64::MAX);
        assert_eq!(rescale(1, 1, 0, Rounding::Near), 0);
        assert_eq!(add_stable(Rational::new(1, 1000), 23, Rational::new(1024, 44_100)), 46);
        assert_eq!(add_stable(Rational::new(1, 1000), 46, Rational::new(1024, 44_100)), 70);
        assert_eq!(rescale_base(1001, Rational::new(1, 30_000), Rational::new(1, 1000)), 33);
    }
}
