//! Looking into queues and cleaning them up, wherever they are.

use latchkey_queue::{Blocked, Count, Depth, Error, Peeked, Queue, Sqs, Which, dead, limits};
use latchkey_table::{Consistency, Error as TableError, Got, Page, Query, Resume, Wrote};

use crate::queue_handle::QueueHandle;

/// How many messages were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purged {
    /// So many.
    Counted(u64),
    /// All there were; the queue does not say how many.
    All,
}

impl QueueHandle<'_> {
    /// How full the queue is. What waits in an outbox is not in it yet.
    pub async fn depth(&self) -> Result<Depth, Error> {
        self.line.queue.depth().await
    }

    /// The groups of an ordered queue that their first message holds up. SQS does not tell.
    pub async fn blocked(&self) -> Result<Vec<Blocked>, Error> {
        match &self.line.queue {
            Queue::Embedded(queue) => queue.blocked().await,
            Queue::Sqs(_) | Queue::Elsewhere => Ok(Vec::new()),
        }
    }

    /// How many messages were given up and are kept; of one on SQS, counted to 100.
    pub async fn letters(&self) -> Result<Count, Error> {
        let line = self.line;
        if let Queue::Embedded(queue) = &line.queue {
            return queue.letters().await;
        }
        // As far as one cheap look goes: whoever watches asks often.
        let query = dead::query(&line.home, limits::PAGE_MAX, None);
        let query = Query { consistency: Consistency::Eventual, ..query };
        let page: Page = self.runtime.ask(query).await?;
        let counted = u64::try_from(page.items.len()).unwrap_or(u64::MAX);
        Ok(Count { counted, more: page.resume.is_some() })
    }

    /// Looks at some messages, which stay where they are.
    pub async fn peek(&self, which: Which, limit: usize) -> Result<Vec<Peeked>, Error> {
        let line = self.line;
        match (&line.queue, which) {
            (Queue::Embedded(queue), _) => Ok(queue.peek(which, limit, None)?.0),
            (_, Which::Dead) => {
                let (letters, _) = self.some_letters(limit, None).await?;
                Ok(letters.into_iter().map(Peeked::from).collect())
            }
            _ => Err(unseen()),
        }
    }

    /// Sends the dead letter of an id again, or all of them, and says how many there were.
    pub async fn redrive(&self, id: Option<&str>) -> Result<u64, Error> {
        let line = self.line;
        match (&line.queue, id) {
            (Queue::Embedded(queue), Some(id)) => Ok(u64::from(queue.redrive(id).await?)),
            (Queue::Embedded(queue), None) => queue.redrive_all().await,
            (_, Some(id)) => {
                let get = dead::get(&line.home, id);
                let got: Got = self.runtime.ask(get).await?;
                let letter = got.item.and_then(|item| dead::read(&line.home, item));
                let Some(letter) = letter else { return Ok(0) };
                self.resend(vec![letter]).await
            }
            (_, None) => {
                let (mut count, mut resume) = (0, None);
                loop {
                    let (letters, after) = self.some_letters(limits::PAGE_MAX, resume).await?;
                    count += self.resend(letters).await?;
                    resume = after;
                    if resume.is_none() {
                        return Ok(count);
                    }
                }
            }
        }
    }

    /// Removes messages for good.
    pub async fn purge(&self, which: Which) -> Result<Purged, Error> {
        let line = self.line;
        match (&line.queue, which) {
            (Queue::Embedded(queue), _) => Ok(Purged::Counted(queue.purge(which).await?)),
            (_, Which::Dead) => {
                let (mut count, mut resume) = (0, None);
                loop {
                    let (letters, after) = self.some_letters(limits::PAGE_MAX, resume).await?;
                    for letter in letters {
                        count += u64::from(self.strike(&letter).await?);
                    }
                    resume = after;
                    if resume.is_none() {
                        return Ok(Purged::Counted(count));
                    }
                }
            }
            (Queue::Sqs(queue), Which::Waiting) => {
                Sqs::purge(queue).await?;
                Ok(Purged::All)
            }
            _ => Err(unseen()),
        }
    }

    async fn some_letters(
        &self,
        limit: usize,
        resume: Option<Resume>,
    ) -> Result<(Vec<dead::Letter>, Option<Resume>), Error> {
        let query = dead::query(&self.line.home, limit, resume);
        let page: Page = self.runtime.ask(query).await?;
        let read = |item| dead::read(&self.line.home, item);
        Ok((page.items.into_iter().filter_map(read).collect(), page.resume))
    }

    /// A letter goes once its message is taken: sent twice is better than lost.
    async fn resend(&self, letters: Vec<dead::Letter>) -> Result<u64, Error> {
        let mut count = 0;
        for letter in letters {
            self.line.queue.send(&letter.message, self.runtime.source.now()).await?;
            count += u64::from(self.strike(&letter).await?);
        }
        Ok(count)
    }

    /// Removes a letter, and says whether it was there.
    async fn strike(&self, letter: &dead::Letter) -> Result<bool, Error> {
        let delete = dead::delete(&self.line.home, letter.message.id());
        match self.runtime.ask::<Wrote>(delete).await {
            Ok(_) => Ok(true),
            Err(TableError::ConditionFailed(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// What SQS does not do.
fn unseen() -> Error {
    let reason = "SQS shows a message only to its receiver";
    Error::Refused { reason: reason.to_owned() }
}
