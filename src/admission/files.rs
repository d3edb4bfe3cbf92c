//! How many files the process may have open: each caller of the endpoint takes one.

use rustix::process::{Resource, getrlimit, setrlimit};
use tracing::debug;

/// Raises what the process may have open to what it is allowed to, and returns it. The two differ where the runtime keeps to
/// the old custom that spares programs with `select`.
pub(super) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let mut allowed = limit;
    allowed.current = limit.maximum;
    match setrlimit(Resource::Nofile, allowed) {
        Ok(()) => allowed.current.unwrap_or(u64::MAX),
        Err(error) => {
            debug!(error = %error, "the limit of open files stays");
            limit.current.unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_taken() {
        let allowed = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        assert_eq!(raise(), allowed);
        assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), allowed);
    }
}
