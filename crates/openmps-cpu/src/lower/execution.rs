//! Questions about the execution and about function constants.

use super::text::{Body, Ty, Value};
use super::{Declaration, Lowered};

/// Whether the function asks for the calling thread's lane, which only threads of their own know.
pub(super) fn asks_for_lane(declaration: &Declaration) -> bool {
    declaration.parts().0 == "get_thread_index_in_simdgroup"
}

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let result = declaration.result.as_ref()?;
    let value = match declaration.parts().0 {
        "get_simdgroup_size" => Value::int(result, 32),
        "get_read_sampler" => Value::new(result.clone(), "null"),
        "get_thread_index_in_simdgroup" => {
            let lane = body.call(&Ty::scalar("i32"), "openmps_lane_index", &[]);
            body.cast("trunc", &lane, result)
        }
        // Every table is empty, and calls of what is in one are traps before this is lowered.
        "get_function_pointer_visible_function_table" => Value::new(result.clone(), "null"),
        // Only feeds assumptions.
        "is_uniform" => Value::new(result.clone(), "true"),
        // Kernels that depend on the answer are specialized before they come here.
        "is_function_constant_defined" => Value::new(result.clone(), "false"),
        "normalize_function_constant_predicate" => {
            let x = declaration.parameter(0)?;
            let truth = body.compare("icmp ne", &x, &Value::int(&x.ty, 0));
            body.cast("zext", &truth, result)
        }
        _ => return None,
    };
    Some(Lowered::Value(value))
}
