//! What is logged, for tests to read.

use tracing::subscriber::DefaultGuard;

use crate::sink::Sink;

/// What was logged on this thread since it was made, from the level INFO on.
pub(in crate::controller) struct Log {
    written: Sink,
    _guard: DefaultGuard,
}

impl Log {
    pub(in crate::controller) fn new() -> Self {
        let written = Sink::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false).with_writer(move || writer.clone());
        Self { written, _guard: tracing::subscriber::set_default(subscriber.finish()) }
    }

    /// Level, message and fields of each line.
    pub(in crate::controller) fn lines(&self) -> Vec<String> {
        self.written.text().lines().map(|line| line.trim().to_owned()).collect()
    }
}

/// What `work` logs.
pub(in crate::controller) fn logged(work: impl FnOnce()) -> Vec<String> {
    let log = Log::new();
    work();
    log.lines()
}
