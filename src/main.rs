//! The thin binary: everything is in the library, so that tests and benches can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(gristmill::cli::main(std::env::args_os()))
}
