//! Connections that end when a client takes too long.

use axum::serve::Listener;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep};

/// Where connections come from, and how long each may take for a request and its answer.
pub(crate) struct Connections {
    pub(crate) listener: TcpListener,
    pub(crate) most: Duration,
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Small answers are not held back; a connection that cannot promise it works all the same.
        let _ = stream.set_nodelay(true);
        let (most, end) = (self.most, Box::pin(sleep(self.most)));
        (Connection { stream, most, end, answered: false }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection on which reading and writing fail from some time on: the first bytes of a request after an answer
/// put it off. So no client holds a connection by sending a request, or reading an answer, byte by byte.
pub(crate) struct Connection {
    stream: TcpStream,
    most: Duration,
    end: Pin<Box<Sleep>>,
    /// Whether something was written since the last request began.
    answered: bool,
}

impl Connection {
    /// The outcome of a read or a write that is waiting.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        ready!(self.end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(context, into) else {
            return self.wait(context);
        };
        if self.answered && into.filled().len() > before {
            self.answered = false;
            let end = Instant::now() + self.most;
            self.end.as_mut().reset(end);
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Poll::Ready(written) = Pin::new(&mut self.stream).poll_write(context, bytes) else {
            return self.wait(context);
        };
        self.answered = true;
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
