//! Loads and stores: once where lanes share an address, wide where addresses follow each other, else lane by lane.

use openmps_llvm::{AttributePlace, Instruction, IntPredicate, Ordering, TypeKind, Value};

use super::super::refusal::Refusal;
use super::super::shape::Shape;
use super::atomic::is_threadgroup_memory;
use super::{Emitter, WIDTH};

/// How the addresses of lanes lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// One behind the other.
    Upwards,
    /// One before the other.
    Downwards,
    /// One behind the other in each row of lanes.
    Rows,
    /// The same in each row of lanes.
    SharedByRows,
    /// Anyhow.
    Scattered,
}

/// Rows of fewer lanes are not worth an access of their own.
const ROW_LANES_MIN: u32 = 4;

impl<'m> Emitter<'_, 'm> {
    pub(super) fn load(&mut self, load: Instruction<'m>) -> Result<(), Refusal> {
        let (value, pointer) = (load.as_value(), load.operand(0));
        if self.analysis.private.contains(pointer) {
            return self.private_load(load);
        }
        if self.grouped(load, false)? {
            return Ok(());
        }
        let shape = self.analysis.shape(pointer);
        if shape.is_uniform() {
            let address = self.scalar(pointer);
            let loaded = self.scalar_load(load, address);
            self.set_shared(value, loaded);
            return Ok(());
        }
        self.check_memory(load.ty())?;
        let result = if is_special(load) {
            let addresses = self.vector(pointer)?;
            let wide = self.wide(load.ty())?;
            let result = self.lane_loop(&[addresses], Some(wide), |emitter, operands| {
                Ok(Some(emitter.scalar_load(load, operands[0])))
            })?;
            result.ok_or(Refusal::Instruction)?
        } else {
            self.vector_load(load, pointer, shape)?
        };
        self.set_vector(value, result);
        Ok(())
    }

    /// Memory of a type whose vectors lie in memory like its elements.
    fn check_memory(&self, ty: openmps_llvm::Type<'m>) -> Result<(), Refusal> {
        match ty.kind() {
            TypeKind::Integer(8 | 16 | 32 | 64)
            | TypeKind::Half
            | TypeKind::BFloat
            | TypeKind::Float
            | TypeKind::Double
            | TypeKind::Pointer(_) => Ok(()),
            TypeKind::Integer(_) => Err(Refusal::OddMemory),
            _ => Err(Refusal::CompositeValue),
        }
    }

    /// Whether elements of the type lie one behind the other.
    pub(super) fn lies_upwards(&self, pointer: Value<'m>, ty: openmps_llvm::Type<'m>) -> bool {
        self.pattern(self.analysis.shape(pointer), ty) == Pattern::Upwards
    }

    fn pattern(&self, shape: Shape, ty: openmps_llvm::Type<'m>) -> Pattern {
        let bytes = i64::try_from(self.module.size_bytes(ty)).unwrap_or(0);
        let lanes = self.analysis.row_lanes;
        match shape.lane_stride(lanes) {
            Some(stride) if stride == bytes => return Pattern::Upwards,
            Some(stride) if stride == -bytes => return Pattern::Downwards,
            Some(_) | None => {}
        }
        match shape.strides().filter(|_| (ROW_LANES_MIN..WIDTH).contains(&lanes)) {
            Some((stride, _)) if stride == bytes => Pattern::Rows,
            Some((0, _)) if self.mask.is_none() => Pattern::SharedByRows,
            Some(_) | None => Pattern::Scattered,
        }
    }

    fn scalar_load(&self, load: Instruction<'m>, address: Value<'m>) -> Value<'m> {
        let loaded = self.builder.load(load.ty(), address);
        self.copy_access(loaded, load);
        for name in ["invariant.load", "dereferenceable"] {
            loaded.set_metadata(name, load.metadata(name));
        }
        loaded.as_value()
    }

    fn copy_access(&self, to: Instruction<'m>, from: Instruction<'m>) {
        if let Some(bytes) = from.alignment() {
            to.set_alignment(bytes);
        }
        to.set_volatile(from.is_volatile());
        if let Some(ordering) = from.ordering().filter(|&ordering| ordering != Ordering::NotAtomic) {
            to.set_ordering(ordering);
        }
    }

    fn vector_load(&mut self, load: Instruction<'m>, pointer: Value<'m>, shape: Shape) -> Result<Value<'m>, Refusal> {
        let pattern = self.pattern(shape, load.ty());
        if pattern == Pattern::Scattered {
            let addresses = self.vector(pointer)?;
            return self.gather(load, addresses);
        }
        let places = self.places(pointer, pattern);
        if !shape.is_checked() {
            return self.wide_load(load, &places, pattern);
        }
        let holds = self.step_holds(pointer);
        let [near, far, done] = ["near", "far", "loaded"].map(|name| self.block(name));
        self.builder.cond_br(holds, near, far);
        self.builder.position_at_end(near);
        let from_near = self.wide_load(load, &places, pattern)?;
        self.builder.br(done);
        self.builder.position_at_end(far);
        let registers = self.save_registers();
        let addresses = self.vector(pointer)?;
        let from_far = self.gather(load, addresses)?;
        self.restore_registers(registers);
        let far = self.builder.block().expect("the builder is placed");
        self.builder.br(done);
        self.builder.position_at_end(done);
        let result = self.builder.phi(from_near.ty());
        result.add_incoming(from_near, near);
        result.add_incoming(from_far, far);
        Ok(result.as_value())
    }

    /// The first address in memory of a run of lanes.
    fn run_start(&self, address: Value<'m>, bytes: u64, pattern: Pattern) -> Value<'m> {
        if pattern != Pattern::Downwards {
            return address;
        }
        let back = (bytes * u64::from(WIDTH - 1)).wrapping_neg();
        self.builder.gep(self.context().i8(), address, &[self.context().i64().const_int(back)])
    }

    /// Lanes in the order of memory.
    fn in_order(&self, lanes: Value<'m>, pattern: Pattern) -> Value<'m> {
        if pattern != Pattern::Downwards {
            return lanes;
        }
        let reversed: Vec<Option<u32>> = (0..WIDTH).rev().map(Some).collect();
        self.builder.shuffle(lanes, lanes.ty().poison(), &reversed)
    }

    /// The addresses of lane 0, or of each row's first lane.
    fn places(&mut self, pointer: Value<'m>, pattern: Pattern) -> Vec<Value<'m>> {
        let is_by_rows = matches!(pattern, Pattern::Rows | Pattern::SharedByRows);
        (0..if is_by_rows { self.rows() } else { 1 }).map(|row| self.scalar_of_row(pointer, row)).collect()
    }

    fn wide_load(&self, load: Instruction<'m>, places: &[Value<'m>], pattern: Pattern) -> Result<Value<'m>, Refusal> {
        match pattern {
            Pattern::Rows => return Ok(self.load_rows(load, places)),
            Pattern::SharedByRows => return Ok(self.load_shared_by_rows(load, places)),
            Pattern::Upwards | Pattern::Downwards | Pattern::Scattered => {}
        }
        let wide = self.wide(load.ty())?;
        let start = self.run_start(places[0], self.module.size_bytes(load.ty()), pattern);
        let align = load.alignment().unwrap_or(1);
        if let Some(count) = self.leading_run(pattern) {
            let narrow = self.builder.load(self.context().vector(load.ty(), count), start);
            narrow.set_alignment(align);
            let sources: Vec<Option<u32>> = (0..WIDTH).map(|lane| Some(lane).filter(|&lane| lane < count)).collect();
            return Ok(self.builder.shuffle(narrow.as_value(), narrow.ty().poison(), &sources));
        }
        let loaded = match self.mask {
            None => {
                let loaded = self.builder.load(wide, start);
                loaded.set_alignment(align);
                loaded
            }
            Some(mask) => {
                let mask = self.in_order(mask, pattern);
                let operands = [start, mask, wide.poison()];
                let loaded = self.builder.intrinsic("llvm.masked.load", &[wide, start.ty()], &operands);
                loaded.add_call_attribute(AttributePlace::Parameter(0), "align", u64::from(align));
                loaded
            }
        };
        Ok(self.in_order(loaded.as_value(), pattern))
    }

    /// How many lanes to read or write at once, where the active ones are the first: what a masked store wrote cannot be read before
    /// it is in the cache.
    fn leading_run(&self, pattern: Pattern) -> Option<u32> {
        self.leading.filter(|count| count.is_power_of_two() && pattern == Pattern::Upwards)
    }

    fn gather(&mut self, load: Instruction<'m>, addresses: Value<'m>) -> Result<Value<'m>, Refusal> {
        self.gather_elements(load.ty(), load.alignment().unwrap_or(1), addresses)
    }

    /// Elements of a type, of which each address is a multiple of `align` bytes.
    pub(super) fn gather_elements(
        &mut self,
        ty: openmps_llvm::Type<'m>,
        align: u32,
        addresses: Value<'m>,
    ) -> Result<Value<'m>, Refusal> {
        let wide = self.wide(ty)?;
        if self.is_small(ty) {
            let loaded = self.lane_loop(&[addresses], Some(wide), |emitter, operands| {
                let loaded = emitter.builder.load(ty, operands[0]);
                loaded.set_alignment(align);
                Ok(Some(loaded.as_value()))
            })?;
            return loaded.ok_or(Refusal::Instruction);
        }
        let operands = [addresses, self.active(), wide.poison()];
        let loaded = self.builder.intrinsic("llvm.masked.gather", &[wide, addresses.ty()], &operands);
        loaded.add_call_attribute(AttributePlace::Parameter(0), "align", u64::from(align));
        Ok(loaded.as_value())
    }

    pub(super) fn store(&mut self, store: Instruction<'m>) -> Result<(), Refusal> {
        let (value, pointer) = (store.operand(0), store.operand(1));
        if self.analysis.private.contains(pointer) {
            return self.private_store(store);
        }
        if self.grouped(store, true)? {
            return Ok(());
        }
        let shape = self.analysis.shape(pointer);
        if shape.is_uniform() {
            let address = self.scalar(pointer);
            let value = if self.analysis.shape(value).is_uniform() {
                self.scalar(value)
            } else {
                // Several lanes store to one place: the last one wins, as where threads run one after the other.
                let lanes = self.vector(value)?;
                let last = self.last_lane();
                self.builder.extract_element(lanes, last)
            };
            let stored = self.builder.store(value, address);
            self.copy_access(stored, store);
            return Ok(());
        }
        self.check_memory(value.ty())?;
        let lanes = self.vector(value)?;
        if is_special(store) {
            let addresses = self.vector(pointer)?;
            self.lane_loop(&[lanes, addresses], None, |emitter, operands| {
                let stored = emitter.builder.store(operands[0], operands[1]);
                emitter.copy_access(stored, store);
                Ok(None)
            })?;
            return Ok(());
        }
        self.vector_store(store, lanes, pointer, shape)
    }

    /// The number of the last active lane.
    pub(super) fn last_lane(&self) -> Value<'m> {
        let last = self.bits_ty().const_int(u64::from(WIDTH - 1));
        let Some(mask) = self.mask else { return last };
        let bits = self.bits(mask);
        let no_poison = self.context().i1().zero();
        let above = self.builder.intrinsic("llvm.ctlz", &[bits.ty()], &[bits, no_poison]).as_value();
        // A mask without lanes does not come here, but must not make an index out of range either.
        self.builder.and(self.builder.sub(last, above), last)
    }

    fn vector_store(
        &mut self,
        store: Instruction<'m>,
        lanes: Value<'m>,
        pointer: Value<'m>,
        shape: Shape,
    ) -> Result<(), Refusal> {
        let pattern = self.pattern(shape, store.operand(0).ty());
        if matches!(pattern, Pattern::Scattered | Pattern::SharedByRows) {
            let addresses = self.vector(pointer)?;
            return self.scatter(store, lanes, addresses);
        }
        let places = self.places(pointer, pattern);
        if !shape.is_checked() {
            self.wide_store(store, lanes, &places, pattern);
            return Ok(());
        }
        let holds = self.step_holds(pointer);
        let [near, far, done] = ["near", "far", "stored"].map(|name| self.block(name));
        self.builder.cond_br(holds, near, far);
        self.builder.position_at_end(near);
        self.wide_store(store, lanes, &places, pattern);
        self.builder.br(done);
        self.builder.position_at_end(far);
        let registers = self.save_registers();
        let addresses = self.vector(pointer)?;
        self.scatter(store, lanes, addresses)?;
        self.restore_registers(registers);
        self.builder.br(done);
        self.builder.position_at_end(done);
        Ok(())
    }

    fn wide_store(&self, store: Instruction<'m>, lanes: Value<'m>, places: &[Value<'m>], pattern: Pattern) {
        if pattern == Pattern::Rows {
            self.store_rows(store, lanes, places);
            return;
        }
        let bytes = self.module.size_bytes(store.operand(0).ty());
        let start = self.run_start(places[0], bytes, pattern);
        let lanes = self.in_order(lanes, pattern);
        let align = store.alignment().unwrap_or(1);
        if let Some(count) = self.leading_run(pattern) {
            let sources: Vec<Option<u32>> = (0..count).map(Some).collect();
            let narrow = self.builder.shuffle(lanes, lanes.ty().poison(), &sources);
            self.builder.store(narrow, start).set_alignment(align);
            return;
        }
        match self.mask {
            None => self.builder.store(lanes, start).set_alignment(align),
            Some(mask) => {
                let operands = [lanes, start, self.in_order(mask, pattern)];
                let stored = self.builder.intrinsic("llvm.masked.store", &[lanes.ty(), start.ty()], &operands);
                stored.add_call_attribute(AttributePlace::Parameter(1), "align", u64::from(align));
            }
        }
    }

    pub(super) fn scatter(
        &mut self,
        store: Instruction<'m>,
        lanes: Value<'m>,
        addresses: Value<'m>,
    ) -> Result<(), Refusal> {
        self.scatter_elements(store.alignment().unwrap_or(1), lanes, addresses)
    }

    /// Elements to addresses that are multiples of `align` bytes.
    pub(super) fn scatter_elements(
        &mut self,
        align: u32,
        lanes: Value<'m>,
        addresses: Value<'m>,
    ) -> Result<(), Refusal> {
        if self.is_small(lanes.ty().scalar()) {
            self.lane_loop(&[lanes, addresses], None, |emitter, operands| {
                emitter.builder.store(operands[0], operands[1]).set_alignment(align);
                Ok(None)
            })?;
            return Ok(());
        }
        let operands = [lanes, addresses, self.active()];
        let stored = self.builder.intrinsic("llvm.masked.scatter", &[lanes.ty(), addresses.ty()], &operands);
        stored.add_call_attribute(AttributePlace::Parameter(1), "align", u64::from(align));
        Ok(())
    }

    /// Whether no CPU gathers or scatters elements of this type. LLVM would write code for each of the lanes, twice and more for
    /// masked ones; a loop over them is as fast and hundreds of instructions shorter.
    fn is_small(&self, ty: openmps_llvm::Type<'m>) -> bool {
        self.module.size_bytes(ty) < 4
    }

    /// The addresses of each lane's element of a private variable, of which `address` is lane 0's.
    fn private_elements(&self, address: Value<'m>, bytes: u64) -> Value<'m> {
        let stride = i64::try_from(bytes).expect("elements have at most 8 bytes");
        let offsets = self.constant_lanes(self.context().i64(), |lane| lane * stride);
        self.builder.gep(self.context().i8(), address, &[offsets])
    }

    fn private_load(&mut self, load: Instruction<'m>) -> Result<(), Refusal> {
        let pointer = load.operand(0);
        let bytes = self.module.size_bytes(load.ty());
        let result = if self.analysis.shape(pointer).is_varying() {
            let first = self.vector(pointer)?;
            let addresses = self.private_elements(first, bytes);
            self.gather(load, addresses)?
        } else {
            let address = self.scalar(pointer);
            let loaded = self.builder.load(self.wide(load.ty())?, address);
            loaded.set_alignment(u32::try_from(bytes).unwrap_or(1));
            loaded.as_value()
        };
        self.set_vector(load.as_value(), result);
        Ok(())
    }

    fn private_store(&mut self, store: Instruction<'m>) -> Result<(), Refusal> {
        let (value, pointer) = (store.operand(0), store.operand(1));
        let lanes = self.vector(value)?;
        if self.analysis.shape(pointer).is_varying() {
            let first = self.vector(pointer)?;
            let addresses = self.private_elements(first, self.module.size_bytes(value.ty()));
            return self.scatter(store, lanes, addresses);
        }
        let address = self.scalar(pointer);
        match self.mask {
            Some(mask) => self.masked_private_store(lanes, address, mask),
            None => {
                let bytes = self.module.size_bytes(value.ty());
                self.builder.store(lanes, address).set_alignment(u32::try_from(bytes).unwrap_or(1));
            }
        }
        Ok(())
    }

    /// Nobody else sees private memory, so that other lanes' elements can be written back.
    pub(super) fn masked_private_store(&self, lanes: Value<'m>, address: Value<'m>, mask: Value<'m>) {
        let bytes = u32::try_from(self.module.size_bytes(lanes.ty().scalar())).unwrap_or(1);
        let before = self.builder.load(lanes.ty(), address);
        before.set_alignment(bytes);
        let lanes = self.builder.select(mask, lanes, before.as_value());
        self.builder.store(lanes, address).set_alignment(bytes);
    }

    /// Memory for a shuffle in the function's frame.
    pub(super) fn scratch(&self, ty: openmps_llvm::Type<'m>) -> Value<'m> {
        let here = self.builder.block().expect("the builder is placed");
        let first = self.entry.first().expect("the entry has instructions");
        self.builder.position_before(first);
        let scratch = self.builder.alloca(ty).as_value();
        self.builder.position_at_end(here);
        scratch
    }

    /// Lanes of `values` at `indices`, which are below 32.
    pub(super) fn permute(&self, values: Value<'m>, indices: Value<'m>) -> Value<'m> {
        let (b, context) = (&self.builder, self.context());
        let ty = values.ty();
        let bits = match ty.scalar().kind() {
            TypeKind::Half | TypeKind::BFloat => 16,
            TypeKind::Integer(bits) if bits < 32 => bits,
            _ => {
                let scratch = self.scratch(ty);
                b.store(values, scratch);
                let addresses = b.gep(ty.scalar(), scratch, &[indices]);
                let operands = [addresses, self.mask_ty().all_ones(), ty.poison()];
                let loaded = b.intrinsic("llvm.masked.gather", &[ty, addresses.ty()], &operands);
                let align = u64::from(self.module.alignment_bytes(ty.scalar()));
                loaded.add_call_attribute(AttributePlace::Parameter(0), "align", align);
                return loaded.as_value();
            }
        };
        // Vectors of small elements are permuted as numbers of 32 bits, which can be gathered.
        let small = context.vector(context.int(bits), WIDTH);
        let wide = b.zext(b.bitcast(values, small), context.vector(context.i32(), WIDTH));
        let moved = self.permute(wide, indices);
        b.bitcast(b.trunc(moved, small), ty)
    }

    /// Whether `number` is below `bound` in each lane, unsigned.
    pub(super) fn is_below(&self, number: Value<'m>, bound: u64) -> Value<'m> {
        let bound = self.splat_int(number.ty().scalar(), bound);
        self.builder.icmp(IntPredicate::Ult, number, bound)
    }
}

/// Accesses that must stay as they are: volatile ones, and atomic ones of memory that other cores see.
fn is_special(access: Instruction<'_>) -> bool {
    let is_atomic = access.ordering().is_some_and(|ordering| ordering != Ordering::NotAtomic);
    let is_shared = access.operands().last().is_some_and(|&pointer| !is_threadgroup_memory(pointer));
    access.is_volatile() || (is_atomic && is_shared)
}
