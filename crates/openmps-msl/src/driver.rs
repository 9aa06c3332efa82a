//! Runs clang: where the headers are, which precompiled header fits, and what to do when there is none.
//!
//! A precompiled header (PCH) is named by a hash of everything that it depends on: clang's version, the arguments, the
//! folder and the text of every header. It is looked for in the installed folder, then in the cache, else built into
//! the cache once. Without any of them clang parses the headers each time, which is slow but right.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use openmps_engine::{Builtin, CompileOptions};
use openmps_llvm::clang::{self, Level, Outcome, Request};

use crate::limits::BUFFER_COUNT_MAX;
use crate::options;
use crate::rewrite::SOURCE_NAME;

/// The header that every source has, included or not.
const PRELUDE: &str = "#include <metal_stdlib>\n";

/// Where the front end finds and leaves files.
#[derive(Clone, Debug)]
pub struct DriverConfig {
    /// The folder of `metal_stdlib`.
    pub include_dir: PathBuf,
    /// Where an installation has put precompiled headers.
    pub installed_pch_dir: Option<PathBuf>,
    /// Where to put precompiled headers that are missing; none are built without it.
    pub pch_cache_dir: Option<PathBuf>,
}

/// Clang with our headers.
#[derive(Debug)]
pub struct Driver {
    config: DriverConfig,
    header_hash: OnceLock<String>,
    headers: Mutex<HashMap<CompileOptions, Option<PathBuf>>>,
}

impl Driver {
    /// Looks at no file yet.
    #[must_use]
    pub fn new(config: DriverConfig) -> Self {
        Self { config, header_hash: OnceLock::new(), headers: Mutex::new(HashMap::new()) }
    }

    /// Compiles rewritten text.
    #[must_use]
    pub fn compile(&self, text: &str, compile_options: &CompileOptions) -> Outcome {
        let arguments = options::clang_arguments(compile_options, &self.config.include_dir);
        let with = |words: [String; 2]| {
            let arguments: Vec<String> = arguments.iter().cloned().chain(words).collect();
            clang::compile(&request(text, &arguments, compile_options))
        };
        if let Some(path) = self.precompiled_header(compile_options) {
            let outcome = with(["-include-pch".to_owned(), path.to_string_lossy().into_owned()]);
            if !blames_no_place(&outcome) {
                return outcome;
            }
            // The file went away or is damaged: a matter of this machine, not of the text.
            self.forget_precompiled_header(compile_options);
        }
        with(["-include".to_owned(), "metal_stdlib".to_owned()])
    }

    /// Builds the precompiled header for `compile_options` into `folder`, unless it is there.
    ///
    /// # Errors
    /// When the folder cannot be written, or clang rejects the headers.
    pub fn build_precompiled_header(&self, compile_options: &CompileOptions, folder: &Path) -> io::Result<PathBuf> {
        let path = folder.join(self.header_name(compile_options));
        if path.exists() {
            return Ok(path);
        }
        fs::create_dir_all(folder)?;
        let mut arguments = options::clang_arguments(compile_options, &self.config.include_dir);
        for argument in arguments.iter_mut().filter(|argument| *argument == "c++") {
            "c++-header".clone_into(argument);
        }
        // A touched header must not invalidate it; the name already depends on the text.
        arguments.extend(["-emit-pch".to_owned(), "-fno-pch-timestamp".to_owned()]);
        // Otherwise each compile repeats the instantiations that the headers leave pending.
        arguments.push("-fpch-instantiate-templates".to_owned());
        let temporary = folder.join(format!(".{}.{}", self.header_name(compile_options), std::process::id()));
        let outcome = clang::precompile_header(&request(PRELUDE, &arguments, compile_options), &temporary);
        match outcome {
            Outcome::Compiled { .. } => fs::rename(&temporary, &path).map(|()| path),
            Outcome::Rejected(diagnostics) => {
                let first = diagnostics.first().map_or("no reason given", |diagnostic| diagnostic.message.as_str());
                Err(io::Error::other(format!("clang rejects the library headers: {first}")))
            }
            Outcome::Crashed => Err(io::Error::other("clang crashed on the library headers")),
        }
    }

    fn precompiled_header(&self, compile_options: &CompileOptions) -> Option<PathBuf> {
        let mut headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = headers.entry(compile_options.clone()).or_insert_with(|| self.find_or_build(compile_options));
        // Caches are cleaned and packages replaced while this process runs.
        if known.as_ref().is_some_and(|path| !path.exists()) {
            *known = self.find_or_build(compile_options);
        }
        known.clone()
    }

    /// Makes sure that the file which clang cannot read is not used again by this process.
    fn forget_precompiled_header(&self, compile_options: &CompileOptions) {
        self.headers.lock().unwrap_or_else(PoisonError::into_inner).insert(compile_options.clone(), None);
    }

    fn find_or_build(&self, compile_options: &CompileOptions) -> Option<PathBuf> {
        let name = self.header_name(compile_options);
        let installed = self.config.installed_pch_dir.as_ref().map(|folder| folder.join(&name));
        if let Some(path) = installed.filter(|path| path.exists()) {
            return Some(path);
        }
        let cache = self.config.pch_cache_dir.as_ref()?;
        self.build_precompiled_header(compile_options, cache).ok()
    }

    fn header_name(&self, compile_options: &CompileOptions) -> String {
        let mut hasher = blake3::Hasher::new();
        // Counts up with every change to how the header is built.
        hasher.update(b"2");
        hasher.update(self.header_hash.get_or_init(|| hash_folder(&self.config.include_dir)).as_bytes());
        for argument in options::clang_arguments(compile_options, &self.config.include_dir) {
            hasher.update(argument.as_bytes());
            hasher.update(b"\0");
        }
        let hash = hasher.finalize().to_hex();
        format!("metal_stdlib-{}-{}.pch", options::name(compile_options), &hash[..16])
    }
}

/// Whether clang rejects something that is at no line of any text: a file that it was told to use.
fn blames_no_place(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Rejected(diagnostics) => {
            diagnostics.iter().any(|diagnostic| diagnostic.line == 0 && diagnostic.level == Level::Error)
        }
        Outcome::Compiled { .. } | Outcome::Crashed => false,
    }
}

fn request<'a>(source: &'a str, arguments: &'a [String], compile_options: &CompileOptions) -> Request<'a> {
    static BUILTINS: OnceLock<Vec<&'static str>> = OnceLock::new();
    Request {
        source,
        source_name: SOURCE_NAME,
        arguments,
        module: options::module_facts(compile_options),
        builtins: BUILTINS.get_or_init(|| Builtin::ALL.into_iter().map(Builtin::name).collect()),
        buffer_count_max: BUFFER_COUNT_MAX,
    }
}

/// Names and texts of every file below `folder`, and clang's version. What cannot be read counts as empty: clang will
/// say what is wrong with it.
fn hash_folder(folder: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(clang::version().as_bytes());
    let mut folders = vec![folder.to_path_buf()];
    while let Some(current) = folders.pop() {
        let Ok(entries) = fs::read_dir(&current) else { continue };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap_or_default();
            hasher.update(path.to_string_lossy().as_bytes());
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
        }
    }
    hasher.finalize().to_hex().to_string()
}
