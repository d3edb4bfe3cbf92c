//! Instants of the world: whole seconds, because that is what the API server stores.

use std::fmt;

use jiff::Timestamp;

/// 2025-12-01T00:00:00Z, a Monday, before anything happens in any world.
const EPOCH: i64 = 1_764_547_200;

/// Seconds of a day.
pub const DAY: u32 = 24 * HOUR;
/// Seconds of an hour.
pub const HOUR: u32 = 60 * MINUTE;
/// Seconds of a minute.
pub const MINUTE: u32 = 60;

/// Seconds since the world's epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u32);

impl Instant {
    /// The `day`-th day of the world, counted from 0, at a time of day in UTC.
    #[must_use]
    pub const fn at(day: u32, hour: u32, minute: u32) -> Self {
        Self(day * DAY + hour * HOUR + minute * MINUTE)
    }

    /// Later by `seconds`.
    #[must_use]
    pub const fn plus(self, seconds: u32) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Earlier by `seconds`.
    #[must_use]
    pub const fn minus(self, seconds: u32) -> Self {
        Self(self.0.saturating_sub(seconds))
    }

    /// Seconds from `earlier` to here; 0 if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.saturating_sub(earlier.0)
    }

    /// Day of the week, Monday is 0.
    #[must_use]
    pub const fn weekday(self) -> u32 {
        (self.0 / DAY) % 7
    }

    /// Seconds since midnight.
    #[must_use]
    pub const fn second_of_day(self) -> u32 {
        self.0 % DAY
    }

    /// As the product sees it.
    #[must_use]
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_second(EPOCH + i64::from(self.0)).unwrap_or_default()
    }

    /// The instant of a time stamp; `None` before the epoch and for parts of a second.
    #[must_use]
    pub fn of(at: Timestamp) -> Option<Self> {
        let second = u32::try_from(at.as_second().checked_sub(EPOCH)?).ok()?;
        (at.subsec_nanosecond() == 0).then_some(Self(second))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.timestamp().strftime("%a %d %b %H:%M:%S"))
    }
}
