//! What an operator exposed while something happened to it: a few scrapes, each with a name.
//!
//! Its text is a table: a line for each series, a column for each scrape, `_` where the series was not there. The label `pod`
//! is that which a Prometheus adds; everything else is as it was scraped.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;

/// Stands for a series that a scrape did not show.
const ABSENT: &str = "_";

/// Scrapes in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// What happened, in a sentence.
    pub says: String,
    /// When the first scrape was, to the second.
    pub begun: Timestamp,
    /// Name of each scrape, and how many seconds after the first it was.
    readings: Vec<(String, i64)>,
    /// Values by series, one for each scrape.
    series: BTreeMap<String, Vec<String>>,
}

impl Recording {
    /// An empty one.
    #[must_use]
    pub fn new(says: &str, begun: Timestamp) -> Self {
        let begun = Timestamp::from_second(begun.as_second()).unwrap_or(begun);
        Self { says: says.to_owned(), begun, readings: Vec::new(), series: BTreeMap::new() }
    }

    /// Adds a scrape. Each sample is a series as it is exposed and its value.
    pub fn read<'a>(&mut self, name: &str, at: Timestamp, samples: impl IntoIterator<Item = (String, &'a str)>) {
        let before = self.readings.len();
        for (series, value) in samples {
            let values = self.series.entry(series).or_default();
            values.resize(before, ABSENT.to_owned());
            values.push(value.to_owned());
        }
        self.readings.push((name.to_owned(), at.as_second() - self.begun.as_second()));
        self.series.values_mut().for_each(|values| values.resize(before + 1, ABSENT.to_owned()));
    }

    /// The series.
    pub fn series(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(String::as_str)
    }

    /// The names of the scrapes.
    pub fn readings(&self) -> impl Iterator<Item = &str> {
        self.readings.iter().map(|(name, _)| name.as_str())
    }

    /// The value of the first series whose name and labels begin so, at the scrape of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn value(&self, series: &str, name: &str) -> Result<f64> {
        let found = self.at(name)?.find(|(written, value)| written.starts_with(series) && value.is_some());
        let value = found.and_then(|(_, value)| value).with_context(|| format!("{name} shows no {series} in {self}"))?;
        value.parse().with_context(|| format!("{series} is {value}"))
    }

    /// The value of each series at the scrape of that name; `None` where it was not there.
    ///
    /// # Errors
    /// When there is no such scrape.
    pub fn at(&self, name: &str) -> Result<impl Iterator<Item = (&str, Option<&str>)>> {
        let column = self.readings.iter().position(|(reading, _)| reading == name);
        let column = column.with_context(|| format!("there is no reading {name} in {self}"))?;
        Ok(self
            .series
            .iter()
            .map(move |(series, values)| (series.as_str(), values.get(column).map(String::as_str).filter(|value| *value != ABSENT))))
    }

    /// From its text.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let mut after =
            |head: &str| lines.next().and_then(|line| line.strip_prefix(head)).with_context(|| format!("no line begins with {head}"));
        let says = after("# ")?;
        let begun = after("# begun ")?.parse().context("when it was begun")?;
        let mut recording = Self::new(says, begun);
        for reading in after("# readings ")?.split(' ') {
            let (name, second) = reading.split_once('@').with_context(|| format!("{reading} is not NAME@SECOND"))?;
            recording.readings.push((name.to_owned(), second.parse().with_context(|| format!("the second of {reading}"))?));
        }
        for line in lines {
            // The value of a label may contain spaces; what comes after the labels does not.
            let end = line.rfind('}').map(|end| end + 1).or_else(|| line.find(' ')).unwrap_or(line.len());
            let (series, values) = line.split_at(end);
            let values: Vec<String> = values.split_whitespace().map(str::to_owned).collect();
            ensure!(values.len() == recording.readings.len(), "{series} has {} values", values.len());
            recording.series.insert(series.to_owned(), values);
        }
        Ok(recording)
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let readings: Vec<String> = self.readings.iter().map(|(name, second)| format!("{name}@{second}")).collect();
        writeln!(f, "# {}\n# begun {}\n# readings {}", self.says, self.begun, readings.join(" "))?;
        self.series.iter().try_for_each(|(series, values)| writeln!(f, "{series} {}", values.join(" ")))
    }
}

/// A series with the label that a Prometheus adds to what it scrapes from a Pod.
#[must_use]
pub fn of_pod(series: &str, pod: &str) -> String {
    match series.split_once('{') {
        Some((name, labels)) => format!("{name}{{pod=\"{pod}\",{labels}"),
        None => format!("{series}{{pod=\"{pod}\"}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn recording() -> Recording {
        let mut recording = Recording::new("Something happened.", at(0));
        recording.read("before", at(0), [("a{pod=\"x\",l=\"b c\"}".to_owned(), "1"), ("b{pod=\"x\"}".to_owned(), "2.5")]);
        recording.read("after", at(7), [("b{pod=\"x\"}".to_owned(), "3"), ("c{pod=\"x\"}".to_owned(), "4")]);
        recording
    }

    #[test]
    fn its_text_is_a_table_and_is_read_again() {
        let text = recording().to_string();
        let expected = "# Something happened.\n# begun 2027-01-15T08:00:00Z\n# readings before@0 after@7\n\
                        a{pod=\"x\",l=\"b c\"} 1 _\nb{pod=\"x\"} 2.5 3\nc{pod=\"x\"} _ 4\n";
        assert_eq!(text, expected);
        assert_eq!(Recording::parse(&text).unwrap(), recording());
        assert!(Recording::parse(&text.replace(" 2.5 3", " 2.5")).is_err());
    }

    #[test]
    fn a_reading_is_found_by_its_name() {
        let recording = recording();
        let after: Vec<_> = recording.at("after").unwrap().map(|(_, value)| value).collect();
        assert_eq!(after, [None, Some("3"), Some("4")]);
        assert!(recording.at("never").is_err());
    }

    #[test]
    fn the_label_of_the_pod_is_added_to_any_series() {
        assert_eq!(of_pod("a", "x"), "a{pod=\"x\"}");
        assert_eq!(of_pod("a{b=\"c\"}", "x"), "a{pod=\"x\",b=\"c\"}");
    }
}
