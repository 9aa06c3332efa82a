//! `matmul2d`: products of matrices, from tensors or cooperative tensors.

use super::descriptor::Descriptor;
use super::element::{Element, Number};
use super::layout::{Fragments, Layout};
use super::memory::{Line, View};
use super::multiply::{Multiplied, multiply};
use super::request::{Form, Members, Operation, Request};

/// Rows and columns of the parts of a destination tensor that are computed at a time.
const PART: [u32; 2] = [64, 128];

/// What a product is (`mpp::tensor_ops::matmul2d_descriptor`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Rows of the destination; -1: as many as the tensors have.
    pub(crate) m: i32,
    /// Columns of the destination; -1: as many as the tensors have.
    pub(crate) n: i32,
    /// Depth; -1: as many as the tensors have.
    pub(crate) k: i32,
    /// Whether the left tensor is K x M.
    pub(crate) transpose_left: bool,
    /// Whether the right tensor is N x K.
    pub(crate) transpose_right: bool,
}

/// One of a product's matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Left,
    Right,
    Destination,
}

impl Operand {
    /// The operand with the number that entry points give it.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        [Self::Left, Self::Right, Self::Destination].get(usize::try_from(number).ok()?).copied()
    }
}

/// A cooperative tensor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cooperative {
    /// Which thread holds what.
    pub(crate) layout: Layout,
    /// Whether its rows are the product's columns.
    pub(crate) is_transposed: bool,
    /// Whether the tensors that it is loaded from and stored to have the product's columns as rows.
    pub(crate) tensor_is_transposed: bool,
}

impl Product {
    /// Reads a descriptor of 20 bytes, and whether it adds to the destination.
    ///
    /// # Errors
    /// A mode that is not known.
    ///
    /// # Safety
    /// `from` points to 20 readable bytes.
    unsafe fn read(from: *const u8) -> Result<(Self, bool), String> {
        // SAFETY: by this function's contract; an array of bytes has no alignment.
        let bytes = unsafe { from.cast::<[u8; 20]>().read() };
        let word = |at: usize| i32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let mode = word(16);
        let adds = match mode {
            0 => false,
            1 => true,
            _ => return Err(format!("a product of mode {mode}; it has 0 (multiply) or 1 (multiply_accumulate)")),
        };
        let (transpose_left, transpose_right) = (bytes[12] != 0, bytes[13] != 0);
        Ok((Self { m: word(0), n: word(4), k: word(8), transpose_left, transpose_right }, adds))
    }

    /// How `operand` is spread over `threads`; `None` where it has no elements or too many.
    pub(crate) fn cooperative(&self, operand: Operand, fragments: Fragments, threads: u32) -> Option<Cooperative> {
        let (rows, columns, is_transposed) = match operand {
            Operand::Left => (self.m, self.k, self.transpose_left),
            Operand::Right => (self.k, self.n, self.transpose_right),
            Operand::Destination => (self.m, self.n, false),
        };
        let tensor_is_transposed = is_transposed;
        let is_transposed = is_transposed && (operand, fragments) != (Operand::Right, Fragments::Apple9);
        let (rows, columns) = if is_transposed { (columns, rows) } else { (rows, columns) };
        Layout::new(fragments, rows, columns, threads).map(|layout| Cooperative {
            layout,
            is_transposed,
            tensor_is_transposed,
        })
    }

    fn describe(&self) -> String {
        format!("a product of m {}, n {}, k {}", self.m, self.n, self.k)
    }
}

/// The matrix that a tensor of rank 2 is; the product's rows are the tensor's innermost dimension where it is transposed.
pub(crate) fn view(tensor: &Descriptor, is_transposed: bool, element: Element) -> View {
    let view = View {
        address: tensor.address(),
        row_bytes: tensor.step_bytes(1),
        column_bytes: tensor.step_bytes(0),
        rows: tensor.count(1),
        columns: tensor.count(0),
        element,
    };
    if is_transposed { view.transposed() } else { view }
}

/// # Errors
/// There is no such tensor, or its elements have another size than the operation's.
///
/// # Safety
/// `tensor` points to a descriptor.
unsafe fn matrix(tensor: *const u8, is_transposed: bool, element: Element) -> Result<View, String> {
    // SAFETY: by this function's contract.
    let tensor = unsafe { Descriptor::read(tensor, Some(2)) }?;
    if tensor.element_bytes() != element.size_bytes() {
        return Err("a tensor operation got a tensor with elements of another size".to_owned());
    }
    Ok(view(&tensor, is_transposed, element))
}

/// Computes a product.
///
/// # Errors
/// Sizes that cannot be, or tensors that are none.
///
/// # Safety
/// As [`serve`](super::request::serve).
pub(crate) unsafe fn run<T: Multiplied>(operation: Operation, members: Members<'_>) -> Result<(), String> {
    let Some(first) = members.requests.first() else { return Ok(()) };
    // SAFETY: by this function's contract.
    let (product, adds) = unsafe { Product::read(first.descriptor) }?;
    match operation.form {
        // SAFETY: as above.
        Form::Cooperative => unsafe { multiply_cooperative::<T>(operation, members, &product, adds) },
        Form::IntoCooperative => {
            // SAFETY: as above.
            let (left, right) = unsafe { factors(operation, first, &product) }?;
            let depth = depth(&product, &left, &right)?;
            // SAFETY: as above.
            unsafe { into_cooperative::<T>(operation, members, &product, (&left, &right), depth, adds) }
        }
        Form::IntoTensor => {
            // SAFETY: as above.
            let (left, right) = unsafe { factors(operation, first, &product) }?;
            let depth = depth(&product, &left, &right)?;
            // SAFETY: as above.
            let destination = unsafe { matrix(first.destination, false, operation.result) }?;
            let rows = size(product.m, destination.rows).ok_or_else(|| product.describe())?;
            let columns = size(product.n, destination.columns).ok_or_else(|| product.describe())?;
            let rows = members.share(rows);
            let (left, destination) = (left.part(rows.start, 0), destination.part(rows.start, 0));
            let rows = rows.end - rows.start;
            // SAFETY: as above.
            unsafe { into_tensor::<T>((&left, &right), &destination, [rows, columns, depth], adds) };
            Ok(())
        }
        Form::Convolution => unreachable!("convolutions are not products"),
    }
}

/// # Safety
/// As [`run`].
unsafe fn factors(operation: Operation, request: &Request, product: &Product) -> Result<(View, View), String> {
    // SAFETY: by this function's contract.
    let left = unsafe { matrix(request.left, product.transpose_left, operation.left) }?;
    // SAFETY: as above.
    let right = unsafe { matrix(request.right, product.transpose_right, operation.right) }?;
    Ok((left, right))
}

/// A size of the descriptor, at most what there is; `None` for one that is negative without meaning "all".
fn size(given: i32, there_is: u32) -> Option<u32> {
    if given == -1 { Some(there_is) } else { u32::try_from(given).ok().map(|given| given.min(there_is)) }
}

/// The depth of a product of tensors. Beyond the end of either factor all products are zero.
fn depth(product: &Product, left: &View, right: &View) -> Result<u32, String> {
    size(product.k, left.columns.min(right.rows)).ok_or_else(|| product.describe())
}

/// # Safety
/// As [`run`]; the factors are those of the requests.
unsafe fn into_cooperative<T: Multiplied>(
    operation: Operation,
    members: Members<'_>,
    product: &Product,
    (left, right): (&View, &View),
    depth: u32,
    adds: bool,
) -> Result<(), String> {
    let requests = members.requests;
    let destination = product.cooperative(Operand::Destination, operation.fragments, requests[0].threads);
    let layout = destination.ok_or_else(|| no_layout(product))?.layout;
    let mut sums = Rows::<T>::of_members(&layout, members);
    let storages = || requests.iter().map(|request| request.destination.cast_const());
    if adds {
        // SAFETY: each thread's destination has the elements that the layout gives it.
        unsafe { gather(&layout, operation.result, members.first, storages(), &mut sums) };
    }
    let left = left.part(sums.first, 0);
    // SAFETY: the tensors' elements are readable, as the kernel says.
    unsafe { multiply(&left, right, [sums.count(&layout), layout.columns(), depth], &mut sums.numbers) };
    let destinations = requests.iter().map(|request| request.destination);
    // SAFETY: as above.
    unsafe { scatter(&layout, operation.result, members.first, destinations, &sums) };
    Ok(())
}

fn no_layout(product: &Product) -> String {
    format!("{}, which cooperative tensors cannot have", product.describe())
}

/// # Safety
/// As [`run`].
unsafe fn multiply_cooperative<T: Multiplied>(
    operation: Operation,
    members: Members<'_>,
    product: &Product,
    adds: bool,
) -> Result<(), String> {
    let requests = members.requests;
    let threads = requests[0].threads;
    if members.ranks() != (0..threads) {
        return Err("a product of cooperative tensors of several SIMD-groups, which do not meet".to_owned());
    }
    let storage = |operand: Operand, element: Element, parts: Vec<*const u8>| {
        let cooperative =
            product.cooperative(operand, operation.fragments, threads).ok_or_else(|| no_layout(product))?;
        let mut rows = Rows::<T>::of_members(&cooperative.layout, members);
        // SAFETY: each thread's part has the elements that the layout gives it.
        unsafe { gather(&cooperative.layout, element, 0, parts.into_iter(), &mut rows) };
        Ok::<_, String>((cooperative, rows.numbers))
    };
    let left = storage(Operand::Left, operation.left, requests.iter().map(|request| request.left).collect())?;
    let right = storage(Operand::Right, operation.right, requests.iter().map(|request| request.right).collect())?;
    let (left, right) = (dense(&left), dense(&right));
    let depth = left.columns;
    // SAFETY: the views are of numbers that live here.
    unsafe { into_cooperative::<T>(operation, members, product, (&left, &right), depth, adds) }
}

/// The matrix that gathered numbers are, in the product's rows and columns.
fn dense<T: Number>((cooperative, numbers): &(Cooperative, Vec<T>)) -> View {
    let columns = cooperative.layout.columns();
    let view = View::of_numbers(numbers, cooperative.layout.element_count() / columns, columns);
    if cooperative.is_transposed { view.transposed() } else { view }
}

/// # Safety
/// The factors' elements are readable, the destination's writable.
unsafe fn into_tensor<T: Multiplied>((left, right): (&View, &View), to: &View, size: [u32; 3], adds: bool) {
    let [rows, columns, depth] = size;
    for row in (0..rows).step_by(PART[0] as usize) {
        for column in (0..columns).step_by(PART[1] as usize) {
            let (height, width) = (PART[0].min(rows - row), PART[1].min(columns - column));
            let mut sums = vec![T::default(); (height * width) as usize];
            let destination = to.part(row, column);
            let lines = (0..height).filter_map(|index| destination.row(index, 0));
            if adds {
                for (line, sums) in lines.clone().zip(sums.chunks_mut(width as usize)) {
                    // SAFETY: by this function's contract; the part has this many rows and columns.
                    unsafe { line.read(sums) };
                }
            }
            let (left, right) = (left.part(row, 0), right.part(0, column));
            // SAFETY: by this function's contract.
            unsafe { multiply(&left, &right, [height, width, depth], &mut sums) };
            for (line, sums) in lines.zip(sums.chunks(width as usize)) {
                // SAFETY: as for the reading above.
                unsafe { line.write(sums) };
            }
        }
    }
}

/// The line of a thread's part of a cooperative tensor.
pub(crate) fn storage(part: *const u8, element: Element) -> Line {
    let step_bytes = i64::try_from(element.size_bytes()).expect("at most 4");
    Line { address: part.expose_provenance() as u64, step_bytes, element }
}

/// Rows of a cooperative tensor, in row-major order.
pub(crate) struct Rows<T> {
    /// The first one.
    pub(crate) first: u32,
    /// Their elements.
    pub(crate) numbers: Vec<T>,
}

impl<T: Number> Rows<T> {
    /// Zeros for the rows that have elements of `members`.
    pub(crate) fn of_members(layout: &Layout, members: Members<'_>) -> Self {
        let rows = layout.rows_of(members.ranks());
        let columns = layout.columns() as usize;
        Self { first: rows.start, numbers: vec![T::default(); rows.len() * columns] }
    }

    /// How many rows there are.
    pub(crate) fn count(&self, layout: &Layout) -> u32 {
        u32::try_from(self.numbers.len()).expect("a layout has few elements") / layout.columns()
    }

    /// The number of the first element.
    fn start(&self, layout: &Layout) -> u32 {
        self.first * layout.columns()
    }
}

/// Collects rows of a cooperative tensor from the parts of threads from `rank` on.
///
/// # Safety
/// Each part has as many readable elements as the layout gives a thread.
pub(crate) unsafe fn gather<T: Number>(
    layout: &Layout,
    element: Element,
    rank: u32,
    parts: impl Iterator<Item = *const u8>,
    rows: &mut Rows<T>,
) {
    let start = rows.start(layout);
    let numbers = &mut rows.numbers;
    let mut part_numbers = Vec::new();
    for (rank, part) in (rank..).zip(parts) {
        let part = storage(part, element);
        if let Some(run) = layout.run(rank) {
            if !run.is_empty() {
                // SAFETY: by this function's contract; the run is no longer than the part.
                unsafe { part.read(&mut numbers[(run.start - start) as usize..(run.end - start) as usize]) };
            }
            continue;
        }
        part_numbers.resize(layout.per_thread() as usize, T::default());
        // SAFETY: by this function's contract.
        unsafe { part.read(&mut part_numbers) };
        for (index, number) in (0..).zip(&part_numbers) {
            if let Some((row, column)) = layout.position(rank, index) {
                numbers[(row * layout.columns() + column - start) as usize] = *number;
            }
        }
    }
}

/// Distributes rows over the parts of threads from `rank` on.
///
/// # Safety
/// As [`gather`], with writable elements.
pub(crate) unsafe fn scatter<T: Number>(
    layout: &Layout,
    element: Element,
    rank: u32,
    parts: impl Iterator<Item = *mut u8>,
    rows: &Rows<T>,
) {
    let (start, numbers) = (rows.start(layout), &rows.numbers);
    let mut part_numbers = Vec::new();
    for (rank, part) in (rank..).zip(parts) {
        let part = storage(part.cast_const(), element);
        if let Some(run) = layout.run(rank) {
            if !run.is_empty() {
                // SAFETY: by this function's contract; the run is no longer than the part.
                unsafe { part.write(&numbers[(run.start - start) as usize..(run.end - start) as usize]) };
            }
            continue;
        }
        part_numbers.clear();
        part_numbers.extend((0..layout.per_thread()).map(|index| {
            let place = layout.position(rank, index);
            place.map_or_else(T::default, |(row, column)| numbers[(row * layout.columns() + column - start) as usize])
        }));
        // SAFETY: by this function's contract.
        unsafe { part.write(&part_numbers) };
    }
}
