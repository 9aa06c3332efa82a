//! Functions over lanes against direct formulas, for random masks and values.

use super::*;

fn lanes(name: &str) -> fn(&LaneCall<'_>) -> u64 {
    let Reference::Lanes(function) = reference(name) else { panic!("{name} is over lanes") };
    function
}

/// Some call in which `lane` takes part.
struct Sample {
    values: [u64; 32],
    fill: [u64; 32],
    active: u32,
}

impl Sample {
    fn new(random: &mut Random) -> Self {
        let mut word = || random.next() & 0xffff_ffff;
        Self { values: [(); 32].map(|()| word()), fill: [(); 32].map(|()| word()), active: word() as u32 }
    }

    fn full(mut self) -> Self {
        self.active = u32::MAX;
        self
    }

    fn call(&self, name: &str, lane: u32, operand: u32, modulo: u32) -> u64 {
        let (values, fill, active) = (&self.values, &self.fill, self.active);
        lanes(name)(&LaneCall { values, fill, active, lane, operand, modulo })
    }

    fn active_lanes(&self) -> Vec<u32> {
        (0..32).filter(|lane| self.active >> lane & 1 == 1).collect()
    }

    /// The values of the active lanes of the quad of `lane`, or of all.
    fn group(&self, scope: &str, lane: u32) -> Vec<(u32, u64)> {
        let kept = |other: &u32| scope == "simd" || other / 4 == lane / 4;
        self.active_lanes().into_iter().filter(kept).map(|lane| (lane, self.values[lane as usize])).collect()
    }
}

/// Runs `check` for random calls, each active lane, both scopes.
fn each_call(check: impl Fn(&Sample, &str, u32)) {
    let mut random = Random::new();
    for round in 0..40 {
        let sample = Sample::new(&mut random);
        let sample = if round % 4 == 0 { sample.full() } else { sample };
        for lane in sample.active_lanes() {
            check(&sample, "simd", lane);
            check(&sample, "quad", lane);
        }
    }
}

#[test]
fn integer_reductions_and_scans() {
    each_call(|sample, scope, lane| {
        let group = sample.group(scope, lane);
        let words = || group.iter().map(|(_, value)| *value as u32);
        let before = |inclusive: bool| {
            let kept = move |other: u32| other < lane || inclusive && other == lane;
            group.clone().into_iter().filter(move |(other, _)| kept(*other)).map(|(_, value)| value as u32)
        };
        let check = |operation: &str, expected: u32| {
            let name = format!("air.{scope}_{operation}");
            assert_eq!(sample.call(&name, lane, 0, 32), u64::from(expected), "{name} {:#x}", sample.active);
        };
        check("sum.u.i32", words().fold(0, u32::wrapping_add));
        check("sum.s.i32", words().fold(0, u32::wrapping_add));
        check("product.u.i32", words().fold(1, u32::wrapping_mul));
        check("min.u.i32", words().min().unwrap());
        check("max.u.i32", words().max().unwrap());
        check("min.s.i32", words().map(u32::cast_signed).min().unwrap().cast_unsigned());
        check("max.s.i32", words().map(u32::cast_signed).max().unwrap().cast_unsigned());
        check("and.u.i32", words().fold(!0, |x, y| x & y));
        check("or.u.i32", words().fold(0, |x, y| x | y));
        check("xor.s.i32", words().fold(0, |x, y| x ^ y));
        check("prefix_inclusive_sum.u.i32", before(true).fold(0, u32::wrapping_add));
        check("prefix_exclusive_sum.s.i32", before(false).fold(0, u32::wrapping_add));
        check("prefix_inclusive_product.u.i32", before(true).fold(1, u32::wrapping_mul));
        check("prefix_exclusive_product.u.i32", before(false).fold(1, u32::wrapping_mul));
    });
}

#[test]
fn narrow_integers_wrap() {
    let sample = Sample { values: [200; 32], fill: [0; 32], active: u32::MAX };
    assert_eq!(sample.call("air.simd_sum.u.i8", 0, 0, 32), 200 * 32 % 256);
    assert_eq!(sample.call("air.simd_prefix_inclusive_sum.s.i8", 1, 0, 32), 400 % 256);
    assert_eq!(sample.call("air.simd_product.u.i16", 0, 0, 32), 0);
    assert_eq!(sample.call("air.simd_max.s.i8", 0, 0, 32), 200);
}

#[test]
fn float_reductions_fold_in_f32_by_halves() {
    let mut random = Random::new();
    for _ in 0..50 {
        let mut sample = Sample::new(&mut random);
        sample.values = [(); 32].map(|()| F32::encode((random.next() >> 40) as f64 / 1e6 - 8.0));
        for lane in sample.active_lanes() {
            let group = sample.group("simd", lane);
            let numbers = || group.iter().map(|(_, bits)| f32::from_bits(*bits as u32));
            let call = |name: &str| f32::from_bits(sample.call(name, lane, 0, 32) as u32);
            let halves = |none: f32, combine: fn(f32, f32) -> f32| {
                let mut values = [none; 32];
                group.iter().for_each(|(lane, bits)| values[*lane as usize] = f32::from_bits(*bits as u32));
                for half in [16, 8, 4, 2, 1] {
                    (0..half).for_each(|place| values[place] = combine(values[place], values[place + half]));
                }
                values[0]
            };
            assert_eq!(call("air.simd_sum.f32"), halves(-0.0, |x, y| x + y));
            assert_eq!(call("air.simd_product.f32"), halves(1.0, |x, y| x * y));
            assert_eq!(call("air.simd_max.f32"), numbers().reduce(f32::max).unwrap());
            // By doubling distances: the sum of a lane is that of its half and of the half below.
            let mut values = [-0.0_f32; 32];
            group.iter().for_each(|(lane, bits)| values[*lane as usize] = f32::from_bits(*bits as u32));
            for distance in [1, 2, 4, 8, 16] {
                let below = values;
                let before = |place: usize| place.checked_sub(distance).map_or(0.0, |place| below[place]);
                (0..32).for_each(|place| values[place] = before(place) + below[place]);
            }
            assert_eq!(call("air.simd_prefix_inclusive_sum.f32"), values[lane as usize]);
            let exclusive = lane.checked_sub(1).map_or(0.0, |below| values[below as usize]);
            assert_eq!(call("air.simd_prefix_exclusive_sum.f32"), exclusive);
        }
    }
    // 2048 + 1 + 1 … does not move in f16; in f32 it does.
    let mut values = [F16::encode(1.0); 32];
    values[0] = F16::encode(2048.0);
    let sample = Sample { values, fill: values, active: u32::MAX };
    assert_eq!(F16::decode(sample.call("air.simd_sum.f16", 3, 0, 32)), F16::decode(F16::encode(2079.0)));
    let mut with_nan = Sample { values: [F32::NAN; 32], fill: values, active: u32::MAX };
    assert_eq!(with_nan.call("air.simd_min.f32", 0, 0, 32), F32::NAN);
    with_nan.values[9] = F32::encode(-3.0);
    assert_eq!(F32::decode(with_nan.call("air.simd_min.f32", 0, 0, 32)), -3.0);
    assert_eq!(with_nan.call("air.simd_sum.f32", 0, 0, 32), F32::NAN);
}

#[test]
fn votes_and_ballots() {
    each_call(|sample, scope, lane| {
        let mut sample = Sample { values: sample.values.map(|value| value & 1), ..*sample };
        let group = sample.group(scope, lane);
        let base = if scope == "simd" { 0 } else { lane / 4 * 4 };
        let ballot: u64 = group.iter().map(|(other, value)| value << (other - base)).sum();
        let mask: u64 = group.iter().map(|(other, _)| 1 << (other - base)).sum();
        let call = |sample: &Sample, name: &str| sample.call(&format!("air.{scope}_{name}"), lane, 0, 32);
        assert_eq!(call(&sample, "all"), u64::from(group.iter().all(|(_, value)| *value == 1)));
        assert_eq!(call(&sample, "any"), u64::from(group.iter().any(|(_, value)| *value == 1)));
        assert_eq!(call(&sample, "ballot.i64"), ballot);
        assert_eq!(call(&sample, "active_threads_mask.i64"), mask);
        assert_eq!(call(&sample, "is_first"), u64::from(group[0].0 == lane));
        sample.values[lane as usize] = ballot;
        assert_eq!(call(&sample, "vote_all.i64"), u64::from(ballot == mask));
        assert_eq!(call(&sample, "vote_any.i64"), u64::from(ballot != 0));
    });
}

#[test]
fn shuffles_read_the_lane_that_they_name() {
    each_call(|sample, scope, lane| {
        let width: i64 = if scope == "simd" { 32 } else { 4 };
        let (base, place) = (i64::from(lane) / width * width, i64::from(lane) % width);
        for operand in [0, 1, 2, 3, 5, 16, 31, 32, 40] {
            let read = |index: i64| {
                let other = if (0..width).contains(&index) { (base + index) as u32 } else { lane };
                if sample.active >> other & 1 == 1 { sample.values[other as usize] } else { 0 }
            };
            let check = |operation: &str, expected: u64| {
                let name = format!("air.{scope}_{operation}.f32");
                assert_eq!(sample.call(&name, lane, operand, 32), expected, "{name} lane {lane} operand {operand}");
            };
            let by = i64::from(operand);
            check("shuffle", read(by));
            check("broadcast", read(by));
            check("shuffle_up", read(place - by));
            check("shuffle_down", read(place + by));
            check("shuffle_xor", read(place ^ by));
            check("shuffle_rotate_up", read((place - by).rem_euclid(width)));
            check("shuffle_rotate_down", read((place + by).rem_euclid(width)));
            check("broadcast_first", sample.group(scope, lane)[0].1);
        }
    });
}

#[test]
fn fill_shuffles_compare_before_they_wrap() {
    let mut random = Random::new();
    let sample = Sample::new(&mut random).full();
    for modulo in [2, 8, 32] {
        for lane in 0..32 {
            let (place, base) = (lane % modulo, lane / modulo * modulo);
            for delta in 0..=modulo {
                let up = if place >= delta {
                    sample.values[(base + place - delta) as usize]
                } else {
                    sample.fill[(base + place + modulo - delta) as usize]
                };
                let down = if place + delta < modulo {
                    sample.values[(base + place + delta) as usize]
                } else {
                    sample.fill[(base + place + delta - modulo) as usize]
                };
                assert_eq!(sample.call("air.simd_shuffle_and_fill_up.u.i32", lane, delta, modulo), up);
                assert_eq!(sample.call("air.simd_shuffle_and_fill_down.u.i32", lane, delta, modulo), down);
            }
            // A lane that takes no part gives zero, in neither operand the fill.
            let alone = Sample { active: 1 << lane, ..sample };
            let zero = alone.call("air.simd_shuffle_and_fill_down.u.i32", lane, 1, modulo);
            assert_eq!(zero, 0);
            // Everything comes from the fill operand of the lane itself.
            let whole = sample.call("air.simd_shuffle_and_fill_up.f32", lane, modulo, modulo);
            assert_eq!(whole, sample.fill[lane as usize]);
        }
    }
}
