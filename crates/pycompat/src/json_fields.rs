//! The fields of a JSON object in a line, found in one pass, as in Python: a repeated key has the position of its first and the value of
//! its last occurrence.

use super::json_repeats::{repeats, KeyFingerprint};
use super::json_text::{as_python, push_ascii};
use super::json_walk::{walk, JsonError, Kind, Span, Visit};

/// Maximum number of fields of one object; a line with more is refused.
pub const MAX_FIELDS: usize = 1 << 16;

/// A field: the positions of its key and its value, in bytes from the start of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset of the first byte of the key, after its opening quote.
    pub key_from: u64,
    /// Offset of the closing quote of the key.
    pub key_to: u64,
    /// Offset of the first byte of the value; for a string, of its opening quote.
    pub from: u64,
    /// Offset after the last byte of the value.
    pub to: u64,
    /// Kind of the value. In a line that is read in pieces, `Object` and `Array` may also be empty.
    pub kind: Kind,
    /// Whether the value is a string with escapes.
    pub has_escapes: bool,
    /// Whether the value is a string with an unpaired surrogate as an escape. Not determined for a line that is read in pieces.
    pub has_half: bool,
}

/// The outermost value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineShape {
    /// An object, whose fields are in the list.
    Object,
    /// Another value.
    Other(Kind),
    /// An object with more than [`MAX_FIELDS`] fields.
    TooMany,
}

/// The fields of one line at a time. Its memory is reused.
#[derive(Debug)]
pub struct Fields {
    /// All fields in the order of the line, including repeated ones.
    list: Vec<Field>,
    /// The key to look up, if any: unescaped, and as Python writes it.
    wanted: Option<(Vec<u8>, Vec<u8>)>,
    /// Index of the last field with that key.
    found: Option<usize>,
    shape: LineShape,
}

impl Fields {
    /// Creates fields in which the key `wanted` is looked up.
    pub fn new(wanted: &str) -> Self {
        let mut ascii = Vec::new();
        push_ascii(wanted, &mut ascii);
        Self { wanted: Some((wanted.as_bytes().to_vec(), ascii)), ..Self::any() }
    }

    /// Creates fields without a key to look up.
    pub fn any() -> Self {
        Self { list: Vec::new(), wanted: None, found: None, shape: LineShape::Object }
    }

    /// Parses a line, which must be UTF-8 without its `\n`. Fails if Python would not accept it as JSON.
    pub fn read(&mut self, line: &[u8]) -> Result<(), JsonError> {
        self.clear();
        walk(line, 0, self).map(|_| ())
    }

    /// Removes the fields of the previous line.
    pub fn clear(&mut self) {
        self.list.clear();
        self.found = None;
        self.shape = LineShape::Object;
    }

    /// Returns the outermost value of the line.
    pub fn shape(&self) -> LineShape {
        self.shape
    }

    /// Returns the fields in the order of the line, including repeated ones.
    pub fn list(&self) -> &[Field] {
        &self.list
    }

    /// Returns the last field with the key to look up.
    pub fn requested(&self) -> Option<&Field> {
        self.list.get(self.found?)
    }

    /// Adds a field whose value follows. `key` is its key as written in the line.
    fn push(&mut self, field: Field, key: &[u8]) {
        if self.list.len() >= MAX_FIELDS {
            self.shape = LineShape::TooMany;
            return;
        }
        if self.is_wanted(key) {
            self.found = Some(self.list.len());
        }
        self.list.push(field);
    }

    /// Whether a key, as written in the line, is the key to look up.
    pub fn is_wanted(&self, key: &[u8]) -> bool {
        let Some((wanted, ascii)) = &self.wanted else { return false };
        match key.contains(&b'\\') {
            false => key == wanted,
            true => as_python(key) == *ascii,
        }
    }

    /// Returns a repeated key of the object, as written in the line. The positions of keys refer to `keys`.
    pub fn repeated<'k>(&self, keys: &'k [u8]) -> Option<&'k [u8]> {
        let key_of = |field: &Field| slice(keys, field.key_from, field.key_to);
        if self.list.len() < 2 {
            return None;
        }
        let seen: Vec<KeyFingerprint> = self.list.iter().map(|field| KeyFingerprint::new(key_of(field))).collect();
        let mut gone = Vec::new();
        repeats(&seen, |at| self.list.get(at).map_or(&[], key_of), &mut gone);
        gone.first().and_then(|(kept, ..)| self.list.get(*kept)).map(key_of)
    }

    /// Appends the fields as Python resolves them, except the key to look up. The positions of keys refer to `keys`.
    pub fn append_resolved(&self, keys: &[u8], out: &mut Vec<Field>) {
        let key_of = |field: &Field| slice(keys, field.key_from, field.key_to);
        let first = out.len();
        out.extend(self.list.iter().filter(|field| !self.is_wanted(key_of(field))));
        let seen: Vec<KeyFingerprint> = match out.get(first..) {
            Some(rest) if rest.len() > 1 => rest.iter().map(|field| KeyFingerprint::new(key_of(field))).collect(),
            _ => return,
        };
        let mut gone = Vec::new();
        repeats(&seen, |at| out.get(first + at).map_or(&[], key_of), &mut gone);
        if gone.is_empty() {
            return;
        }
        let mut is_gone = vec![false; out.len()];
        for (kept, last, group) in gone {
            let value = out.get(first + last).copied();
            if let (Some(field), Some(value)) = (out.get_mut(first + kept), value) {
                *field = Field { key_from: field.key_from, key_to: field.key_to, ..value };
            }
            for place in group {
                if let Some(flag) = is_gone.get_mut(first + place) {
                    *flag = true;
                }
            }
        }
        let mut flags = is_gone.into_iter();
        out.retain(|_| !flags.next().unwrap_or(false));
    }
}

/// Returns the bytes of a line in a range; empty if the range is outside the line.
pub fn slice(line: &[u8], from: u64, to: u64) -> &[u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    line.get(place(from)..place(to)).unwrap_or_default()
}

impl Visit for Fields {
    const REPORTS_ODDITIES: bool = true;

    #[inline(always)]
    fn key(&mut self, text: &[u8], depth: usize, span: Span) {
        if depth != 1 {
            return;
        }
        let key = text.get(span.from..span.to).unwrap_or_default();
        let (key_from, key_to) = (span.from as u64, span.to as u64);
        let field = Field { key_from, key_to, from: 0, to: 0, kind: Kind::Null, has_escapes: false, has_half: false };
        self.push(field, key);
    }

    #[inline(always)]
    fn value(&mut self, depth: usize, kind: Kind, span: Span) {
        match depth {
            0 if !matches!(kind, Kind::Object | Kind::EmptyObject) => self.shape = LineShape::Other(kind),
            1 => {
                if let (Some(field), LineShape::Object) = (self.list.last_mut(), self.shape) {
                    let quote = u64::from(kind == Kind::String);
                    field.from = span.from as u64 - quote;
                    field.to = span.to as u64 + quote;
                    field.kind = kind;
                    (field.has_escapes, field.has_half) = (span.has_escapes, span.has_half);
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn close(&mut self, depth: usize, to: usize) {
        if depth == 2 && self.shape == LineShape::Object {
            if let Some(field) = self.list.last_mut() {
                field.to = to as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(line: &str) -> String {
        let mut fields = Fields::new("text");
        fields.read(line.as_bytes()).unwrap();
        let mut out = Vec::new();
        fields.append_resolved(line.as_bytes(), &mut out);
        let text = |from, to| std::str::from_utf8(slice(line.as_bytes(), from, to)).unwrap().to_owned();
        let found = fields.requested().map_or(String::new(), |field| text(field.from, field.to));
        let rest: Vec<String> =
            out.iter().map(|f| format!("{}={}", text(f.key_from, f.key_to), text(f.from, f.to))).collect();
        format!("{found}|{}", rest.join(" "))
    }

    #[test]
    fn json_fields_are_found_with_their_ranges() {
        for (line, wanted) in [
            (
                r#"{"text":"a\"b","n":-1.5e3 ,"o" : {"text":1,"x":[{}]} , "e":{},"l":[ ]}"#,
                r#""a\"b"|n=-1.5e3 o={"text":1,"x":[{}]} e={} l=[ ]"#,
            ),
            (r#"{"a":1,"text":"x","a":[2],"\u0061":3,"b":4,"text":"y","b":5}"#, r#""y"|a=3 b=5"#),
            (r#"{"\u0074ext":"x"}"#, r#""x"|"#),
            (r#"{"te\\u0078t":"x"}"#, r#"|te\\u0078t="x""#),
            (r#"{"é":1,"\u00e9":2,"\u00E9":3}"#, "|é=3"),
            (r#"{"\ud800":1,"\ud801":2,"\ufffd":3}"#, r"|\ud800=1 \ud801=2 \ufffd=3"),
            ("{}", "|"),
            ("[[1]]", "|"),
        ] {
            assert_eq!(settled(line), wanted, "{line}");
        }
    }

    #[test]
    fn lines_that_are_no_objects_and_objects_of_too_many_fields_are_reported() {
        let mut fields = Fields::new("text");
        fields.read(b"[{\"text\":\"a\"}]").unwrap();
        assert_eq!((fields.shape(), fields.requested()), (LineShape::Other(Kind::Array), None));
        let many: Vec<String> = (0..=MAX_FIELDS).map(|number| format!("\"{number}\":[{number}]")).collect();
        fields.read(format!("{{{}}}", many.join(",")).as_bytes()).unwrap();
        assert_eq!(fields.shape(), LineShape::TooMany);
        fields.read(format!("{{{}}}", many[1..].join(",")).as_bytes()).unwrap();
        assert_eq!((fields.shape(), fields.list().len()), (LineShape::Object, MAX_FIELDS));
        assert!(fields.read(b"{").is_err());
    }
}
