//! The modules of a capture's kernels, for questions about them and for other builds of them.

use std::collections::HashMap;
use std::rc::Rc;

use openmps_compiler::Client;
use openmps_engine::{
    AirLoader as _, CompileOptions, ConstantType, ConstantValue, ConstantValues, LanguageVersion, MathMode,
    SourceCompiler as _, VerifiedAir,
};
use openmps_trace::{Capture, ConstantKey, ContentNumber, Origin, Pipeline, PipelineNumber};

use crate::compiler::client;

/// A module of AIR or a source text has at most this many bytes.
const CONTENT_BYTES_MAX: u64 = 1 << 30;

/// Modules by pipeline, looked at when first asked for.
pub(super) struct Modules<'a> {
    capture: &'a Capture,
    client: Rc<Client>,
    has_atomics: HashMap<PipelineNumber, bool>,
}

impl<'a> Modules<'a> {
    pub(super) fn new(capture: &'a Capture) -> Self {
        Self { capture, client: Rc::new(client()), has_atomics: HashMap::new() }
    }

    pub(super) fn client(&self) -> &Rc<Client> {
        &self.client
    }

    /// Whether the kernel has atomic operations; none where its module cannot be read.
    pub(super) fn has_atomics(&mut self, number: PipelineNumber) -> bool {
        if let Some(known) = self.has_atomics.get(&number) {
            return *known;
        }
        let module = kernel_module(&self.client, self.capture, number);
        let text = module.and_then(|module| self.client.air_text(&module).ok());
        let has_atomics = text.is_some_and(|text| text.contains("@air.atomic."));
        self.has_atomics.insert(number, has_atomics);
        has_atomics
    }
}

/// The module of a pipeline with that kernel alone.
pub(super) fn kernel_module(client: &Client, capture: &Capture, number: PipelineNumber) -> Option<VerifiedAir> {
    let pipeline = capture.pipeline(number);
    let air = captured(client, capture, pipeline).ok()?;
    client.split_air(&air, std::slice::from_ref(&pipeline.name)).ok()?.pop()
}

/// The module that ran.
pub(super) fn captured(client: &Client, capture: &Capture, pipeline: &Pipeline) -> Result<VerifiedAir, String> {
    let bitcode = capture.read(pipeline.air, CONTENT_BYTES_MAX).map_err(|error| error.to_string())?;
    Ok(client.load(&bitcode).map_err(|error| error.to_string())?.air)
}

/// What the sources in a capture give today, with debug locations or without; each is compiled once.
pub(super) struct Sources<'a> {
    capture: &'a Capture,
    client: Rc<Client>,
    with_lines: bool,
    compiled: HashMap<(ContentNumber, String, bool), Result<VerifiedAir, String>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(capture: &'a Capture, client: &Rc<Client>, with_lines: bool) -> Self {
        Self { capture, client: Rc::clone(client), with_lines, compiled: HashMap::new() }
    }

    /// The module of a pipeline, with the values of its function constants; none for kernels of libraries.
    pub(super) fn module(&mut self, number: PipelineNumber) -> Option<Result<VerifiedAir, String>> {
        let pipeline = self.capture.pipeline(number);
        let Origin::Source { text, language_version, fast_math } = &pipeline.origin else { return None };
        let key = (*text, language_version.clone(), *fast_math);
        let known = self.compiled.get(&key).cloned();
        let air = known.unwrap_or_else(|| {
            let air = self.compile(*text, language_version, *fast_math);
            self.compiled.insert(key, air.clone());
            air
        });
        Some(air.and_then(|air| {
            if pipeline.constants.is_empty() {
                return Ok(air);
            }
            let values = constants(pipeline).ok_or("a function constant has an unknown type")?;
            let special = self.client.specialize(&air, &pipeline.name, &values);
            Ok(special.map_err(|error| error.to_string())?.air)
        }))
    }

    fn compile(&self, text: ContentNumber, version: &str, fast_math: bool) -> Result<VerifiedAir, String> {
        let source = self.capture.read(text, CONTENT_BYTES_MAX).map_err(|error| error.to_string())?;
        let source = String::from_utf8(source).map_err(|_| "the source is no text")?;
        let options = options(version, fast_math)?;
        let compiled = if self.with_lines {
            self.client.compile_with_lines(&source, &options)
        } else {
            self.client.compile_source(&source, &options)
        };
        Ok(compiled.map_err(|error| error.to_string())?.air)
    }
}

fn options(version: &str, fast_math: bool) -> Result<CompileOptions, String> {
    let language_version = match version {
        "3.1" => LanguageVersion::Metal3_1,
        "3.2" => LanguageVersion::Metal3_2,
        "4.0" => LanguageVersion::Metal4_0,
        _ => return Err(format!("unknown language version '{version}'")),
    };
    let math_mode = if fast_math { MathMode::Fast } else { MathMode::Safe };
    Ok(CompileOptions { language_version, math_mode })
}

fn constants(pipeline: &Pipeline) -> Option<ConstantValues> {
    let mut values = ConstantValues::default();
    for constant in &pipeline.constants {
        let ty = ConstantType::from_name(&constant.type_name)?;
        let value = ConstantValue::new(ty, constant.bytes.clone())?;
        match &constant.key {
            ConstantKey::Index(index) => values.set_index(*index, value),
            ConstantKey::Name(name) => values.set_name(name.clone(), value),
        }
    }
    Some(values)
}
