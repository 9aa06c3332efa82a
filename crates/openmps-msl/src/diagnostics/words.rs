//! Clang's messages in MSL's words: types as Metal spells them, nothing about how the library and the rewriter express
//! Metal in C++, no options of clang.

/// Plain replacements of whole words, longest first where one contains another.
const WORDS: [(&str, &str); 23] = [
    ("const __global_host", "constant"),
    ("__global_host const", "constant"),
    ("__global_host", "constant"),
    ("const __constant", "constant"),
    ("__constant", "constant"),
    ("__global", "device"),
    ("__local", "threadgroup"),
    ("__private", "thread"),
    ("__generic ", ""),
    ("metal::packed_vec<", "packed_vec<"),
    ("metal::vec<", "vec<"),
    ("metal::matrix<", "matrix<"),
    ("_Float16", "half"),
    ("__bf16", "bfloat"),
    ("unsigned char", "uchar"),
    ("unsigned short", "ushort"),
    ("unsigned int", "uint"),
    ("unsigned long", "ulong"),
    ("clang::sycl_external", "kernel"),
    ("sycl_external", "kernel"),
    ("SYCL device code", "a Metal library"),
    ("SYCL kernel", "a Metal kernel"),
    ("::__air::cast", "static_cast"),
];

/// Messages that say in clang's terms what Metal says in others: how one starts, how it ends, and what to say.
const MESSAGES: [(&str, &str, &str); 8] = [
    (
        "'clang::sycl_external' can only be applied to functions with external linkage",
        "",
        "a kernel function cannot be static or in a namespace without a name",
    ),
    ("use of dynamic_cast requires", "", "'dynamic_cast' is not supported in Metal"),
    ("you need to include <typeinfo>", "", "'typeid' is not supported in Metal"),
    ("use of typeid requires", "", "'typeid' is not supported in Metal"),
    ("variable length arrays in C++", "", "variable length arrays are not supported in Metal"),
    (
        "'clang::annotate' attribute requires",
        "to be a constant expression",
        "the argument of an attribute must be a constant expression",
    ),
    ("invalid suffix '' on", "", "invalid number"),
    ("cannot use 'throw' with exceptions disabled", "", "exceptions are not supported in Metal"),
];

/// Names that are the user's words and no types of ours, although they may look so.
const QUOTING: [&str; 3] = ["unknown type name ", "use of undeclared identifier ", "no template named "];

/// Whether a message says something about the user's text. The others are about functions of the library that the user
/// does not call, or about options of clang.
pub(super) fn is_for_users(message: &str) -> bool {
    !message.starts_with("use -f") && !message.contains("'__put_") && !message.contains("'__get_")
}

/// Headers of Metal 4's tensors, which do not exist here: PyTorch's own headers ask for them with `__has_include`.
const TENSOR_HEADERS: [&str; 3] = ["metal_tensor", "metal_cooperative_tensor", "MetalPerformancePrimitives/"];

/// A message of clang in MSL's words.
pub(super) fn metal_words(message: &str) -> String {
    let message = without_own_suggestion(message);
    let file = message.trim_start_matches('\'');
    if message.ends_with("file not found") && TENSOR_HEADERS.iter().any(|header| file.starts_with(header)) {
        return format!("{message}: Metal 4 tensor operations are not supported in source text");
    }
    for (start, end, text) in MESSAGES {
        if message.starts_with(start) && message.ends_with(end) {
            return text.to_owned();
        }
    }
    if QUOTING.iter().any(|start| message.starts_with(start)) {
        return message.to_owned();
    }
    if let Some(property) = message.strip_prefix("cannot find suitable setter for property ") {
        return format!("swizzle {property} is not assignable: a component stands twice");
    }
    let mut text = without_options(&objects_and_references(message));
    for (from, to) in WORDS {
        text = replace_word(&text, from, to);
    }
    text = unwrap_template(&text, "remove_const_t<");
    for (template, prefix) in [("packed_vec<", "packed_"), ("vec<", ""), ("matrix<", "")] {
        text = replace_template(&text, template, prefix);
    }
    settle_aka(&text)
}

/// Clang names the two address spaces of this message in the wrong order.
fn objects_and_references(message: &str) -> String {
    const REFERENCE: &str = "cannot bind reference in address space '";
    const OBJECT: &str = "' to object in address space '";
    let parts = message.split_once(REFERENCE).and_then(|(before, rest)| {
        let (object, rest) = rest.split_once(OBJECT)?;
        let (reference, after) = rest.split_once('\'')?;
        Some(format!("{before}{REFERENCE}{reference}{OBJECT}{object}'{after}"))
    });
    parts.unwrap_or_else(|| message.to_owned())
}

/// Takes away a suggestion that names what only our headers have: `; did you mean '__air::…'?`. Identifiers with two
/// underscores in front are reserved, so that no user misses one.
fn without_own_suggestion(message: &str) -> &str {
    match message.split_once("; did you mean '") {
        Some((before, name)) if name.starts_with("__") || name.contains("::__") => before,
        _ => message,
    }
}

/// Takes away what advises an option of clang: `(skipping 9 contexts in backtrace; use -f… to see all)`.
fn without_options(message: &str) -> String {
    let Some((before, rest)) = message.split_once("; use -f") else { return message.to_owned() };
    let after = rest.find(')').map_or("", |at| &rest[at..]);
    format!("{before}{after}")
}

/// Replaces `from` where no identifier goes on in front of it or behind it.
fn replace_word(text: &str, from: &str, to: &str) -> String {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let behind = &rest[at + from.len()..];
        let is_cut = (from.starts_with(is_part) && rest[..at].ends_with(is_part))
            || (from.ends_with(is_part) && behind.starts_with(is_part));
        output.push_str(&rest[..at]);
        output.push_str(if is_cut { from } else { to });
        rest = behind;
    }
    output.push_str(rest);
    output
}

/// `remove_const_t<X>` to `X`, where angle brackets match.
fn unwrap_template(text: &str, template: &str) -> String {
    let Some((before, inside)) = text.split_once(template) else { return text.to_owned() };
    let mut depth = 1;
    for (at, character) in inside.char_indices() {
        depth += match character {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        if depth == 0 {
            let after = unwrap_template(&inside[at + 1..], template);
            return format!("{before}{}{after}", &inside[..at]);
        }
    }
    text.to_owned()
}

/// `vec<float, 4>` to `float4`, `matrix<half, 2, 3>` to `half2x3`.
fn replace_template(text: &str, template: &str, prefix: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(template) {
        let is_word_start = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let inside = &rest[at + template.len()..];
        let end = inside.find('>').filter(|_| is_word_start);
        let arguments: Option<Vec<&str>> = end.map(|end| inside[..end].split(',').map(str::trim).collect());
        match (end, arguments.as_deref()) {
            (Some(end), Some([element, extents @ ..])) if is_plain(element, extents) => {
                output.push_str(&rest[..at]);
                output.push_str(prefix);
                output.push_str(element);
                output.push_str(&extents.join("x"));
                rest = &inside[end + 1..];
            }
            _ => {
                output.push_str(&rest[..at + template.len()]);
                rest = inside;
            }
        }
    }
    output.push_str(rest);
    output
}

fn is_plain(element: &str, extents: &[&str]) -> bool {
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word(element) && !extents.is_empty() && extents.iter().all(|extent| extent.parse::<u32>().is_ok())
}

/// `'uint' (aka 'uint')` to `'uint'`, and `'__bool' (aka 'bool4')`, a name of the library's own, to `'bool4'`.
fn settle_aka(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(" (aka '") {
        let inside = &rest[at + " (aka '".len()..];
        let Some(end) = inside.find("')") else { break };
        output.push_str(&rest[..at]);
        let other = &inside[..end];
        let name_start = output.trim_end_matches('\'').rfind('\'').map_or(0, |quote| quote + 1);
        let name = output[name_start..].trim_end_matches('\'');
        if name.starts_with("__") || name.contains("::__") {
            output.truncate(name_start);
            output.push_str(other);
            output.push('\'');
        } else if name != other {
            output.push_str(&rest[at..at + " (aka '".len() + end + 2]);
        }
        rest = &inside[end + 2..];
    }
    output.push_str(rest);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_metal_names() {
        let message =
            "cannot convert 'const __global_host vec<float, 4> *' to '__global metal::matrix<_Float16, 2, 3> *'";
        assert_eq!(metal_words(message), "cannot convert 'constant float4 *' to 'device half2x3 *'");
        assert_eq!(metal_words("'uint' (aka 'unsigned int') and 'myvec<int, 2>'"), "'uint' and 'myvec<int, 2>'");
        assert_eq!(metal_words("'T' (aka 'unsigned int')"), "'T' (aka 'uint')");
        assert_eq!(metal_words("value of '__bool' (aka 'vec<bool, 4>') is"), "value of 'bool4' is");
        assert_eq!(
            metal_words("'remove_const_t<vec<float, 2>>' and 'remove_const_t<T'"),
            "'float2' and 'remove_const_t<T'"
        );
        assert_eq!(metal_words("vec<"), "vec<");
    }

    #[test]
    fn suggestions_name_nothing_of_ours() {
        const UNKNOWN: &str = "use of undeclared identifier 'atomic_mim'";
        assert_eq!(metal_words(&format!("{UNKNOWN}; did you mean '__air::atomic_min'?")), UNKNOWN);
        assert_eq!(metal_words(&format!("{UNKNOWN}; did you mean 'metal::__d::atomic_min'?")), UNKNOWN);
        let helpful = format!("{UNKNOWN}; did you mean 'metal::atomic_min'?");
        assert_eq!(metal_words(&helpful), helpful);
    }

    #[test]
    fn the_users_words_stay() {
        assert_eq!(metal_words("unknown type name '__global'"), "unknown type name '__global'");
        assert_eq!(
            metal_words("no member named '__globals' in 'my_Float16s'"),
            "no member named '__globals' in 'my_Float16s'"
        );
    }

    #[test]
    fn no_options_of_clang_are_advised() {
        assert!(!is_for_users("use -ftemplate-depth=N to increase recursive template instantiation depth"));
        let message = "(skipping 15 contexts in backtrace; use -ftemplate-backtrace-limit=0 to see all)";
        assert_eq!(metal_words(message), "(skipping 15 contexts in backtrace)");
    }

    #[test]
    fn objects_are_where_they_are_and_references_what_they_are() {
        let message = "candidate function not viable: cannot bind reference in address space '__global_host' to object in address space '__global' in 1st argument";
        let expected = "candidate function not viable: cannot bind reference in address space 'device' to object in address space 'constant' in 1st argument";
        assert_eq!(metal_words(message), expected);
    }
}
