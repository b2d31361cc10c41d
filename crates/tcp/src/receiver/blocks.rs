//! SACK blocks: ranges received out of order.

use crate::wire::Block;

/// Most blocks that are kept (Linux: TCP_NUM_SACKS).
const BLOCKS: usize = 4;

/// The SACK blocks, most recent first, empty blocks last.
#[derive(Debug, Clone, Default)]
pub(super) struct SackBlocks([Block; BLOCKS]);

impl SackBlocks {
    /// Inserts a block at the front, merged with a block that it touches. Returns the index of the block that
    /// it touches, or the number of blocks if there is none (Linux: tcp_sack_new_ofo_skb).
    pub(super) fn insert(&mut self, new: Block) -> usize {
        let touches = |b: Block, other: Block| !b.is_empty() && b.start <= other.end && other.start <= b.end;
        let touching = self.0.iter().position(|b| touches(*b, new));
        let place = touching.unwrap_or_else(|| self.0.iter().filter(|b| !b.is_empty()).count());
        let front = match touching {
            Some(i) => {
                let b = self.0[i];
                self.0[..=i].rotate_right(1);
                Block { start: b.start.min(new.start), end: b.end.max(new.end) }
            }
            None => {
                self.0.rotate_right(1); // the oldest one is overwritten
                new
            }
        };
        self.0[0] = front;
        // the merged block may now touch another one
        if let Some(i) = (1..BLOCKS).find(|&i| touches(self.0[i], front)) {
            let b = self.0[i];
            self.0[0] = Block { start: b.start.min(front.start), end: b.end.max(front.end) };
            self.0[i] = Block::NONE;
            self.keep(|b| !b.is_empty());
        }
        place
    }

    /// Removes the blocks below `next`.
    pub(super) fn forget_below(&mut self, next: u64) {
        self.keep(|b| b.end > next);
    }

    fn keep(&mut self, keep: impl Fn(Block) -> bool) {
        let mut kept = [Block::NONE; BLOCKS];
        for (to, b) in kept.iter_mut().zip(self.0.into_iter().filter(|b| !b.is_empty() && keep(*b))) {
            *to = b;
        }
        self.0 = kept;
    }

    /// The blocks of an ACK: the D-SACK first if there is one.
    pub(super) fn report(&self, duplicate: Option<Block>) -> [Block; 3] {
        let mut blocks = [Block::NONE; 3];
        let reported = duplicate.into_iter().chain(self.0);
        for (to, b) in blocks.iter_mut().zip(reported.filter(|b| !b.is_empty())) {
            *to = b;
        }
        blocks
    }
}
