//! Evaluation of trees as circuits on bits: 512 docs an instruction, with AVX-512.
//!
//! A *plane* holds one bit of each of 512 docs. Each test of a code against a threshold gives a plane,
//! each choice of a tree (see `leaf_numbers`) makes one out of three, and the planes of a leaf's number,
//! turned back into bytes, are what leaf values are looked up by.
//!
//! Trees come in *chunks*: as many as have tests whose planes fit the second cache. A test is evaluated
//! once a chunk, however many splits ask it. Thresholds that a chunk does not ask for cost nothing:
//! codes are counted again among those that it does.

use super::super::tree::Tree;
use super::kernel::Lane;
use super::leaf_numbers::{Bit, Choice, MOST_BITS, Numbered};
use super::plan::CodeTest;
use std::ops::Range;

/// Tests of a chunk at most, but for one tree alone: half a megabyte.
const MOST_TESTS: usize = 8192;
/// The first planes: no doc, and all docs.
pub(super) const FIXED: usize = 2;
/// Tests are written sixteen at a time: so many planes more may be spoilt.
const SPOILT: usize = 15;
/// So many leaves at least are looked up.
const FEWEST_BITS: usize = 5;

/// Trees that follow each other.
#[derive(Debug)]
pub(super) struct TreeChunk {
    /// Those with tests: the planes of all follow each other, from [`FIXED`] on.
    pub(super) columns: Vec<ChunkColumn>,
    trees: Vec<BitCircuit>,
    /// Of each choice: by what, the plane if that is set, and if it is not.
    ops: Vec<Four>,
    asked: Vec<Four>,
    /// Leaf values: [`value_table`]s.
    tables: Vec<Lane>,
    /// The plane that the first op of a tree writes; each writes the next.
    pub(super) results: usize,
    /// The number of planes: all that kernels read or write is below.
    pub(super) planes: usize,
}

/// The tests of a column.
#[derive(Debug)]
pub(super) struct ChunkColumn {
    pub(super) at: u32,
    /// The number of the chunk's thresholds below each code.
    pub(super) below: Box<[Lane; 4]>,
    pub(super) tests: u32,
}

/// Up to four planes, by their numbers: kernels are short of loads, not of shifts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Four(u64);

impl Four {
    fn new(planes: [u16; 4]) -> Self {
        Self((0..).zip(planes).fold(0, |four, (i, plane)| four | u64::from(plane) << (16 * i)))
    }

    /// 64 times plane `I`: its first byte, as planes stand one after the other.
    #[inline]
    pub(super) fn place<const I: u32>(self) -> usize {
        let shifted = if I == 0 { self.0 << 6 } else { self.0 >> (16 * I - 6) };
        (shifted & 0xffff << 6) as usize
    }
}

/// One tree.
#[derive(Debug)]
struct BitCircuit {
    ops: Range<usize>,
    asked: Range<usize>,
    table: Range<usize>,
}

/// A tree of a chunk, as kernels see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wires<'a> {
    /// Choices: by what, the plane if that is set, and if it is not.
    pub(super) ops: &'a [Four],
    /// Which planes give a leaf's number. Of a full tree, with one `Four` for each four leaves: what the
    /// place above these leaves asks, those below where the answer is no and is yes, and then what
    /// the lowest place asks whose last leaf on the side of no is here. If all places of a level ask the
    /// same, two: what they ask, from the lowest level up at the end.
    pub(super) asked: &'a [Four],
    /// The values of the leaves: a [`value_table`].
    pub(super) table: &'a [Lane],
}

/// The bytes of 32, 64, 128 or 256 leaf values as kernels look them up: the first piece of each, the second piece
/// of each and so on. A piece is what a look-up finds at once: four bytes, two of 64 values, or one.
pub(super) fn value_table(values: &[f64]) -> Vec<Lane> {
    let piece = match values.len() {
        0..=32 => 4,
        33..=64 => 2,
        _ => 1,
    };
    let mut bytes = Vec::with_capacity(8 * values.len());
    for at in (0..8).step_by(piece) {
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes()[at..at + piece]);
        }
    }
    bytes.as_chunks().0.iter().copied().map(Lane).collect()
}

impl TreeChunk {
    pub(super) fn trees(&self) -> impl Iterator<Item = Wires<'_>> {
        self.trees.iter().map(|tree| Wires {
            ops: &self.ops[tree.ops.clone()],
            asked: &self.asked[tree.asked.clone()],
            table: &self.tables[tree.table.clone()],
        })
    }
}

/// Adds what the places of a full tree ask.
fn full(planes: &[u16], fours: &mut Vec<[u16; 4]>) {
    if let &[by, unset, set] = planes {
        fours.push([by, unset, set, 0]);
    } else if let [by, below @ ..] = planes {
        let (unset, set) = below.split_at(below.len() / 2);
        full(unset, fours);
        if let Some(last) = fours.last_mut() {
            last[3] = *by;
        }
        full(set, fours);
    }
}

/// A chunk being gathered.
#[derive(Debug, Default)]
pub(super) struct TreeChunks {
    trees: Vec<(Numbered, Vec<f64>)>,
    tests: Tests,
}

/// The tests of a chunk.
#[derive(Debug, Default)]
struct Tests {
    /// The plane of each, 256 a column; 0 where there is none.
    planes: Vec<u32>,
    count: usize,
}

impl Tests {
    fn at(CodeTest { column, threshold }: CodeTest) -> usize {
        column as usize * 256 + usize::from(threshold)
    }

    fn has(&self, test: CodeTest) -> bool {
        self.planes.get(Self::at(test)).is_some_and(|&plane| plane > 0)
    }

    fn add(&mut self, test: CodeTest) {
        if !self.has(test) {
            let columns = self.planes.len().max((test.column as usize + 1) * 256);
            self.planes.resize(columns, 0);
            self.planes[Self::at(test)] = 1;
            self.count += 1;
        }
    }

    /// Puts the tests in the order of their planes, and lists them by column.
    fn columns(&mut self) -> Vec<ChunkColumn> {
        let mut next = FIXED as u32;
        let mut columns = Vec::new();
        for (at, planes) in (0..).zip(self.planes.chunks_mut(256)) {
            let mut below = Box::new([Lane::default(); 4]);
            let first = next;
            let codes = below.iter_mut().flat_map(|lane| &mut lane.0);
            for (plane, below) in planes.iter_mut().zip(codes) {
                *below = (next - first) as u8;
                if *plane > 0 {
                    *plane = next;
                    next += 1;
                }
            }
            if next > first {
                columns.push(ChunkColumn { at, below, tests: next - first });
            }
        }
        columns
    }
}

impl TreeChunks {
    /// The tree with numbered leaves, if they are not too many for planes.
    pub(super) fn number(tree: &Tree, places: &[CodeTest]) -> Option<Numbered> {
        Numbered::new(tree, places, FEWEST_BITS)
    }

    /// Adds a tree and its numbered form; a chunk, if it is full without this tree.
    pub(super) fn push(
        &mut self,
        tree: &Tree,
        places: &[CodeTest],
        numbered: Numbered,
    ) -> Option<TreeChunk> {
        let new = places.iter().filter(|&&place| !self.tests.has(place)).count();
        let is_full = !self.trees.is_empty() && self.tests.count + new > MOST_TESTS;
        let full = if is_full { self.take() } else { None };
        for &place in places {
            self.tests.add(place);
        }
        let values = numbered.leaves.iter().map(|&leaf| tree.leaves()[leaf as usize].value);
        let values = values.collect();
        self.trees.push((numbered, values));
        full
    }

    /// The chunk of the trees so far, if there are any.
    pub(super) fn take(&mut self) -> Option<TreeChunk> {
        let Self { trees, mut tests } = std::mem::take(self);
        if trees.is_empty() {
            return None;
        }
        let columns = tests.columns();
        let results = FIXED + tests.count + SPOILT;
        let most = trees.iter().map(|(tree, _)| tree.choices.len()).max().unwrap_or_default();
        let mut chunk = TreeChunk {
            columns,
            trees: Vec::with_capacity(trees.len()),
            ops: Vec::new(),
            asked: Vec::new(),
            tables: Vec::new(),
            results,
            planes: results + most,
        };
        for (tree, values) in &trees {
            chunk.push(&tests, tree, values);
        }
        Some(chunk)
    }
}

impl TreeChunk {
    fn push(&mut self, tests: &Tests, tree: &Numbered, values: &[f64]) {
        let plane = |bit: Bit| match bit {
            Bit::Fixed(set) => u16::from(set),
            Bit::Test(test) => tests.planes[Tests::at(test)] as u16,
            Bit::Result(op) => self.results as u16 + op as u16,
        };
        let (ops, asked, table) = (self.ops.len(), self.asked.len(), self.tables.len());
        self.ops.extend(
            tree.choices.iter().map(|&Choice { by, set, unset }| {
                Four::new([plane(by), plane(set), plane(unset), 0])
            }),
        );
        let planes: Vec<u16> = tree.asked.iter().map(|&bit| plane(bit)).collect();
        if planes.len() <= MOST_BITS {
            let mut levels = [0; 8];
            levels[8 - planes.len()..].copy_from_slice(&planes);
            self.asked.extend(levels.as_chunks().0.iter().map(|&four| Four::new(four)));
        } else {
            let mut fours = Vec::new();
            full(&planes, &mut fours);
            self.asked.extend(fours.into_iter().map(Four::new));
        }
        self.tables.extend(value_table(values));
        self.trees.push(BitCircuit {
            ops: ops..self.ops.len(),
            asked: asked..self.asked.len(),
            table: table..self.tables.len(),
        });
    }
}
