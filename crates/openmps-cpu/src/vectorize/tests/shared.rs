//! What both copies of a block have in common.

use super::vectorized;

#[test]
fn what_lanes_share_from_the_start_is_there_once_for_both_copies() {
    let text = vectorized(
        "  %n.at = getelementptr i32, ptr %p, i32 %y
  %n = load i32, ptr %n.at, !invariant.load !0
  %twice = shl i32 %n, 1
  %third = udiv i32 %twice, %n
  %changing = load i32, ptr %p
  %sum = add i32 %changing, %third
  %wide = zext i32 %x to i64
  %at = getelementptr i32, ptr %p, i64 %wide
  store i32 %sum, ptr %at
  ret void",
    )
    .unwrap();
    for (part, count) in [("!invariant.load", 1), ("shl i32", 1), ("udiv i32", 2), ("load i32, ptr %0,", 2)] {
        assert_eq!(text.matches(part).count(), count, "{part} in\n{text}");
    }
}
