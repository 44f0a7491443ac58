//! Caches of lazily built states: kept between searches, within one budget for all automata of a program.
//!
//! A search takes a cache, and accounts for its growth when it puts the cache back. A cache for which the budget has no room
//! evicts the oldest ones that are not in use; when that is not enough it is dropped itself. Evicted states are built
//! again by the next search that needs it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::limits::MAX_CACHE_BYTES;

/// The bytes that caches may keep between searches. Clones are the same budget.
#[derive(Clone)]
pub struct CacheBudget(Arc<Budget>);

struct Budget {
    limit: usize,
    /// INVARIANT: at most `limit`. Raised with `kept` locked only.
    held: AtomicUsize,
    /// The slots with a cache that is accounted for, in the order of eviction.
    kept: Mutex<VecDeque<Weak<dyn Evict>>>,
}

impl CacheBudget {
    /// An unused budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Budget {
            limit,
            held: AtomicUsize::new(0),
            kept: Mutex::default(),
        }))
    }

    /// The bytes of the caches that are kept. A search under way may have more until it ends.
    #[must_use]
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Accounts for a cache that grew from `old` to `new` bytes. False when there is no room: the caller drops it.
    fn grow(&self, old: usize, new: usize, kept: &mut VecDeque<Weak<dyn Evict>>) -> bool {
        let Budget { limit, held, .. } = &*self.0;
        let more = new.saturating_sub(old);
        let fits = || held.load(Ordering::Relaxed).saturating_add(more) <= *limit;
        if new <= *limit {
            for _ in 0..kept.len() {
                if fits() {
                    break;
                }
                let oldest = kept.pop_front();
                if let Some(slot) = oldest.and_then(|slot| slot.upgrade())
                    && !slot.evict()
                {
                    // It is in use: evict it later.
                    kept.push_back(Arc::downgrade(&slot));
                }
            }
        }
        if new > *limit || !fits() {
            held.fetch_sub(old, Ordering::Relaxed);
            return false;
        }
        held.fetch_add(more, Ordering::Relaxed);
        true
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Weak<dyn Evict>>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for CacheBudget {
    fn default() -> Self {
        Self::new(MAX_CACHE_BYTES)
    }
}

impl fmt::Debug for CacheBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Budget { limit, held, .. } = &*self.0;
        f.debug_struct("CacheBudget")
            .field("limit", limit)
            .field("held", held)
            .finish_non_exhaustive()
    }
}

/// A slot of any kind of cache.
trait Evict: Send + Sync {
    /// Drops the cache and gives its bytes back. False when it is in use.
    fn evict(&self) -> bool;
}

/// Memory of something that grows with use.
pub(super) trait Grows: Send + 'static {
    /// Its bytes on the heap.
    fn bytes(&self) -> usize;
}

/// The caches of one automaton: one for each thread that ever searched while the others did.
pub(super) struct Caches<T> {
    first: Arc<Slot<T>>,
}

struct Slot<T> {
    budget: CacheBudget,
    content: Mutex<Content<T>>,
    next: OnceLock<Arc<Self>>,
}

struct Content<T> {
    cache: Option<Box<T>>,
    /// The bytes accounted for: the most it had so far, as a cache that is cleared keeps its memory.
    bytes: usize,
    /// True if the slot is in the order of eviction.
    listed: bool,
}

impl<T: Grows> Caches<T> {
    pub(super) fn new(budget: &CacheBudget) -> Self {
        let first = Slot::new(budget);
        Self { first }
    }

    /// Searches with a cache, made by `make` unless one is kept. A search that ends with `None` leaves an unusable cache:
    /// it is dropped.
    #[inline]
    pub(super) fn search<R>(
        &self,
        make: impl FnOnce() -> T,
        search: impl FnOnce(&mut T) -> Option<R>,
    ) -> Option<R> {
        let mut slot = &self.first;
        let mut content = loop {
            match slot.content.try_lock() {
                Ok(content) => break content,
                Err(_) => slot = slot.next.get_or_init(|| Slot::new(&slot.budget)),
            }
        };
        let cache = content.cache.get_or_insert_with(|| Box::new(make()));
        let found = search(cache);
        let bytes = cache.bytes();
        if found.is_none() {
            content.clear(&slot.budget);
        } else if bytes > content.bytes {
            slot.account(&mut content, bytes);
        }
        found
    }
}

impl<T> fmt::Debug for Caches<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caches").finish_non_exhaustive()
    }
}

impl<T: Grows> Slot<T> {
    fn new(budget: &CacheBudget) -> Arc<Self> {
        Arc::new(Self {
            budget: budget.clone(),
            content: Mutex::new(Content {
                cache: None,
                bytes: 0,
                listed: false,
            }),
            next: OnceLock::new(),
        })
    }

    #[cold]
    fn account(self: &Arc<Self>, content: &mut Content<T>, bytes: usize) {
        let mut kept = self.budget.kept();
        if !self.budget.grow(content.bytes, bytes, &mut kept) {
            (content.cache, content.bytes) = (None, 0);
            return;
        }
        content.bytes = bytes;
        if !std::mem::replace(&mut content.listed, true) {
            let slot: Arc<dyn Evict> = Arc::<Self>::clone(self);
            kept.push_back(Arc::downgrade(&slot));
        }
    }
}

impl<T> Content<T> {
    fn clear(&mut self, budget: &CacheBudget) {
        self.cache = None;
        let bytes = std::mem::take(&mut self.bytes);
        budget.0.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl<T: Grows> Evict for Slot<T> {
    fn evict(&self) -> bool {
        let content = self.content.try_lock();
        content.is_ok_and(|mut content| {
            content.listed = false;
            content.clear(&self.budget);
            true
        })
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        let content = self.content.get_mut();
        content
            .unwrap_or_else(PoisonError::into_inner)
            .clear(&self.budget);
    }
}
