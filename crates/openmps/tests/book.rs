//! The book's page of settings is the table itself; `./dev bless` rewrites it.

use expect_test::expect_file;

#[test]
fn the_settings_page_is_the_table() {
    let page = format!(
        "# Settings\n\nEach variable is read once, when the process first needs it. `./dev bless` writes this page from \
         `crates/openmps/src/settings/table.rs`.\n\n{}",
        openmps::settings::markdown()
    );
    expect_file!["../../../docs/settings.md"].assert_eq(&page);
}

#[test]
fn the_table_of_macs_is_in_the_book() {
    let page = include_str!("../../../docs/memory.md");
    let table = openmps::device::macs::markdown();
    assert!(page.contains(&table), "docs/memory.md should hold this table:\n{table}");
}
