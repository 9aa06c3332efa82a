//! Writes libraries that this reader, and readers of Apple's libraries, read.
//!
//! Functions come out in the order in which they were pushed, every function with its own module, as Apple's compiler does.
//! Same input, same bytes. Left out: reflection lists, debug information, everything for graphics.

use std::collections::BTreeSet;

use thiserror::Error;

use super::bitcode;
use super::constants::{FunctionConstant, write_constants};
use super::function::{FunctionType, Versions};
use super::header::{COUNT_BYTES, HEADER_BYTES, MAGIC};
use super::sha256::sha256;
use super::tags::{self, END};

/// What a library is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// See [`Header::platform`](super::Header::platform).
    pub platform: u16,
    /// Version of the container, major and minor.
    pub version: (u16, u16),
    /// See [`Header::os`](super::Header::os).
    pub os: u8,
    /// Oldest version of the operating system, major and minor.
    pub os_version: (u16, u16),
}

impl Default for Target {
    /// macOS 14, container 2.7: what Apple's compiler writes for Metal 3.1.
    fn default() -> Self {
        Self { platform: 0x8001, version: (2, 7), os: 0x81, os_version: (14, 0) }
    }
}

/// The two forms in which Apple's tools write libraries. They differ in the order of tags and in whether the size of a metadata
/// record counts its own four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// As in PyTorch's libraries: the size of a record leaves its own bytes out, nothing stands behind the function list.
    #[default]
    SizeExcluded,
    /// As in MLX's libraries: the size of a record counts its own bytes, and the library has a UUID, made from its contents.
    SizeIncluded,
}

/// A function to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFunction {
    /// The name; also the symbol in the module.
    pub name: String,
    /// What it is.
    pub function_type: FunctionType,
    /// Versions of AIR and language.
    pub versions: Versions,
    /// Its module, without wrapper.
    pub bitcode: Vec<u8>,
    /// Its function constants.
    pub constants: Vec<FunctionConstant>,
}

impl NewFunction {
    /// A kernel of AIR 2.6 and Metal 3.1 without function constants.
    #[must_use]
    pub fn kernel(name: &str, bitcode: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            function_type: FunctionType::Kernel,
            versions: Versions { air: (2, 6), language: (3, 1) },
            bitcode,
            constants: Vec::new(),
        }
    }
}

/// Why a function cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The name is empty, has a NUL, or is too long.
    #[error("function name '{name}': {problem}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The library has a function of that name already.
    #[error("function '{0}' is in the library already")]
    DuplicateName(String),
    /// The module is no bitcode, or longer than the wrapper can say.
    #[error("function '{function}': {problem}")]
    Bitcode {
        /// Its name.
        function: String,
        /// What is wrong with the module.
        problem: String,
    },
    /// A function constant cannot be written, or all of them are too long.
    #[error("function '{function}': function constant{problem}")]
    Constant {
        /// Its name.
        function: String,
        /// Which one, and what is wrong.
        problem: String,
    },
}

/// A library in the making.
#[derive(Clone, Debug)]
pub struct Writer {
    target: Target,
    dialect: Dialect,
    functions: Vec<Written>,
    names: BTreeSet<String>,
}

/// A function whose parts are checked and ready.
#[derive(Clone, Debug)]
struct Written {
    name: String,
    function_type: FunctionType,
    versions: Versions,
    blob: Vec<u8>,
    /// Tags of the public record, without `ENDT`.
    public: Vec<u8>,
}

impl Writer {
    /// An empty library.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self { target, dialect: Dialect::default(), functions: Vec::new(), names: BTreeSet::new() }
    }

    /// Writes in the form `dialect`.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Adds `function` behind the others.
    ///
    /// # Errors
    /// When the function cannot be written, or its name is taken; the library stays as it was.
    pub fn push(&mut self, function: NewFunction) -> Result<(), WriteError> {
        let NewFunction { name, function_type, versions, bitcode, constants } = function;
        check_text(&name).map_err(|problem| WriteError::Name { name: name.clone(), problem })?;
        if self.names.contains(&name) {
            return Err(WriteError::DuplicateName(name));
        }
        let public =
            public_tags(&constants).map_err(|problem| WriteError::Constant { function: name.clone(), problem })?;
        let blob = blob(&bitcode).map_err(|problem| WriteError::Bitcode { function: name.clone(), problem })?;
        self.names.insert(name.clone());
        self.functions.push(Written { name, function_type, versions, blob, public });
        Ok(())
    }

    /// The library's bytes.
    ///
    /// # Panics
    /// When there are 2^32 functions.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut parts = Parts::default();
        for function in &self.functions {
            let offsets = [parts.public.len(), parts.private.len(), parts.bitcode.len()].map(|offset| offset as u64);
            self.write_record(&mut parts.public, &function.public);
            self.write_record(&mut parts.private, &[]);
            parts.bitcode.extend_from_slice(&function.blob);
            self.write_group(&mut parts.list, function, offsets);
        }
        self.assemble(&parts)
    }

    fn write_record(&self, out: &mut Vec<u8>, tags: &[u8]) {
        let own = match self.dialect {
            Dialect::SizeExcluded => 0,
            Dialect::SizeIncluded => 4,
        };
        let size = u32::try_from(own + tags.len() + END.len()).expect("a record has one tag");
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(tags);
        out.extend_from_slice(&END);
    }

    fn write_group(&self, out: &mut Vec<u8>, function: &Written, offsets: [u64; 3]) {
        let Written { name, function_type, versions, blob, .. } = function;
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        tags::write(out, *b"NAME", &[name.as_bytes(), &[0]].concat());
        tags::write(out, *b"TYPE", &[function_type.byte()]);
        tags::write(out, *b"HASH", &sha256(blob));
        let size = (blob.len() as u64).to_le_bytes();
        let offsets = offsets.map(u64::to_le_bytes).concat();
        let versions = versions.to_payload();
        let rest: [(tags::Code, &[u8]); 3] = match self.dialect {
            Dialect::SizeExcluded => [(*b"MDSZ", &size), (*b"OFFT", &offsets), (*b"VERS", &versions)],
            Dialect::SizeIncluded => [(*b"OFFT", &offsets), (*b"VERS", &versions), (*b"MDSZ", &size)],
        };
        for (code, payload) in rest {
            tags::write(out, code, payload);
        }
        out.extend_from_slice(&END);
        let size = u32::try_from(out.len() - start).expect("a group has some tags of 64 KiB at most");
        out[start..start + 4].copy_from_slice(&size.to_le_bytes());
    }

    fn assemble(&self, parts: &Parts) -> Vec<u8> {
        let mut extension = Vec::new();
        if self.dialect == Dialect::SizeIncluded {
            let digest = sha256(&[&parts.list[..], &parts.public].concat());
            tags::write(&mut extension, *b"UUID", &digest[..16]);
        }
        extension.extend_from_slice(&END);
        let functions = HEADER_BYTES;
        let public = functions + COUNT_BYTES + parts.list.len() as u64 + extension.len() as u64;
        let private = public + parts.public.len() as u64;
        let bitcode = private + parts.private.len() as u64;
        let end = bitcode + parts.bitcode.len() as u64;
        let Target { platform, version, os, os_version } = self.target;
        let mut out = MAGIC.to_vec();
        out.extend([platform, version.0, version.1].into_iter().flat_map(u16::to_le_bytes));
        // File type "executable".
        out.extend_from_slice(&[0, os]);
        out.extend([os_version.0, os_version.1].into_iter().flat_map(u16::to_le_bytes));
        let words = [
            end,
            functions,
            parts.list.len() as u64,
            public,
            parts.public.len() as u64,
            private,
            parts.private.len() as u64,
            bitcode,
            parts.bitcode.len() as u64,
        ];
        out.extend(words.into_iter().flat_map(u64::to_le_bytes));
        let count = u32::try_from(self.functions.len()).expect("fewer than 2^32 functions");
        out.extend_from_slice(&count.to_le_bytes());
        for part in [&parts.list, &extension, &parts.public, &parts.private, &parts.bitcode] {
            out.extend_from_slice(part);
        }
        out
    }
}

/// The library's parts behind the header.
#[derive(Default)]
struct Parts {
    list: Vec<u8>,
    public: Vec<u8>,
    private: Vec<u8>,
    bitcode: Vec<u8>,
}

/// Bytes that a tag's payload may have, a name's NUL included.
const PAYLOAD_BYTES_MAX: usize = u16::MAX as usize;

fn check_text(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("is empty".to_owned());
    }
    if name.contains('\0') {
        return Err("has a NUL".to_owned());
    }
    if name.len() >= PAYLOAD_BYTES_MAX {
        return Err(format!("has {} bytes, at most {} can be written", name.len(), PAYLOAD_BYTES_MAX - 1));
    }
    Ok(())
}

fn public_tags(constants: &[FunctionConstant]) -> Result<Vec<u8>, String> {
    let mut public = Vec::new();
    if constants.is_empty() {
        return Ok(public);
    }
    for constant in constants {
        check_text(&constant.name).map_err(|problem| format!(" name '{}': {problem}", constant.name))?;
    }
    let bytes: usize = 2 + constants.iter().map(|constant| constant.name.len() + 5).sum::<usize>();
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(format!("s take {bytes} bytes, at most {PAYLOAD_BYTES_MAX} can be written"));
    }
    tags::write(&mut public, *b"CNST", &write_constants(constants));
    Ok(public)
}

fn blob(bitcode: &[u8]) -> Result<Vec<u8>, String> {
    match bitcode::inner_range(bitcode) {
        Ok(range) => bitcode::wrap(&bitcode[range])
            .ok_or_else(|| format!("bitcode has {} bytes, more than its wrapper can say", bitcode.len())),
        Err(error) => Err(format!("bitcode {}", error.problem)),
    }
}
