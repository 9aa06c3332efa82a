//! The outside symbols that generated code may use: this crate's runtime, memory functions and a few of mathematics of the C library.

use std::ffi::{c_int, c_void};

use crate::outer;
use crate::runtime;
use crate::tensor::entry as tensor;
use crate::texture;

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void;
}

macro_rules! float_functions {
    ($($name:ident($($parameter:ident),*)),* $(,)?) => {
        unsafe extern "C" { $(fn $name($($parameter: f32),*) -> f32;)* }

        fn float_function(name: &str) -> Option<usize> {
            match name {
                $(stringify!($name) => Some($name as *const () as usize),)*
                _ => None,
            }
        }
    };
}

// Instructions of the pipeline's output that LLVM turns into calls: the remainder always, rounding and multiply-add on a CPU
// without SSE4.1 or FMA. Every other function of mathematics is code of the kernel (`lower/`).
float_functions! {
    fmodf(x, y), ceilf(x), floorf(x), fmaf(x, y, z), nearbyintf(x), rintf(x), roundf(x), roundevenf(x), truncf(x),
}

/// The address of `name`, or `None` when generated code may not use it.
pub(crate) fn resolve(name: &str) -> Option<usize> {
    let runtime_function = match name {
        "openmps_barrier" => runtime::barrier as *const () as usize,
        "openmps_lane" => runtime::lane as *const () as usize,
        "openmps_lane_index" => runtime::lane_index as *const () as usize,
        "openmps_thread_index" => runtime::thread_index as *const () as usize,
        "openmps_outer_step" => outer::step as *const () as usize,
        "openmps_outer_finish" => outer::finish as *const () as usize,
        "openmps_tensor_initialize" => tensor::initialize as *const () as usize,
        "openmps_tensor_slice" => tensor::slice as *const () as usize,
        "openmps_tensor_extent" => tensor::extent as *const () as usize,
        "openmps_tensor_operate" => tensor::operate as *const () as usize,
        "openmps_tensor_operate_lanes" => tensor::operate_lanes as *const () as usize,
        "openmps_matmul_coordinate" => tensor::matmul_coordinate as *const () as usize,
        "openmps_matmul_move" => tensor::matmul_move as *const () as usize,
        "openmps_convolution_element_count" => tensor::convolution_element_count as *const () as usize,
        "openmps_convolution_coordinate" => tensor::convolution_coordinate as *const () as usize,
        "openmps_trap_table" => runtime::trap_table as *const () as usize,
        "openmps_texture" => texture::access as *const () as usize,
        "openmps_trap" => runtime::trap as *const () as usize,
        "memcpy" => memcpy as *const () as usize,
        "memmove" => memmove as *const () as usize,
        "memset" => memset as *const () as usize,
        "__extendhfsf2" | "__gnu_h2f_ieee" => runtime::extend_f16 as *const () as usize,
        "__truncsfhf2" | "__gnu_f2h_ieee" => runtime::truncate_f16 as *const () as usize,
        "__extendbfsf2" => runtime::extend_bf16 as *const () as usize,
        "__truncsfbf2" => runtime::truncate_bf16 as *const () as usize,
        _ => return float_function(name),
    };
    Some(runtime_function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_own_functions_and_no_others() {
        for name in ["openmps_lane", "openmps_trap", "openmps_texture", "memcpy", "fmodf", "fmaf", "__truncsfbf2"] {
            assert!(resolve(name).is_some_and(|address| address != 0), "{name}");
        }
        for name in ["system", "malloc", "expf", "openmps_", ""] {
            assert_eq!(resolve(name), None, "{name}");
        }
    }
}
