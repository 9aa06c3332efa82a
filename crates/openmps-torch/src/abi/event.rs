//! The process-wide pool of events, by id.

use openmps::event::EventPool;

use super::stream::stream_of;
use super::{Out, abi};

abi! {
    /// Takes an event from the pool.
    fn openmps_event_acquire(timing: bool, event: Out<'_, u32>) {
        *event.place("event")? = EventPool::shared().acquire(timing);
        Ok(())
    }

    /// Gives an event back.
    fn openmps_event_release(event: u32) { Ok(EventPool::shared().release(event)?) }

    /// Encodes the event's signal into a stream and commits it.
    fn openmps_event_record(event: u32, stream: u32) { Ok(EventPool::shared().record(event, stream_of(stream)?)?) }

    /// Makes a stream wait for the event's last record.
    fn openmps_event_wait(event: u32, stream: u32) { Ok(EventPool::shared().wait(event, stream_of(stream)?)?) }

    /// Waits for the event's last record.
    fn openmps_event_synchronize(event: u32) { Ok(EventPool::shared().synchronize(event)?) }

    /// Whether the event was recorded and has been reached.
    fn openmps_event_query(event: u32, is_done: Out<'_, bool>) {
        *is_done.place("is_done")? = EventPool::shared().query(event)?;
        Ok(())
    }

    /// Milliseconds between two recorded events with timing.
    fn openmps_event_elapsed_ms(start: u32, end: u32, elapsed_ms: Out<'_, f64>) {
        *elapsed_ms.place("elapsed_ms")? = EventPool::shared().elapsed_ms(start, end)?;
        Ok(())
    }
}
