//! The control flow of a function: blocks in an order in which loops are contiguous, natural loops, post-dominators.
//!
//! Guarantees: blocks are numbered by a weak topological order, entry first; an edge to a lower or the same number goes back to
//! the header of a loop; a loop is the blocks from its header to its latch, which is its only one. Other flow is refused.
//! Unreachable blocks are left out.

use std::collections::{BTreeSet, HashMap};

use openmps_llvm::{Block, Function, Opcode, PlainOp};

use super::refusal::Refusal;
use crate::lower::order::weak_topological_order;

/// A natural loop: blocks `header..=latch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) header: usize,
    /// The only block that goes back.
    pub(super) latch: usize,
    /// The loop around it.
    pub(super) parent: Option<usize>,
}

impl Loop {
    pub(super) fn contains(&self, block: usize) -> bool {
        (self.header..=self.latch).contains(&block)
    }
}

/// A function's blocks and what connects them, by number.
pub(super) struct Graph<'m> {
    pub(super) blocks: Vec<Block<'m>>,
    pub(super) successors: Vec<Vec<usize>>,
    pub(super) predecessors: Vec<Vec<usize>>,
    /// Outer loops come first.
    pub(super) loops: Vec<Loop>,
    /// The innermost loop of each block.
    pub(super) loop_of: Vec<Option<usize>>,
    /// The immediate post-dominator of each block; none where that is the end of the function, or the end is never reached.
    pub(super) post_dominators: Vec<Option<usize>>,
    numbers: HashMap<Block<'m>, usize>,
}

impl<'m> Graph<'m> {
    /// # Errors
    /// Flow that is no nest of loops with one latch each.
    pub(super) fn new(function: Function<'m>) -> Result<Self, Refusal> {
        let listed = function.blocks();
        let order = weak_topological_order(0, &listed_successors(&listed));
        let blocks: Vec<Block<'m>> = order.iter().map(|&at| listed[at]).collect();
        let numbers: HashMap<Block<'m>, usize> = blocks.iter().enumerate().map(|(at, &block)| (block, at)).collect();
        let successors: Vec<Vec<usize>> =
            blocks.iter().map(|block| block.successors().iter().map(|next| numbers[next]).collect()).collect();
        for block in &blocks {
            let terminator = block.terminator().ok_or(Refusal::ControlFlow)?.opcode();
            let is_known = [PlainOp::Br, PlainOp::Ret, PlainOp::Unreachable].map(Opcode::Plain).contains(&terminator);
            if !is_known {
                return Err(Refusal::ControlFlow);
            }
        }
        let (loops, loop_of) = find_loops(&successors)?;
        let predecessors = reversed(&successors);
        let post_dominators = post_dominators(&successors, &predecessors);
        Ok(Self { blocks, successors, predecessors, loops, loop_of, post_dominators, numbers })
    }

    /// The number of `block`; none where it is not reached.
    pub(super) fn number(&self, block: Block<'m>) -> Option<usize> {
        self.numbers.get(&block).copied()
    }

    /// The loops around `block`, innermost first.
    pub(super) fn loops_around(&self, block: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.loop_of[block], |&number| self.loops[number].parent)
    }

    /// The blocks on the ways from `block` to its post-dominator, without both ends.
    pub(super) fn region(&self, block: usize) -> BTreeSet<usize> {
        let end = self.post_dominators[block];
        let mut region = BTreeSet::new();
        let mut open = self.successors[block].clone();
        while let Some(next) = open.pop() {
            if Some(next) != end && region.insert(next) {
                open.extend(&self.successors[next]);
            }
        }
        region
    }
}

/// The successors of each block, as places in `blocks`.
fn listed_successors(blocks: &[Block<'_>]) -> Vec<Vec<usize>> {
    let place: HashMap<Block<'_>, usize> = blocks.iter().enumerate().map(|(at, &block)| (block, at)).collect();
    blocks.iter().map(|block| block.successors().iter().map(|next| place[next]).collect()).collect()
}

/// Whether a function repeats any of its blocks.
pub(crate) fn has_loop(function: Function<'_>) -> bool {
    let successors = listed_successors(&function.blocks());
    let mut place = vec![0; successors.len()];
    for (at, block) in weak_topological_order(0, &successors).into_iter().enumerate() {
        place[block] = at + 1;
    }
    // Blocks that are not reached have no place.
    let goes_back = |from: usize, to: usize| place[from] != 0 && place[to] <= place[from];
    successors.iter().enumerate().any(|(from, next)| next.iter().any(|&to| goes_back(from, to)))
}

/// The blocks of each loop of any function, header first and latch last.
pub(super) fn listed_loops(function: Function<'_>) -> Vec<Vec<Block<'_>>> {
    let listed = function.blocks();
    let successors = listed_successors(&listed);
    let order = weak_topological_order(0, &successors);
    let mut place = vec![None; listed.len()];
    for (at, &block) in order.iter().enumerate() {
        place[block] = Some(at);
    }
    let mut loops = Vec::new();
    for (at, &block) in order.iter().enumerate() {
        for header in successors[block].iter().filter_map(|&next| place[next]).filter(|&header| header <= at) {
            loops.push(order[header..=at].iter().map(|&block| listed[block]).collect());
        }
    }
    loops
}

fn reversed(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (from, to) in successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to))) {
        if !predecessors[to].contains(&from) {
            predecessors[to].push(from);
        }
    }
    predecessors
}

type Loops = (Vec<Loop>, Vec<Option<usize>>);

fn find_loops(successors: &[Vec<usize>]) -> Result<Loops, Refusal> {
    let edges = || successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
    let mut loops: Vec<Loop> = Vec::new();
    for (latch, header) in edges().filter(|&(from, to)| to <= from) {
        if loops.iter().any(|known| known.header == header && known.latch != latch) {
            return Err(Refusal::ControlFlow);
        }
        if !loops.iter().any(|known| known.header == header) {
            loops.push(Loop { header, latch, parent: None });
        }
    }
    loops.sort_by_key(|found| found.header);
    for found in &loops {
        // A way into the middle.
        if edges().any(|(from, to)| found.contains(to) && to != found.header && !found.contains(from)) {
            return Err(Refusal::ControlFlow);
        }
    }
    let mut loop_of = vec![None; successors.len()];
    for number in 0..loops.len() {
        let Loop { header, latch, .. } = loops[number];
        let parent = (0..number).rev().find(|&outer| loops[outer].contains(header));
        if parent.is_some_and(|outer| !loops[outer].contains(latch)) {
            return Err(Refusal::ControlFlow);
        }
        loops[number].parent = parent;
        loop_of[header..=latch].fill(Some(number));
    }
    Ok((loops, loop_of))
}

/// Immediate post-dominators (Keith Cooper, Timothy Harvey, Ken Kennedy, "A simple, fast dominance algorithm", 2001) over the
/// reversed graph, with one virtual end behind all blocks that go nowhere.
fn post_dominators(successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let count = successors.len();
    let end = count;
    let (order, place) = reverse_postorder(successors, predecessors);
    let mut immediate: Vec<Option<usize>> = vec![None; count + 1];
    immediate[end] = Some(end);
    let intersect = |immediate: &[Option<usize>], mut a: usize, mut b: usize| {
        while a != b {
            while place[a] > place[b] {
                a = immediate[a].expect("nodes before it have one");
            }
            while place[b] > place[a] {
                b = immediate[b].expect("nodes before it have one");
            }
        }
        a
    };
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().filter(|&&node| node != end) {
            let next: &[usize] = if successors[node].is_empty() { &[end] } else { &successors[node] };
            let known = next.iter().copied().filter(|&to| immediate[to].is_some());
            let found = known.reduce(|a, b| intersect(&immediate, a, b));
            if found.is_some() && immediate[node] != found {
                (immediate[node], changed) = (found, true);
            }
        }
    }
    immediate.truncate(count);
    immediate.into_iter().map(|found| found.filter(|&node| node != end)).collect()
}

/// Nodes that reach the end, from the end backwards, and the place of each.
fn reverse_postorder(successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let end = successors.len();
    let exits: Vec<usize> = (0..end).filter(|&node| successors[node].is_empty()).collect();
    let before = |node: usize| if node == end { &exits } else { &predecessors[node] };
    let mut seen = vec![false; end + 1];
    let mut postorder = Vec::new();
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((node, next)) = stack.pop() {
        match before(node).get(next) {
            None => postorder.push(node),
            Some(&other) => {
                stack.push((node, next + 1));
                if !std::mem::replace(&mut seen[other], true) {
                    stack.push((other, 0));
                }
            }
        }
    }
    postorder.reverse();
    let mut place = vec![usize::MAX; end + 1];
    for (at, &node) in postorder.iter().enumerate() {
        place[node] = at;
    }
    (postorder, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = (Vec<(usize, usize, Option<usize>)>, Vec<Option<usize>>);

    /// Header, latch and parent of loops, and post-dominators, of blocks numbered in order already.
    fn shape(successors: &[&[usize]]) -> Found {
        let successors: Vec<Vec<usize>> = successors.iter().map(|next| next.to_vec()).collect();
        let (loops, _) = find_loops(&successors).unwrap();
        let loops = loops.iter().map(|found| (found.header, found.latch, found.parent)).collect();
        (loops, post_dominators(&successors, &reversed(&successors)))
    }

    #[test]
    fn a_branch_ends_at_its_join() {
        let (loops, ends) = shape(&[&[1, 2], &[3], &[3], &[]]);
        assert!(loops.is_empty());
        assert_eq!(ends, [Some(3), Some(3), Some(3), None]);
    }

    #[test]
    fn two_returns_have_no_join() {
        let (_, ends) = shape(&[&[1, 2], &[], &[]]);
        assert_eq!(ends, [None, None, None]);
    }

    #[test]
    fn loops_nest() {
        // 0 -> 1 { 2 { 3 } 4 } 5
        let (loops, ends) = shape(&[&[1], &[2], &[3, 4], &[2], &[1, 5], &[]]);
        assert_eq!(loops, [(1, 4, None), (2, 3, Some(0))]);
        assert_eq!(ends, [Some(1), Some(2), Some(4), Some(2), Some(5), None]);
    }

    #[test]
    fn a_loop_without_end_has_no_post_dominators() {
        let (_, ends) = shape(&[&[1, 2], &[1], &[]]);
        assert_eq!(ends[1], None);
        assert_eq!(ends[0], Some(2), "what never ends does not count");
    }

    #[test]
    fn two_latches_and_two_ways_in_are_refused() {
        let refused = |successors: &[&[usize]]| {
            let successors: Vec<Vec<usize>> = successors.iter().map(|next| next.to_vec()).collect();
            find_loops(&successors).map(|_| ()) == Err(Refusal::ControlFlow)
        };
        assert!(refused(&[&[1], &[2, 3], &[1], &[1, 4], &[]]));
        assert!(refused(&[&[1, 2], &[2, 3], &[1], &[]]));
    }
}
