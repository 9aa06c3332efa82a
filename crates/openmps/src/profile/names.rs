//! Names by number: of operators and of kernels, so that what is recorded while the program runs is numbers only.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// The number of a name. Numbers live as long as the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NameId(pub u32);

/// What a number stands for.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    /// `add.Tensor`, `softmax_f32`.
    pub(super) text: Arc<str>,
    /// For kernels: the source or the library that they come from.
    pub(super) source: Option<Arc<str>>,
    /// For kernels from source: the text, while a kernel of it is there.
    pub(super) text_of_source: Option<Weak<str>>,
}

#[derive(Default)]
pub(super) struct Names {
    all: Vec<Name>,
    operators: HashMap<Arc<str>, NameId>,
}

impl Names {
    fn add(&mut self, name: Name) -> NameId {
        let id = NameId(u32::try_from(self.all.len()).expect("four billion names do not fit in memory"));
        self.all.push(name);
        id
    }
}

/// Number 0 is the empty name.
static NAMES: LazyLock<Mutex<Names>> =
    LazyLock::new(|| Mutex::new(Names { all: vec![Name::default()], operators: HashMap::new() }));

pub(super) fn lock() -> MutexGuard<'static, Names> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of an operator's name; equal texts have equal numbers.
#[must_use]
pub fn operator(text: &str) -> NameId {
    let mut names = lock();
    if let Some(&id) = names.operators.get(text) {
        return id;
    }
    let text: Arc<str> = text.into();
    let id = names.add(Name { text: Arc::clone(&text), ..Name::default() });
    names.operators.insert(text, id);
    id
}

/// A new number for a pipeline: the kernel `text` of the source or library `source`, which has the text `text_of_source`.
pub(crate) fn pipeline(text: &str, source: &Arc<str>, text_of_source: Option<&Arc<str>>) -> NameId {
    let text_of_source = text_of_source.map(Arc::downgrade);
    lock().add(Name { text: text.into(), source: Some(Arc::clone(source)), text_of_source })
}

/// What `id` stands for.
pub(super) fn get(id: NameId) -> Name {
    usize::try_from(id.0).ok().and_then(|index| lock().all.get(index).cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_share_numbers_and_pipelines_do_not() {
        assert_eq!(operator("add"), operator("add"));
        assert_ne!(operator("add"), operator("sub"));
        let source: Arc<str> = "program_source".into();
        let (first, second) = (pipeline("add", &source, None), pipeline("add", &source, None));
        assert_ne!(first, second);
        assert_eq!((&*get(first).text, get(first).source.as_deref()), ("add", Some("program_source")));
        assert_eq!(&*get(NameId(u32::MAX)).text, "");
    }
}
