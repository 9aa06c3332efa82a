//! `openmps completions` and `openmps man`: what shells and `man` need, from the same source as `--help`.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use crate::args::{Arguments, Completions, Man};
use crate::failure::Failure;
use crate::output;

pub(crate) fn completions(completions: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Arguments::command(), "openmps", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(man: &Man) -> Result<(), Failure> {
    match &man.output {
        Some(folder) => write_pages(folder),
        None => output::print(&page(&Arguments::command(), "openmps")?),
    }
}

/// Writes a page for the command and one for each of its commands.
fn write_pages(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::about(folder, error))?;
    let mut command = Arguments::command();
    // Spells out the usage of commands with all names in front.
    command.build();
    let write = |name: &str, command: &clap::Command| {
        let path = folder.join(format!("{name}.1"));
        fs::write(&path, page(command, name)?).map_err(|error| Failure::about(&path, error))
    };
    write("openmps", &command)?;
    for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
        write(&format!("openmps-{}", one.get_name()), one)?;
        for inner in one.get_subcommands().filter(|inner| inner.get_name() != "help") {
            write(&format!("openmps-{}-{}", one.get_name(), inner.get_name()), inner)?;
        }
    }
    Ok(())
}

fn page(command: &clap::Command, title: &str) -> Result<String, Failure> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone()).title(title.to_uppercase()).section("1");
    man.render(&mut page).map_err(|error| Failure::output(&error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
