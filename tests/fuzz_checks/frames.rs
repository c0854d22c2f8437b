//! Messages of workers: what was damaged, mixed up or cut off is an error, and never a wrong value.

use super::draws::Draws;
use rustrank::binning::{BinOptions, RowSample};
use rustrank::data::{MissingPolicy, StridedTable};
use rustrank::distributed::{Collective, Communicator, FRAME, WorkerGroup, choose_global_bins};
use rustrank::{Interrupt, Result, hash};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Where an input is divided: into draws, and the bytes that replace messages.
const HEAD: usize = 24;
const FRAME_BYTES: usize = 8 * FRAME;

/// Draws that say what happens to each message, and bytes that stand in for the payload of some.
pub(super) fn frames(input: &[u8]) -> bool {
    let (head, payload) = input.split_at(input.len().min(HEAD));
    let call = Collective { what: "numbers", round: 3 };
    // Bins of many features take memory for each, whoever has them.
    let is_wide = payload.first_chunk().is_some_and(|word| u64::from_le_bytes(*word) > 10_000);
    let mut is_whole = true;
    for way in 0..5 {
        let faulty = Faulty::new(head, payload);
        let changed = Arc::clone(&faulty.changed);
        let group = WorkerGroup::new(Box::new(faulty));
        let size = group.size() as u64;
        is_whole &= match way {
            0 => {
                let own = [7, u64::MAX, 1 << 40];
                let mut values = own;
                let ended = group.sum(call, Ok(()), &mut values);
                // Two changes can cancel out in the checksum.
                let is_certain = changed.load(Ordering::Relaxed) <= 1;
                let is_right = values == own.map(|value: u64| value.wrapping_mul(size));
                assert!(ended.is_err() || !is_certain || is_right, "{values:?}");
                ended.is_ok()
            }
            1 => {
                let mut values = [-1.0, 2.5];
                let ended = group.max(call, Ok(()), &mut values);
                assert!(ended.is_err() || (values[0] >= -1.0 && values[1] >= 2.5), "{values:?}");
                ended.is_ok()
            }
            2 => {
                let own = b"a message".to_vec();
                let all = group.gather(call, Ok(own.clone()));
                if let Ok(all) = &all {
                    assert_eq!((all.len(), &all[0]), (group.size(), &own));
                    let known = |bytes: &Vec<u8>| *bytes == own || payload.ends_with(bytes);
                    assert!(all.iter().all(known), "a damaged message: {all:?}");
                }
                all.is_ok()
            }
            3 => group.same(call, 5).is_ok(),
            _ => is_wide || gathers_bins(&group),
        };
        // Whatever happened, the next collective ends.
        let _ = group.agree(call, Ok(()));
    }
    is_whole
}

/// Bins chosen from a sample with the rows of a worker that sent something else.
fn gathers_bins(group: &WorkerGroup) -> bool {
    let cells = [0.5f32, 0.0, 1.0, 3.0, f32::NAN, 2.0];
    let table = StridedTable::by_row(&cells, 2, MissingPolicy::default());
    let (never, mut sample) = (Interrupt::new(), RowSample::growing(50));
    let pushed = sample.push(&table, &never).map(|()| sample);
    choose_global_bins(group, pushed, &BinOptions::default(), &never).is_ok()
}

/// What happens to the message of another worker.
#[derive(Debug, Clone, Copy)]
enum Damage {
    None,
    /// A byte of it changes.
    Byte(usize, u8),
    /// It ends early.
    Cut(usize),
    /// It has another payload, with the right checksum.
    Payload,
    /// It is another one altogether.
    Replaced,
}

/// Other workers that do what this one does, but for what happens to their messages.
#[derive(Debug)]
struct Faulty {
    size: usize,
    /// One for each call, and then none.
    damages: Mutex<Vec<Damage>>,
    payload: Vec<u8>,
    /// How many messages were changed.
    changed: Arc<AtomicUsize>,
}

impl Faulty {
    fn new(head: &[u8], payload: &[u8]) -> Self {
        let mut draws = Draws::new(head);
        let size = 2 + draws.below(3);
        let mut damages = Vec::new();
        while !draws.rest().is_empty() {
            damages.push(match draws.below(6) {
                0 => Damage::Byte(draws.below(256), 1 << draws.below(8)),
                1 => Damage::Cut(draws.below(256)),
                2 => Damage::Payload,
                3 => Damage::Replaced,
                _ => Damage::None,
            });
        }
        damages.reverse();
        let (damages, payload) = (Mutex::new(damages), payload.to_vec());
        Self { size, damages, payload, changed: Arc::default() }
    }

    /// The message of another worker, which would have sent what this one sends.
    fn message(&self, own: &[u8]) -> Vec<u8> {
        let next = self.damages.lock().ok().and_then(|mut damages| damages.pop());
        let mut message = own.to_vec();
        match next.unwrap_or(Damage::None) {
            Damage::Byte(at, bits) if at < own.len() => message[at] ^= bits,
            Damage::Cut(at) => message.truncate(at),
            Damage::Payload if own.len() >= FRAME_BYTES => {
                message.truncate(FRAME_BYTES);
                let checksum = hash::bytes(&self.payload).to_ne_bytes();
                message[FRAME_BYTES - 8..].copy_from_slice(&checksum);
                message.extend(&self.payload);
            }
            Damage::Replaced => message.clone_from(&self.payload),
            _ => {}
        }
        self.changed.fetch_add(usize::from(message != own), Ordering::Relaxed);
        message
    }

    /// A message of words: of another length, a communicator itself refuses it.
    fn words(&self, own: &[u64]) -> Vec<u64> {
        let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes = self.message(&bytes);
        bytes.resize(8 * own.len(), 0);
        bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }
}

impl Communicator for Faulty {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum_i64(&self, values: &mut [i64]) -> Result<()> {
        let own: Vec<u64> = values.iter().map(|value| value.cast_unsigned()).collect();
        for _ in 1..self.size {
            for (sum, other) in values.iter_mut().zip(self.words(&own)) {
                *sum = sum.wrapping_add(other.cast_signed());
            }
        }
        Ok(())
    }

    fn max_f64(&self, values: &mut [f64]) -> Result<()> {
        let own: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        for _ in 1..self.size {
            for (most, other) in values.iter_mut().zip(self.words(&own)) {
                *most = most.max(f64::from_bits(other));
            }
        }
        Ok(())
    }

    fn allgather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let others = (1..self.size).map(|_| self.message(own));
        Ok(std::iter::once(own.to_vec()).chain(others).collect())
    }
}
