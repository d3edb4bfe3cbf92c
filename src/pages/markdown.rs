//! Pages as a program reads them: tables, code in sentences, and blocks of code.

use super::{files, read};

/// One page.
pub(super) struct Page {
    /// Path from the root.
    pub(super) name: String,
    text: String,
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    /// The heading that it stands under.
    pub(super) section: String,
    heads: Vec<String>,
    cells: Vec<String>,
}

impl Row {
    /// The cell below this head.
    pub(super) fn cell(&self, head: &str) -> &str {
        let place = self.heads.iter().position(|of| of == head).unwrap_or_else(|| panic!("no column {head} in {self:?}"));
        self.cells.get(place).unwrap_or_else(|| panic!("no cell for {head} in {self:?}"))
    }

    /// What is code in the first cell: what the row is about.
    pub(super) fn subjects(&self) -> Vec<String> {
        code(self.cells.first().map_or("", String::as_str))
    }
}

/// Every page that is in the repository for people who run or judge the operator.
pub(super) fn all() -> Vec<Page> {
    let of_root = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned);
    let names = of_root.into_iter().chain(files("docs", ".md")).chain(files("charts", ".md"));
    let pages: Vec<Page> = names.map(|name| Page::new(&name)).collect();
    assert!(pages.len() > 25, "only {} pages were found", pages.len());
    pages
}

impl Page {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), text: read(name) }
    }

    /// All of it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Without blocks of code.
    fn prose(&self) -> String {
        let outside = self.text.split("\n```").step_by(2);
        // The rest of the line that ends a block is empty.
        outside.collect::<Vec<_>>().join("\n")
    }

    /// Language and text of each block of code.
    pub(super) fn blocks(&self) -> Vec<(&str, &str)> {
        let inside = self.text.split("\n```").skip(1).step_by(2);
        inside.map(|block| block.split_once('\n').unwrap_or((block, ""))).collect()
    }

    /// What is code in its sentences and tables.
    pub(super) fn code(&self) -> Vec<String> {
        let prose = self.prose();
        for paragraph in prose.split("\n\n") {
            assert!(paragraph.matches('`').count() % 2 == 0, "{}: a backtick is missing in:\n{paragraph}", self.name);
        }
        code(&prose)
    }

    /// The sentences under a heading, up to the next one.
    pub(super) fn section(&self, heading: &str) -> String {
        let lines = self.text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('#'));
        let section: String = lines.map(|line| format!("{line}\n")).collect();
        assert!(!section.is_empty(), "{} has no section {heading}", self.name);
        section
    }

    /// The rows of all its tables.
    pub(super) fn rows(&self) -> Vec<Row> {
        let prose = self.prose();
        let (mut rows, mut section, mut heads) = (Vec::new(), String::new(), Vec::new());
        let mut before: Vec<String> = Vec::new();
        for line in prose.lines() {
            if let Some(heading) = line.strip_prefix('#') {
                section = heading.trim_start_matches('#').trim().to_owned();
            }
            let cells: Vec<String> = line
                .strip_prefix('|')
                .and_then(|line| line.strip_suffix('|'))
                .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
                .unwrap_or_default();
            if cells.is_empty() {
                heads.clear();
            } else if cells.iter().all(|cell| cell.chars().all(|c| c == '-' || c == ' ')) && !before.is_empty() {
                heads = std::mem::take(&mut before);
            } else if !heads.is_empty() {
                rows.push(Row { section: section.clone(), heads: heads.clone(), cells: cells.clone() });
            }
            before = cells;
        }
        assert!(!rows.is_empty(), "{} has no table", self.name);
        rows
    }
}

/// What is code in a text.
pub(super) fn code(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(|word| word.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
