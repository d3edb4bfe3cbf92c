//! The validating endpoint: the same judgement on the object as it will be stored, and what is doubtful about it.

use noderotation_core::policy::validate::validate;
use noderotation_core::policy::warning::warnings;

use crate::review::{Answer, Review};

/// The answer to a review.
#[must_use]
pub fn answer(review: &Review) -> Answer {
    if review.needs_no_judgement() {
        return Answer::PASS;
    }
    match validate(&review.object) {
        Err(faults) => Answer::Refuse { faults },
        Ok(_) => Answer::Allow { patch: Vec::new(), warnings: warnings(&review.object) },
    }
}
