//! An answer that is good for some seconds, however many ask for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Look;

/// Looks once and tells the same for so long; why there is nothing to draw is not kept.
pub(crate) fn kept(look: Look, age: Duration) -> Look {
    let last: Mutex<Option<(Instant, Value)>> = Mutex::default();
    Arc::new(move || {
        // Held while it looks: whoever comes meanwhile gets that answer.
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = last.as_ref().filter(|(at, _)| at.elapsed() < age) {
            return Ok(value.clone());
        }
        *last = None;
        let value = look()?;
        *last = Some((Instant::now(), value.clone()));
        Ok(value)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::ui::Fault;

    fn counting(faults: u64) -> Look {
        let count = AtomicU64::new(0);
        Arc::new(move || match count.fetch_add(1, Ordering::Relaxed) {
            number if number < faults => Err(vec![Fault::new("not yet")]),
            number => Ok(number.into()),
        })
    }

    #[test]
    fn an_answer_is_kept_for_its_time_and_a_fault_is_not() {
        let look = kept(counting(1), Duration::MAX);
        assert_eq!(look(), Err(vec![Fault::new("not yet")]));
        assert_eq!((look(), look()), (Ok(1.into()), Ok(1.into())));
        let look = kept(counting(0), Duration::ZERO);
        assert_eq!((look(), look()), (Ok(0.into()), Ok(1.into())));
    }
}
