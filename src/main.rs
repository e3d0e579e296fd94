//! The thin binary: everything is in the library, so that tests and benches can reach it.

use std::process::ExitCode;

/// How many threads the fast reader of tokenizers takes for one text; ours are all busy with texts of their own.
const ONE_THREAD: &str = "FASTOKENS_BPE_THREADS";

fn main() -> ExitCode {
    // Before there are threads: the fast reader of tokenizers would start some of its own for long texts.
    if std::env::var_os(ONE_THREAD).is_none() {
        std::env::set_var(ONE_THREAD, "1");
    }
    ExitCode::from(gristmill::cli::main(std::env::args_os()))
}
