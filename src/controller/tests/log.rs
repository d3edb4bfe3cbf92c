//! What is logged, for tests to read.

use std::io;
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;

/// What was logged on this thread since it was made, from the level INFO on.
pub(in crate::controller) struct Log {
    written: Written,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_| io::ErrorKind::Other)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(in crate::controller) fn new() -> Self {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false).with_writer(move || writer.clone());
        Self { written, _guard: tracing::subscriber::set_default(subscriber.finish()) }
    }

    /// Level, message and fields of each line.
    pub(in crate::controller) fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.written.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| line.trim().to_owned()).collect()
    }
}

/// What `work` logs.
pub(in crate::controller) fn logged(work: impl FnOnce()) -> Vec<String> {
    let log = Log::new();
    work();
    log.lines()
}
