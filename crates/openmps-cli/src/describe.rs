//! Kernels and their arguments for people and for programs.
//!
//! The types are what `--json` prints; fields are only added, never renamed.

use std::fmt;

use openmps_engine::{
    AddressSpace, Argument, ArgumentKind, BufferAccess, BuiltinType, FunctionConstant, KernelSignature, Presence,
    Scalar,
};
use serde::Serialize;

/// A kernel.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct KernelDescription {
    name: String,
    arguments: Vec<ArgumentDescription>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    function_constants: Vec<ConstantDescription>,
    threadgroup_memory_bytes: u32,
    max_total_threads_per_threadgroup: Option<u32>,
}

/// One parameter, in the order of the source.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct ArgumentDescription {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    kind: &'static str,
    /// Index in the table of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    /// How many consecutive indices an array takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address_space: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'static str>,
    /// Bytes that must be bound at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes_min: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    texture_type: Option<&'static str>,
    /// The built-in's attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    attribute: Option<&'static str>,
    /// The bool that decides whether the argument exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    only_if: Option<String>,
}

/// A function constant.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ConstantDescription {
    pub(crate) name: String,
    pub(crate) index: u16,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) required: bool,
}

impl From<&KernelSignature> for KernelDescription {
    fn from(signature: &KernelSignature) -> Self {
        Self {
            name: signature.name.clone(),
            arguments: signature.arguments.iter().map(ArgumentDescription::from).collect(),
            function_constants: signature.constants.iter().map(ConstantDescription::from).collect(),
            threadgroup_memory_bytes: signature.static_threadgroup_memory_bytes,
            max_total_threads_per_threadgroup: signature.max_total_threads_per_threadgroup,
        }
    }
}

impl From<&FunctionConstant> for ConstantDescription {
    fn from(constant: &FunctionConstant) -> Self {
        let FunctionConstant { name, index, ty, required } = constant;
        Self { name: name.clone(), index: *index, type_name: ty.to_string(), required: *required }
    }
}

impl From<&Argument> for ArgumentDescription {
    fn from(argument: &Argument) -> Self {
        let plain = Self {
            name: argument.name.clone(),
            type_name: argument.type_name.clone(),
            kind: "",
            index: None,
            count: None,
            address_space: None,
            access: None,
            size_bytes_min: None,
            texture_type: None,
            attribute: None,
            only_if: match &argument.presence {
                Presence::Gated { constant } => Some(constant.clone()),
                Presence::Always | Presence::Absent => None,
            },
        };
        match &argument.kind {
            ArgumentKind::Buffer { index, address_space, access, size_bytes_min }
            | ArgumentKind::ArgumentBuffer { index, address_space, access, size_bytes_min } => Self {
                kind: if matches!(argument.kind, ArgumentKind::Buffer { .. }) { "buffer" } else { "argument_buffer" },
                index: Some(index.0),
                address_space: Some(space_name(*address_space)),
                access: Some(access_name(*access)),
                size_bytes_min: *size_bytes_min,
                ..plain
            },
            ArgumentKind::VisibleFunctionTable { index } => {
                Self { kind: "visible_function_table", index: Some(index.0), ..plain }
            }
            ArgumentKind::ThreadgroupMemory { index } => {
                Self { kind: "threadgroup", index: Some(index.0), address_space: Some("threadgroup"), ..plain }
            }
            ArgumentKind::Texture { index, count, texture_type, access, .. } => Self {
                kind: "texture",
                index: Some(index.0),
                count: *count,
                access: Some(access.name()),
                texture_type: Some(texture_type.name()),
                ..plain
            },
            ArgumentKind::Sampler { index, count } => {
                Self { kind: "sampler", index: Some(index.0), count: *count, ..plain }
            }
            ArgumentKind::Builtin { builtin, ty } => {
                Self { kind: "builtin", attribute: Some(builtin.name()), type_name: builtin_type(*ty), ..plain }
            }
        }
    }
}

impl fmt::Display for KernelDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {}", self.name)?;
        self.arguments.iter().try_for_each(|argument| writeln!(f, "  {argument}"))?;
        self.function_constants.iter().try_for_each(|constant| writeln!(f, "  {constant}"))?;
        if self.threadgroup_memory_bytes > 0 {
            writeln!(f, "  threadgroup memory: {} bytes", self.threadgroup_memory_bytes)?;
        }
        if let Some(threads) = self.max_total_threads_per_threadgroup {
            writeln!(f, "  threads of a threadgroup: at most {threads}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ArgumentDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, type_name, kind, .. } = self;
        if let Some(attribute) = self.attribute {
            return write!(f, "{type_name} {name} [[{attribute}]]");
        }
        let space = self.address_space.map(|space| format!("{space} ")).unwrap_or_default();
        // References state their size; of pointers nobody knows it.
        let mark = match (self.address_space, self.size_bytes_min) {
            (None, _) => "",
            (Some(_), Some(_)) => "&",
            (Some(_), None) => "*",
        };
        let count = self.count.map(|count| format!("[{count}]")).unwrap_or_default();
        let index = self.index.unwrap_or(0);
        write!(f, "{space}{type_name}{mark} {name}{count} [[{kind}({index})]]")?;
        let size = self.size_bytes_min.map(|size| format!("{size} bytes"));
        let gate = self.only_if.as_ref().map(|constant| format!("only if {constant}"));
        let notes: Vec<String> = self.access.map(str::to_owned).into_iter().chain(size).chain(gate).collect();
        if notes.is_empty() { Ok(()) } else { write!(f, ": {}", notes.join(", ")) }
    }
}

impl fmt::Display for ConstantDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, index, type_name, required } = self;
        write!(f, "constant {type_name} {name} [[function_constant({index})]]")?;
        f.write_str(if *required { ": required" } else { ": optional" })
    }
}

fn space_name(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Thread => "thread",
        AddressSpace::Device => "device",
        AddressSpace::Constant => "constant",
        AddressSpace::Threadgroup => "threadgroup",
    }
}

fn access_name(access: BufferAccess) -> &'static str {
    match access {
        BufferAccess::Read => "read",
        BufferAccess::Write => "write",
        BufferAccess::ReadWrite => "read_write",
    }
}

fn builtin_type(ty: BuiltinType) -> String {
    let scalar = match ty.scalar {
        Scalar::U16 => "ushort",
        Scalar::U32 => "uint",
    };
    if ty.lanes == 1 { scalar.to_owned() } else { format!("{scalar}{}", ty.lanes) }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use openmps_engine::{
        BufferIndex, Builtin, ConstantScalar, ConstantType, SamplerIndex, TextureAccess, TextureComponent,
        TextureIndex, TextureType,
    };

    use super::*;

    fn kernel() -> KernelDescription {
        let buffer = |index, address_space, access, size_bytes_min| ArgumentKind::Buffer {
            index: BufferIndex(index),
            address_space,
            access,
            size_bytes_min,
        };
        let gated = Argument {
            presence: Presence::Gated { constant: "has_bias".to_owned() },
            ..Argument::new(buffer(7, AddressSpace::Device, BufferAccess::Read, None), "bias", "half")
        };
        let texture = ArgumentKind::Texture {
            index: TextureIndex(1),
            count: Some(2),
            texture_type: TextureType::Texture2d,
            component: TextureComponent::Float,
            access: TextureAccess::Read,
        };
        let arguments = vec![
            Argument::new(buffer(0, AddressSpace::Device, BufferAccess::ReadWrite, None), "out", "float"),
            Argument::new(buffer(2, AddressSpace::Constant, BufferAccess::Read, Some(4)), "n", "uint"),
            gated,
            Argument::new(ArgumentKind::ThreadgroupMemory { index: BufferIndex(0) }, "tile", "float"),
            Argument::new(texture, "images", "texture2d<float>"),
            Argument::new(ArgumentKind::Sampler { index: SamplerIndex(0), count: None }, "s", "sampler"),
            Argument::new(
                ArgumentKind::Builtin {
                    builtin: Builtin::ThreadPositionInGrid,
                    ty: BuiltinType { scalar: Scalar::U16, lanes: 3 },
                },
                "at",
                "ushort3",
            ),
        ];
        let ty = ConstantType::scalar(ConstantScalar::Bool);
        KernelDescription::from(&KernelSignature {
            max_total_threads_per_threadgroup: Some(256),
            static_threadgroup_memory_bytes: 1024,
            constants: vec![FunctionConstant { name: "has_bias".to_owned(), index: 4, ty, required: true }],
            ..KernelSignature::new("gemm", arguments)
        })
    }

    #[test]
    fn people_read_declarations() {
        expect![[r#"
            kernel gemm
              device float* out [[buffer(0)]]: read_write
              constant uint& n [[buffer(2)]]: read, 4 bytes
              device half* bias [[buffer(7)]]: read, only if has_bias
              threadgroup float* tile [[threadgroup(0)]]
              texture2d<float> images[2] [[texture(1)]]: read
              sampler s [[sampler(0)]]
              ushort3 at [[thread_position_in_grid]]
              constant bool has_bias [[function_constant(4)]]: required
              threadgroup memory: 1024 bytes
              threads of a threadgroup: at most 256
        "#]]
        .assert_eq(&kernel().to_string());
    }

    #[test]
    fn programs_read_fields() {
        expect![[r#"
            {
              "name": "gemm",
              "arguments": [
                {
                  "name": "out",
                  "type": "float",
                  "kind": "buffer",
                  "index": 0,
                  "address_space": "device",
                  "access": "read_write"
                },
                {
                  "name": "n",
                  "type": "uint",
                  "kind": "buffer",
                  "index": 2,
                  "address_space": "constant",
                  "access": "read",
                  "size_bytes_min": 4
                },
                {
                  "name": "bias",
                  "type": "half",
                  "kind": "buffer",
                  "index": 7,
                  "address_space": "device",
                  "access": "read",
                  "only_if": "has_bias"
                },
                {
                  "name": "tile",
                  "type": "float",
                  "kind": "threadgroup",
                  "index": 0,
                  "address_space": "threadgroup"
                },
                {
                  "name": "images",
                  "type": "texture2d<float>",
                  "kind": "texture",
                  "index": 1,
                  "count": 2,
                  "access": "read",
                  "texture_type": "2d"
                },
                {
                  "name": "s",
                  "type": "sampler",
                  "kind": "sampler",
                  "index": 0
                },
                {
                  "name": "at",
                  "type": "ushort3",
                  "kind": "builtin",
                  "attribute": "thread_position_in_grid"
                }
              ],
              "function_constants": [
                {
                  "name": "has_bias",
                  "index": 4,
                  "type": "bool",
                  "required": true
                }
              ],
              "threadgroup_memory_bytes": 1024,
              "max_total_threads_per_threadgroup": 256
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&kernel()).unwrap());
    }
}
