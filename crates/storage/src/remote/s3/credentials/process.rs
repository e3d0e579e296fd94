//! Keys that a program prints (`credential_process`).

use super::{parse_keys, Keys, ACTIVITY};
use gristmill_core::{Failure, Outcome, Subject};
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;

/// Time limit of the program.
const MAX_TIME: Duration = Duration::from_secs(60);
/// Interval between checks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum size of its output, in bytes.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// Runs the program of a profile. Its output is never shown: it contains the keys.
pub(super) async fn run(command: &str, source: &str) -> Outcome<Keys> {
    let refuse = {
        let source = source.to_owned();
        move |why: &str| {
            Failure::environment(ACTIVITY, format!("its credential_process {why}")).on(Subject::field(&source))
        }
    };
    let words = split_words(command).ok_or_else(|| refuse("has a quote that does not end"))?;
    let Some((program, arguments)) = words.split_first() else { return Err(refuse("is empty")) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = spawn_blocking(move || output_of(command)).await;
    match output.ok().flatten() {
        Some(output) => parse_keys(&output, source).ok_or_else(|| refuse("prints no keys")),
        None => Err(refuse("fails")
            .with_hint("run it by hand: it has to print JSON with Version, AccessKeyId and SecretAccessKey")),
    }
}

/// Returns the output of a program; `None` if it cannot be run, fails, or takes too long.
pub(in crate::remote) fn output_of(mut command: Command) -> Option<Vec<u8>> {
    let mut child = command.spawn().ok()?;
    let stdout = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut output = Vec::new();
        stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut output).map(|_| output)
    });
    let is_success = wait(&mut child);
    if !is_success {
        _ = child.kill();
        _ = child.wait();
        return None;
    }
    reader.join().ok()?.ok()
}

fn wait(child: &mut Child) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < MAX_TIME {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Err(_) => return false,
        }
    }
    false
}

/// Splits a command line into words like Python's `shlex`; `None` if a quote is not closed.
fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(characters.next()?),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        end if end == character => break,
                        '\\' if character == '"' => match characters.next()? {
                            escaped @ ('"' | '\\') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_command_is_split_like_in_a_shell() {
        let words = split_words(r#"/a/b 'c d' "e \"f\" \g" h\ i ''"#).unwrap();
        assert_eq!(words, ["/a/b", "c d", r#"e "f" \g"#, "h i", ""]);
        assert_eq!(split_words("a 'b"), None);
    }

    #[test]
    fn credential_program_gives_keys_and_its_output_is_never_shown() {
        let run = |command: &str| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(super::run(command, "the profile p"))
        };
        let json = r#"{"Version":1,"AccessKeyId":"AK","SecretAccessKey":"sk","Expiration":"2100-01-01T00:00:00Z"}"#;
        let keys = run(&format!("printf %s '{json}'")).unwrap();
        assert_eq!((keys.id.as_str(), keys.secret.reveal()), ("AK", "sk"));
        assert!(keys.expires.is_some() && !format!("{keys:?}").contains("sk\""));
        for command in ["/nonexistent/x", "false", "echo hidden", ""] {
            let failure = run(command).unwrap_err();
            assert!(!failure.to_string().contains("hidden"), "{failure}");
            assert_eq!(failure.class.code(), 3);
        }
    }
}
