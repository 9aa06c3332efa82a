//! Access groups in the full copy: one wide access, and shuffles between it and the members' vectors.

use openmps_llvm::{Instruction, Value};

use super::super::refusal::Refusal;
use super::{Emitter, WIDTH};

impl<'m> Emitter<'_, 'm> {
    /// Whether `access` is done with its group, which happens at the group's lead.
    pub(super) fn grouped(&mut self, access: Instruction<'m>, is_store: bool) -> Result<bool, Refusal> {
        if self.mask.is_some() {
            return Ok(false);
        }
        let Some(group) = self.groups.of(access) else { return Ok(false) };
        if group.lead != access {
            return Ok(true);
        }
        let (members, place) = (group.members.clone(), group.lead_place);
        if is_store {
            self.store_group(access, &members, place)?;
        } else {
            self.load_group(access, &members, place)?;
        }
        Ok(true)
    }

    /// The address of the first member, from that of the lead.
    fn group_start(&mut self, pointer: Value<'m>, place: u32, bytes: u64) -> Value<'m> {
        let lead = self.scalar(pointer);
        if place == 0 {
            return lead;
        }
        let back = (u64::from(place) * bytes).wrapping_neg();
        self.builder.gep(self.context().i8(), lead, &[self.context().i64().const_int(back)])
    }

    fn load_group(&mut self, lead: Instruction<'m>, members: &[Instruction<'m>], place: u32) -> Result<(), Refusal> {
        let pointer = lead.operand(0);
        let count = u32::try_from(members.len()).map_err(|_| Refusal::Instruction)?;
        if self.analysis.shape(pointer).is_checked() {
            // The other members' addresses come later: where steps do not hold, the block starts over as a masked one.
            // Members differ by whole elements, which may be as many units of what is extended as they have bytes.
            let bytes = self.module.size_bytes(lead.ty());
            let room = [place, count - 1 - place].map(|members| u64::from(members) * bytes);
            let holds = self.step_holds_with_room(pointer, room);
            let near = self.block("near");
            let far = self.block("far");
            self.builder.cond_br(holds, near, far);
            self.builder.position_at_end(far);
            self.start_over();
            self.builder.position_at_end(near);
        }
        let start = self.group_start(pointer, place, self.module.size_bytes(lead.ty()));
        let wide = self.context().vector(lead.ty(), WIDTH * count);
        let loaded = self.builder.load(wide, start);
        loaded.set_alignment(members.iter().filter_map(|member| member.alignment()).min().unwrap_or(1));
        for (number, member) in (0..).zip(members) {
            let lanes: Vec<Option<u32>> = (0..WIDTH).map(|lane| Some(lane * count + number)).collect();
            let own = self.builder.shuffle(loaded.as_value(), wide.poison(), &lanes);
            self.set_vector(member.as_value(), own);
        }
        Ok(())
    }

    fn store_group(&mut self, lead: Instruction<'m>, members: &[Instruction<'m>], place: u32) -> Result<(), Refusal> {
        let (value, pointer) = (lead.operand(0), lead.operand(1));
        let mut parts = Vec::new();
        for member in members {
            parts.push(self.vector(member.operand(0))?);
        }
        let count = u32::try_from(members.len()).map_err(|_| Refusal::Instruction)?;
        let start = self.group_start(pointer, place, self.module.size_bytes(value.ty()));
        let mut holds = self.context().i1().all_ones();
        for member in members {
            let own = self.step_holds(member.operand(1));
            holds = self.builder.and(holds, own);
        }
        let align = members.iter().filter_map(|member| member.alignment()).min().unwrap_or(1);
        let whole = self.interleave(&parts, count);
        if !self.analysis.shape(pointer).is_checked() {
            self.builder.store(whole, start).set_alignment(align);
            return Ok(());
        }
        let [near, far, done] = ["near", "far", "stored"].map(|name| self.block(name));
        self.builder.cond_br(holds, near, far);
        self.builder.position_at_end(near);
        self.builder.store(whole, start).set_alignment(align);
        self.builder.br(done);
        self.builder.position_at_end(far);
        let registers = self.save_registers();
        for (member, &lanes) in members.iter().zip(&parts) {
            let addresses = self.vector(member.operand(1))?;
            self.scatter(*member, lanes, addresses)?;
        }
        self.restore_registers(registers);
        self.builder.br(done);
        self.builder.position_at_end(done);
        Ok(())
    }

    /// Element `i` of lane `l` at place `l * count + i`.
    fn interleave(&self, parts: &[Value<'m>], count: u32) -> Value<'m> {
        let mut joined = parts.to_vec();
        let mut lanes = WIDTH;
        while joined.len() > 1 {
            let whole: Vec<Option<u32>> = (0..2 * lanes).map(Some).collect();
            joined = joined
                .chunks(2)
                .map(|pair| {
                    let second = pair.get(1).copied().unwrap_or_else(|| pair[0].ty().poison());
                    self.builder.shuffle(pair[0], second, &whole)
                })
                .collect();
            lanes *= 2;
        }
        let order: Vec<Option<u32>> = (0..WIDTH * count).map(|at| Some(at % count * WIDTH + at / count)).collect();
        self.builder.shuffle(joined[0], joined[0].ty().poison(), &order)
    }
}
