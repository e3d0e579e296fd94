//! The binary only calls the library, so that tests and benches can use all code.

use std::process::ExitCode;

/// Sets the number of threads that the fast tokenizer library uses for one text.
const FASTOKENS_THREADS_VARIABLE: &str = "FASTOKENS_BPE_THREADS";

fn main() -> ExitCode {
    // Set before threads start. The threads of this program already encode texts in parallel; the library would start additional ones for
    // long texts.
    if std::env::var_os(FASTOKENS_THREADS_VARIABLE).is_none() {
        std::env::set_var(FASTOKENS_THREADS_VARIABLE, "1");
    }
    ExitCode::from(gristmill::cli::main(std::env::args_os()))
}
