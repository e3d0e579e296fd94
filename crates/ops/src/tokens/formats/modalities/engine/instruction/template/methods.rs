//! The methods of Python's strings, lists and dicts that templates use.

use super::filters::{is_in_case, MAX_WIDTH};
use super::{plain, refused};
use gristmill_pycompat::white_space::is_white_space;
use minijinja::value::{from_args, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

fn unknown() -> Error {
    Error::from(ErrorKind::UnknownMethod)
}

/// Calls a method by its name.
pub(super) fn method(state: &State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Map => of_map(state, value, name, args),
        ValueKind::Seq => of_list(value, name, args),
        _ => value.as_str().ok_or_else(unknown).and_then(|text| of_text(state, text, name, args)),
    }
}

fn of_map(state: &State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    match name {
        "items" => state.apply_filter("items", std::slice::from_ref(value)),
        "keys" => Ok(Value::from(value.try_iter()?.collect::<Vec<_>>())),
        "values" => Ok(Value::from(value.try_iter()?.map(|key| value.get_item(&key)).collect::<Result<Vec<_>, _>>()?)),
        "get" => {
            let (key, default): (Value, Option<Value>) = from_args(args)?;
            let found = value.get_item(&key)?;
            Ok(if found.is_undefined() { default.unwrap_or_else(|| Value::from(())) } else { found })
        }
        _ => Err(unknown()),
    }
}

fn of_list(value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let (wanted,): (Value,) = from_args(args)?;
    match name {
        "count" => Ok(Value::from(value.try_iter()?.filter(|item| *item == wanted).count())),
        "index" => {
            let place = value.try_iter()?.position(|item| item == wanted);
            place.map(Value::from).ok_or_else(|| refused("it is not in the list"))
        }
        _ => Err(unknown()),
    }
}

fn of_text(state: &State<'_, '_>, text: &str, name: &str, args: &[Value]) -> Result<Value, Error> {
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<&str>,) = from_args(args)?;
            let is_cut = |c: char| chars.map_or_else(|| is_white_space(c), |chars| chars.contains(c));
            Ok(Value::from(match name {
                "strip" => text.trim_matches(is_cut),
                "lstrip" => text.trim_start_matches(is_cut),
                _ => text.trim_end_matches(is_cut),
            }))
        }
        "upper" => Ok(Value::from(text.to_uppercase())),
        "lower" => Ok(Value::from(text.to_lowercase())),
        "title" | "capitalize" => state.apply_filter(name, &[Value::from(text)]),
        "startswith" => begins_or_ends(args, |part| text.starts_with(part)),
        "endswith" => begins_or_ends(args, |part| text.ends_with(part)),
        "removeprefix" => {
            from_args::<(&str,)>(args).map(|(start,)| Value::from(text.strip_prefix(start).unwrap_or(text)))
        }
        "removesuffix" => from_args::<(&str,)>(args).map(|(end,)| Value::from(text.strip_suffix(end).unwrap_or(text))),
        "replace" => {
            let (from, to, most): (&str, &str, Option<i64>) = from_args(args)?;
            Ok(Value::from(match most.and_then(|most| usize::try_from(most).ok()) {
                Some(most) => text.replacen(from, to, most),
                None => text.replace(from, to),
            }))
        }
        "split" | "rsplit" => split(text, name == "rsplit", args),
        "splitlines" => {
            let mut lines: Vec<&str> = text.split(LINE_ENDS).collect();
            if lines.last().is_some_and(|last| last.is_empty()) {
                lines.pop();
            }
            // A line end of two characters is replaced by one character, because it counts as one.
            let joined = text.contains("\r\n").then(|| text.replace("\r\n", "\n"));
            match joined {
                Some(joined) => of_text(state, &joined, name, args),
                None => Ok(Value::from(lines.into_iter().map(Value::from).collect::<Vec<_>>())),
            }
        }
        "join" => {
            let (parts,): (Value,) = from_args(args)?;
            let parts: Vec<Value> = parts.try_iter()?.collect();
            match parts.iter().all(|part| part.as_str().is_some()) {
                true => Ok(Value::from(parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(text))),
                false => Err(refused("only texts can be joined")),
            }
        }
        "count" => {
            let (part,): (&str,) = from_args(args)?;
            Ok(Value::from(if part.is_empty() { text.chars().count() + 1 } else { text.matches(part).count() }))
        }
        "find" | "rfind" | "index" | "rindex" => match find(text, name.starts_with('r'), args)? {
            Some(chars) => Ok(Value::from(chars)),
            None if name.ends_with("find") => Ok(Value::from(-1)),
            None => Err(refused("substring not found")),
        },
        "isdigit" | "isalpha" | "isalnum" | "isspace" => {
            let is_one = |c: char| match name {
                "isdigit" => c.is_ascii_digit(),
                "isalpha" => c.is_alphabetic(),
                "isalnum" => c.is_alphanumeric(),
                _ => is_white_space(c),
            };
            Ok(Value::from(!text.is_empty() && text.chars().all(is_one)))
        }
        "isupper" | "islower" => Ok(Value::from(is_in_case(text, name == "isupper"))),
        "zfill" => fill_with_zeros(text, args),
        "format" => format(text, args),
        _ => Err(unknown()),
    }
}

/// The characters at which Python's `splitlines` ends a line, apart from `\r\n`.
const LINE_ENDS: [char; 10] =
    ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Whether a text begins or ends, as `is_match` checks, with the given text or with one of a list of texts.
fn begins_or_ends(args: &[Value], is_match: impl Fn(&str) -> bool) -> Result<Value, Error> {
    let (parts,): (Value,) = from_args(args)?;
    match (parts.as_str(), parts.kind()) {
        (Some(part), _) => Ok(Value::from(is_match(part))),
        (None, ValueKind::Seq) => Ok(Value::from(parts.try_iter()?.any(|part| part.as_str().is_some_and(&is_match)))),
        _ => Err(refused("a text begins or ends with a text")),
    }
}

/// Returns the position of the first or last occurrence of a part, in characters.
fn find(text: &str, is_from_right: bool, args: &[Value]) -> Result<Option<usize>, Error> {
    let (part,): (&str,) = from_args(args)?;
    let place = if is_from_right { text.rfind(part) } else { text.find(part) };
    Ok(place.and_then(|place| text.get(..place)).map(|before| before.chars().count()))
}

/// Fills a number with zeros, after its sign.
fn fill_with_zeros(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (width,): (usize,) = from_args(args)?;
    if width > MAX_WIDTH {
        return Err(refused("the field is too wide"));
    }
    let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+'])));
    let zeros = "0".repeat(width.saturating_sub(text.chars().count()));
    Ok(Value::from(format!("{sign}{zeros}{digits}")))
}

fn split(text: &str, is_from_right: bool, args: &[Value]) -> Result<Value, Error> {
    let (by, most): (Option<&str>, Option<i64>) = from_args(args)?;
    let most = most.and_then(|most| usize::try_from(most).ok());
    let mut parts: Vec<&str> = match (by, most, is_from_right) {
        (Some(""), ..) => return Err(refused("empty separator")),
        (Some(by), None, _) => text.split(by).collect(),
        (Some(by), Some(most), false) => text.splitn(most + 1, by).collect(),
        (Some(by), Some(most), true) => text.rsplitn(most + 1, by).collect(),
        (None, None, _) => text.split(is_white_space).filter(|part| !part.is_empty()).collect(),
        (None, Some(_), _) => return Err(refused("a maximum of splits needs a separator")),
    };
    if is_from_right && most.is_some() {
        parts.reverse();
    }
    Ok(Value::from(parts.into_iter().map(Value::from).collect::<Vec<_>>()))
}

/// Formats `{}` and `{0}`. Fails for any other field.
fn format(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (mut out, mut rest, mut next) = (String::with_capacity(text.len()), text, 0);
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(remainder) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            out.push_str(from.get(..1).unwrap_or_default());
            rest = remainder;
            continue;
        }
        let field = from.strip_prefix('{').and_then(|from| from.split_once('}'));
        let (field, remainder) = field.ok_or_else(|| refused("a brace of the format has no partner"))?;
        let number = match field {
            "" => {
                next += 1;
                next - 1
            }
            field => field.parse().map_err(|_| refused("only {} and {0} are known in a format"))?,
        };
        out.push_str(&plain(args.get(number).ok_or_else(|| refused("the format asks for more than is given"))?)?);
        rest = remainder;
    }
    out.push_str(rest);
    Ok(Value::from(out))
}
