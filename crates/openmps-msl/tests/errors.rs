//! Mistakes that people make in kernels, each with what they read about it: `errors/NAME.metal` and `errors/NAME.txt`.
//!
//! The texts are the product: read them as somebody who wrote the kernel. `UPDATE_EXPECT=1` writes them anew.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

/// What no user should read: the words of the C++ that Metal becomes, and of the machinery behind.
const FOREIGN_WORDS: [&str; 26] = [
    "__global_host",
    "__local",
    "__private",
    "__generic",
    "sycl",
    "SYCL",
    "opencl",
    "OpenCL",
    "annotate",
    "__d::",
    "__air",
    "__MSL",
    "_Float16",
    "__bf16",
    "ext_vector",
    "__put_",
    "__get_",
    "scratch space",
    "built-in>",
    "msl/",
    ".h:",
    "spir64",
    "; use -",
    "note: use -",
    "pseudo-object",
    "__builtin",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors")
}

/// Names without endings of the files in the folder that end so.
fn names(ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut names: Vec<String> =
        paths.filter_map(|path| Some(path.file_name()?.to_str()?.strip_suffix(ending)?.to_owned())).collect();
    names.sort();
    names
}

fn text(name: &str, ending: &str) -> String {
    let path = folder().join(format!("{name}{ending}"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn message(name: &str) -> String {
    match common::compile(&text(name, ".metal")) {
        Ok(_) => panic!("errors/{name}.metal compiles"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_mistake_is_explained_as_agreed() {
    for name in names(".metal") {
        let path = folder().join(format!("{name}.txt"));
        expect_file![path].assert_eq(&message(&name));
    }
}

/// Places are in the user's text and in its lines; nothing shows how Metal is made into C++.
#[test]
fn no_message_speaks_of_anything_but_the_users_text() {
    for name in names(".txt") {
        let (text, source) = (text(&name, ".txt"), text(&name, ".metal"));
        for word in FOREIGN_WORDS {
            assert!(!text.contains(word) || source.contains(word), "errors/{name}.txt says '{word}'");
        }
        let first = text.lines().next().unwrap_or_default();
        let mut fields = first.strip_prefix("program_source:").unwrap_or_else(|| panic!("{name}: {first}")).split(':');
        let mut number = || fields.next().and_then(|field| field.parse::<usize>().ok());
        let (line, column) = (number().unwrap_or(0), number().unwrap_or(0));
        let length = source.lines().nth(line.wrapping_sub(1)).map(str::len);
        let is_inside = length.is_some_and(|length| (1..=length + 1).contains(&column));
        assert!(is_inside, "errors/{name}.txt has no place: {first}");
    }
}

#[test]
fn each_text_has_its_kernel() {
    assert_eq!(names(".metal"), names(".txt"));
    assert!(names(".metal").len() >= 150);
}
