//! Standard output, where a command answers.

use std::io::Write as _;

use anyhow::Context as _;

use crate::cli::exit::Unanswered;

/// Writes an answer, with its colours if a terminal shows them; who has stopped reading, such as `head`, has what he wants.
///
/// # Errors
/// When it cannot be written, for example on a full disk.
pub(super) fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context(Unanswered("writing to standard output".to_owned())),
    }
}
