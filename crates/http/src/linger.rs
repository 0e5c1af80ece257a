//! A connection that is closed while its peer still sends.
//!
//! A request may be refused before its body is read. Were the connection closed there and then, the rest of
//! the body would be met by a reset, and a reset can overtake the answer. So the answer goes out, and what
//! still comes is heard out, up to a bound.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How much is heard out.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long a peer may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// How long it may go on.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Whether a peer may still be sending what nobody wants.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Lingering {
    stream: TcpStream,
    unread: Unread,
    closing: Option<Closing>,
}

#[derive(Debug)]
struct Closing {
    bytes: usize,
    end: Instant,
    silence: Pin<Box<Sleep>>,
}

impl Lingering {
    pub(crate) fn new(stream: TcpStream, unread: Unread) -> Lingering {
        Lingering { stream, unread, closing: None }
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Says that nothing more is coming, and hears the peer out if it may still be sending.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Lingering { stream, unread, closing } = &mut *self;
        if closing.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            if !unread.0.load(Ordering::Relaxed) {
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
                // Whatever it did, it is over.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return closing.silence.as_mut().poll(context).map(Ok),
            }
        }
    }
}
