//! Patterns for numbered shard names: `shard_%06d.tar` or `shard_{:06}.tar`.

/// A shard name with a placeholder for the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    prefix: String,
    suffix: String,
    digits: usize,
}

impl NamePattern {
    /// Parses a pattern. The error is the reason why shards cannot have such names.
    pub fn parse(text: &str) -> Result<Self, String> {
        let place = text.find(['%', '{']).ok_or("it has no place for the number, such as %06d")?;
        let (before, rest) = text.split_at(place);
        let (width, after) = match rest.strip_prefix('%') {
            Some(rest) => rest.split_once('d').ok_or("after % it needs a number of digits and d, as in %06d")?,
            None => {
                let rest = rest.strip_prefix('{').unwrap_or(rest);
                let (width, after) = rest.split_once('}').ok_or("a { has no } after it")?;
                match width.strip_prefix(':') {
                    None if !width.is_empty() => return Err("between { and } it needs a colon, as in {:06}".into()),
                    width => (width.unwrap_or_default(), after),
                }
            }
        };
        let digits = match width {
            "" => 1,
            width => {
                let digits = width.strip_prefix('0').and_then(|digits| digits.parse().ok());
                digits
                    .filter(|digits| (1..=18).contains(digits))
                    .ok_or("the width is no number such as 06, up to 018")?
            }
        };
        if [before, after].iter().any(|text| text.contains(['%', '{', '}', '/']) || text.contains(char::is_control)) {
            return Err("apart from the number it may not have %, braces, slashes or control characters".into());
        }
        if before.starts_with('.') || !after.ends_with(".tar") {
            return Err("names of shards end in .tar and do not begin with a dot".into());
        }
        Ok(Self { prefix: before.to_owned(), suffix: after.to_owned(), digits })
    }

    /// Returns the shard name with this number.
    pub fn name(&self, number: u64) -> String {
        format!("{}{number:0width$}{}", self.prefix, self.suffix, width = self.digits)
    }

    /// Returns the number in a shard name; `None` if the name does not match the pattern.
    pub fn number(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(self.prefix.as_str())?.strip_suffix(self.suffix.as_str())?;
        digits.parse().ok().filter(|number| self.name(*number) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printf_and_brace_patterns_give_the_same_shard_names() {
        for text in ["shard_%06d.tar", "shard_{:06}.tar"] {
            let pattern = NamePattern::parse(text).unwrap();
            assert_eq!(pattern.name(12), "shard_000012.tar");
            assert_eq!(pattern.name(12_345_678), "shard_12345678.tar");
            assert_eq!(pattern.number("shard_000012.tar"), Some(12));
            for name in ["shard_12.tar", "other_000012.tar", "shard_00001x.tar", "shard_+00012.tar"] {
                assert_eq!(pattern.number(name), None);
            }
        }
        assert_eq!(NamePattern::parse("%d.tar").unwrap().name(7), "7.tar");
        assert_eq!(NamePattern::parse("a{}.tar").unwrap().name(7), "a7.tar");
    }

    #[test]
    fn invalid_shard_name_patterns_are_refused() {
        for text in [
            "shard.tar",
            "%06x.tar",
            "%6d.tar",
            "%099d.tar",
            "{06}.tar",
            "{:06.tar",
            "%06d.tgz",
            ".%06d.tar",
            "a/%06d.tar",
            "%06d-%06d.tar",
            "%06d{a}.tar",
        ] {
            assert!(NamePattern::parse(text).is_err(), "{text}");
        }
    }
}
