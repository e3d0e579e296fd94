//! Chat templates: Jinja templates without access to the system, with values formatted as in Python.

mod filters;
mod methods;
mod tojson;

use gristmill_core::catch_panic::catch_panic;
use gristmill_core::{Failure, Outcome};
use gristmill_pycompat::number::float_repr;
use gristmill_pycompat::white_space::is_printable;
use gristmill_pycompat::Node;
use minijinja::value::{Value, ValueKind};
use minijinja::{context, Environment, Error, ErrorKind, Output, State};
use std::fmt::Write as _;

/// Name of the template in the engine. It has no extension, so that HTML escaping is off.
const NAME: &str = "chat";
/// Maximum depth of printed lists and maps.
const MAX_DEPTH: usize = 32;

/// Reason if the engine panics, which is known of such slices only.
const PANIC_MESSAGE: &str =
    "the template uses a feature that is not supported, such as a backward slice of an empty list or text";

/// A compiled template, which can be rendered any number of times.
pub struct ChatTemplate {
    environment: Environment<'static>,
    data: Value,
}

fn value(node: &Node) -> Value {
    match node {
        Node::Null => Value::from(()),
        Node::Bool(value) => Value::from(*value),
        Node::Int(number) => i64::try_from(*number).map_or_else(|_| Value::from(*number), Value::from),
        Node::Float(number) => Value::from(*number),
        Node::Str(text) => Value::from(text.as_str()),
        Node::List(items) => Value::from(items.iter().map(value).collect::<Vec<_>>()),
        Node::Map(entries) => entries.iter().map(|(key, node)| (key.as_str(), value(node))).collect(),
    }
}

impl ChatTemplate {
    /// Compiles a template, in which `data` is available as `chat_template_data`. A line end between `}` and `{` is removed from the
    /// template, as in the reference program.
    pub fn new(text: &str, data: &Node) -> Outcome<Self> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_formatter(print);
        environment.set_unknown_method_callback(methods::method);
        environment.add_filter("tojson", tojson::tojson);
        environment.add_filter("string", filters::string);
        environment.add_filter("e", filters::escape);
        environment.add_filter("escape", filters::escape);
        environment.add_filter("int", filters::int);
        environment.add_filter("float", filters::float);
        environment.add_filter("round", filters::round);
        environment.add_filter("max", filters::max);
        environment.add_filter("min", filters::min);
        environment.add_filter("trim", filters::trim);
        environment.add_filter("length", filters::length);
        environment.add_filter("count", filters::length);
        environment.add_test("sequence", filters::is_sequence);
        environment.add_test("number", filters::is_number);
        environment.add_test("lower", filters::is_lower);
        environment.add_test("upper", filters::is_upper);
        environment.add_function("raise_exception", filters::raise_exception);
        let text = text.replace("}\n{", "}{");
        environment.add_template_owned(NAME, text).map_err(|error| {
            Failure::usage("reading the chat template", error_text(&error))
                .on(gristmill_core::Subject::field("jinja2_chat_template"))
        })?;
        Ok(Self { environment, data: value(data) })
    }

    /// Returns the rendered text of a conversation. The error is the reason why the template fails.
    pub fn render(&self, messages: &Node) -> Result<String, String> {
        let template = self.environment.get_template(NAME).map_err(|error| error_text(&error))?;
        let data = self.data.clone();
        let rendered =
            catch_panic(|| template.render(context! { messages => value(messages), chat_template_data => data }));
        rendered.ok_or(PANIC_MESSAGE)?.map_err(|error| error_text(&error))
    }
}

fn refused(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, why.into())
}

fn error_text(error: &Error) -> String {
    let why = error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    error.line().map_or_else(|| why.clone(), |line| format!("{why} (line {line} of the template)"))
}

/// Writes a value to the output.
fn print(out: &mut Output<'_>, _: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    Ok(out.write_str(&plain(value)?)?)
}

/// Formats a value like Python's `str`.
fn plain(value: &Value) -> Result<String, Error> {
    let mut text = String::new();
    match value.as_str() {
        Some(plain) => text.push_str(plain),
        None if value.is_undefined() => {}
        None => push(&mut text, value, 0)?,
    }
    Ok(text)
}

/// Formats a value like Python's `repr`.
fn push(out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(refused("a value that is printed is nested too deep"));
    }
    match value.kind() {
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::Number if !value.is_integer() => out.push_str(&float_repr(f64::try_from(value.clone())?)),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            out.push(quote);
            for c in text.chars() {
                match c {
                    '\\' => out.push_str("\\\\"),
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\t' => out.push_str("\\t"),
                    c if c == quote => out.extend(['\\', c]),
                    c if is_printable(c) => out.push(c),
                    '\0'..='\u{ff}' => write!(out, "\\x{:02x}", u32::from(c))?,
                    '\u{100}'..='\u{ffff}' => write!(out, "\\u{:04x}", u32::from(c))?,
                    c => write!(out, "\\U{:08x}", u32::from(c))?,
                }
            }
            out.push(quote);
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            for (at, item) in value.try_iter()?.enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                push(out, &item, depth + 1)?;
            }
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            for (at, key) in value.try_iter()?.enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                push(out, &key, depth + 1)?;
                out.push_str(": ");
                push(out, &value.get_item(&key)?, depth + 1)?;
            }
            out.push('}');
        }
        _ => write!(out, "{value}")?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_pycompat::json_loads::loads;

    fn rendered(template: &str, messages: &str) -> Result<String, String> {
        let data = Node::Map(vec![("system".into(), Node::str("S")), ("n".into(), Node::Float(1.0))]);
        ChatTemplate::new(template, &data).unwrap().render(&loads(messages).unwrap())
    }

    #[test]
    fn template_blocks_leave_no_blank_lines() {
        let template = "{{ chat_template_data.system }}\n{% for m in messages %}\n{% if m['from'] == 'User' %}\nU: {{ m.value }}\n\
                        {% else %}\n  {% set x = 1 %}\nA: <b>{{ m['value'] }}</b>\n{% endif %}\n{% endfor %}";
        let messages = r#"[{"from": "User", "value": "1 < 2"}, {"from": "x", "value": "é"}]"#;
        assert_eq!(rendered(template, messages).unwrap(), "SU: 1 < 2A: <b>é</b>\n");
    }

    #[test]
    fn template_values_are_printed_as_in_python() {
        let template = "{{ messages }}|{{ chat_template_data.n }}|{{ none }}|{{ true }}|{{ missing }}|{{ 7 }}";
        let messages = r#"[{"b": 1e16, "a": [null, true, "it's", "\n"]}]"#;
        assert_eq!(
            rendered(template, messages).unwrap(),
            "[{'b': 1e+16, 'a': [None, True, \"it's\", '\\n']}]|1.0|None|True||7"
        );
    }

    #[test]
    fn template_maps_keep_their_order_and_have_python_methods() {
        let template = "{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}{{ messages[0].get('q', 3) }}\
                        {{ ' x '.strip() }}{{ 'a-b'.split('-')|join('+') }}{{ 'Ab'.lower() }}{{ 'ab'.startswith('a') }}";
        assert_eq!(rendered(template, r#"[{"z": 1, "a": 2}]"#).unwrap(), "z=1;a=2;3xa+babTrue");
    }

    #[test]
    fn template_mistakes_are_reported_with_their_line() {
        assert!(ChatTemplate::new("{% for %}", &Node::Null).err().unwrap().why.contains("line 1"));
        assert!(rendered("\n{{ messages.nothing.more }}", "[]").unwrap_err().contains("line 2"));
    }

    #[test]
    fn template_filters_convert_values_to_text_as_in_python() {
        for (template, expected) in [
            ("{{ {'a': [1, none, true, 'é'], 'b': 1e20}|tojson }}", r#"{"a": [1, null, true, "é"], "b": 1e+20}"#),
            ("{{ {'n': 'f', 'args': {'z': 1, 'b': 2}}|tojson }}", r#"{"n": "f", "args": {"z": 1, "b": 2}}"#),
            ("{{ dict(z=1, a=2) }}{{ {'z': 1, 'a': 2}.items()|list }}", "{'z': 1, 'a': 2}[['z', 1], ['a', 2]]"),
            ("{% for k in {'z': 1, 'a': 2} %}{{ k }}{% endfor %}", "za"),
            ("{{ {'b': 1, 'a': 'é'}|tojson(ensure_ascii=true, sort_keys=true) }}", r#"{"a": "\u00e9", "b": 1}"#),
            ("{{ [1, []]|tojson(indent=2) }}", "[\n  1,\n  []\n]"),
            ("{{ [1, {'a': 2}]|tojson(separators=[',', ':']) }}", r#"[1,{"a":2}]"#),
            ("{{ {'a': 1}|string }}{{ 1e20|string }}{{ none|string }}", "{'a': 1}1e+20None"),
            ("{{ '<a href=\"x\">\\'&'|e }}", "&lt;a href=&#34;x&#34;&gt;&#39;&amp;"),
            ("{{ '12'|int + '3.9'|int + 'x'|int + 'x'|int(5) + 2.7|int }}", "22"),
            ("{{ ['\\u2028'] }}", "['\\u2028']"),
            ("{{ ['h\\u00a0i\\u00ad\\u200b\\ue000 é'] }}", "['h\\xa0i\\xad\\u200b\\ue000 é']"),
            ("{{ ['\u{e0041}😀'] }}", "['\\U000e0041😀']"),
        ] {
            assert_eq!(rendered(template, "[]").as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn template_filters_convert_and_compare_numbers_as_in_python() {
        for (template, expected) in [
            (
                "{{ 'x'|int(default=3) }}{{ '0x1A'|int(base=16) }} {{ '1A'|int(0, 16) }} {{ '-101'|int(base=2) }}",
                "326 26 -5",
            ),
            (
                "{{ 1e20|int }} {{ '1e20'|int }} {{ -2.7|int }} {{ true|int }} {{ none|int }}",
                "100000000000000000000 100000000000000000000 -2 1 0",
            ),
            (
                "{{ ''|float }} {{ 'x'|float(2.5) }} {{ 'x'|float(default=1) }} {{ ' 1e3 '|float }} {{ 3|float }}",
                "0.0 2.5 1 1000.0 3.0",
            ),
            (
                "{{ 2.5|round }} {{ (-2.5)|round }} {{ 3.5|round }} {{ (-0.125)|round(2) }} {{ 2.675|round(2) }}",
                "2.0 -2.0 4.0 -0.12 2.67",
            ),
            (
                "{{ 5|round }} {{ 1250|round(-2) }} {{ 1234.5|round(-2) }} {{ 3.2|round(0, 'ceil') }} {{ 3.7|round(method='floor') }}",
                "5 1200 1200.0 4.0 3.0",
            ),
            (
                "{{ ['a', 'B']|max }}{{ ['a', 'B']|min }}{{ ['a', 'B']|max(case_sensitive=true) }}{{ [3, 1]|min }}{{ []|max }}",
                "Baa1",
            ),
            ("{{ missing|length }}{{ messages[0]|length }}{{ 'é'|count }}", "011"),
            (
                "{{ '\\u001cx\\u001f'|trim }}{{ '\\u001cx\\u001f'.strip() }}{{ 'a\\u001cb'.split() }}{{ 'xax'|trim('x') }}",
                "xx['a', 'b']a",
            ),
            (
                "{{ 'a' is sequence }}{{ messages[0] is sequence }}{{ [] is sequence }}{{ 1 is sequence }}",
                "TrueTrueTrueFalse",
            ),
            (
                "{{ 'hi 1' is lower }}{{ 'HI 1' is upper }}{{ '1' is lower }}{{ true is number }}{{ '1' is number }}",
                "TrueTrueFalseTrueFalse",
            ),
            (
                "{{ 'a.b'.endswith(('x', 'b')) }}{{ 'ab'.startswith(['b']) }}{{ raise_exception is defined }}",
                "TrueFalseTrue",
            ),
        ] {
            assert_eq!(rendered(template, r#"[{"a": 1}]"#).as_deref(), Ok(expected), "{template}");
        }
        for template in
            ["{{ missing|int }}", "{{ missing|float }}", "{{ 1e300|int }}", "{{ 'a'|round }}", "{{ 1|length }}"]
        {
            assert!(rendered(template, "[]").is_err(), "{template}");
        }
        assert!(rendered("{{ raise_exception('roles must alternate') }}", "[]")
            .unwrap_err()
            .contains("roles must alternate"));
    }

    #[test]
    fn template_texts_and_lists_have_python_methods() {
        for (template, expected) in [
            ("{{ 'a.b.c'.split('.', 1) }}{{ 'a.b.c'.rsplit('.', 1) }}", "['a', 'b.c']['a.b', 'c']"),
            ("{{ 'a\\r\\nb\\n\\u2028c\\n'.splitlines() }}", "['a', 'b', '', 'c']"),
            (
                "{{ 'aXbX'.replace('X', 'y', 1) }}{{ 'xaya'.count('a') }}{{ 'éa'.find('a') }}{{ 'a'.find('b') }}",
                "aybX21-1",
            ),
            (
                "{{ '-'.join(['a', 'b']) }}{{ [1, 2, 1].count(1) }}{{ 'b7'.zfill(4) }}{{ '-7'.zfill(4) }}",
                "a-b200b7-007",
            ),
            ("{{ 'a'.isalpha() }}{{ '7'.isdigit() }}{{ 'Ab'.isupper() }}{{ 'a 1'.islower() }}", "TrueTrueFalseTrue"),
            (
                "{{ '{} and {1} {{x}}'.format('a', [1]) }}{{ 'abc'.removeprefix('a').removesuffix('c') }}",
                "a and [1] {x}b",
            ),
        ] {
            assert_eq!(rendered(template, "[]").as_deref(), Ok(expected), "{template}");
        }
        assert!(rendered("{{ '{0:>5}'.format(1) }}", "[]").is_err());
        assert!(rendered("{{ 'a'.zfill(9999999999) }}", "[]").is_err());
    }

    #[test]
    fn template_engine_failure_affects_only_one_conversation() {
        for template in ["{{ ''[::-1] }}", "{{ [][::-1] }}", "{{ messages[1:][::-1] }}"] {
            let done = rendered(template, "[1]");
            match done {
                Ok(text) => assert!(text.is_empty() || text == "[]", "{template}"),
                Err(why) => assert!(why.contains("backward slice of an empty list"), "{template}: {why}"),
            }
        }
        assert_eq!(rendered("{{ 'abc'[::-1] }}", "[]").as_deref(), Ok("cba"));
    }
}
