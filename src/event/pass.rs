//! Which pass is at work: its word is on its log lines and on its events, so that one leads to the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

tokio::task_local! {
    static PASS: Arc<str>;
}

/// A word that no other pass has, of this process or another: microseconds of its start, and one more for each pass.
pub(crate) fn word() -> Arc<str> {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(Timestamp::now().as_microsecond().unsigned_abs()));
    format!("{:x}", NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

/// Does the work of the pass with this word.
pub(crate) async fn within<T>(word: Arc<str>, work: impl Future<Output = T>) -> T {
    PASS.scope(word, work).await
}

/// The word of the pass that is at work, if one is.
pub(super) fn current() -> Option<Arc<str>> {
    PASS.try_with(Arc::clone).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pass_is_known_within_it_and_no_two_have_the_same_word() {
        let (one, two) = (word(), word());
        assert_ne!(one, two);
        assert_eq!(current(), None);
        assert_eq!(within(Arc::clone(&one), async { current() }).await, Some(one));
    }
}
