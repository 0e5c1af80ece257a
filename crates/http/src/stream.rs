//! The stream of a connection: writes have a deadline, and the rest of a request is read before a close.
//!
//! A peer that sends requests and reads no answers would hold its connection for ever. So writes have a deadline.
//!
//! A request may be refused before its body is read. If the connection closed at once, the rest of the body would be
//! answered with a reset, which can overtake the answer. So the answer is sent first, and the rest is read and dropped,
//! up to a limit.
//!
//! hyper keeps what it has read of a head, and reads more at once the more comes. So what is read at once is bounded, and
//! a long head takes room from the budget of the server.
//!
//! hyper answers a head that it cannot read by itself, with no body. A problem is sent in the place of such an answer.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use crate::budget::{NoRoom, Room};
use crate::connections::{Gone, Life};
use crate::raw::{Lines, Odd};
use crate::service::Service;

/// How much is read at once: less than hyper's buffer holds at first, so that hyper never takes a larger one for it.
const READ_BYTES_MAX: usize = 8 * 1024 - 1;

thread_local! {
    /// Where bytes are read before hyper gets them. The buffer of hyper cannot be lent out in part.
    static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES_MAX]);
}

/// How many bytes a slow peer must read to get a new deadline.
const READ_BYTES_MIN: usize = 64 * 1024;

/// How much of the rest is read.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long a peer may send nothing meanwhile.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// How long a peer may go on sending.
const TIME_MAX: Duration = Duration::from_secs(30);

/// What the stream of a connection and the answers on it note for each other.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Whether a peer may still be sending a request that was refused.
    unread: AtomicBool,
    fragment: AtomicBool,
    two_lengths: AtomicBool,
}

impl Notes {
    /// The peer may still be sending a request that was refused.
    pub(crate) fn set_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }

    /// Something is odd about the request that was read.
    fn set_odd(&self, odd: Odd) {
        self.of(odd).store(true, Ordering::Relaxed);
    }

    /// What is odd about the request that was read. It is said once.
    pub(crate) fn take_odd(&self) -> Option<Odd> {
        let order = Ordering::Relaxed;
        let seen = |odd: &Odd| self.of(*odd).load(order) && self.of(*odd).swap(false, order);
        [Odd::TwoLengths, Odd::Fragment].into_iter().find(seen)
    }

    fn of(&self, odd: Odd) -> &AtomicBool {
        match odd {
            Odd::Fragment => &self.fragment,
            Odd::TwoLengths => &self.two_lengths,
        }
    }
}

/// The stream of a connection.
#[derive(Debug)]
pub(crate) struct Stream {
    stream: TcpStream,
    service: Arc<Service>,
    life: Arc<Life>,
    notes: Arc<Notes>,
    write_time_max: Duration,
    blocked: Option<Blocked>,
    /// What is still to be written in the place of an answer of hyper's own.
    refusal: Bytes,
    closing: Option<Closing>,
    head: Head,
}

/// The head of a request that arrives, or is answered.
#[derive(Debug, Default)]
struct Head {
    bytes: usize,
    lines: Lines,
    room: Room,
    /// Whether its request is under way.
    is_whole: bool,
}

/// A write that waits until the peer reads.
#[derive(Debug)]
struct Blocked {
    /// How much the peer has read since.
    bytes: usize,
    end: Pin<Box<Sleep>>,
}

#[derive(Debug)]
struct Closing {
    bytes: usize,
    end: Instant,
    silence: Pin<Box<Sleep>>,
}

impl Stream {
    pub(crate) fn new(
        stream: TcpStream,
        service: Arc<Service>,
        life: Arc<Life>,
        notes: Arc<Notes>,
        write_time_max: Duration,
    ) -> Stream {
        let (blocked, refusal, closing, head) = (None, Bytes::new(), None, Head::default());
        Stream { stream, service, life, notes, write_time_max, blocked, refusal, closing, head }
    }

    /// Looks at bytes that were read of a head, and counts them. Those of a body are counted where they are kept. Gives
    /// how many of them hyper gets.
    fn take_read(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.life.is_idle() {
            return Ok(bytes.len());
        }
        let head = &mut self.head;
        if let Some(odd) = head.lines.look(bytes) {
            self.notes.set_odd(odd);
        }
        let shown = head.lines.shown(head.bytes, bytes.len());
        head.bytes += bytes.len();
        let (all, life) = (head.bytes + head.lines.bytes(), Some(&self.life));
        let grown = head.room.grow(&self.service.budget, all, life);
        grown.map_err(|NoRoom| io::Error::new(io::ErrorKind::OutOfMemory, "no room for a head"))?;
        Ok(shown)
    }

    /// Lets go of a head whose request is answered.
    fn end_head(&mut self) {
        match self.life.is_idle() {
            true if self.head.is_whole => self.head = Head::default(),
            true => {}
            false => self.head.is_whole = true,
        }
    }

    /// Takes an answer of hyper's own, so that another is sent in its place. hyper writes by itself only while no
    /// request is under way.
    fn takes(&mut self, bytes: &[u8]) -> bool {
        if !self.life.is_idle() {
            return false;
        }
        let Some(refusal) = self.service.explained(bytes, self.head.lines.cause()) else {
            return false;
        };
        self.refusal = refusal;
        // The peer may not have sent all of what cannot be read.
        self.notes.set_unread();
        true
    }

    /// Writes what stands in the place of an answer of hyper's own.
    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let wrote = Pin::new(&mut self.stream).poll_write(context, &self.refusal);
            match ready!(self.in_time(wrote, context))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.refusal.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Looks whether the peer has hung up. hyper reads nothing while a request is under way, and flushes whenever the
    /// connection is polled.
    fn look_for_end(&self, context: &mut Context<'_>) {
        let mut byte = [0];
        match self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(0) | Err(_)) => self.life.hang_up(),
            // What the peer has sent is for later.
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
    }

    /// The result of a write, or an error if the peer has not read for too long.
    fn in_time(
        &mut self,
        wrote: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match &wrote {
            Poll::Pending => {
                self.life.blocked().map_err(gone)?;
                let wait = self.write_time_max;
                let blocked = self
                    .blocked
                    .get_or_insert_with(|| Blocked { bytes: 0, end: Box::pin(sleep(wait)) });
                ready!(blocked.end.as_mut().poll(context));
                let error = io::Error::new(io::ErrorKind::TimedOut, "the peer does not read");
                return Poll::Ready(Err(error));
            }
            Poll::Ready(Ok(count)) => {
                if let Some(blocked) = &mut self.blocked {
                    blocked.bytes += count;
                    if blocked.bytes >= READ_BYTES_MIN {
                        self.blocked = None;
                    }
                }
            }
            Poll::Ready(Err(_)) => {}
        }
        wrote
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        READ.with_borrow_mut(|bytes| {
            let most = bytes.len().min(buffer.remaining());
            let mut part = ReadBuf::new(bytes.get_mut(..most).unwrap_or_default());
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
            let shown = self.take_read(part.filled())?;
            buffer.put_slice(part.filled().get(..shown).unwrap_or_default());
            Poll::Ready(Ok(()))
        })
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.takes(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(wrote, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [bytes] = parts
            && self.takes(bytes)
        {
            return Poll::Ready(Ok(bytes.len()));
        }
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.in_time(wrote, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        // Called once everything is written.
        self.blocked = None;
        self.end_head();
        self.life.flushed().map_err(gone)?;
        self.end_head();
        if self.life.is_watched() {
            self.look_for_end(context);
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Ends the sending side, and reads the rest if the peer may still be sending.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        let Stream { stream, notes, closing, .. } = &mut *self;
        if closing.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            if !notes.unread.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
        }
        let closing = closing.get_or_insert_with(|| Closing {
            bytes: 0,
            end: Instant::now() + TIME_MAX,
            silence: Box::pin(sleep(SILENCE_MAX)),
        });
        let mut bytes = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut *stream).poll_read(context, &mut buffer);
            let count = buffer.filled().len();
            match read {
                Poll::Ready(Ok(())) if count > 0 && closing.bytes < BYTES_MAX => {
                    closing.bytes += count;
                    let wait = (Instant::now() + SILENCE_MAX).min(closing.end);
                    closing.silence.as_mut().reset(wait);
                }
                // Whatever the peer did, the connection is over.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return closing.silence.as_mut().poll(context).map(Ok),
            }
        }
    }
}

fn gone(gone: Gone) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, gone)
}
