//! Chat templates: Jinja in a sandbox, with values printed as Python prints them.

use crate::formats::python::number::float_repr;
use crate::formats::python::Node;
use crate::model::{Failure, Outcome};
use minijinja::value::{from_args, Enumerator, Object, ObjectExt as _, ObjectRepr, Value, ValueKind};
use minijinja::{context, Environment, Error, ErrorKind, Output, State};
use std::fmt::Write as _;
use std::sync::Arc;

/// What the template is called in the engine; no name that would make it escape HTML.
const NAME: &str = "chat";
/// Lists and maps nested deeper are not printed.
const MAX_DEPTH: usize = 32;

/// A template, ready to be rendered any number of times.
pub struct ChatTemplate {
    environment: Environment<'static>,
    data: Value,
}

/// A map that keeps the order of its keys.
#[derive(Debug)]
struct Ordered(Vec<(String, Value)>);

impl Object for Ordered {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    }
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_enumerator(|this| Box::new(this.0.iter().map(|(name, _)| Value::from(name.as_str()))))
    }
    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }
}

fn value(node: &Node) -> Value {
    match node {
        Node::Null => Value::from(()),
        Node::Bool(value) => Value::from(*value),
        Node::Int(number) => i64::try_from(*number).map_or_else(|_| Value::from(*number), Value::from),
        Node::Float(number) => Value::from(*number),
        Node::Str(text) => Value::from(text.as_str()),
        Node::List(items) => Value::from(items.iter().map(value).collect::<Vec<_>>()),
        Node::Map(entries) => {
            let entries = entries.iter().map(|(key, node)| (key.clone(), value(node))).collect();
            Value::from_object(Ordered(entries))
        }
    }
}

impl ChatTemplate {
    /// Compiles a template. `data` is what it knows as `chat_template_data`. A line end between `}` and `{` is taken out of the text,
    /// as the reference does.
    pub fn new(text: &str, data: &Node) -> Outcome<Self> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_formatter(print);
        environment.set_unknown_method_callback(method);
        let text = text.replace("}\n{", "}{");
        environment.add_template_owned(NAME, text).map_err(|error| {
            Failure::usage("reading the chat template", told(&error))
                .on(crate::model::Subject::field("jinja2_chat_template"))
        })?;
        Ok(Self { environment, data: value(data) })
    }

    /// The text of a conversation; the reason when the template fails on it.
    pub fn render(&self, messages: &Node) -> Result<String, String> {
        let template = self.environment.get_template(NAME).map_err(|error| told(&error))?;
        let data = self.data.clone();
        template
            .render(context! { messages => value(messages), chat_template_data => data })
            .map_err(|error| told(&error))
    }
}

fn told(error: &Error) -> String {
    let why = error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    error.line().map_or_else(|| why.clone(), |line| format!("{why} (line {line} of the template)"))
}

/// Puts a value into the output.
fn print(out: &mut Output<'_>, _: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    let mut text = String::new();
    match value.as_str() {
        Some(plain) => text.push_str(plain),
        None if value.is_undefined() => {}
        None => push(&mut text, value, 0)?,
    }
    Ok(out.write_str(&text)?)
}

/// A value as Python's `repr` has it.
fn push(out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::new(ErrorKind::InvalidOperation, "a value that is printed is nested too deep"));
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
                    c if c.is_control() => write!(out, "\\x{:02x}", u32::from(c))?,
                    c => out.push(c),
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

/// The methods of Python's texts and maps that templates use.
fn method(state: &State<'_, '_>, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if value.kind() == ValueKind::Map {
        return match name {
            "items" => state.apply_filter("items", std::slice::from_ref(value)),
            "keys" => Ok(Value::from(value.try_iter()?.collect::<Vec<_>>())),
            "values" => {
                Ok(Value::from(value.try_iter()?.map(|key| value.get_item(&key)).collect::<Result<Vec<_>, _>>()?))
            }
            "get" => {
                let (key, default): (Value, Option<Value>) = from_args(args)?;
                let found = value.get_item(&key)?;
                Ok(if found.is_undefined() { default.unwrap_or_else(|| Value::from(())) } else { found })
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        };
    }
    let Some(text) = value.as_str() else { return Err(Error::from(ErrorKind::UnknownMethod)) };
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<&str>,) = from_args(args)?;
            let is_cut = |c: char| chars.map_or_else(|| c.is_whitespace(), |chars| chars.contains(c));
            Ok(Value::from(match name {
                "strip" => text.trim_matches(is_cut),
                "lstrip" => text.trim_start_matches(is_cut),
                _ => text.trim_end_matches(is_cut),
            }))
        }
        "upper" => Ok(Value::from(text.to_uppercase())),
        "lower" => Ok(Value::from(text.to_lowercase())),
        "title" | "capitalize" => state.apply_filter(name, std::slice::from_ref(value)),
        "startswith" => from_args::<(&str,)>(args).map(|(start,)| Value::from(text.starts_with(start))),
        "endswith" => from_args::<(&str,)>(args).map(|(end,)| Value::from(text.ends_with(end))),
        "replace" => from_args::<(&str, &str)>(args).map(|(from, to)| Value::from(text.replace(from, to))),
        "split" => {
            let (by,): (Option<&str>,) = from_args(args)?;
            let parts: Vec<Value> = match by {
                Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "empty separator")),
                Some(by) => text.split(by).map(Value::from).collect(),
                None => text.split_whitespace().map(Value::from).collect(),
            };
            Ok(Value::from(parts))
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::python::json_loads::loads;

    fn rendered(template: &str, messages: &str) -> Result<String, String> {
        let data = Node::Map(vec![("system".into(), Node::str("S")), ("n".into(), Node::Float(1.0))]);
        ChatTemplate::new(template, &data).unwrap().render(&loads(messages).unwrap())
    }

    #[test]
    fn blocks_leave_no_line_and_lines_between_braces_go() {
        let template = "{{ chat_template_data.system }}\n{% for m in messages %}\n{% if m['from'] == 'User' %}\nU: {{ m.value }}\n\
                        {% else %}\n  {% set x = 1 %}\nA: <b>{{ m['value'] }}</b>\n{% endif %}\n{% endfor %}";
        let messages = r#"[{"from": "User", "value": "1 < 2"}, {"from": "x", "value": "é"}]"#;
        assert_eq!(rendered(template, messages).unwrap(), "SU: 1 < 2A: <b>é</b>\n");
    }

    #[test]
    fn values_are_printed_as_python_prints_them() {
        let template = "{{ messages }}|{{ chat_template_data.n }}|{{ none }}|{{ true }}|{{ missing }}|{{ 7 }}";
        let messages = r#"[{"b": 1e16, "a": [null, true, "it's", "\n"]}]"#;
        assert_eq!(
            rendered(template, messages).unwrap(),
            "[{'b': 1e+16, 'a': [None, True, \"it's\", '\\n']}]|1.0|None|True||7"
        );
    }

    #[test]
    fn maps_keep_their_order_and_have_the_usual_methods() {
        let template = "{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}{{ messages[0].get('q', 3) }}\
                        {{ ' x '.strip() }}{{ 'a-b'.split('-')|join('+') }}{{ 'Ab'.lower() }}{{ 'ab'.startswith('a') }}";
        assert_eq!(rendered(template, r#"[{"z": 1, "a": 2}]"#).unwrap(), "z=1;a=2;3xa+babTrue");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        assert!(ChatTemplate::new("{% for %}", &Node::Null).err().unwrap().why.contains("line 1"));
        assert!(rendered("\n{{ messages.nothing.more }}", "[]").unwrap_err().contains("line 2"));
    }
}
