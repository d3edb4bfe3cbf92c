//! The roots that callers are to trust, in order.
//!
//! While one authority follows another both are in here, so that whatever is served verifies for every API server, also
//! for one that has not yet heard of the change.

use std::fmt;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Roots as PEM, none twice. Its `Display` is the text of a `caBundle`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle(Vec<String>);

impl Bundle {
    /// The certificates in a text; what is around them is left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let blocks = text.split_inclusive(END).filter(|piece| piece.ends_with(END)).filter_map(|piece| piece.split_once(BEGIN));
        blocks.fold(Self::default(), |bundle, (_, rest)| bundle.joined_by(&format!("{BEGIN}{rest}\n")))
    }

    /// The root that signs.
    #[must_use]
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    /// All of them, in order.
    pub fn roots(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// With `root` behind the others.
    #[must_use]
    pub fn joined_by(mut self, root: &str) -> Self {
        if !self.contains(root) {
            self.0.push(root.to_owned());
        }
        self
    }

    /// With `root` in front of the others.
    #[must_use]
    pub fn led_by(&self, root: &str) -> Self {
        self.0.iter().fold(Self(vec![root.to_owned()]), |bundle, other| bundle.joined_by(other))
    }

    /// Without those behind the first.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self(self.0.first().cloned().into_iter().collect())
    }

    /// Whether `root` is in it.
    #[must_use]
    pub fn contains(&self, root: &str) -> bool {
        self.0.iter().any(|other| other == root)
    }

    /// The roots themselves.
    ///
    /// # Errors
    /// When one of them is not PEM.
    pub fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
        self.0.iter().map(|root| CertificateDer::from_pem_slice(root.as_bytes())).collect()
    }
}

impl fmt::Display for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|root| f.write_str(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str) -> String {
        format!("{BEGIN}\n{name}\n{END}\n")
    }

    fn text(names: &[&str]) -> String {
        names.iter().map(|name| root(name)).collect()
    }

    #[test]
    fn only_whole_certificates_are_read_and_each_once() {
        let rows = [
            ("nothing", String::new(), ""),
            ("one", root("a"), "a"),
            ("one twice", text(&["a", "a"]), "a"),
            ("words around", format!("for the webhook\n{}# end\n{}", root("a"), root("b")), "a b"),
            ("no line end", text(&["a", "b"]).trim_end().to_owned(), "a b"),
            ("cut off", format!("{}{BEGIN}\nb", root("a")), "a"),
        ];
        for (name, given, expected) in rows {
            let names: Vec<_> = expected.split_whitespace().collect();
            assert_eq!(Bundle::parse(&given).to_string(), text(&names), "{name}");
        }
    }

    #[test]
    fn a_new_root_comes_behind_leads_and_stays_alone() {
        let both = Bundle::parse(&root("old")).joined_by(&root("new"));
        assert_eq!(both.to_string(), text(&["old", "new"]));
        let led = both.led_by(&root("new"));
        assert_eq!(led.to_string(), text(&["new", "old"]));
        assert_eq!(led.alone().to_string(), root("new"));
        assert_eq!(led.first(), Some(root("new").as_str()));
        assert!(led.contains(&root("old")) && !led.alone().contains(&root("old")));
    }

    #[test]
    fn what_is_no_certificate_is_an_error() {
        assert!(Bundle::parse(&root("!")).certificates().is_err());
        assert_eq!(Bundle::default().certificates().unwrap().len(), 0);
    }
}
