//! Annotations in a form that is small to store and quick to compare: a fixed set of keys, each with a value in a word.
//!
//! Whatever the product writes must be representable here and must read back as the same text; anything else is an
//! error that ends the run, so that a new key or a new kind of value cannot go by unseen.

use noderotation_core::annotation as key;
use noderotation_core::duration;

use crate::instant::Instant;

/// A key of ours, or the one that is shared with people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is described where the product spells it")]
pub enum Key {
    Anchor,
    Mirror,
    DrainingAt,
    SurgeWait,
    SurgePath,
    Mode,
    LastRotationAt,
    LastFailureAt,
    Freeze,
    WindowOpenedAt,
    State,
    StartedAt,
    FailedAt,
    RetryCount,
    SurgeClaim,
    Rollback,
    SurgeFor,
    ProtectionOwned,
    Cordoned,
    Protection,
}

/// Every key with its spelling.
const KEYS: [(Key, &str); 20] = [
    (Key::Anchor, key::ACTIVE_ROTATION),
    (Key::Mirror, key::ACTIVE_ROTATION_STATE),
    (Key::DrainingAt, key::DRAINING_AT),
    (Key::SurgeWait, key::SURGE_WAIT),
    (Key::SurgePath, key::SURGE_PATH),
    (Key::Mode, key::ROTATION_MODE),
    (Key::LastRotationAt, key::LAST_ROTATION_AT),
    (Key::LastFailureAt, key::LAST_FAILURE_AT),
    (Key::Freeze, key::FREEZE),
    (Key::WindowOpenedAt, key::WINDOW_OPENED_AT),
    (Key::State, key::STATE),
    (Key::StartedAt, key::STARTED_AT),
    (Key::FailedAt, key::FAILED_AT),
    (Key::RetryCount, key::RETRY_COUNT),
    (Key::SurgeClaim, key::SURGE_CLAIM),
    (Key::Rollback, key::ROLLBACK),
    (Key::SurgeFor, key::SURGE_FOR),
    (Key::ProtectionOwned, key::DO_NOT_DISRUPT_OWNED),
    (Key::Cordoned, key::CORDONED),
    (Key::Protection, key::DO_NOT_DISRUPT),
];

/// Keys of a NodePool.
pub const POOL: [Key; 10] = [
    Key::Anchor,
    Key::Mirror,
    Key::DrainingAt,
    Key::SurgeWait,
    Key::SurgePath,
    Key::Mode,
    Key::LastRotationAt,
    Key::LastFailureAt,
    Key::Freeze,
    Key::WindowOpenedAt,
];
/// Keys of a NodeClaim.
pub const CLAIM: [Key; 6] = [Key::State, Key::StartedAt, Key::FailedAt, Key::RetryCount, Key::SurgeClaim, Key::Rollback];
/// Keys of a Node.
pub const NODE: [Key; 4] = [Key::SurgeFor, Key::ProtectionOwned, Key::Cordoned, Key::Protection];
/// Keys that mean nothing without the anchor (I4).
pub const COMPANIONS: [Key; 5] = [Key::Mirror, Key::DrainingAt, Key::SurgeWait, Key::SurgePath, Key::Mode];

impl Key {
    /// The key that is spelt `text`.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        KEYS.iter().find(|(_, spelling)| *spelling == text).map(|(key, _)| *key)
    }

    /// Its spelling.
    #[must_use]
    pub fn spelling(self) -> &'static str {
        KEYS.iter().find(|(key, _)| *key == self).map_or("", |(_, spelling)| spelling)
    }

    /// Its place among the keys of its kind of object.
    fn place(self) -> usize {
        match self {
            Self::Anchor | Self::State | Self::SurgeFor => 0,
            Self::Mirror | Self::StartedAt | Self::ProtectionOwned => 1,
            Self::DrainingAt | Self::FailedAt | Self::Cordoned => 2,
            Self::SurgeWait | Self::RetryCount | Self::Protection => 3,
            Self::SurgePath | Self::SurgeClaim => 4,
            Self::Mode | Self::Rollback => 5,
            Self::LastRotationAt => 6,
            Self::LastFailureAt => 7,
            Self::Freeze => 8,
            Self::WindowOpenedAt => 9,
        }
    }
}

/// Words that occur as values, ours and people's.
const WORDS: [&str; 16] = [
    "draining",
    "pending",
    "failed",
    "expired",
    "true",
    "false",
    "provisioned",
    "absorbed",
    "forceful-fallback",
    "readyTimeout",
    "governanceLost",
    "banana",
    "soon",
    "claim-none",
    "-1",
    "",
];

const SHIFT: u32 = 28;
const STAMP: u32 = 1;
const SPAN: u32 = 2;
const CLAIM_NAME: u32 = 3;
const NUMBER: u32 = 4;
const WORD: u32 = 5;
const CLAIM_PREFIX: &str = "claim-";

/// The value of an annotation; the default is its absence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

impl Value {
    /// Not there.
    pub const ABSENT: Self = Self(0);

    const fn new(tag: u32, payload: u32) -> Self {
        Self((tag << SHIFT) | (payload & ((1 << SHIFT) - 1)))
    }

    const fn payload(self, tag: u32) -> Option<u32> {
        if self.0 >> SHIFT == tag { Some(self.0 & ((1 << SHIFT) - 1)) } else { None }
    }

    /// RFC 3339.
    #[must_use]
    pub const fn stamp(at: Instant) -> Self {
        Self::new(STAMP, at.0)
    }

    /// The name of a claim.
    #[must_use]
    pub fn claim(id: u16) -> Self {
        Self::new(CLAIM_NAME, u32::from(id))
    }

    /// A word of the table; absent if it is none.
    #[must_use]
    pub fn word(text: &str) -> Self {
        let index = WORDS.iter().position(|word| *word == text).and_then(|index| u32::try_from(index).ok());
        index.map_or(Self::ABSENT, |index| Self::new(WORD, index))
    }

    /// There.
    #[must_use]
    pub const fn is_present(self) -> bool {
        self.0 != 0
    }

    /// It is this word.
    #[must_use]
    pub fn is(self, word: &str) -> bool {
        self.is_present() && self == Self::word(word)
    }

    /// The instant, if it is one.
    #[must_use]
    pub fn as_stamp(self) -> Option<Instant> {
        self.payload(STAMP).map(Instant)
    }

    /// The claim, if it names one.
    #[must_use]
    pub fn as_claim(self) -> Option<u16> {
        self.payload(CLAIM_NAME).and_then(|id| u16::try_from(id).ok())
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(self) -> Option<u32> {
        self.payload(NUMBER)
    }

    /// The value that is written as `text`; `None` if it cannot be represented.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let number = || text.parse().ok().map(|number: u32| Self::new(NUMBER, number));
        let stamp = || Some(Self::stamp(Instant::of(text.parse().ok()?)?));
        let claim = || Some(Self::claim(text.strip_prefix(CLAIM_PREFIX)?.parse().ok()?));
        let word = || Some(Self::word(text)).filter(|value| value.is_present());
        let span = || Some(Self::new(SPAN, u32::try_from(duration::parse(text).ok()?.as_secs()).ok()?));
        let value = number().or_else(word).or_else(claim).or_else(stamp).or_else(span)?;
        (value.text() == text).then_some(value)
    }

    /// As it is written.
    #[must_use]
    pub fn text(self) -> String {
        let payload = self.0 & ((1 << SHIFT) - 1);
        match self.0 >> SHIFT {
            STAMP => key::stamp(Instant(payload).timestamp()),
            SPAN => duration::go_string(std::time::Duration::from_secs(payload.into())),
            CLAIM_NAME => format!("{CLAIM_PREFIX}{payload}"),
            NUMBER => payload.to_string(),
            WORD => usize::try_from(payload).ok().and_then(|index| WORDS.get(index)).copied().unwrap_or_default().to_owned(),
            _ => String::new(),
        }
    }
}

/// The annotations of one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Annotations([Value; 10]);

impl Annotations {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: Key) -> Value {
        self.0.get(key.place()).copied().unwrap_or_default()
    }

    /// The key is there.
    #[must_use]
    pub fn has(&self, key: Key) -> bool {
        self.get(key).is_present()
    }

    /// Sets a key, or removes it with [`Value::ABSENT`]; true if that changed anything.
    pub fn set(&mut self, key: Key, value: Value) -> bool {
        self.0.get_mut(key.place()).is_some_and(|old| std::mem::replace(old, value) != value)
    }

    /// Sets and removes what a patch says.
    pub fn apply(&mut self, change: &[(Key, Value)]) {
        for (key, value) in change {
            self.set(*key, *value);
        }
    }

    /// A patch would change something.
    #[must_use]
    pub fn differ_from(&self, change: &[(Key, Value)]) -> bool {
        change.iter().any(|(key, value)| self.get(*key) != *value)
    }

    /// All places, in order.
    #[must_use]
    pub fn words(&self) -> &[Value] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_spelling_and_a_place_of_its_own() {
        for keys in [&POOL[..], &CLAIM[..], &NODE[..]] {
            let mut annotations = Annotations::default();
            for key in keys {
                assert_eq!(Key::of(key.spelling()), Some(*key));
                assert!(annotations.set(*key, Value::word("true")), "{key:?} shares its place");
            }
        }
    }

    #[test]
    fn a_value_reads_back_as_the_same_text() {
        for text in ["2026-01-07T02:00:00Z", "15m0s", "1h0m5s", "claim-12", "3", "draining", "", "banana"] {
            assert_eq!(Value::read(text).map(Value::text).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_cannot_be_represented_is_refused() {
        for text in ["2026-01-07T02:00:00.5Z", "2026-01-07T03:00:00+01:00", "15m", "claim-01", "melon"] {
            assert_eq!(Value::read(text), None, "{text}");
        }
    }
}
