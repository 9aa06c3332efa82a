//! What the threads of a scope hand over at an operation that they compute together.

use super::element::Element;
use super::layout::Fragments;
use super::{convolution, matmul};

/// Where the operands of an operation are; the discriminants are part of the ABI of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A product of cooperative tensors into a cooperative tensor.
    Cooperative = 0,
    /// A product of tensors into a cooperative tensor.
    IntoCooperative = 1,
    /// A product of tensors into a tensor.
    IntoTensor = 2,
    /// A convolution of tensors into a cooperative tensor.
    Convolution = 3,
}

impl Form {
    const ALL: [Self; 4] = [Self::Cooperative, Self::IntoCooperative, Self::IntoTensor, Self::Convolution];
}

/// An operation: one word of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) form: Form,
    pub(crate) left: Element,
    pub(crate) right: Element,
    pub(crate) result: Element,
    pub(crate) fragments: Fragments,
}

impl Operation {
    /// The word.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn to_code(self) -> u32 {
        let Self { form, left, right, result, fragments } = self;
        form as u32 | (left as u32) << 4 | (right as u32) << 8 | (result as u32) << 12 | (fragments as u32) << 16
    }

    /// Reads a word; `None` for one that no generator of this version writes.
    pub(crate) fn of_code(code: u32) -> Option<Self> {
        let element = |shift: u32| Element::of_number(code >> shift & 15);
        Some(Self {
            form: *Form::ALL.get(usize::try_from(code & 15).ok()?)?,
            left: element(4)?,
            right: element(8)?,
            result: element(12)?,
            fragments: if code >> 16 & 1 == 0 { Fragments::Apple10 } else { Fragments::Apple9 },
        })
    }
}

/// One thread's part in an operation.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    /// An [`Operation`].
    pub(crate) code: u32,
    /// 0 where all tensors are inline descriptors.
    pub(crate) other_kinds: u32,
    /// Threads of the scope.
    pub(crate) threads: u32,
    /// The operation's descriptor.
    pub(crate) descriptor: *const u8,
    /// A tensor, or the thread's part of a cooperative one.
    pub(crate) left: *const u8,
    /// As `left`.
    pub(crate) right: *const u8,
    /// As `left`.
    pub(crate) destination: *mut u8,
    /// Two offsets of a convolution.
    pub(crate) offsets: *const u8,
}

impl Request {
    /// No request.
    pub(crate) const NONE: Self = Self {
        code: 0,
        other_kinds: 0,
        threads: 0,
        descriptor: std::ptr::null(),
        left: std::ptr::null(),
        right: std::ptr::null(),
        destination: std::ptr::null_mut(),
        offsets: std::ptr::null(),
    };
}

/// What the threads of a scope hand over that are served at once, one after the other: all of them on the scalar engine, those of
/// a SIMD-group on the vector engine, which computes what they hold and no more.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a> {
    pub(crate) requests: &'a [Request],
    /// The number of the first of them in the scope.
    pub(crate) first: u32,
}

impl Members<'_> {
    /// Their numbers in the scope.
    pub(crate) fn ranks(&self) -> std::ops::Range<u32> {
        self.first..self.first + u32::try_from(self.requests.len()).expect("at most a threadgroup's threads")
    }

    /// The part of `count` pieces of work that is theirs.
    pub(crate) fn share(&self, count: u32) -> std::ops::Range<u32> {
        let threads = self.requests.first().map_or(1, |request| request.threads).max(1);
        let before = |rank: u32| {
            let share = u64::from(count) * u64::from(rank) / u64::from(threads);
            u32::try_from(share).expect("a part of a number of 32 bits")
        };
        let ranks = self.ranks();
        before(ranks.start)..before(ranks.end)
    }
}

/// The threads that work with thread `index` of a threadgroup of `count`.
///
/// # Errors
/// The scope is neither one thread nor whole SIMD-groups, or the threadgroup ends within it.
pub(crate) fn scope(index: usize, request: &Request, count: usize) -> Result<std::ops::Range<usize>, String> {
    let threads = usize::try_from(request.threads).expect("32 bits");
    if threads != 1 && (threads == 0 || threads % 32 != 0) {
        return Err(format!("a tensor operation over {threads} threads; it takes one, or whole SIMD-groups"));
    }
    let first = index / threads * threads;
    if first + threads > count {
        return Err(format!("a tensor operation over {threads} threads in a threadgroup of {count}"));
    }
    Ok(first..first + threads)
}

/// Computes the operation that the threads of a scope ask for, as far as it is theirs. The first one's descriptors are used: they
/// are the same.
///
/// # Errors
/// The threads ask for different operations, or what they ask for cannot be.
///
/// # Safety
/// The pointers of the requests are those that the kernel passed to an entry point of this operation.
pub(crate) unsafe fn serve(members: Members<'_>) -> Result<(), String> {
    let requests = members.requests;
    let Some(first) = requests.first() else { return Ok(()) };
    let operation = Operation::of_code(first.code).ok_or("a tensor operation of an unknown number")?;
    if requests.iter().any(|request| (request.code, request.threads) != (first.code, first.threads)) {
        return Err("the threads of a scope ask for different tensor operations".to_owned());
    }
    if requests.iter().any(|request| request.other_kinds != 0) {
        return Err("a tensor operation got a tensor that is not an inline descriptor".to_owned());
    }
    match (operation.form, operation.result.is_integer()) {
        // SAFETY: by this function's contract.
        (Form::Convolution, _) => unsafe { convolution::run(operation, members) },
        // SAFETY: as above.
        (_, true) => unsafe { matmul::run::<i32>(operation, members) },
        // SAFETY: as above.
        (_, false) => unsafe { matmul::run::<f32>(operation, members) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive() {
        for form in Form::ALL {
            for (left, fragments) in [(Element::F32, Fragments::Apple9), (Element::I8, Fragments::Apple10)] {
                let operation = Operation { form, left, right: Element::Bf16, result: Element::I32, fragments };
                assert_eq!(Operation::of_code(operation.to_code()), Some(operation));
            }
        }
        assert_eq!(Operation::of_code(4), None);
        assert_eq!(Operation::of_code(15 << 8), None);
    }

    #[test]
    fn members_share_work_without_gaps() {
        let requests = [Request { threads: 96, ..Request::NONE }; 32];
        for count in [0, 1, 5, 96, 1000, u32::MAX] {
            let mut next = 0;
            for first in [0, 32, 64] {
                let share = Members { requests: &requests, first }.share(count);
                assert_eq!(share.start, next, "{count} {first}");
                next = share.end;
            }
            assert_eq!(next, count);
        }
    }

    #[test]
    fn scopes_are_whole_simdgroups_of_the_threadgroup() {
        let of = |index, threads, count| scope(index, &Request { threads, ..Request::NONE }, count);
        assert_eq!(of(70, 32, 128), Ok(64..96));
        assert_eq!(of(70, 64, 128), Ok(64..128));
        assert_eq!(of(70, 1, 71), Ok(70..71));
        assert_eq!(of(70, 64, 100).unwrap_err(), "a tensor operation over 64 threads in a threadgroup of 100");
        for threads in [0, 2, 33, u32::MAX] {
            assert!(of(0, threads, 1024).unwrap_err().contains("whole SIMD-groups"), "{threads}");
        }
    }
}
