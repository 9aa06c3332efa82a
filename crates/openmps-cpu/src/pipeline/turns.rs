//! Lets lanes that are done with a turn of a loop wait for those that are still in it.
//!
//! The runtime serves waiting lanes in program order. In a loop that is not enough: a lane that skipped an operation comes to one
//! that stands earlier, in its next turn, and would be served there without the lanes of its SIMD-group that are still in the turn before.
//! So such a loop gets a rendezvous at its end. A loop whose operations every turn passes needs none, since nobody can
//! skip one. Runs before sites are numbered, on functions whose loops have one way back each ("loop-simplify").

use std::collections::{BTreeMap, BTreeSet};

use openmps_engine::EngineError;
use openmps_llvm::{Block, Module, PassOptions, TargetMachine};

use super::internal;
use super::sites::LANE_FUNCTION;
use crate::abi::KERNEL_SYMBOL;
use crate::lower::order::weak_topological_order;
use crate::lower::simdgroup_barrier_code;

/// Adds a rendezvous to each loop of the exported function that needs one.
pub(super) fn run(module: &mut Module<'_>, machine: &TargetMachine) -> Result<(), EngineError> {
    module.run_passes("function(loop-simplify)", Some(machine), PassOptions::default()).map_err(internal)?;
    let function = module.function(KERNEL_SYMBOL).expect("the entry was linked");
    let blocks = function.blocks();
    let numbers: BTreeMap<_, usize> = blocks.iter().enumerate().map(|(number, block)| (*block, number)).collect();
    let successors: Vec<Vec<usize>> =
        blocks.iter().map(|block| block.successors().iter().map(|next| numbers[next]).collect()).collect();
    let sites: BTreeSet<usize> = (0..blocks.len()).filter(|number| has_site(blocks[*number])).collect();
    for latch in latches(&successors, &sites) {
        meet_at_end(module, blocks[latch]);
    }
    Ok(())
}

fn has_site(block: Block<'_>) -> bool {
    let is_site = |name: String| name == LANE_FUNCTION;
    block.instructions().into_iter().filter_map(openmps_llvm::Instruction::called_function).any(|it| is_site(it.name()))
}

fn meet_at_end<'m>(module: &'m Module<'_>, latch: Block<'m>) {
    let lane = module.function(LANE_FUNCTION).expect("a site calls it");
    let builder = module.builder();
    builder.position_before(latch.terminator().expect("a latch goes back"));
    let number = |value: u32| module.context().i32().const_int(u64::from(value));
    let no_words = lane.parameters()[4].ty().zero();
    builder.call(lane, &[number(0), number(simdgroup_barrier_code()), number(0), number(0), no_words]);
}

/// The ends of the loops in which a lane can skip a site of `sites`.
fn latches(successors: &[Vec<usize>], sites: &BTreeSet<usize>) -> Vec<usize> {
    let mut places = vec![usize::MAX; successors.len()];
    for (place, node) in weak_topological_order(0, successors).into_iter().enumerate() {
        places[node] = place;
    }
    let is_reachable = |node: usize| places[node] != usize::MAX;
    let edges = successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
    let backward: Vec<(usize, usize)> =
        edges.filter(|&(from, to)| is_reachable(from) && places[to] <= places[from]).collect();
    let bodies: Vec<BTreeSet<usize>> =
        backward.iter().map(|&(latch, header)| body(successors, latch, header)).collect();
    let mut found = Vec::new();
    for (number, &(latch, header)) in backward.iter().enumerate() {
        let inside = |node: usize| bodies[number].contains(&node);
        let is_in_inner_loop = |site: usize| {
            let inner = |other: usize| other != number && inside(backward[other].1) && backward[other].1 != header;
            (0..backward.len()).any(|other| inner(other) && bodies[other].contains(&site))
        };
        let can_skip =
            |site: usize| is_in_inner_loop(site) || reaches(successors, header, latch, site, &bodies[number]);
        if sites.iter().any(|&site| inside(site) && can_skip(site)) {
            found.push(latch);
        }
    }
    found
}

/// The nodes from which `latch` can be reached without passing `header`, with both.
fn body(successors: &[Vec<usize>], latch: usize, header: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([header, latch]);
    let mut open = vec![latch];
    while let Some(node) = open.pop() {
        if node == header {
            continue;
        }
        let before = (0..successors.len()).filter(|before| successors[*before].contains(&node));
        open.extend(before.filter(|before| found.insert(*before)));
    }
    found
}

/// Whether a turn from `header` to `latch` can leave `without` out.
fn reaches(successors: &[Vec<usize>], header: usize, latch: usize, without: usize, body: &BTreeSet<usize>) -> bool {
    let mut seen = BTreeSet::from([without]);
    let mut open = vec![header];
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        if node == latch {
            return true;
        }
        open.extend(successors[node].iter().filter(|next| body.contains(next) && **next != header));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(successors: &[&[usize]], sites: &[usize]) -> Vec<usize> {
        let successors: Vec<Vec<usize>> = successors.iter().map(|next| next.to_vec()).collect();
        latches(&successors, &sites.iter().copied().collect())
    }

    #[test]
    fn a_loop_that_always_passes_its_site_needs_none() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3.
        assert_eq!(of(&[&[1], &[2], &[1, 3], &[]], &[1]), []);
        assert_eq!(of(&[&[1], &[2], &[1, 3], &[]], &[2]), []);
        assert_eq!(of(&[&[1], &[2], &[1, 3], &[]], &[3]), []);
    }

    #[test]
    fn a_site_under_a_condition_needs_one() {
        // 1 -> 2 or 3, 2 -> 3, 3 -> 1 or 4.
        let graph: &[&[usize]] = &[&[1], &[2, 3], &[3], &[1, 4], &[]];
        assert_eq!(of(graph, &[2]), [3]);
        assert_eq!(of(graph, &[1, 3]), []);
    }

    #[test]
    fn a_site_of_an_inner_loop_needs_one_around_it() {
        // 1 -> 2, 2 -> 2 or 3, 3 -> 1 or 4: lanes may take different numbers of inner turns.
        assert_eq!(of(&[&[1], &[2], &[2, 3], &[1, 4], &[]], &[2]), [3]);
    }

    #[test]
    fn a_site_on_the_way_out_needs_none() {
        // 1 -> 2 or 3, 2 leaves by 4; 3 -> 1.
        assert_eq!(of(&[&[1], &[2, 3], &[4], &[1], &[]], &[2]), []);
    }
}
