//! The fields of a line's object, found in one pass, as Python's reader would have them: of a key that comes twice the place of the first
//! and the value of the last.

use super::json_repeats::{repeats, SeenKey};
use super::json_text::{push_again, push_ascii};
use super::json_walk::{walk, JsonError, Kind, Span, Visit, DEEPEST_PYTHON};
use std::borrow::Cow;

/// Fields of one object, at most; with more the line is not taken.
pub const MAX_FIELDS: usize = 1 << 16;

/// One field: where its key and its value are, in bytes from the beginning of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The first byte of the key, behind its quote.
    pub key_from: u64,
    /// The quote behind the key.
    pub key_to: u64,
    /// The first byte of the value; of a string its quote.
    pub from: u64,
    /// The byte behind the value.
    pub to: u64,
    /// What the value is. Of a line that is read in pieces `Object` and `Array` may be empty too.
    pub kind: Kind,
    /// The value is a string with escapes.
    pub has_escapes: bool,
    /// The value is a string with half a character as an escape. Not known of a line that is read in pieces.
    pub has_half: bool,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An object with so many fields as the list has.
    Object,
    /// Another value.
    Other(Kind),
    /// An object with more than [`MAX_FIELDS`] fields.
    TooMany,
}

/// The fields of one line after the other; its memory is used again.
#[derive(Debug)]
pub struct Fields {
    /// In the order of the line, repeated ones too.
    list: Vec<Field>,
    /// The key that is looked for, if any, as it stands when nothing in it is escaped, and as Python writes it.
    wanted: Option<(Vec<u8>, Vec<u8>)>,
    /// The last field of that key.
    found: Option<usize>,
    shape: Shape,
}

impl Fields {
    /// Fields of which that of the key `wanted` can be asked for.
    pub fn new(wanted: &str) -> Self {
        let mut ascii = Vec::new();
        push_ascii(wanted, &mut ascii);
        Self { wanted: Some((wanted.as_bytes().to_vec(), ascii)), ..Self::any() }
    }

    /// Fields of which none is looked for.
    pub fn any() -> Self {
        Self { list: Vec::new(), wanted: None, found: None, shape: Shape::Object }
    }

    /// Reads a line, which comes without its `\n` and is UTF-8. An error when it is no JSON for Python.
    pub fn read(&mut self, line: &[u8]) -> Result<(), JsonError> {
        self.clear();
        walk(line, 0, self).map(|_| ())
    }

    /// Forgets the line.
    pub fn clear(&mut self) {
        self.list.clear();
        self.found = None;
        self.shape = Shape::Object;
    }

    /// What the line is.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// For lines that are read in pieces: says what the line is.
    pub fn set_shape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    /// Its fields in the order of the line, repeated ones too.
    pub fn list(&self) -> &[Field] {
        &self.list
    }

    /// The last field of the key that is looked for.
    pub fn found(&self) -> Option<&Field> {
        self.list.get(self.found?)
    }

    /// For lines that are read in pieces: adds a field whose key has these bytes.
    pub fn push(&mut self, field: Field, key: &[u8]) {
        if self.list.len() >= MAX_FIELDS {
            self.shape = Shape::TooMany;
            return;
        }
        if self.is_wanted(key) {
            self.found = Some(self.list.len());
        }
        self.list.push(field);
    }

    /// Whether a key, as it stands in the line, is the one that is looked for.
    pub fn is_wanted(&self, key: &[u8]) -> bool {
        let Some((wanted, ascii)) = &self.wanted else { return false };
        match key.contains(&b'\\') {
            false => key == wanted,
            true => as_python(key) == *ascii,
        }
    }

    /// Appends the fields as Python has them, those of the key that is looked for left out. `keys` is what the places of keys are in.
    pub fn settle(&self, keys: &[u8], out: &mut Vec<Field>) {
        let key_of = |field: &Field| slice(keys, field.key_from, field.key_to);
        let first = out.len();
        out.extend(self.list.iter().filter(|field| !self.is_wanted(key_of(field))));
        let seen: Vec<SeenKey> = match out.get(first..) {
            Some(rest) if rest.len() > 1 => rest.iter().map(|field| SeenKey::new(key_of(field))).collect(),
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

/// Bytes of a line by their places; nothing where they are not in it.
pub fn slice(line: &[u8], from: u64, to: u64) -> &[u8] {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    line.get(place(from)..place(to)).unwrap_or_default()
}

/// A key as Python writes it: equal texts have equal bytes.
pub(super) fn as_python(key: &[u8]) -> Cow<'_, [u8]> {
    match key.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\') {
        true => Cow::Borrowed(key),
        false => {
            let mut out = Vec::with_capacity(key.len() + 16);
            push_again(key, &mut out);
            Cow::Owned(out)
        }
    }
}

impl Visit for Fields {
    const WANTS_ODDITIES: bool = true;
    const DEEPEST: usize = DEEPEST_PYTHON;

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
            0 if !matches!(kind, Kind::Object | Kind::EmptyObject) => self.shape = Shape::Other(kind),
            1 => {
                if let (Some(field), Shape::Object) = (self.list.last_mut(), self.shape) {
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
        if depth == 2 && self.shape == Shape::Object {
            if let Some(field) = self.list.last_mut() {
                field.to = to as u64;
            }
        }
    }

    fn overflow(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(line: &str) -> String {
        let mut fields = Fields::new("text");
        fields.read(line.as_bytes()).unwrap();
        let mut out = Vec::new();
        fields.settle(line.as_bytes(), &mut out);
        let text = |from, to| std::str::from_utf8(slice(line.as_bytes(), from, to)).unwrap().to_owned();
        let found = fields.found().map_or(String::new(), |field| text(field.from, field.to));
        let rest: Vec<String> =
            out.iter().map(|f| format!("{}={}", text(f.key_from, f.key_to), text(f.from, f.to))).collect();
        format!("{found}|{}", rest.join(" "))
    }

    #[test]
    fn fields_are_found_with_their_places() {
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
    fn lines_that_are_no_objects_and_objects_of_too_many_fields_are_told() {
        let mut fields = Fields::new("text");
        fields.read(b"[{\"text\":\"a\"}]").unwrap();
        assert_eq!((fields.shape(), fields.found()), (Shape::Other(Kind::Array), None));
        let many: Vec<String> = (0..=MAX_FIELDS).map(|number| format!("\"{number}\":[{number}]")).collect();
        fields.read(format!("{{{}}}", many.join(",")).as_bytes()).unwrap();
        assert_eq!(fields.shape(), Shape::TooMany);
        fields.read(format!("{{{}}}", many[1..].join(",")).as_bytes()).unwrap();
        assert_eq!((fields.shape(), fields.list().len()), (Shape::Object, MAX_FIELDS));
        assert!(fields.read(b"{").is_err());
    }
}
