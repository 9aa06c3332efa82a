//! Whether a record fits the ones before it: every number names something, every range lies inside what it is part of.

use crate::CHUNK_BYTES;
use crate::record::{
    Binding, Chunk, ContentNumber, Holder, Launch, Origin, Pipeline, Place, Record, Region, Relocation, Texture,
    Written,
};

/// Metal's argument tables: buffers, textures, samplers.
const BUFFERS_MAX: u32 = 31;
const TEXTURES_MAX: u32 = 128;
const SAMPLERS_MAX: u32 = 16;
/// An address takes this many bytes.
const WORD_BYTES: u64 = 8;

/// What the records so far have defined.
#[derive(Default)]
pub(crate) struct Checker {
    has_header: bool,
    /// Lengths of chunks.
    chunks: Vec<u32>,
    /// Lengths of contents.
    contents: Vec<u64>,
    pipelines: usize,
}

impl Checker {
    pub(crate) fn has_header(&self) -> bool {
        self.has_header
    }

    /// Checks `record` and counts what it defines.
    pub(crate) fn check(&mut self, record: &Record) -> Result<(), String> {
        if self.has_header == matches!(record, Record::Header(_)) {
            return Err("a capture has one header, at its start".into());
        }
        match record {
            Record::Header(_) => self.has_header = true,
            Record::Chunk(chunk) => self.chunk(chunk)?,
            Record::Content { size_bytes, chunks } => self.content(*size_bytes, chunks)?,
            Record::Pipeline(pipeline) => self.pipeline(pipeline)?,
            Record::Launch(launch) => self.launch(launch)?,
            Record::Copy(copy) => self.known(copy.content).map(drop)?,
            Record::Host(_)
            | Record::Signal(_)
            | Record::Wait(_)
            | Record::Op(_)
            | Record::Memory(_)
            | Record::LimitReached { .. }
            | Record::End { .. } => {}
        }
        Ok(())
    }

    fn chunk(&mut self, chunk: &Chunk) -> Result<(), String> {
        let raw = chunk.raw_bytes;
        if raw == 0 || raw as usize > CHUNK_BYTES {
            return Err(format!("a chunk has {raw} bytes, expected 1 to {CHUNK_BYTES}"));
        }
        self.chunks.push(raw);
        Ok(())
    }

    fn content(&mut self, size_bytes: u64, chunks: &[u32]) -> Result<(), String> {
        let mut total = 0;
        for (place, &number) in chunks.iter().enumerate() {
            let length = self.chunks.get(number as usize).ok_or_else(|| format!("there is no chunk {number} yet"))?;
            if place + 1 < chunks.len() && *length as usize != CHUNK_BYTES {
                return Err(format!("chunk {number} inside a content has {length} bytes, expected {CHUNK_BYTES}"));
            }
            total += u64::from(*length);
        }
        if total != size_bytes {
            return Err(format!("a content of {size_bytes} bytes has chunks of {total} bytes"));
        }
        self.contents.push(size_bytes);
        Ok(())
    }

    /// The length of a content that there is.
    fn known(&self, content: ContentNumber) -> Result<u64, String> {
        self.contents.get(content.0 as usize).copied().ok_or_else(|| format!("there is no content {} yet", content.0))
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Result<(), String> {
        self.known(pipeline.air)?;
        match pipeline.origin {
            Origin::Source { text, .. } => self.known(text)?,
            Origin::Library { bitcode } => self.known(bitcode)?,
        };
        self.pipelines += 1;
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<(), String> {
        let number = launch.pipeline.0;
        if number as usize >= self.pipelines {
            return Err(format!("there is no pipeline {number} yet"));
        }
        if launch.group.contains(&0) {
            return Err(format!("a threadgroup of {:?} threads", launch.group));
        }
        let regions = self.regions(&launch.regions)?;
        for (index, binding) in &launch.buffers {
            below(*index, BUFFERS_MAX, "buffer")?;
            match binding {
                Binding::Memory(place) => inside(place, &regions)?,
                Binding::Bytes(_) | Binding::Null => {}
            }
        }
        launch.threadgroup.iter().try_for_each(|(index, _)| below(*index, BUFFERS_MAX, "buffer"))?;
        launch.samplers.iter().try_for_each(|(index, _)| below(*index, SAMPLERS_MAX, "sampler"))?;
        for (index, texture) in &launch.textures {
            below(*index, TEXTURES_MAX, "texture")?;
            check_texture(texture, &regions)?;
        }
        launch.relocations.iter().try_for_each(|relocation| check_relocation(relocation, launch, &regions))
    }

    /// The lengths of a launch's regions.
    fn regions(&self, regions: &[Region]) -> Result<Vec<u64>, String> {
        let mut end = 0;
        let mut lengths = Vec::with_capacity(regions.len());
        for region in regions {
            let length = self.known(region.before)?;
            if let Written::After(after) = region.written
                && self.known(after)? != length
            {
                return Err("a region has another length after the launch than before".into());
            }
            if region.address < end {
                return Err("regions of a launch overlap".into());
            }
            end = region.address.checked_add(length).ok_or("a region ends outside of the address space")?;
            lengths.push(length);
        }
        Ok(lengths)
    }
}

fn below(index: u32, limit: u32, table: &str) -> Result<(), String> {
    if index < limit { Ok(()) } else { Err(format!("{table} index {index}, expected less than {limit}")) }
}

fn region(number: u32, regions: &[u64]) -> Result<u64, String> {
    regions.get(number as usize).copied().ok_or_else(|| format!("the launch has no region {number}"))
}

fn inside(place: &Place, regions: &[u64]) -> Result<(), String> {
    let length = region(place.region, regions)?;
    let Place { offset_bytes, size_bytes, .. } = place;
    match offset_bytes.checked_add(*size_bytes) {
        Some(end) if end <= length => Ok(()),
        _ => Err(format!("{size_bytes} bytes from {offset_bytes} on in a region of {length} bytes")),
    }
}

fn check_texture(texture: &Texture, regions: &[u64]) -> Result<(), String> {
    inside(&texture.place, regions)?;
    if texture.levels.is_empty() || texture.levels.len() > 32 {
        return Err(format!("a texture with {} levels", texture.levels.len()));
    }
    if texture.size.contains(&0) || texture.array_length == 0 {
        return Err(format!("a texture of size {:?} with {} elements", texture.size, texture.array_length));
    }
    Ok(())
}

fn check_relocation(relocation: &Relocation, launch: &Launch, regions: &[u64]) -> Result<(), String> {
    let holder = match relocation.holder {
        Holder::Region(number) => region(number, regions)?,
        Holder::Bytes(index) => {
            let bytes = launch.buffers.iter().find_map(|(slot, binding)| match binding {
                Binding::Bytes(bytes) if *slot == index => Some(bytes.len() as u64),
                Binding::Bytes(_) | Binding::Memory(_) | Binding::Null => None,
            });
            bytes.ok_or_else(|| format!("no bytes are bound at buffer index {index}"))?
        }
    };
    let offset = relocation.offset_bytes;
    if offset.checked_add(WORD_BYTES).is_none_or(|end| end > holder) {
        return Err(format!("an address at byte {offset} of {holder}"));
    }
    let (target, length) = (relocation.target_bytes, region(relocation.region, regions)?);
    if target > length {
        return Err(format!("an address of byte {target} in a region of {length} bytes"));
    }
    Ok(())
}
