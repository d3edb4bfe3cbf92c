//! The files of the page, compiled in.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A file with what its answer says of it.
#[derive(Debug)]
pub(super) struct Asset {
    /// Its name below the page's path; empty for the page itself.
    pub(super) name: &'static str,
    /// Content-Type.
    pub(super) kind: &'static str,
    /// Its text.
    pub(super) text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All of them.
pub(super) const ASSETS: [Asset; 9] = [
    Asset { name: "", kind: "text/html; charset=utf-8", text: include_str!("site/index.html") },
    Asset { name: "page.css", kind: "text/css; charset=utf-8", text: include_str!("site/page.css") },
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("site/icon.svg") },
    Asset { name: "page.js", kind: SCRIPT, text: include_str!("site/page.js") },
    Asset { name: "pool.js", kind: SCRIPT, text: include_str!("site/pool.js") },
    Asset { name: "timeline.js", kind: SCRIPT, text: include_str!("site/timeline.js") },
    Asset { name: "explain.js", kind: SCRIPT, text: include_str!("site/explain.js") },
    Asset { name: "clock.js", kind: SCRIPT, text: include_str!("site/clock.js") },
    Asset { name: "state.js", kind: SCRIPT, text: include_str!("site/state.js") },
];

impl Asset {
    /// The file of a name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.name == name)
    }

    /// The same for the same text, and another for another.
    pub(super) fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_together_are_small() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes < 300_000, "{bytes} bytes");
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/site");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        for name in names {
            assert!(name == "index.html" || Asset::named(&name).is_some(), "{name} is not served");
        }
    }

    #[test]
    fn no_file_names_another_host() {
        for asset in &ASSETS {
            let text = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("://") && !text.contains("\"//"), "{:?} names a host", asset.name);
        }
    }

    #[test]
    fn nothing_is_written_into_the_page_as_markup() {
        for asset in &ASSETS {
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "style="] {
                assert!(!asset.text.contains(word), "{:?} has {word}, which what a cluster says could break out of", asset.name);
            }
        }
    }
}
