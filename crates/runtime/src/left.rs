//! What follows a send and was left behind: whoever sent the message died before it was done, or cannot tell. It is
//! done before a worker gets the message.

use std::time::Duration;

use latchkey_queue::outbox::Record;
use latchkey_queue::{Error, Message, Received, Sequel};
use latchkey_table::{Capacity, Leg, Wrote};
use tokio::time::Instant;

use crate::queue_handle::QueueHandle;
use crate::queues::Sent;
use crate::relay::{Following, follow};
use crate::turn::Turn;
use crate::work::{CLASS_TIMEOUT, Ending, Handled, Worked, time_max};

impl QueueHandle<'_> {
    /// Has the worker work on a message in its turn, and tells the queue what became of it. First does what follows
    /// its send, if that was left behind. If that cannot be done now, the message is put off.
    pub(crate) async fn handle_in_turn(
        &self,
        received: &Received,
        turn: Option<&Turn>,
    ) -> Result<Handled, Error> {
        let left = self.embedded().and_then(|queue| queue.left_behind(received));
        let Some(sequel) = left else {
            return self.work_in_turn(received, turn, Duration::ZERO).await;
        };
        if let Some(turn) = turn {
            if !turn.is_free().await {
                return Ok(Handled::skipped(Capacity::ZERO));
            }
            turn.writes_more();
        }
        let begun = Instant::now();
        // The worker has the other half.
        let followed = self.follow_left(sequel, time_max(self.planned) / 2).await;
        // The worker's `now` is not before this.
        turn.into_iter().for_each(|turn| turn.worked_at(self.runtime.source.now()));
        if followed.ending == Ending::Later {
            return self.say(received, turn, followed).await;
        }
        let handled = self.work_in_turn(&received.followed(), turn, begun.elapsed()).await;
        handled.map(|handled| handled.after(followed))
    }

    /// Does what follows a send. It ends with `later` if that may be done another time, and is done if it never can be.
    pub(crate) async fn follow_left(&self, sequel: &Sequel, time_max: Duration) -> Worked {
        let (runtime, trace) = (self.runtime, self.trace);
        let Some(send) = runtime.system.send(sequel.send()) else {
            tracing::warn!(send = %sequel.send(), "no document has this send; what follows it is not done");
            return Worked::nothing(Ending::Done);
        };
        let (now, deadline) = (runtime.source.now(), Instant::now() + time_max);
        let of = Following { runtime, send, now, given_now: false, deadline, trace };
        let worked = follow(of, Sent::Accepted, sequel.sent_at(), sequel.kept().clone()).await;
        let ending = match &worked.ending {
            Ending::Failed(why) if why.class == CLASS_TIMEOUT => Ending::Later,
            Ending::Later => Ending::Later,
            // `follow` has logged what can never be done.
            Ending::Done | Ending::Failed(_) => Ending::Done,
        };
        Worked { ending, ..worked }
    }

    /// Leaves a message, and what follows its send, to a sweep.
    pub(crate) async fn leave_to_sweep(
        &self,
        message: &Message,
        due: i64,
        sequel: &Sequel,
    ) -> Result<(), Error> {
        let (send, kept) = (sequel.send().clone(), sequel.kept().clone());
        let record = Record::new(message.clone(), due, send, kept);
        if let Leg::Put(put) = record.leg(&self.line.home) {
            self.runtime.ask::<Wrote>(put).await?;
        }
        Ok(())
    }
}
