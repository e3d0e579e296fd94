//! jq programs: programs that are only a path of keys are recognised, others are run.
//!
//! A program comes from the user and its input may be untrusted, so features that may not terminate, or that read anything but the input,
//! are disabled: definitions, unbounded loops, the environment, the clock, further inputs. What remains has limits (`limits`).

mod limits;
mod patterns;

use super::blocks::MAX_LINE_BYTES;
use super::text::{Text, TextLocation};
use gristmill_core::{Failure, Outcome, Subject};
use jaq_core::data::JustLut;
use jaq_core::load::lex::{StrPart, Tok, Token};
use jaq_core::load::parse::{Def, Expect, Parser};
use jaq_core::load::{self, Arena, File, Lexer, Loader};
use jaq_core::{compile, unwrap_valr, Compiler, Ctx, Vars};
use jaq_json::{read, Val};

/// Name of this step in failures.
const ACTIVITY: &str = "reading the jq program";
/// Maximum length of a program, in bytes.
const MAX_PROGRAM_BYTES: usize = 4 << 10;
/// Maximum nesting of brackets.
const MAX_DEPTH: usize = 100;
/// Words that a program must not contain, with the reason.
const REFUSED: [(&str, &str); 24] = [
    ("def", MAY_NOT_END),
    (MAIN, MAY_NOT_END),
    ("recurse", MAY_NOT_END),
    ("repeat", MAY_NOT_END),
    ("while", MAY_NOT_END),
    ("until", MAY_NOT_END),
    ("infinite", NO_LOOP_BOUND),
    ("combinations", TOO_MANY),
    ("import", OUTSIDE),
    ("include", OUTSIDE),
    ("input", OUTSIDE),
    ("inputs", OUTSIDE),
    ("input_filename", OUTSIDE),
    ("input_line_number", OUTSIDE),
    ("env", OUTSIDE),
    ("$ENV", OUTSIDE),
    ("$__loc__", OUTSIDE),
    ("now", OUTSIDE),
    ("localtime", OUTSIDE),
    ("strflocaltime", OUTSIDE),
    ("stderr", OUTSIDE),
    ("debug", OUTSIDE),
    ("halt", OUTSIDE),
    ("halt_error", OUTSIDE),
];
const MAY_NOT_END: &str = "may never end, so it cannot be used here";
const TOO_MANY: &str = "may give more values than fit into memory, so it cannot be used here";
const NO_LOOP_BOUND: &str = "can be the bound of a loop that never ends, so it cannot be used here";
const OUTSIDE: &str = "depends on more than the document, so it cannot be used here";

/// Name of the definition that holds the program.
const MAIN: &str = "gristmill_main";

/// Definitions that are appended to the standard ones and override them, to match jq.
const LIKE_JQ: &str = include_str!("like_jq.jq");

type Data = JustLut<Val>;

/// A program that is ready to run.
pub(super) struct Program {
    filter: compile::Filter<jaq_core::Native<Data>>,
}

impl Program {
    /// Compiles a program. A mistake in the program is a usage error that states its location.
    pub(super) fn new(code: &str) -> Outcome<Self> {
        if code.len() > MAX_PROGRAM_BYTES {
            return Err(refused(code, 0, "it is longer than 4 KiB".into()));
        }
        if let Some(at) = too_deep(code) {
            return Err(refused(code, at, "brackets are nested too deep".into()));
        }
        let tokens = Lexer::new(code).lex().map_err(|errors| {
            let (at, why) = errors.first().map_or((0, "a token".into()), |(_, found)| {
                (load::span(code, found).start, "it cannot be read from here on".to_owned())
            });
            refused(code, at, why)
        })?;
        refuse_words(code, &tokens)?;
        let mut body = Parser::new(&tokens).parse(|parser| parser.term()).map_err(|errors| {
            let (at, why) = errors.first().map_or((0, "it cannot be read".into()), |error| parse_reason(code, error));
            refused(code, at, why)
        })?;
        limits::limit_products(&mut body);
        let main = Def { name: MAIN, args: Vec::new(), body };
        let ours = load::parse(LIKE_JQ, |parser| parser.defs()).unwrap_or_default();
        let usual = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(ours);
        let defs = usual.map(with_shorter_lifetime).chain([main]);
        let usual = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let usual = usual.filter(|(name, ..)| !patterns::is_ours(name) && !limits::is_ours(name));
        let funs = usual.chain(patterns::filters()).chain(limits::filters());
        let arena = Arena::default();
        let modules = Loader::new(defs)
            .load(&arena, File { code: MAIN, path: () })
            .map_err(|_| refused(code, 0, "it cannot be read".into()))?;
        let filter = Compiler::default().with_funs(funs).compile(modules).map_err(|errors| {
            let first = errors.first().and_then(|(_, errors)| errors.first());
            let (at, why) = first.map_or((0, String::new()), |(name, what)| {
                (load::span(code, name).start, format!("there is no {} {name}", what.as_str()))
            });
            refused(code, at, why)
        })?;
        Ok(Self { filter })
    }

    /// Runs the program on a document and returns its first output; a text is appended to `texts`.
    pub(super) fn run(&self, line: &str, texts: &mut String) -> TextLocation<'static> {
        let Ok(input) = read::parse_single(line.as_bytes()) else {
            return TextLocation::Line(Text::Fails("jq cannot read the line"));
        };
        limits::start_document();
        let context = Ctx::<Data>::new(&self.filter.lut, Vars::new([]));
        let first = self.filter.id.run((context, input)).map(unwrap_valr).next();
        TextLocation::Line(match first {
            None => Text::Missing,
            Some(Err(error)) => Text::Fails(limits::reason(&error)),
            Some(Ok(Val::Null)) => Text::Null,
            Some(Ok(Val::TStr(bytes))) if bytes.len() > MAX_LINE_BYTES => Text::Fails("its text is longer than 64 MiB"),
            Some(Ok(Val::TStr(bytes))) => {
                let from = texts.len();
                texts.push_str(&String::from_utf8_lossy(&bytes));
                return TextLocation::Own(from, texts.len());
            }
            Some(Ok(Val::Bool(false))) => Text::Falsy("its text is false"),
            Some(Ok(Val::Bool(true))) => Text::NotText("its text is true"),
            Some(Ok(Val::Num(_))) => Text::NotText("its text is a number"),
            Some(Ok(Val::Arr(items))) if items.is_empty() => Text::Falsy("its text is an empty array"),
            Some(Ok(Val::Arr(_))) => Text::NotText("its text is an array"),
            Some(Ok(Val::Obj(items))) if items.is_empty() => Text::Falsy("its text is an empty object"),
            Some(Ok(Val::Obj(_))) => Text::NotText("its text is an object"),
            Some(Ok(Val::BStr(_))) => Text::NotText("its text is bytes"),
        })
    }
}

/// Lets the standard definitions be in one list with the program.
fn with_shorter_lifetime<'c>(definition: Def<&'static str>) -> Def<&'c str> {
    definition
}

fn parse_reason(code: &str, (wanted, found): &(Expect<&str>, Option<&Token<&str>>)) -> (usize, String) {
    match found {
        Some(Token(part, _)) => (load::span(code, part).start, format!("expected {}", wanted.as_str())),
        None => (code.len(), format!("it ends where {} is expected", wanted.as_str())),
    }
}

fn refused(code: &str, at: usize, why: String) -> Failure {
    let column = code.get(..at).unwrap_or(code).chars().count() as u64 + 1;
    Failure::usage(ACTIVITY, why).on(Subject::field(code).column(column))
}

/// Returns the offset at which brackets are nested too deeply, because the parser recurses once per level.
fn too_deep(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    code.bytes().position(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

fn refuse_words(code: &str, tokens: &[Token<&str>]) -> Outcome<()> {
    // The recursion is bounded: programs are short, and their nesting is limited before parsing.
    let mut waiting: Vec<&Token<&str>> = tokens.iter().rev().collect();
    while let Some(Token(text, token)) = waiting.pop() {
        match token {
            Tok::Block(inner) => waiting.extend(inner.iter().rev()),
            Tok::Str(parts) => waiting.extend(parts.iter().filter_map(|part| match part {
                StrPart::Term(term) => Some(term),
                _ => None,
            })),
            Tok::Word | Tok::Var => {
                if let Some((word, why)) = REFUSED.iter().find(|(word, _)| word == text) {
                    return Err(refused(code, load::span(code, text).start, format!("{word} {why}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the keys of a program that only follows a path: `.a.b`, `.["a b"]`, `."a"`. Returns `None` for any other program.
pub(super) fn as_path(program: &str) -> Option<Vec<String>> {
    let mut rest = program.trim();
    let mut path = Vec::new();
    if !rest.starts_with('.') {
        return None;
    }
    while !rest.is_empty() {
        let (key, remainder) = if let Some(quoted) = rest.strip_prefix(".[\"").or_else(|| rest.strip_prefix("[\"")) {
            let (key, remainder) = quoted.split_once('"')?;
            (key, remainder.strip_prefix(']')?)
        } else if let Some(quoted) = rest.strip_prefix(".\"") {
            quoted.split_once('"')?
        } else {
            let bare = rest.strip_prefix('.')?;
            let end = bare.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(bare.len());
            let (key, remainder) = bare.split_at(end);
            if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            (key, remainder)
        };
        if key.contains('\\') || path.len() >= 64 {
            return None;
        }
        path.push(key.to_owned());
        rest = remainder;
    }
    Some(path)
}
