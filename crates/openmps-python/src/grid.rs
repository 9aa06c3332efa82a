//! `threads` and `group_size`: from Python values to a checked [`Grid`].

use openmps::Grid;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

use crate::error::cast_error;

/// Sizes along one to three axes.
pub(crate) type Sizes = Vec<u64>;

/// What `TORCH_CHECK` says of a condition that has no text of its own.
fn unnamed_check(condition: &str) -> PyErr {
    PyRuntimeError::new_err(format!(
        "Expected {condition} to be true, but got false.  (Could this error message be improved?  If so, please report \
         an enhancement request to PyTorch.)"
    ))
}

/// Takes None, an int, or a sequence of one to three ints.
pub(crate) fn parse_sizes(value: &Bound<'_, PyAny>) -> PyResult<Option<Sizes>> {
    if value.is_none() {
        return Ok(None);
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(vec![value.extract().map_err(|_| cast_error(value))?]));
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(cast_error(value));
    }
    let sizes: Sizes = value.extract().map_err(|_| cast_error(value))?;
    if sizes.is_empty() || sizes.len() > 3 {
        return Err(unnamed_check("vec.size() > 0 && vec.size() < 4"));
    }
    Ok(Some(sizes))
}

/// Checks `threads` and `group_size` against each other and against the kernel's limit, and fills in the default group.
///
/// # Errors
/// RuntimeError when sizes are missing, disagree in rank or exceed 32 bits; ValueError for a group over the limit.
pub(crate) fn grid(threads: Option<&Sizes>, group_size: Option<&Sizes>, max_threads: u32) -> PyResult<Grid> {
    let Some(threads) = threads else {
        return Err(PyRuntimeError::new_err("Number of threads is undefined or has wrong dimension"));
    };
    if group_size.is_some_and(|group| group.len() != threads.len()) {
        return Err(unnamed_check("!group_size.has_value() || threads->size() == group_size->size()"));
    }
    let group = match (group_size, threads.as_slice()) {
        (Some(group), _) => checked_group(group, max_threads)?,
        (None, &[count]) => [u32::try_from(count).unwrap_or(u32::MAX).clamp(1, max_threads), 1, 1],
        (None, _) => [max_threads, 1, 1],
    };
    Ok(Grid { threads: checked_threads(threads)?, group })
}

fn checked_group(group: &Sizes, max_threads: u32) -> PyResult<[u32; 3]> {
    let count = group.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
    if count.is_none_or(|count| count > u64::from(max_threads)) {
        return Err(PyValueError::new_err(format!("Threadgroup size exceeds {max_threads} limit")));
    }
    if count == Some(0) {
        return Err(PyValueError::new_err(format!("Threadgroup size {group:?} has no threads")));
    }
    let mut sizes = [1; 3];
    for (size, &wanted) in sizes.iter_mut().zip(group) {
        *size =
            u32::try_from(wanted).expect("every factor of a nonzero product is at most the product, which was checked");
    }
    Ok(sizes)
}

fn checked_threads(threads: &Sizes) -> PyResult<[u32; 3]> {
    let mut sizes = [1; 3];
    for (size, &wanted) in sizes.iter_mut().zip(threads) {
        *size = u32::try_from(wanted).map_err(|_| too_many_threads(threads))?;
    }
    Ok(sizes)
}

fn too_many_threads(threads: &Sizes) -> PyErr {
    let axes: Vec<String> = threads.iter().map(u64::to_string).collect();
    let along = if axes.len() == 1 { "" } else { " along one axis" };
    PyRuntimeError::new_err(format!("MPS {}D dispatch of {} threads exceeds 2^32{along}", axes.len(), axes.join("x")))
}
