//! The thin binary: everything is in the library, so that tests and benches can reach it.

use std::process::ExitCode;

/// How many threads the fast reader of tokenizers takes for one text; ours are all busy with texts of their own.
const FASTOKENS_THREADS_VARIABLE: &str = "FASTOKENS_BPE_THREADS";

fn main() -> ExitCode {
    // Set before threads start: the fast tokenizer library would otherwise start threads of its own for long texts.
    if std::env::var_os(FASTOKENS_THREADS_VARIABLE).is_none() {
        std::env::set_var(FASTOKENS_THREADS_VARIABLE, "1");
    }
    ExitCode::from(gristmill::cli::main(std::env::args_os()))
}
