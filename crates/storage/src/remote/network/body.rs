//! Bodies of requests, which are counted while they are sent.

use super::super::super::traffic::count_sent;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::Request;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Number of bytes passed on at a time.
const PIECE_BYTES: usize = 256 << 10;

/// The remaining bytes of a body.
struct CountedBody(Bytes);

impl Body for CountedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let length = self.0.len().min(PIECE_BYTES);
        let piece = self.0.split_to(length);
        // The next piece is requested once the connection has accepted the previous ones.
        count_sent(piece.len());
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

pub(in crate::remote) fn set(request: &mut Request, body: Bytes) {
    *request.body_mut() = Some(reqwest::Body::wrap(CountedBody(body)));
}

/// Returns the size of the body of a request, in bytes.
pub(super) fn len(request: &Request) -> u64 {
    request.body().and_then(|body| body.size_hint().exact()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn request_body_is_sent_in_pieces_with_its_size() {
        let mut request = Request::new(reqwest::Method::PUT, "http://host/".parse().unwrap());
        assert_eq!(len(&request), 0);
        set(&mut request, Bytes::from(vec![7; PIECE_BYTES + 10]));
        assert_eq!(len(&request), PIECE_BYTES as u64 + 10);
        let mut body = CountedBody(Bytes::from(vec![7; PIECE_BYTES + 10]));
        let mut pieces = Vec::new();
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()))
        {
            pieces.push((frame.into_data().unwrap().len(), body.is_end_stream()));
        }
        assert_eq!(pieces, [(PIECE_BYTES, false), (10, true)]);
    }
}
