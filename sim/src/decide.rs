//! Asks the code that ships, and remembers what it said: the same sight at the same time gets the same decision.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use noderotation_core::rotation::observation::Look;
use noderotation_core::rotation::step;

use crate::fault::Fault;
use crate::fingerprint::fingerprint;
use crate::instant::Instant;
use crate::plan::Plan;
use crate::setup::Setup;
use crate::sight::{Sight, Unrepresentable};
use crate::world::object::Bytes;

/// What the product said.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It must see this first.
    Look(Look),
    /// Its decision.
    Plan(Arc<Plan>),
}

/// How many parts the memory has, so that threads rarely wait for each other.
const PARTS: usize = 64;

type Part = Mutex<HashMap<u128, Answer>>;

/// The product, asked at most once about the same thing.
#[derive(Debug)]
pub struct Decider {
    parts: Vec<Part>,
    asked: AtomicU64,
    answered: AtomicU64,
}

impl Default for Decider {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| Part::default()).collect(), asked: AtomicU64::new(0), answered: AtomicU64::new(0) }
    }
}

impl Decider {
    /// What the product says about a sight at `now`.
    ///
    /// # Errors
    /// It says something that the world cannot represent.
    pub fn ask(&self, setup: &Setup, sight: &Sight, now: Instant) -> Result<Answer, Unrepresentable> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut bytes = Bytes(Vec::with_capacity(512));
        bytes.word(now.0);
        sight.encode(&mut bytes);
        let key = (u128::from(fingerprint(&bytes.0, 1)) << 64) | u128::from(fingerprint(&bytes.0, 2));
        let part = usize::try_from(key % 64).ok().and_then(|part| self.parts.get(part));
        let known = part.and_then(|part| part.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        self.answered.fetch_add(1, Ordering::Relaxed);
        let answer = match setup.fault {
            None => ask(setup, sight, now)?,
            Some(fault) => ask_with(fault, setup, sight, now)?,
        };
        if let Some(part) = part {
            part.lock().unwrap_or_else(PoisonError::into_inner).insert(key, answer.clone());
        }
        Ok(answer)
    }

    /// How often it was asked, and how often the product had to be.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.asked.load(Ordering::Relaxed), self.answered.load(Ordering::Relaxed))
    }
}

fn ask(setup: &Setup, sight: &Sight, now: Instant) -> Result<Answer, Unrepresentable> {
    Ok(match step(&sight.observation(setup), now.timestamp()) {
        ControlFlow::Break(look) => Answer::Look(look),
        ControlFlow::Continue(decision) => Answer::Plan(Arc::new(Plan::of(&decision)?)),
    })
}

/// The same, of a product with a fault.
fn ask_with(fault: &Fault, setup: &Setup, sight: &Sight, now: Instant) -> Result<Answer, Unrepresentable> {
    let mut seen = fault.seen(sight);
    // What is taken for done is done once.
    for _ in 0..2 {
        let plan = match ask(setup, &seen, now)? {
            Answer::Look(look) => return Ok(Answer::Look(look)),
            Answer::Plan(plan) => plan,
        };
        match fault.written((*plan).clone()) {
            Some(plan) => return Ok(Answer::Plan(Arc::new(plan))),
            None => Fault::done(&mut seen, &plan),
        }
    }
    ask(setup, &seen, now)
}
