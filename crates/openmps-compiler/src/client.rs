//! The compiler as the runtime sees it: the cache first, else the compiler process, which is started when it is needed.
//!
//! Guarantees: as many requests are answered at once as there are CPUs, each by a process of its own, which later requests
//! use again; one that died is replaced, and a request that kills two of them in a row is answered with [`CompileError::Internal`] that says how they died; one that takes
//! longer than [`ProcessLimits::time`] is ended with its process and answered likewise; a forked child starts its own. A
//! cache hit starts nothing and uses no LLVM. Kernels that are wanted some time have one process of their own, which leaves the
//! CPUs to others ([`BACKGROUND_NICENESS`]).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use openmps_cpu::CodeGenerator;
use openmps_engine::{
    AirLoader, CompileError, CompileOptions, CompiledSource, ConstantValues, EngineError, EngineOptions,
    KernelSignature, LoadedAir, SourceCompiler, VerifiedAir,
};

use crate::cache::{CACHE_BYTES_DEFAULT, DiskCache, Key};
use crate::limits::BACKGROUND_NICENESS;
use crate::pool::ProcessPools;
use crate::process::{ProcessError, ProcessLimits};
use crate::protocol::{self, PROTOCOL_VERSION, Request, Response};

/// Where the compiler and its cache are.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The executable `openmps-compiler`.
    pub executable: PathBuf,
    /// The folder of `metal_stdlib`; by default `include` beside the executable.
    pub include_dir: Option<PathBuf>,
    /// The cache's folder; nothing is cached without one. See [`crate::cache::default_folder`].
    pub cache_dir: Option<PathBuf>,
    /// Bytes that the cache may take.
    pub cache_bytes_max: u64,
    /// What one request may cost.
    pub limits: ProcessLimits,
}

impl ClientConfig {
    /// The executable with its own headers and default limits, and no cache.
    #[must_use]
    pub fn new(executable: PathBuf) -> Self {
        Self {
            executable,
            include_dir: None,
            cache_dir: None,
            cache_bytes_max: CACHE_BYTES_DEFAULT,
            limits: ProcessLimits::default(),
        }
    }
}

/// Compiles source text and kernels in another process. Share one; it is cheap to call from any thread.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    cache: DiskCache,
    /// What the answers depend on beside the request.
    identity: OnceLock<Vec<u8>>,
    processes: ProcessPools,
    /// For what nobody waits for.
    background: ProcessPools,
}

impl Client {
    /// A client that has started nothing.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        let cache = DiskCache::new(config.cache_dir.as_deref(), config.cache_bytes_max);
        let mut arguments: Vec<std::ffi::OsString> = vec!["serve".into()];
        if let Some(folder) = &config.include_dir {
            arguments.extend(["--include".into(), folder.into()]);
        }
        if let Some(folder) = &config.cache_dir {
            arguments.extend(["--pch-cache".into(), folder.join("pch").into()]);
        }
        let processes = ProcessPools::new(config.executable.clone(), arguments.clone(), config.limits);
        arguments.extend(["--nice".into(), BACKGROUND_NICENESS.to_string().into()]);
        let one = ProcessLimits { processes: 1, ..config.limits };
        let background = ProcessPools::new(config.executable.clone(), arguments, one);
        Self { config, cache, identity: OnceLock::new(), processes, background }
    }

    /// The process id of the compiler that the next request goes to, for tests; none where one would be started.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process_ids().pop()
    }

    /// The process ids of the compilers that wait for a request, in the order of their last answers.
    #[must_use]
    pub fn process_ids(&self) -> Vec<u32> {
        self.processes.waiting_ids()
    }

    /// The process id of the compiler that builds in the background, for tests; none where one would be started.
    #[must_use]
    pub fn background_process_id(&self) -> Option<u32> {
        self.background.waiting_ids().pop()
    }

    pub(crate) fn ask(&self, request: &[u8], purpose: &str) -> Result<Response, ProcessError> {
        ask(&self.processes, request, purpose)
    }

    fn key(&self, kind: &str, parts: &[&[u8]]) -> Key {
        let identity = self.identity.get_or_init(|| compiler_identity(&self.config));
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(kind.as_bytes());
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(&PROTOCOL_VERSION.to_le_bytes());
        add(identity);
        parts.iter().for_each(|part| add(part));
        hasher.finalize()
    }

    fn cached<T: serde::de::DeserializeOwned>(&self, key: &Key) -> Option<T> {
        protocol::decode(&self.cache.get(key)?).ok()
    }

    fn keep(&self, key: &Key, answer: &impl serde::Serialize) {
        if let Ok(bytes) = protocol::encode(answer) {
            self.cache.put(key, &bytes);
        }
    }
}

impl SourceCompiler for Client {
    fn compile_source(&self, source: &str, options: &CompileOptions) -> Result<CompiledSource, CompileError> {
        let internal = |error: &dyn std::fmt::Display| CompileError::Internal(error.to_string());
        let request = Request::CompileSource { source: source.to_owned(), options: options.clone() };
        let request = protocol::encode(&request).map_err(|error| internal(&error))?;
        let key = self.key("source", &[&request]);
        if let Some(answer) = self.cached(&key) {
            return answer;
        }
        let answer = match self.ask(&request, "it compiled source text").map_err(|error| internal(&error))? {
            Response::Source(answer) => answer,
            Response::Air(_)
            | Response::Object(_)
            | Response::Modules(_)
            | Response::Counting(_)
            | Response::Text(_) => {
                return Err(internal(&another_question()));
            }
        };
        // Wrong source stays wrong; a failure of the compiler need not repeat.
        if !matches!(answer, Err(CompileError::Internal(_))) {
            self.keep(&key, &answer);
        }
        answer
    }
}

impl CodeGenerator for Client {
    fn generate(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        self.object(&self.processes, air, signature, options)
    }

    fn cached(&self, air: &VerifiedAir, signature: &KernelSignature, options: &EngineOptions) -> Option<Vec<u8>> {
        self.cached(&self.object_key(air, signature, options).ok()??)
    }

    fn generate_in_background(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        self.object(&self.background, air, signature, options)
    }
}

impl Client {
    /// The object of a kernel, from the cache or from one of `processes`.
    fn object(
        &self,
        processes: &ProcessPools,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        let internal = |error: &dyn std::fmt::Display| EngineError::Internal(error.to_string());
        let key = self.object_key(air, signature, options)?;
        if let Some(object) = key.as_ref().and_then(|key| self.cached(key)) {
            return Ok(object);
        }
        let request = Request::BuildObject { air: air.clone(), signature: signature.clone(), options: options.clone() };
        let request = protocol::encode(&request).map_err(|error| internal(&error))?;
        let purpose = format!("it compiled kernel '{}'", signature.name);
        let object = match ask(processes, &request, &purpose).map_err(|error| internal(&error))? {
            Response::Object(answer) => answer?,
            Response::Source(_)
            | Response::Air(_)
            | Response::Modules(_)
            | Response::Counting(_)
            | Response::Text(_) => {
                return Err(internal(&another_question()));
            }
        };
        if let Some(key) = &key {
            self.keep(key, &object);
        }
        Ok(object)
    }

    /// The name of a kernel's object in the cache. None where code is dumped after each pass, a side effect that an answer from the
    /// cache would not have.
    fn object_key(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Option<Key>, EngineError> {
        if options.dump_dir.is_some() {
            return Ok(None);
        }
        let described = protocol::encode(&(signature, options));
        let described = described.map_err(|error| EngineError::Internal(error.to_string()))?;
        let target = openmps_cpu::target_id();
        Ok(Some(self.key("object", &[air.hash().as_bytes(), &described, target.as_bytes()])))
    }
}

impl AirLoader for Client {
    fn load(&self, bitcode: &[u8]) -> Result<LoadedAir, EngineError> {
        let key = self.key("air", &[bitcode]);
        let request = || Request::LoadAir { bitcode: bitcode.to_owned() };
        self.answer_air(&key, request, "it read a module of a Metal library")
    }

    fn specialize(&self, air: &VerifiedAir, kernel: &str, values: &ConstantValues) -> Result<LoadedAir, EngineError> {
        let described =
            protocol::encode(&(kernel, values)).map_err(|error| EngineError::Internal(error.to_string()))?;
        let key = self.key("specialized", &[air.hash().as_bytes(), &described]);
        let request = || Request::Specialize { air: air.clone(), kernel: kernel.to_owned(), values: values.clone() };
        self.answer_air(&key, request, &format!("it set the function constants of kernel '{kernel}'"))
    }
}

impl Client {
    /// The answer kept under `key`, else the compiler's to `request`.
    fn answer_air(
        &self,
        key: &Key,
        request: impl FnOnce() -> Request,
        purpose: &str,
    ) -> Result<LoadedAir, EngineError> {
        let internal = |error: &dyn std::fmt::Display| EngineError::Internal(error.to_string());
        if let Some(answer) = self.cached(key) {
            return answer;
        }
        let request = protocol::encode(&request()).map_err(|error| internal(&error))?;
        let answer = match self.ask(&request, purpose).map_err(|error| internal(&error))? {
            Response::Air(answer) => answer,
            Response::Source(_)
            | Response::Object(_)
            | Response::Modules(_)
            | Response::Counting(_)
            | Response::Text(_) => {
                return Err(internal(&another_question()));
            }
        };
        // A bad module stays bad; a failure of the compiler need not repeat.
        if !matches!(answer, Err(EngineError::Internal(_))) {
            self.keep(key, &answer);
        }
        answer
    }
}

fn ask(processes: &ProcessPools, request: &[u8], purpose: &str) -> Result<Response, ProcessError> {
    let bytes = processes.exchange(request, purpose)?;
    protocol::decode(&bytes).map_err(|error| ProcessError::Answer(error.to_string()))
}

pub(crate) fn another_question() -> ProcessError {
    ProcessError::Answer("it answers another question".to_owned())
}

/// Size and time of the executable and of every header: what changes when either is replaced.
fn compiler_identity(config: &ClientConfig) -> Vec<u8> {
    let mut identity = Vec::new();
    let mut add = |path: &Path| {
        let Ok(metadata) = fs::metadata(path) else { return };
        identity
            .extend(path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default().into_bytes());
        identity.extend(metadata.size().to_le_bytes());
        identity.extend(metadata.mtime().to_le_bytes());
        identity.extend(metadata.mtime_nsec().to_le_bytes());
    };
    add(&config.executable);
    let include_dir = config.include_dir.clone().or_else(|| Some(config.executable.parent()?.join("include")));
    let mut folders: Vec<PathBuf> = include_dir.into_iter().collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else {
                add(&path);
            }
        }
    }
    identity
}
