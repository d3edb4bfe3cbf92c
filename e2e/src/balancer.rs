//! What stands in for the Service's proxy: new connections go to a replica that is ready, old ones stay where they are.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::http;

/// Time between two looks at readiness; a change is known to a real proxy no sooner.
const PERIOD: Duration = Duration::from_millis(200);
/// A replica that takes longer to say so is not ready: the kubelet's own limit.
const LIMIT: Duration = Duration::from_secs(1);

/// One replica behind the balancer, on 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Port of its admission endpoint.
    pub endpoint: u16,
    /// Port that says whether it is ready.
    pub probe: u16,
}

#[derive(Default)]
struct State {
    backends: Mutex<Vec<Backend>>,
    ready: Mutex<Vec<u16>>,
    turn: AtomicUsize,
}

/// The balancer. It ends when dropped.
pub struct Balancer {
    state: Arc<State>,
    tasks: [JoinHandle<()>; 2],
}

impl Balancer {
    /// Listens where the Service is.
    ///
    /// # Errors
    /// When the address is taken.
    pub async fn listen(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("listening on {address}"))?;
        let state = Arc::new(State::default());
        let tasks = [tokio::spawn(serve(listener, Arc::clone(&state))), tokio::spawn(look(Arc::clone(&state)))];
        Ok(Self { state, tasks })
    }

    /// These are the replicas from now on.
    pub fn set(&self, backends: &[Backend]) {
        *self.state.backends.lock().unwrap_or_else(PoisonError::into_inner) = backends.to_vec();
    }

    /// How many replicas get new connections.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.state.ready.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn look(state: Arc<State>) {
    loop {
        let backends = state.backends.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut ready = Vec::new();
        for backend in backends {
            let answer = tokio::time::timeout(LIMIT, http::get(backend.probe, "/readyz")).await;
            if answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status == 200)) {
                ready.push(backend.endpoint);
            }
        }
        *state.ready.lock().unwrap_or_else(PoisonError::into_inner) = ready;
        tokio::time::sleep(PERIOD).await;
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    loop {
        let Ok((mut caller, _)) = listener.accept().await else { continue };
        let Some(port) = next(&state) else { continue };
        tokio::spawn(async move {
            if let Ok(mut replica) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                // How it ends is for the two to tell each other.
                drop(tokio::io::copy_bidirectional(&mut caller, &mut replica).await);
            }
        });
    }
}

/// The replicas take turns.
fn next(state: &State) -> Option<u16> {
    let ready = state.ready.lock().unwrap_or_else(PoisonError::into_inner);
    let turn = state.turn.fetch_add(1, Ordering::Relaxed).checked_rem(ready.len())?;
    ready.get(turn).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_that_are_ready_take_turns() {
        let state = State::default();
        assert_eq!(next(&state), None);
        *state.ready.lock().unwrap() = vec![1, 2];
        let turns: Vec<Option<u16>> = (0..4).map(|_| next(&state)).collect();
        assert!(turns == [Some(1), Some(2), Some(1), Some(2)] || turns == [Some(2), Some(1), Some(2), Some(1)], "{turns:?}");
    }
}
