//! Regular expressions of programs, by the engine that jq has.

use super::Data;
use jaq_core::native::{bome, run, v, Fun};
use jaq_core::{Cv, Error as Failed, ValR};
use jaq_json::{Map, Num, Rc, Val};
use onig::{MatchParam, Regex, RegexOptions, Region, SearchOptions, Syntax};
use std::cell::RefCell;
use std::rc::Rc as Shared;

/// What of a text is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Matches,
    /// What lies between them.
    Rest,
    Both,
}

/// How a pattern is used.
struct Manner {
    options: RegexOptions,
    is_global: bool,
}

/// A pattern that was compiled, and how.
type Known = (String, RegexOptions, Shared<Regex>);

thread_local! {
    /// The one that was used last: a program uses few, on many documents.
    static LAST: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// The filters by which the definitions look for patterns; they take the place of those of the same names.
pub(super) fn filters() -> [Fun<Data>; 3] {
    [
        run(("matches", v(2), |cv| bome(found(cv, Wanted::Matches)))),
        run(("split_", v(2), |cv| bome(found(cv, Wanted::Rest)))),
        run(("split_matches", v(2), |cv| bome(found(cv, Wanted::Both)))),
    ]
}

/// Whether a filter of this name is one of [`filters`].
pub(super) fn is_ours(name: &str) -> bool {
    ["matches", "split_", "split_matches"].contains(&name)
}

/// Takes a text, a pattern and flags; gives an array: of each match its parts, the whole first, and texts between.
fn found(mut cv: Cv<'_, Data>, wanted: Wanted) -> ValR<Val> {
    let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
    let (Val::TStr(text), Val::TStr(pattern)) = (&cv.1, &pattern) else {
        return Err(Failed::str("a pattern is a text, and is looked for in one"));
    };
    let (text, pattern) = (String::from_utf8_lossy(text), String::from_utf8_lossy(pattern));
    let (manner, mut all) = (Manner::new(&flags)?, Vec::new());
    let regex = compiled(&pattern, manner.options)?;
    let (names, mut chars) = (names(&regex), Chars::default());
    let (mut from, mut rest, mut region) = (0, 0, Region::new());
    while from <= text.len() {
        region.clear();
        let (none, limits) = (SearchOptions::SEARCH_OPTION_NONE, MatchParam::default());
        let place = regex.search_with_param(text.as_ref(), from, text.len(), none, Some(&mut region), limits);
        if place.map_err(Failed::str)?.is_none() {
            break;
        }
        let Some((start, end)) = region.pos(0) else { break };
        if wanted != Wanted::Matches {
            all.push(text_of(text.get(rest..start)));
        }
        if wanted != Wanted::Rest {
            let parts = (0..region.len()).map(|group| {
                let name = names.iter().find(|name| name.0 == group).map(|name| name.1.as_str());
                let place = region.pos(group).map(|(from, to)| chars.part(&text, from, to));
                part(place, (group > 0).then_some(name))
            });
            all.push(Val::Arr(Rc::new(parts.collect())));
        }
        rest = end;
        // Where nothing was taken the next is looked for behind the next character.
        let step = text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        from = if start == end { end + step } else { end };
        if !manner.is_global {
            break;
        }
    }
    if wanted != Wanted::Matches {
        all.push(text_of(text.get(rest..)));
    }
    Ok(Val::Arr(Rc::new(all)))
}

impl Manner {
    /// Of flags as jq has them; `null` is none.
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

/// A pattern, compiled once for all documents that come one after the other.
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

/// Groups that have names.
fn names(regex: &Regex) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    regex.foreach_name(|name, groups| {
        names.extend(groups.iter().map(|group| (*group as usize, name.to_owned())));
        true
    });
    names
}

fn text_of(text: Option<&str>) -> Val {
    Val::utf8_str(text.unwrap_or_default().as_bytes().to_vec())
}

/// A part of a text: its place and length in characters, and itself.
type Part<'a> = (usize, usize, &'a str);

/// What is known of places in a text that were asked for, so that each character is counted once or twice and not for each match.
#[derive(Default)]
struct Chars {
    bytes: usize,
    chars: usize,
}

impl Chars {
    fn part<'a>(&mut self, text: &'a str, from: usize, to: usize) -> Part<'a> {
        if from < self.bytes {
            // A group in front of what was asked for last, mostly by little.
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

/// A part as an object; of a group with its name, if it has one.
fn part(place: Option<Part<'_>>, group: Option<Option<&str>>) -> Val {
    let number = |number: isize| Val::Num(Num::Int(number));
    let (offset, length, text) = match place {
        Some((offset, length, text)) => (offset as isize, length as isize, text_of(Some(text))),
        None => (-1, 0, Val::Null),
    };
    let mut object = Map::default();
    let fields = [("offset", number(offset)), ("length", number(length)), ("string", text)];
    let name = group.map(|name| ("name", name.map_or(Val::Null, |name| text_of(Some(name)))));
    for (key, value) in fields.into_iter().chain(name) {
        object.insert(text_of(Some(key)), value);
    }
    Val::obj(object)
}
