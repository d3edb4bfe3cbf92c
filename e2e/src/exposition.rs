//! Metrics in the text format, as far as a test asks for them.

/// What /metrics answered.
#[derive(Clone, Debug)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// From the body of the answer.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self { text }
    }

    /// The value of the series with exactly these labels, in any order.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.text.lines().find_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (series_name, written) = series.split_once('{').unwrap_or((series, "}"));
            let mut written: Vec<&str> = written.strip_suffix('}')?.split(',').filter(|label| !label.is_empty()).collect();
            let mut wanted: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
            written.sort_unstable();
            wanted.sort_unstable();
            (series_name == name && written == wanted).then(|| value.parse().ok()).flatten()
        })
    }

    /// The sum over all series of that name.
    #[must_use]
    pub fn sum(&self, name: &str) -> f64 {
        let values = self.text.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let series_name = series.split('{').next()?;
            (series_name == name).then(|| value.parse::<f64>().ok()).flatten()
        });
        values.sum()
    }

    /// Every sample: the series as it is written, and its value.
    pub fn samples(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '))
    }

    /// The body as it was answered.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines of series whose name begins so and which have the label.
    #[must_use]
    pub fn lines(&self, name: &str, label: (&str, &str)) -> Vec<&str> {
        let label = format!("{}=\"{}\"", label.0, label.1);
        self.text.lines().filter(|line| line.starts_with(name) && line.contains(&label)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_of_one_name_are_added_up() {
        assert_eq!(["a_total", "b", "c"].map(|name| exposition().sum(name)), [2.0, 1.0, 0.0]);
    }

    fn exposition() -> Exposition {
        let text = "# HELP a_total Ends.\n# TYPE a_total counter\na_total{nodepool=\"x\",outcome=\"success\"} 2\na_total{nodepool=\"x\",outcome=\"failure\"} 0\nb 1\nb_more 7\n";
        Exposition::new(text.to_owned())
    }

    #[test]
    fn values_are_found_by_all_their_labels() {
        let value = |name, labels: &[(&str, &str)]| exposition().value(name, labels);
        assert_eq!(value("a_total", &[("outcome", "success"), ("nodepool", "x")]), Some(2.0));
        assert_eq!(value("a_total", &[("nodepool", "x"), ("outcome", "failure")]), Some(0.0));
        assert_eq!(value("a_total", &[("nodepool", "x")]), None);
        assert_eq!(value("b", &[]), Some(1.0));
        assert_eq!(value("c", &[]), None);
    }

    #[test]
    fn samples_are_all_lines_but_comments() {
        let exposition = exposition();
        let samples: Vec<_> = exposition.samples().collect();
        assert_eq!(samples.len(), 4);
        assert_eq!(samples.last(), Some(&("b_more", "7")));
    }

    #[test]
    fn lines_go_by_name_and_label() {
        assert_eq!(exposition().lines("a_", ("nodepool", "x")).len(), 2);
        assert_eq!(exposition().lines("a_", ("nodepool", "y")).len(), 0);
    }
}
