//! Runs clang: where the headers are, which precompiled header fits, and what to do when there is none.
//!
//! A precompiled header (PCH) is named by a hash of everything that it depends on: clang's version, the arguments, the
//! folder and the text of every header. It is looked for in the installed folder, then in the cache, else built into
//! the cache once. Without any of them clang parses the headers each time, which is slow but right.
//!
//! Headers that PyTorch pastes in front of a kernel get one of their own, chained to the first and named by their text. It is
//! built after the first compilation that had use for it, when somebody has time: see [`Driver::take_pending`].

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use openmps_engine::{Builtin, CompileOptions};
use openmps_llvm::clang::{self, Level, Outcome, Request};

use crate::limits::{BUFFER_COUNT_MAX, PASTED_HEADERS_MAX};
use crate::options;
use crate::rewrite::SOURCE_NAME;

/// How names of headers of pasted text begin.
const PASTED_PREFIX: &str = "pasted-";

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
    pasted: Mutex<PastedHeaders>,
}

/// What this process knows about headers of pasted text.
#[derive(Debug, Default)]
struct PastedHeaders {
    /// Names that were looked for and not found: each is built once, whatever comes of it.
    asked: HashSet<String>,
    pending: Option<PendingHeader>,
}

/// Pasted text whose precompiled header is worth building.
#[derive(Clone, Debug)]
pub struct PendingHeader {
    text: String,
    compile_options: CompileOptions,
    base: PathBuf,
}

impl Driver {
    /// Looks at no file yet.
    #[must_use]
    pub fn new(config: DriverConfig) -> Self {
        Self { config, header_hash: OnceLock::new(), headers: Mutex::default(), pasted: Mutex::default() }
    }

    /// Compiles rewritten text, whose first `pasted_line_count` lines are headers that PyTorch pasted.
    #[must_use]
    pub fn compile(&self, text: &str, pasted_line_count: Option<usize>, compile_options: &CompileOptions) -> Outcome {
        self.compile_with(text, pasted_line_count, compile_options, &[])
    }

    /// [`compile`](Self::compile) with more arguments, which must not change what headers mean.
    #[must_use]
    pub fn compile_with(
        &self,
        text: &str,
        pasted_line_count: Option<usize>,
        compile_options: &CompileOptions,
        more: &[&str],
    ) -> Outcome {
        let mut arguments = options::clang_arguments(compile_options, &self.config.include_dir);
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let with = |text: &str, words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned());
            let arguments: Vec<String> = arguments.iter().cloned().chain(words).collect();
            clang::compile(&request(text, &arguments, compile_options))
        };
        if let Some(base) = self.precompiled_header(compile_options) {
            let base_name = base.to_string_lossy();
            let (pasted, own) = split_lines(text, pasted_line_count);
            if let Some(header) = self.pasted_header(pasted, compile_options, &base) {
                // The lines that the header has stay counted. The first header is named because the second reads it; of two
                // arguments the last counts.
                let own = "\n".repeat(pasted_line_count.unwrap_or_default()) + own;
                let chain = ["-include-pch", &base_name, "-include-pch", &header.to_string_lossy()];
                let outcome = with(&own, &chain);
                if !blames_no_place(&outcome) {
                    return outcome;
                }
                // Damaged, or older than a header that was rebuilt: it is built again.
                let _ = fs::remove_file(header);
            }
            let outcome = with(text, &["-include-pch", &base_name]);
            if !blames_no_place(&outcome) {
                if matches!(outcome, Outcome::Compiled { .. }) {
                    self.remember_pasted(pasted, compile_options, base);
                }
                return outcome;
            }
            // The file went away or is damaged: a matter of this machine, not of the text.
            self.forget_precompiled_header(compile_options);
        }
        with(text, &["-include", "metal_stdlib"])
    }

    /// A header that the last compilations would have had use for, once.
    #[must_use]
    pub fn take_pending(&self) -> Option<PendingHeader> {
        self.pasted.lock().unwrap_or_else(PoisonError::into_inner).pending.take()
    }

    /// Builds a pending header. Compilations may go on meanwhile.
    ///
    /// # Errors
    /// When the folder cannot be written, or clang rejects the text.
    pub fn build_pending(&self, pending: &PendingHeader) -> io::Result<PathBuf> {
        let PendingHeader { text, compile_options, base } = pending;
        let Some(folder) = &self.config.pch_cache_dir else {
            return Err(io::Error::other("there is no folder for precompiled headers"));
        };
        remove_oldest_pasted(folder);
        let words = ["-include-pch".to_owned(), base.to_string_lossy().into_owned()];
        self.precompile(text, &words, compile_options, &folder.join(self.pasted_name(text, compile_options, base)))
    }

    fn pasted_header(&self, text: &str, compile_options: &CompileOptions, base: &Path) -> Option<PathBuf> {
        let folder = self.config.pch_cache_dir.as_ref().filter(|_| !text.is_empty())?;
        Some(folder.join(self.pasted_name(text, compile_options, base))).filter(|path| path.exists())
    }

    /// Text that clang has just accepted.
    fn remember_pasted(&self, text: &str, compile_options: &CompileOptions, base: PathBuf) {
        if text.is_empty() || self.config.pch_cache_dir.is_none() {
            return;
        }
        let name = self.pasted_name(text, compile_options, &base);
        let mut pasted = self.pasted.lock().unwrap_or_else(PoisonError::into_inner);
        if pasted.asked.len() < PASTED_HEADERS_MAX && pasted.asked.insert(name) {
            let compile_options = compile_options.clone();
            pasted.pending = Some(PendingHeader { text: text.to_owned(), compile_options, base });
        }
    }

    fn pasted_name(&self, text: &str, compile_options: &CompileOptions, base: &Path) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [self.header_name(compile_options).as_bytes(), base.as_os_str().as_encoded_bytes(), text.as_bytes()]
        {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let hash = hasher.finalize().to_hex();
        format!("{PASTED_PREFIX}{}-{}.pch", options::name(compile_options), &hash[..16])
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
        self.precompile(PRELUDE, &[], compile_options, &path)
    }

    /// Writes the precompiled header of `text` to `path`, whole or not at all.
    fn precompile(
        &self,
        text: &str,
        words: &[String],
        compile_options: &CompileOptions,
        path: &Path,
    ) -> io::Result<PathBuf> {
        let folder = path.parent().ok_or(io::ErrorKind::NotADirectory)?;
        fs::create_dir_all(folder)?;
        let mut arguments = options::clang_arguments(compile_options, &self.config.include_dir);
        for argument in arguments.iter_mut().filter(|argument| *argument == "c++") {
            "c++-header".clone_into(argument);
        }
        arguments.extend_from_slice(words);
        // A touched header must not invalidate it; the name already depends on the text.
        arguments.extend(["-emit-pch".to_owned(), "-fno-pch-timestamp".to_owned()]);
        // Otherwise each compile repeats the instantiations that the headers leave pending.
        arguments.push("-fpch-instantiate-templates".to_owned());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{}", std::process::id()));
        match clang::precompile_header(&request(text, &arguments, compile_options), &temporary) {
            Outcome::Compiled { .. } => fs::rename(&temporary, path).map(|()| path.to_path_buf()),
            Outcome::Rejected(diagnostics) => {
                let first = diagnostics.first().map_or("no reason given", |diagnostic| diagnostic.message.as_str());
                Err(io::Error::other(format!("clang rejects the headers: {first}")))
            }
            Outcome::Crashed => Err(io::Error::other("clang crashed on the headers")),
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

/// The first `line_count` lines of `text`, and the rest.
fn split_lines(text: &str, line_count: Option<usize>) -> (&str, &str) {
    let last = line_count.and_then(|count| text.match_indices('\n').nth(count.checked_sub(1)?));
    last.map_or(("", text), |(at, _)| text.split_at(at + 1))
}

/// Makes room for another header of pasted text: those that were built first go.
fn remove_oldest_pasted(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut headers: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_pasted = entry.file_name().to_string_lossy().starts_with(PASTED_PREFIX);
            is_pasted.then_some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    headers.sort();
    let surplus = (headers.len() + 1).saturating_sub(PASTED_HEADERS_MAX);
    for (_, path) in headers.into_iter().take(surplus) {
        // Another process may have been faster.
        let _ = fs::remove_file(path);
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
