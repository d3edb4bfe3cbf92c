//! The fields of a fleet: the tables of docs/simulate.md beside those that `simulate` reads.

use noderotation_simulate::fleet::FIELDS;

use super::markdown::{Page, Row};
use super::{Names, assert_same, names};

const PAGE: &str = "docs/simulate.md";

/// Their paths; those of a pool from the pool on.
pub(super) fn fields() -> Names {
    let path = |of: &str, field: &str| if of.is_empty() { field.to_owned() } else { format!("{of}.{field}") };
    let paths = FIELDS.iter().flat_map(|(of, fields)| fields.iter().map(move |field| path(of, field)));
    names(paths.map(|path| path.strip_prefix("pools[].").map(str::to_owned).unwrap_or(path)))
}

#[test]
fn every_field_of_a_fleet_has_a_row() {
    let rows = Page::new(PAGE).rows();
    let of_page = rows.iter().filter(|row| row.section == "The file of a fleet").flat_map(Row::subjects);
    assert_same(PAGE, &of_page.collect(), &fields());
}
