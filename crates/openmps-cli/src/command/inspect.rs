//! `openmps inspect`: what is in a source or a library, and for one kernel its arguments, AIR and machine code.

use std::path::Path;

use openmps_air::metallib::{Function, FunctionConstant, Metallib};
use openmps_compiler::Client;
use openmps_engine::{
    AirLoader as _, ConstantValues, EngineError, EngineOptions, KernelSignature, LoadedAir, VerifiedAir,
};
use serde::Serialize;

use crate::args::Inspect;
use crate::compiler::{client, compile};
use crate::describe::{ConstantDescription, KernelDescription};
use crate::failure::Failure;
use crate::input::Input;
use crate::{constant_value, output};

/// What `--json` prints about a library.
#[derive(Serialize)]
struct LibraryListing<'a> {
    functions: Vec<FunctionDescription<'a>>,
}

/// What `--json` prints about a source.
#[derive(Serialize)]
struct SourceListing {
    kernels: Vec<KernelDescription>,
}

/// A function as the library's list describes it.
#[derive(Serialize)]
struct FunctionDescription<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    function_type: String,
    air_version: Option<String>,
    language_version: Option<String>,
    function_constants: Vec<ConstantDescription>,
}

/// Everything about one kernel.
#[derive(Serialize)]
struct Details {
    kernel: KernelDescription,
    air: String,
    /// Assembly text.
    machine_code: Option<String>,
    /// Why there is no machine code.
    machine_code_error: Option<String>,
}

pub(crate) fn run(inspect: &Inspect) -> Result<(), Failure> {
    match (Input::open(&inspect.file)?, &inspect.kernel) {
        (Input::Library(library), None) => list_library(inspect, &library),
        (Input::Library(library), Some(kernel)) => {
            let client = client();
            let loaded = load(&client, &inspect.file, &library, kernel)?;
            show(inspect, &client, loaded, kernel)
        }
        (Input::Source(source), kernel) => {
            let client = client();
            let compiled = compile(&client, &inspect.file, &source, &inspect.language.options())?;
            match kernel {
                None => list_source(inspect, &compiled.kernels),
                Some(kernel) => {
                    let loaded = LoadedAir { air: compiled.air, kernels: compiled.kernels };
                    show(inspect, &client, loaded, kernel)
                }
            }
        }
    }
}

fn list_library(inspect: &Inspect, library: &Metallib) -> Result<(), Failure> {
    let functions: Result<Vec<_>, _> = library.functions().map(describe).collect();
    let functions = functions.map_err(|error| Failure::about(&inspect.file, error))?;
    if inspect.json {
        return output::print_json(&LibraryListing { functions });
    }
    let line = |function: &FunctionDescription<'_>| {
        let FunctionDescription { name, function_type, air_version, language_version, function_constants } = function;
        let mut line = format!("{function_type} {name}");
        if let (Some(air), Some(language)) = (air_version, language_version) {
            line += &format!(" (AIR {air}, Metal {language})");
        }
        match function_constants.len() {
            0 => line + "\n",
            count => line + &format!(", function constants: {count}\n"),
        }
    };
    output::print(&functions.iter().map(line).collect::<String>())
}

fn describe(function: Function<'_>) -> Result<FunctionDescription<'_>, openmps_air::metallib::MetallibError> {
    let version = |(major, minor): (u16, u16)| format!("{major}.{minor}");
    let constant = |constant: FunctionConstant| ConstantDescription {
        type_name: constant.data_type.to_string(),
        name: constant.name,
        index: constant.index,
        required: constant.required,
    };
    Ok(FunctionDescription {
        name: function.name(),
        function_type: function.function_type().to_string(),
        air_version: function.versions().map(|versions| version(versions.air)),
        language_version: function.versions().map(|versions| version(versions.language)),
        function_constants: function.constants()?.into_iter().map(constant).collect(),
    })
}

fn list_source(inspect: &Inspect, kernels: &[KernelSignature]) -> Result<(), Failure> {
    let kernels: Vec<KernelDescription> = kernels.iter().map(KernelDescription::from).collect();
    if inspect.json {
        return output::print_json(&SourceListing { kernels });
    }
    output::print(&kernels.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// The module of the function `kernel`.
fn load(client: &Client, path: &Path, library: &Metallib, kernel: &str) -> Result<LoadedAir, Failure> {
    let function = library.get(kernel).ok_or_else(|| no_kernel(path, kernel, library.names()))?;
    let bitcode = function.bitcode().map_err(|error| Failure::about(path, error))?;
    client.load(&bitcode).map_err(|error| Failure::about(path, format!("function '{kernel}': {error}")))
}

/// That there is no such kernel, with a few that there are.
fn no_kernel<'a>(path: &Path, kernel: &str, names: impl ExactSizeIterator<Item = &'a str>) -> Failure {
    const NAMES_SHOWN: usize = 5;
    let count = names.len();
    let some: Vec<String> = names.take(NAMES_SHOWN).map(|name| format!("'{name}'")).collect();
    let more = if count > NAMES_SHOWN { format!(" and {} more", count - NAMES_SHOWN) } else { String::new() };
    let there = if count == 0 { "no kernels".to_owned() } else { some.join(", ") + &more };
    Failure::about(path, format!("no kernel named '{kernel}', the file has {there}"))
}

fn show(inspect: &Inspect, client: &Client, loaded: LoadedAir, kernel: &str) -> Result<(), Failure> {
    let refuse = |error: EngineError| Failure::about(&inspect.file, error);
    let names = loaded.kernels.iter().map(|signature| signature.name.as_str());
    let signature = loaded.kernels.iter().find(|signature| signature.name == kernel);
    let signature = signature.ok_or_else(|| no_kernel(&inspect.file, kernel, names))?;
    let values = constant_value::parse(&inspect.constants, signature).map_err(Failure::Message)?;
    let mut modules = client.split_air(&loaded.air, &[kernel.to_owned()]).map_err(refuse)?;
    let module = modules.pop().unwrap_or(loaded.air);
    let code = machine_code(client, &module, signature, &values);
    let details = Details {
        kernel: KernelDescription::from(signature),
        air: client.air_text(&module).map_err(refuse)?,
        machine_code_error: code.as_ref().err().map(ToString::to_string),
        machine_code: code.ok(),
    };
    if inspect.json {
        return output::print_json(&details);
    }
    let code = match (&details.machine_code, &details.machine_code_error) {
        (Some(code), _) => code.clone(),
        (None, reason) => format!("none: {}\n", reason.as_deref().unwrap_or_default()),
    };
    output::print(&format!("{}\nAIR:\n\n{}\nmachine code:\n\n{code}", details.kernel, details.air))
}

/// The kernel's code, once its function constants have their values.
fn machine_code(
    client: &Client,
    module: &VerifiedAir,
    signature: &KernelSignature,
    values: &ConstantValues,
) -> Result<String, EngineError> {
    let options = EngineOptions::default();
    if !signature.needs_specialization() {
        return client.assembly(module, signature, &options);
    }
    let LoadedAir { air, kernels } = client.specialize(module, &signature.name, values)?;
    let signature = kernels.first().ok_or_else(|| EngineError::NoSuchKernel(signature.name.clone()))?;
    client.assembly(&air, signature, &options)
}
