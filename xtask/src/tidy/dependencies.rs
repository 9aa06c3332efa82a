//! What the crates are built from: licences that allow what ours do, and sources that everyone can reach.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::{Workspace, command};

/// Licences that put no condition on who uses openmps under its own (MIT or Apache-2.0) but to keep their text.
const LICENCES: [&str; 8] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "Zlib",
    "Unicode-3.0",
];

/// Where packages may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Adds dependencies of other licences and from other sources. The lock file decides which there are.
pub(super) fn check(workspace: &Workspace, findings: &mut Vec<String>) -> Result<()> {
    // Another system's dependencies are not downloaded.
    let options = ["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let metadata: Value = serde_json::from_str(&command("cargo").args(options).output(workspace)?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    for package in packages {
        let name = package["name"].as_str().context("a package has a name")?;
        findings.extend(refusal(name, package["license"].as_str(), package["source"].as_str()));
    }
    Ok(())
}

/// What speaks against a package; its own crates have no source.
fn refusal(name: &str, licence: Option<&str>, source: Option<&str>) -> Option<String> {
    if source.is_some_and(|source| source != REGISTRY) {
        return Some(format!("Cargo.lock: {name} comes from {}, not from the registry", source.unwrap_or_default()));
    }
    let licence = licence.unwrap_or("no licence that its manifest names");
    (!is_allowed(licence))
        .then(|| format!("Cargo.lock: {name} has {licence}; see LICENCES in xtask/src/tidy/dependencies.rs"))
}

/// Whether an expression can be met by [`LICENCES`]: each of its conditions by one choice.
fn is_allowed(expression: &str) -> bool {
    expression.split(" AND ").all(|condition| {
        let choices = condition.trim_matches(['(', ')']).replace('/', " OR ");
        choices.split(" OR ").any(|choice| LICENCES.contains(&choice.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_met_by_a_choice_for_each_condition() {
        for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "LGPL-2.1 OR MPL-2.0", "Apache-2.0 WITH Some-exception", ""] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn packages_come_from_the_registry_and_name_their_licence() {
        assert_eq!(refusal("a", Some("MIT"), Some(REGISTRY)), None);
        assert_eq!(refusal("own", Some("MIT OR Apache-2.0"), None), None);
        assert!(refusal("a", None, Some(REGISTRY)).is_some());
        assert!(refusal("a", Some("MIT"), Some("git+https://example.org/a")).is_some());
    }
}
