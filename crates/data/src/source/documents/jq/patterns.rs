//! Regular expressions of jq programs, with jq's regular-expression library.

use super::Data;
use jaq_core::native::{bome, run, v, Fun};
use jaq_core::{unwrap_valr, Bind, Cv, Error as Failed, ValR};
use jaq_json::{Map, Num, Rc, Val};
use onig::{MatchParam, Regex, RegexOptions, Region, SearchOptions, Syntax};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc as Shared;

/// Selects the parts of a text that are returned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchParts {
    Matches,
    /// The texts between the matches.
    Rest,
    Both,
}

/// How a pattern is applied.
struct MatchFlags {
    options: RegexOptions,
    is_global: bool,
}

/// A compiled pattern with its source and options.
type CompiledPattern = (String, RegexOptions, Shared<Regex>);

thread_local! {
    /// The pattern that was compiled last, because a program applies few patterns to many documents.
    static LAST: RefCell<Option<CompiledPattern>> = const { RefCell::new(None) };
}

/// Returns the filters with which the definitions search for patterns and concatenate texts; they override the standard filters of the same
/// names.
pub(super) fn filters() -> [Fun<Data>; 5] {
    let replaced = [Bind::Var(()), Bind::Fun(()), Bind::Var(())];
    [
        run(("matches", v(2), |cv| bome(find_parts(cv, MatchParts::Matches)))),
        run(("split_", v(2), |cv| bome(find_parts(cv, MatchParts::Rest)))),
        run(("split_matches", v(2), |cv| bome(find_parts(cv, MatchParts::Both)))),
        run(("replaced", replaced.into(), |cv| bome(with_replaced(cv)))),
        run(("concat", v(0), |cv| bome(concat(&cv.1)))),
    ]
}

/// Whether a filter of this name is one of [`filters`].
pub(super) fn is_ours(name: &str) -> bool {
    ["matches", "split_", "split_matches"].contains(&name)
}

/// Takes a text, a pattern and flags; returns an array of the parts of each match, the whole first, and of the texts between.
fn find_parts(mut cv: Cv<'_, Data>, wanted: MatchParts) -> ValR<Val> {
    let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
    let (mut all, mut chars) = (Vec::new(), Chars::default());
    let mut search = Search::new(&cv.1, &pattern, &flags)?;
    while let Some(between) = search.next()? {
        if wanted != MatchParts::Matches {
            all.push(text_of(between));
        }
        if wanted != MatchParts::Rest {
            let parts = (0..search.region.len()).map(|group| {
                let name = (group > 0).then(|| search.name(group));
                part(search.region.pos(group).map(|(from, to)| chars.part(&search.text, from, to)), name)
            });
            all.push(Val::Arr(Rc::new(parts.collect())));
        }
    }
    if wanted != MatchParts::Matches {
        all.push(text_of(search.rest()));
    }
    Ok(Val::Arr(Rc::new(all)))
}

/// Takes a text, a pattern, a replacement and flags; returns the text in which each match is replaced by the first output for its named
/// groups. The result is built in one pass, regardless of the number of matches.
fn with_replaced(mut cv: Cv<'_, Data>) -> ValR<Val> {
    let (flags, (by, context), pattern) = (cv.0.pop_var(), cv.0.pop_fun(), cv.0.pop_var());
    let (mut out, mut search) = (String::new(), Search::new(&cv.1, &pattern, &flags)?);
    while let Some(between) = search.next()? {
        out.push_str(between);
        let mut named = Map::default();
        for (group, name) in &search.names {
            let text = search.region.pos(*group).and_then(|(from, to)| search.text.get(from..to));
            named.insert(text_of(name), text.map_or(Val::Null, text_of));
        }
        match by.run((context.clone(), Val::obj(named))).map(unwrap_valr).next().transpose()? {
            Some(Val::TStr(text)) => out.push_str(&String::from_utf8_lossy(&text)),
            Some(_) => return Err(Failed::str("what replaces a match is no text")),
            None => {}
        }
    }
    out.push_str(search.rest());
    Ok(text_of(&out))
}

/// Concatenates the texts of an array.
fn concat(texts: &Val) -> ValR<Val> {
    let Val::Arr(texts) = texts else { return Err(Failed::str("only texts of an array are put together")) };
    let mut out = Vec::new();
    for text in texts.iter() {
        match text {
            Val::TStr(text) => out.extend_from_slice(text),
            _ => return Err(Failed::str("only texts are put together")),
        }
    }
    Ok(Val::utf8_str(out))
}

/// Searches a text for matches, in order.
struct Search<'a> {
    text: Cow<'a, str>,
    regex: Shared<Regex>,
    /// Named groups.
    names: Vec<(usize, String)>,
    is_global: bool,
    /// Offset in bytes at which the next search starts; beyond the end of the text after the last match.
    from: usize,
    /// End of the last match, in bytes.
    last_end: usize,
    /// Groups of the last match.
    region: Region,
}

impl<'a> Search<'a> {
    fn new(text: &'a Val, pattern: &Val, flags: &Val) -> Result<Self, Failed<Val>> {
        let (Val::TStr(text), Val::TStr(pattern)) = (text, pattern) else {
            return Err(Failed::str("a pattern is a text, and is looked for in one"));
        };
        let manner = MatchFlags::new(flags)?;
        let regex = compiled(&String::from_utf8_lossy(pattern), manner.options)?;
        let names = names(&regex);
        let (text, region, is_global) = (String::from_utf8_lossy(text), Region::new(), manner.is_global);
        Ok(Self { text, regex, names, is_global, from: 0, last_end: 0, region })
    }

    /// Finds the next match; returns the text between the previous match and this one.
    fn next(&mut self) -> Result<Option<&str>, Failed<Val>> {
        let (text, to) = (self.text.as_ref(), self.text.len());
        if self.from > to {
            return Ok(None);
        }
        self.region.clear();
        let (none, limits) = (SearchOptions::SEARCH_OPTION_NONE, MatchParam::default());
        let place = self.regex.search_with_param(text, self.from, to, none, Some(&mut self.region), limits);
        let place = place.map_err(Failed::str)?.and_then(|_| self.region.pos(0));
        let Some((start, end)) = place else { return Ok(None) };
        let between = text.get(self.last_end..start).unwrap_or_default();
        // After an empty match, the search continues after the next character.
        let step = text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        self.last_end = end;
        self.from = match self.is_global {
            true if start == end => end + step,
            true => end,
            false => to + 1,
        };
        Ok(Some(between))
    }

    /// Returns the text after the last match.
    fn rest(&self) -> &str {
        self.text.get(self.last_end..).unwrap_or_default()
    }

    fn name(&self, group: usize) -> Option<&str> {
        self.names.iter().find(|name| name.0 == group).map(|name| name.1.as_str())
    }
}

impl MatchFlags {
    /// Parses flags as jq defines them; `null` means none.
    fn new(flags: &Val) -> Result<Self, Failed<Val>> {
        let mut manner = Self { options: RegexOptions::REGEX_OPTION_CAPTURE_GROUP, is_global: false };
        let flags = match flags {
            Val::Null => return Ok(manner),
            Val::TStr(flags) => String::from_utf8_lossy(flags),
            _ => return Err(Failed::str("the flags of a pattern are a text")),
        };
        for flag in flags.chars() {
            manner.options |= match flag {
                'g' => {
                    manner.is_global = true;
                    RegexOptions::REGEX_OPTION_NONE
                }
                'i' => RegexOptions::REGEX_OPTION_IGNORECASE,
                'x' => RegexOptions::REGEX_OPTION_EXTEND,
                's' => RegexOptions::REGEX_OPTION_SINGLELINE,
                'p' => RegexOptions::REGEX_OPTION_MULTILINE | RegexOptions::REGEX_OPTION_SINGLELINE,
                'l' => RegexOptions::REGEX_OPTION_FIND_LONGEST,
                'n' => RegexOptions::REGEX_OPTION_FIND_NOT_EMPTY,
                other => return Err(Failed::str(format!("{other} is no flag of a pattern"))),
            };
        }
        Ok(manner)
    }
}

/// Compiles a pattern, or returns it if it was compiled last.
fn compiled(pattern: &str, options: RegexOptions) -> Result<Shared<Regex>, Failed<Val>> {
    LAST.with_borrow_mut(|last| {
        if let Some((_, _, regex)) = last.as_ref().filter(|known| known.0 == pattern && known.1 == options) {
            return Ok(Shared::clone(regex));
        }
        let regex = Regex::with_options(pattern, options, Syntax::perl_ng()).map(Shared::new).map_err(Failed::str)?;
        *last = Some((pattern.to_owned(), options, Shared::clone(&regex)));
        Ok(regex)
    })
}

/// Returns the named groups.
fn names(regex: &Regex) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    regex.foreach_name(|name, groups| {
        names.extend(groups.iter().map(|group| (*group as usize, name.to_owned())));
        true
    });
    names
}

fn text_of(text: &str) -> Val {
    Val::utf8_str(text.as_bytes().to_vec())
}

/// Offset and length of a part of a text in characters, and the part itself.
type Part<'a> = (usize, usize, &'a str);

/// The last position whose characters were counted, so that counting does not start at the beginning for each match.
#[derive(Default)]
struct Chars {
    bytes: usize,
    chars: usize,
}

impl Chars {
    fn part<'a>(&mut self, text: &'a str, from: usize, to: usize) -> Part<'a> {
        if from < self.bytes {
            // A group may start before the last position, usually by a few bytes.
            let back = text.get(from..self.bytes).map_or(0, |part| part.chars().count());
            (self.bytes, self.chars) = (from, self.chars - back);
        } else {
            let on = text.get(self.bytes..from).map_or(0, |part| part.chars().count());
            (self.bytes, self.chars) = (from, self.chars + on);
        }
        let part = text.get(from..to).unwrap_or_default();
        (self.chars, part.chars().count(), part)
    }
}

/// Returns a part as an object; a group also has its name, if it has one.
fn part(place: Option<Part<'_>>, group: Option<Option<&str>>) -> Val {
    let number = |number: isize| Val::Num(Num::Int(number));
    let (offset, length, text) = match place {
        Some((offset, length, text)) => (offset as isize, length as isize, text_of(text)),
        None => (-1, 0, Val::Null),
    };
    let mut object = Map::default();
    let fields = [("offset", number(offset)), ("length", number(length)), ("string", text)];
    let name = group.map(|name| ("name", name.map_or(Val::Null, text_of)));
    for (key, value) in fields.into_iter().chain(name) {
        object.insert(text_of(key), value);
    }
    Val::obj(object)
}
