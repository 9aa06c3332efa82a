//! Writing the bodies of AIR functions as LLVM IR text.
//!
//! A body is a list of lines over numbered values. Types are AIR's: scalars and vectors of them, pointers. LLVM declares its own
//! intrinsics when it parses a call of them.

use std::collections::BTreeSet;
use std::fmt;

/// A first-class type as LLVM IR spells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ty {
    /// `float`, `half`, `bfloat`, `double`, `i32`, `ptr addrspace(1)`, …
    pub(crate) scalar: String,
    /// 1 for scalars.
    pub(crate) lanes: u32,
}

impl Ty {
    /// A scalar type.
    pub(crate) fn scalar(name: &str) -> Self {
        Self { scalar: name.to_owned(), lanes: 1 }
    }

    /// Reads what LLVM prints; `None` for arrays, structures and the like.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('<') {
            let (lanes, scalar) = inner.strip_suffix('>')?.split_once(" x ")?;
            return Some(Self { scalar: scalar.to_owned(), lanes: lanes.parse().ok()? });
        }
        let is_plain = !text.starts_with(['[', '{', '%']);
        is_plain.then(|| Self::scalar(text))
    }

    /// The same number of lanes of another scalar.
    pub(crate) fn with(&self, scalar: &str) -> Self {
        Self { scalar: scalar.to_owned(), lanes: self.lanes }
    }

    /// One lane.
    pub(crate) fn lane(&self) -> Self {
        Self::scalar(&self.scalar)
    }

    /// Bits of one lane; `None` for pointers.
    pub(crate) fn bits(&self) -> Option<u32> {
        match self.scalar.as_str() {
            "half" | "bfloat" => Some(16),
            "float" => Some(32),
            "double" => Some(64),
            other => other.strip_prefix('i')?.parse().ok(),
        }
    }

    /// Whether lanes are floating point.
    pub(crate) fn is_float(&self) -> bool {
        matches!(self.scalar.as_str(), "half" | "bfloat" | "float" | "double")
    }

    /// The integer type of the same size.
    pub(crate) fn as_int(&self) -> Self {
        self.with(&format!("i{}", self.bits().unwrap_or(64)))
    }

    /// LLVM's suffix of overloaded intrinsics: `f32`, `v2i64`.
    pub(crate) fn suffix(&self) -> String {
        let scalar = match self.scalar.as_str() {
            "half" => "f16",
            "bfloat" => "bf16",
            "float" => "f32",
            "double" => "f64",
            other => other,
        };
        if self.lanes == 1 { scalar.to_owned() } else { format!("v{}{scalar}", self.lanes) }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lanes == 1 { f.write_str(&self.scalar) } else { write!(f, "<{} x {}>", self.lanes, self.scalar) }
    }
}

/// A value: its type and its name or literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) ty: Ty,
    pub(crate) name: String,
}

impl Value {
    /// A literal or named value.
    pub(crate) fn new(ty: Ty, name: impl Into<String>) -> Self {
        Self { ty, name: name.into() }
    }

    /// An integer in every lane.
    pub(crate) fn int(ty: &Ty, value: i64) -> Self {
        Self::new(ty.clone(), splat(ty, &value.to_string()))
    }

    /// A float in every lane. The text must be exact in the type.
    pub(crate) fn float(ty: &Ty, value: f32) -> Self {
        // LLVM reads float literals as the hexadecimal of a double.
        Self::double(ty, f64::from(value))
    }

    /// A double in every lane, or a float that has exactly this value.
    pub(crate) fn double(ty: &Ty, value: f64) -> Self {
        Self::new(ty.clone(), splat(ty, &format!("0x{:016X}", value.to_bits())))
    }
}

fn splat(ty: &Ty, literal: &str) -> String {
    if ty.lanes == 1 { literal.to_owned() } else { format!("splat ({} {literal})", ty.scalar) }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ty, self.name)
    }
}

/// The lines of a function under construction.
#[derive(Default)]
pub(crate) struct Body {
    lines: String,
    next: u32,
    declarations: BTreeSet<String>,
}

impl Body {
    /// Adds a line without a result.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
        self.lines.push_str(&format!("  {text}\n"));
    }

    /// Adds an instruction; `text` is everything behind the equals sign.
    pub(crate) fn value(&mut self, ty: &Ty, text: impl fmt::Display) -> Value {
        let name = format!("%v{}", self.next);
        self.next += 1;
        self.line(format_args!("{name} = {text}"));
        Value::new(ty.clone(), name)
    }

    /// `opcode a, b` with the type of `a`.
    pub(crate) fn binary(&mut self, opcode: &str, a: &Value, b: &Value) -> Value {
        self.value(&a.ty, format_args!("{opcode} {a}, {}", b.name))
    }

    /// `icmp` or `fcmp`.
    pub(crate) fn compare(&mut self, opcode: &str, a: &Value, b: &Value) -> Value {
        self.value(&a.ty.with("i1"), format_args!("{opcode} {a}, {}", b.name))
    }

    /// `select`.
    pub(crate) fn select(&mut self, condition: &Value, yes: &Value, no: &Value) -> Value {
        self.value(&yes.ty, format_args!("select {condition}, {yes}, {no}"))
    }

    /// A conversion instruction.
    pub(crate) fn cast(&mut self, opcode: &str, value: &Value, ty: &Ty) -> Value {
        if value.ty == *ty {
            return value.clone();
        }
        self.value(ty, format_args!("{opcode} {value} to {ty}"))
    }

    /// A call of LLVM's intrinsic `name` overloaded on the type of the first argument, which is also the result's.
    pub(crate) fn intrinsic(&mut self, name: &str, arguments: &[&Value]) -> Value {
        let ty = arguments[0].ty.clone();
        self.call(&ty, &format!("{name}.{}", ty.suffix()), arguments)
    }

    /// A call of `name`.
    pub(crate) fn call(&mut self, ty: &Ty, name: &str, arguments: &[&Value]) -> Value {
        self.value(ty, format_args!("call {ty} @{name}({})", list(arguments)))
    }

    /// Lane `index` of a vector; a scalar itself.
    pub(crate) fn extract(&mut self, vector: &Value, index: u32) -> Value {
        if vector.ty.lanes == 1 {
            return vector.clone();
        }
        self.value(&vector.ty.lane(), format_args!("extractelement {vector}, i32 {index}"))
    }

    /// A vector of scalars; one scalar itself.
    pub(crate) fn gather(&mut self, ty: &Ty, lanes: &[Value]) -> Value {
        if ty.lanes == 1 {
            return lanes[0].clone();
        }
        let mut vector = Value::new(ty.clone(), "poison");
        for (index, lane) in lanes.iter().enumerate() {
            vector = self.value(ty, format_args!("insertelement {vector}, {lane}, i32 {index}"));
        }
        vector
    }

    /// Computes each lane of `ty` by itself.
    pub(crate) fn per_lane(&mut self, ty: &Ty, mut lane: impl FnMut(&mut Self, u32) -> Value) -> Value {
        let lanes: Vec<Value> = (0..ty.lanes).map(|index| lane(self, index)).collect();
        self.gather(ty, &lanes)
    }

    /// `values`, or in the lanes of `condition` what `instead` computes, behind a branch that is taken where there is one.
    pub(crate) fn unless_none<const N: usize>(
        &mut self,
        condition: &Value,
        values: [Value; N],
        instead: impl FnOnce(&mut Self) -> [Value; N],
    ) -> [Value; N] {
        let number = self.next;
        let any = match condition.ty.lanes {
            1 => condition.clone(),
            _ => self.call(
                &condition.ty.lane(),
                &format!("llvm.vector.reduce.or.{}", condition.ty.suffix()),
                &[condition],
            ),
        };
        self.line(format_args!("br label %before{number}\nbefore{number}:"));
        self.line(format_args!("br {any}, label %some{number}, label %after{number}\nsome{number}:"));
        let others = instead(self);
        let mut chosen = Vec::new();
        for (value, other) in values.iter().zip(&others) {
            chosen.push(self.select(condition, other, value));
        }
        self.line(format_args!("br label %chosen{number}\nchosen{number}:"));
        self.line(format_args!("br label %after{number}\nafter{number}:"));
        let mut place = 0;
        values.map(|value| {
            let (ty, other) = (&value.ty, &chosen[place].name);
            place += 1;
            let name = &value.name;
            self.value(ty, format_args!("phi {ty} [ {name}, %before{number} ], [ {other}, %chosen{number} ]"))
        })
    }

    /// Bits as an unsigned 64-bit word.
    pub(crate) fn word_of(&mut self, scalar: &Value) -> Value {
        let bits = self.cast("bitcast", scalar, &scalar.ty.as_int());
        self.cast("zext", &bits, &Ty::scalar("i64"))
    }

    /// A scalar from the low bits of a 64-bit word.
    pub(crate) fn scalar_of(&mut self, word: &Value, ty: &Ty) -> Value {
        let bits = self.cast("trunc", word, &ty.as_int());
        self.cast("bitcast", &bits, ty)
    }

    /// The address of word `index` after `base`.
    pub(crate) fn word_address(&mut self, base: &Value, index: u32) -> Value {
        self.value(&base.ty, format_args!("getelementptr i64, {base}, i64 {index}"))
    }

    /// Says what a called function is that LLVM does not know.
    pub(crate) fn declare(&mut self, declaration: impl Into<String>) {
        self.declarations.insert(declaration.into());
    }

    /// What was declared.
    pub(crate) fn declarations(&self) -> &BTreeSet<String> {
        &self.declarations
    }

    /// The lines so far.
    pub(crate) fn into_lines(self) -> String {
        self.lines
    }
}

fn list(values: &[&Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_read_what_they_write() {
        for text in ["float", "<2 x half>", "i1", "<64 x bfloat>", "ptr addrspace(1)"] {
            assert_eq!(Ty::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Ty::parse("{ float, i32 }"), None);
        assert_eq!(Ty::parse("<2 x half>").unwrap().suffix(), "v2f16");
    }

    #[test]
    fn literals_fill_vectors() {
        let ty = Ty::parse("<3 x i32>").unwrap();
        assert_eq!(Value::int(&ty, 7).to_string(), "<3 x i32> splat (i32 7)");
        assert_eq!(Value::float(&Ty::scalar("float"), 0.5).to_string(), "float 0x3FE0000000000000");
    }
}
