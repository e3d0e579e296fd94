//! JSON extensions in lines, which some programs refuse.

/// Message for a line that starts with a byte-order mark.
pub const BYTE_ORDER_MARK: &str = "it starts with a byte-order mark, which is not part of JSON";

/// Message for a text with an unpaired surrogate.
pub(super) const SURROGATE_MESSAGE: &str = "the text contains a lone surrogate";

/// JSON extensions in a line that Python's `json` accepts and strict parsers refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quirks(u8);

impl Quirks {
    /// No extension.
    pub const NONE: Self = Self(0);
    /// `NaN`, `Infinity` or `-Infinity`.
    pub const NON_FINITE: Self = Self(1);
    /// A number beyond the range of a float.
    pub const OVERFLOW: Self = Self(1 << 1);
    /// A byte-order mark at the beginning.
    pub const BOM: Self = Self(1 << 2);
    /// An escaped unpaired surrogate (`\ud800`) in the text itself.
    pub const SURROGATE_IN_TEXT: Self = Self(1 << 3);
    /// An escaped unpaired surrogate anywhere else.
    pub const SURROGATE_IN_OTHER_FIELD: Self = Self(1 << 4);
    /// Unpaired second surrogates (`\udc00`) without unpaired first ones in the text itself; jq reads them as U+FFFD.
    pub const SECOND_HALF_IN_TEXT: Self = Self(1 << 6);
    /// More than 1,000 nested objects and arrays.
    pub const DEEP: Self = Self(1 << 5);

    /// Returns the union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Whether any of the extensions in `other` is included.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Whether there are no extensions.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the reason, for the user, of the first extension that is one of `refused`.
    pub fn why(self, refused: Self) -> Option<&'static str> {
        let reasons = [
            (Self::NON_FINITE, "a number that is not finite, as NaN, is no JSON for this target"),
            (Self::OVERFLOW, "a number is too large for a float"),
            (Self::BOM, BYTE_ORDER_MARK),
            (Self::SURROGATE_IN_TEXT, SURROGATE_MESSAGE),
            (Self::SECOND_HALF_IN_TEXT, SURROGATE_MESSAGE),
            (Self::SURROGATE_IN_OTHER_FIELD, "it contains a lone surrogate"),
            (Self::DEEP, "objects and arrays are nested more than 1,000 deep"),
        ];
        let refused = Self(self.0 & refused.0);
        reasons.iter().find(|(quirk, _)| refused.has(*quirk)).map(|(_, why)| *why)
    }
}
