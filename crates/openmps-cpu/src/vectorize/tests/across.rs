//! Which stores go across rows.

use openmps_engine::EngineChoice;

use super::made;
use crate::vectorize::choice::Size;

#[test]
fn stores_across_rows_are_told_from_others() {
    let stores_across = |address: &str| {
        let body = format!(
            "  %n = load i32, ptr %p\n{address}\n  %wide = zext i32 %place to i64\n  \
             %at = getelementptr float, ptr %p, i64 %wide\n  store float 1.0, ptr %at\n  ret void"
        );
        made(EngineChoice::Auto, Size::Unrolled, &body).unwrap().1.stores_across
    };
    // A transposed matrix, whose height is known at run time or at compile time.
    assert!(stores_across("  %row = mul i32 %x, %n\n  %place = add i32 %row, %y"));
    assert!(stores_across("  %row = shl i32 %x, %n\n  %place = sub i32 %row, %y"));
    assert!(stores_across("  %place = mul i32 %x, 16"));
    // Neighbours, a few words a thread, one address for all.
    assert!(!stores_across("  %row = mul i32 %y, %n\n  %place = add i32 %row, %x"));
    assert!(!stores_across("  %place = mul i32 %x, 15"));
    assert!(!stores_across("  %place = mul i32 %y, %n"));
    // Places that memory tells, or that a division folds.
    let loaded = "  %own = getelementptr i32, ptr %p, i32 %x\n  %there = load i32, ptr %own\n";
    assert!(!stores_across(&format!("{loaded}  %place = mul i32 %there, %n")));
    assert!(!stores_across("  %row = mul i32 %x, %n\n  %place = udiv i32 %row, 3"));
}
