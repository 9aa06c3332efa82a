//! Loads and stores of SIMD-groups that lie in several rows of the threadgroup: one access for each row.

use openmps_llvm::{AttributePlace, Instruction, Value};

use super::Emitter;

impl<'m> Emitter<'_, 'm> {
    /// The lanes of `lanes` that are in row `row`.
    fn lanes_of_row(&self, lanes: Value<'m>, row: u32) -> Value<'m> {
        let count = self.analysis.row_lanes;
        let own: Vec<Option<u32>> = (row * count..(row + 1) * count).map(Some).collect();
        self.builder.shuffle(lanes, lanes.ty().poison(), &own)
    }

    /// The lanes of all rows.
    pub(super) fn join_rows(&self, mut rows: Vec<Value<'m>>) -> Value<'m> {
        let mut lanes = self.analysis.row_lanes;
        while rows.len() > 1 {
            lanes *= 2;
            let both: Vec<Option<u32>> = (0..lanes).map(Some).collect();
            rows = rows.chunks(2).map(|pair| self.builder.shuffle(pair[0], pair[1], &both)).collect();
        }
        rows[0]
    }

    /// Elements that follow each other in each row from its place on. A mask is obeyed.
    pub(super) fn load_rows(&self, load: Instruction<'m>, places: &[Value<'m>]) -> Value<'m> {
        let ty = self.context().vector(load.ty(), self.analysis.row_lanes);
        let align = load.alignment().unwrap_or(1);
        let mut rows: Vec<Value<'m>> = Vec::new();
        for (row, &start) in (0..).zip(places) {
            if row > 0 && start == places[0] && self.mask.is_none() {
                rows.push(rows[0]);
                continue;
            }
            let loaded = match self.mask {
                None => {
                    let loaded = self.builder.load(ty, start);
                    loaded.set_alignment(align);
                    loaded
                }
                Some(mask) => {
                    let operands = [start, self.lanes_of_row(mask, row), ty.poison()];
                    let loaded = self.builder.intrinsic("llvm.masked.load", &[ty, start.ty()], &operands);
                    loaded.add_call_attribute(AttributePlace::Parameter(0), "align", u64::from(align));
                    loaded
                }
            };
            rows.push(loaded.as_value());
        }
        self.join_rows(rows)
    }

    /// An element for each row, whose lanes are all active.
    pub(super) fn load_shared_by_rows(&self, load: Instruction<'m>, places: &[Value<'m>]) -> Value<'m> {
        let rows = places.iter().map(|&start| {
            let loaded = self.builder.load(load.ty(), start);
            loaded.set_alignment(load.alignment().unwrap_or(1));
            self.builder.splat(loaded.as_value(), self.analysis.row_lanes)
        });
        self.join_rows(rows.collect())
    }

    /// Elements that follow each other in each row, row after row as threads would one after the other. A mask is obeyed.
    pub(super) fn store_rows(&self, store: Instruction<'m>, lanes: Value<'m>, places: &[Value<'m>]) {
        let align = store.alignment().unwrap_or(1);
        for (row, &start) in (0..).zip(places) {
            let own = self.lanes_of_row(lanes, row);
            match self.mask {
                None => self.builder.store(own, start).set_alignment(align),
                Some(mask) => {
                    let operands = [own, start, self.lanes_of_row(mask, row)];
                    let stored = self.builder.intrinsic("llvm.masked.store", &[own.ty(), start.ty()], &operands);
                    stored.add_call_attribute(AttributePlace::Parameter(1), "align", u64::from(align));
                }
            }
        }
    }
}
