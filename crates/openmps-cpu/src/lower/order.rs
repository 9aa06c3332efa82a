//! Program order of basic blocks such that a loop is finished before what follows it.
//!
//! Lanes that left a loop early must wait for those still in it, so the blocks of a loop have to come before the blocks after
//! it, and both branches of a condition before their join. A weak topological order has this property (François Bourdoncle,
//! "Efficient chaotic iteration strategies with widenings", 1993): strongly connected components are kept together, in
//! topological order, and each is ordered in the same way after its head is taken away. Recursion depth is the nesting of loops,
//! and the search itself keeps its own stack.

/// The nodes reachable from `entry` in weak topological order; `successors[n]` are the nodes that `n` may go to.
pub(crate) fn weak_topological_order(entry: usize, successors: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::new();
    let members: Vec<bool> = vec![true; successors.len()];
    order_region(entry, successors, &members, &mut order);
    order
}

/// Appends the part of `members` that is reachable from `entry`.
fn order_region(entry: usize, successors: &[Vec<usize>], members: &[bool], order: &mut Vec<usize>) {
    // Tarjan's components come out in reverse topological order.
    for component in components(entry, successors, members).into_iter().rev() {
        let head = *component.last().expect("a component has a node");
        order.push(head);
        if component.len() > 1 {
            let mut inner = vec![false; successors.len()];
            component.iter().for_each(|&node| inner[node] = node != head);
            order_loop_body(head, successors, &mut inner, order);
        }
    }
}

/// Orders the members of a component behind its head, entering where the head goes.
fn order_loop_body(head: usize, successors: &[Vec<usize>], inner: &mut [bool], order: &mut Vec<usize>) {
    // A virtual entry before the head's successors: their regions in one topological order.
    let mut extended: Vec<Vec<usize>> = successors.to_vec();
    extended.push(successors[head].clone());
    let mut members = inner.to_vec();
    members.push(true);
    let mut body = Vec::new();
    order_region(successors.len(), &extended, &members, &mut body);
    order.extend(body.into_iter().filter(|&node| node != successors.len()));
}

struct Search<'graph> {
    successors: &'graph [Vec<usize>],
    members: &'graph [bool],
    index: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

/// Strongly connected components among `members` reachable from `entry`, each with its first visited node last.
fn components(entry: usize, successors: &[Vec<usize>], members: &[bool]) -> Vec<Vec<usize>> {
    let count = successors.len();
    let mut search = Search {
        successors,
        members,
        index: vec![usize::MAX; count],
        low: vec![0; count],
        on_stack: vec![false; count],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    search.visit(entry);
    search.found
}

impl Search<'_> {
    fn enter(&mut self, node: usize) {
        self.index[node] = self.next;
        self.low[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn visit(&mut self, root: usize) {
        self.enter(root);
        // Each frame is a node and the successor to look at next.
        let mut frames = vec![(root, 0)];
        while let Some((node, at)) = frames.pop() {
            if let Some(&next) = self.successors[node].get(at) {
                frames.push((node, at + 1));
                if !self.members[next] {
                    continue;
                }
                if self.index[next] == usize::MAX {
                    self.enter(next);
                    frames.push((next, 0));
                } else if self.on_stack[next] {
                    self.low[node] = self.low[node].min(self.index[next]);
                }
                continue;
            }
            if let Some(&(parent, _)) = frames.last() {
                self.low[parent] = self.low[parent].min(self.low[node]);
            }
            if self.low[node] == self.index[node] {
                self.pop_component(node);
            }
        }
    }

    fn pop_component(&mut self, head: usize) {
        let mut component = Vec::new();
        while let Some(node) = self.stack.pop() {
            self.on_stack[node] = false;
            component.push(node);
            if node == head {
                break;
            }
        }
        self.found.push(component);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(successors: &[&[usize]]) -> Vec<usize> {
        let successors: Vec<Vec<usize>> = successors.iter().map(|next| next.to_vec()).collect();
        let order = weak_topological_order(0, &successors);
        let mut places = vec![usize::MAX; successors.len()];
        order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
        places
    }

    #[test]
    fn a_loop_comes_before_its_exit_whatever_the_order_of_edges() {
        for header in [&[2, 3][..], &[3, 2]] {
            let places = places(&[&[1], header, &[1], &[]]);
            assert_eq!(places, [0, 1, 2, 3]);
        }
    }

    #[test]
    fn joins_come_after_both_branches() {
        for entry in [&[1, 2][..], &[2, 1]] {
            let places = places(&[entry, &[3], &[3], &[]]);
            assert!(places[3] > places[1] && places[3] > places[2]);
        }
    }

    #[test]
    fn inner_loops_stay_together() {
        // 0 -> 1(outer) -> 2(inner) -> 3 -> 2; 2 -> 4 -> 1; 1 -> 5; breaks from 3 to 4.
        let places = places(&[&[1], &[5, 2], &[4, 3], &[2, 4], &[1], &[]]);
        assert_eq!(places, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn early_exits_of_a_loop_wait() {
        // A break out of the middle of the loop: its target comes after all of the loop.
        let places = places(&[&[1], &[2], &[4, 3], &[1, 4], &[]]);
        assert_eq!(places, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn unreachable_nodes_have_no_place() {
        assert_eq!(places(&[&[1], &[], &[1]])[2], usize::MAX);
    }
}
