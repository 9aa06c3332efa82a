//! `arg_casts`: how the numbers among a kernel's arguments are narrowed before they are bound.
//!
//! A Python int is bound as 8 bytes and a float as 4 unless a cast says otherwise. Casts follow C++'s `static_cast` of an
//! `int64_t` or a `float`; where C++ leaves a conversion undefined, ours saturates. Tensors are never cast.

use std::collections::HashMap;

use half::{bf16, f16};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::cast_error;

/// What one number becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    /// As Python has it: 8-byte integer or 4-byte float.
    None,
    Fp16,
    Bf16,
    Int32,
    Int16,
    Int8,
    Uint8,
}

/// The parsed `arg_casts` argument. Unknown words are reported when an argument needs them, as upstream does.
#[derive(Debug, Default)]
pub(crate) struct ArgCasts {
    default: String,
    slots: HashMap<u32, String>,
}

impl ArgCasts {
    /// Takes None, a string for every slot, or a dict from slot to string.
    pub(crate) fn parse(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::default());
        }
        if let Ok(word) = value.cast::<PyString>() {
            return Ok(Self { default: word.extract()?, slots: HashMap::new() });
        }
        let Ok(words) = value.cast::<PyDict>() else {
            let class = value.get_type().name()?;
            return Err(PyRuntimeError::new_err(format!("Unexpected caster arg type {class}")));
        };
        let slots = value.extract::<HashMap<u32, String>>().map_err(|_| cast_error(words))?;
        Ok(Self { default: String::new(), slots })
    }

    /// The cast of argument `slot`.
    pub(crate) fn at(&self, slot: u32) -> PyResult<Cast> {
        match self.slots.get(&slot).unwrap_or(&self.default).as_str() {
            "" => Ok(Cast::None),
            "fp16" => Ok(Cast::Fp16),
            "bf16" => Ok(Cast::Bf16),
            "int32" => Ok(Cast::Int32),
            "int16" => Ok(Cast::Int16),
            "int8" => Ok(Cast::Int8),
            "uint8" => Ok(Cast::Uint8),
            _ => Err(PyRuntimeError::new_err(format!("Unsupported cast instruction {}", self.default))),
        }
    }
}

impl Cast {
    /// Appends `value` in this form.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "narrowing is what the cast asks for")]
    #[expect(clippy::cast_precision_loss, reason = "C++ converts an int64 to a 16-bit float through float, too")]
    pub(crate) fn append_integer(self, value: i64, bytes: &mut Vec<u8>) {
        match self {
            Self::None => bytes.extend(value.to_le_bytes()),
            Self::Fp16 => bytes.extend(f16::from_f32(value as f32).to_le_bytes()),
            Self::Bf16 => bytes.extend(bf16::from_f32(value as f32).to_le_bytes()),
            Self::Int32 => bytes.extend((value as i32).to_le_bytes()),
            Self::Int16 => bytes.extend((value as i16).to_le_bytes()),
            Self::Int8 => bytes.extend((value as i8).to_le_bytes()),
            Self::Uint8 => bytes.push(value as u8),
        }
    }

    /// Appends `value` in this form.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "narrowing is what the cast asks for")]
    pub(crate) fn append_float(self, value: f32, bytes: &mut Vec<u8>) {
        match self {
            Self::None => bytes.extend(value.to_le_bytes()),
            Self::Fp16 => bytes.extend(f16::from_f32(value).to_le_bytes()),
            Self::Bf16 => bytes.extend(bf16::from_f32(value).to_le_bytes()),
            Self::Int32 => bytes.extend((value as i32).to_le_bytes()),
            Self::Int16 => bytes.extend((value as i16).to_le_bytes()),
            Self::Int8 => bytes.extend((value as i8).to_le_bytes()),
            Self::Uint8 => bytes.push(value as u8),
        }
    }
}
