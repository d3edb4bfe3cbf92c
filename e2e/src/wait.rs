//! Waiting for a condition, with a deadline and a message that says what was seen last.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(100);
/// The same where the time that passes is measured.
const CLOSE: Duration = Duration::from_millis(1);

/// The result of one look.
#[derive(Debug)]
pub enum Look<T> {
    /// The condition holds.
    Done(T),
    /// It does not hold yet; the text says what is so instead.
    NotYet(String),
}

impl<T> Look<T> {
    /// `Done` when there is a value.
    pub fn from_option(value: Option<T>, otherwise: &str) -> Self {
        value.map_or_else(|| Self::NotYet(otherwise.to_owned()), Self::Done)
    }
}

/// Looks again and again until the condition holds. An error of a look counts as "not yet": the cluster may be busy.
///
/// # Errors
/// At the deadline, with what was awaited and what was seen last.
pub async fn until<T>(what: &str, deadline: Duration, look: impl AsyncFnMut() -> Result<Look<T>>) -> Result<T> {
    every(PERIOD, what, deadline, look).await
}

/// The same with hardly any time between two looks, to measure how long it takes.
///
/// # Errors
/// At the deadline, with what was awaited and what was seen last.
pub async fn closely<T>(what: &str, deadline: Duration, look: impl AsyncFnMut() -> Result<Look<T>>) -> Result<T> {
    every(CLOSE, what, deadline, look).await
}

async fn every<T>(period: Duration, what: &str, deadline: Duration, mut look: impl AsyncFnMut() -> Result<Look<T>>) -> Result<T> {
    let begun = Instant::now();
    loop {
        let seen = match look().await {
            Ok(Look::Done(value)) => return Ok(value),
            Ok(Look::NotYet(seen)) => seen,
            Err(error) => format!("{error:#}"),
        };
        if begun.elapsed() >= deadline {
            bail!("waited {}s for {what}; last seen: {seen}", deadline.as_secs());
        }
        tokio::time::sleep(period).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_value_is_returned_as_soon_as_it_is_there() {
        let mut looks = 0;
        let value = until("the third look", Duration::from_secs(60), async || {
            looks += 1;
            Ok(if looks == 3 { Look::Done(looks) } else { Look::NotYet("fewer".to_owned()) })
        });
        assert_eq!(value.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn the_deadline_says_what_was_awaited_and_seen() {
        let result = until::<()>("the node", Duration::ZERO, async || anyhow::bail!("no node")).await;
        assert_eq!(result.unwrap_err().to_string(), "waited 0s for the node; last seen: no node");
    }
}
