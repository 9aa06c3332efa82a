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
