//! Who has led and who has written, from the API server's audit log (I12).
//!
//! A term begins with a write to the Lease that landed, and lasts until another replica's does. A write belongs to the leader's
//! duties if it changes a NodePool, a NodeClaim, a Node, a placeholder or the status of a policy; Leases, events and what
//! admission looks after is written by any replica. Such a write must come within a term of its writer's. One that comes later
//! must have been refused: of a replica that is stopped between its look at the clock and its write, the condition of the
//! write is what holds it.

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};

use crate::audit::Request;

/// Resources that only the leader writes, with their subresources.
const DUTIES: [&str; 5] = ["nodepools", "nodeclaims", "nodes", "pods", "rotationpolicies/status"];

/// A change of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// The user agent of the new one.
    pub to: String,
    /// When its first write to the Lease came.
    pub at: Timestamp,
    /// From the last write of the old one that landed, of whatever kind, to the first of the new one to the Lease.
    pub took: SignedDuration,
    /// From the last write of the old one that was of its duties; `None` if it had none.
    pub apart: Option<SignedDuration>,
}

/// What the log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// All changes of the leader, in order.
    pub hand_overs: Vec<HandOver>,
    /// Writes of a leader's duties that landed, each within its writer's term.
    pub written: usize,
    /// Writes that came after the end of their writer's term, all of which were refused.
    pub late: usize,
}

/// Judges the requests of all replicas.
///
/// # Errors
/// When something was written by another than the leader.
pub fn judge(requests: &[Request]) -> Result<Verdict> {
    let mut requests: Vec<&Request> = requests.iter().filter(|request| request.writes()).collect();
    requests.sort_by_key(|request| request.received);
    let (mut verdict, mut leader) = (Verdict::default(), None::<Term<'_>>);
    for request in requests {
        let landed = (200..300).contains(&request.code);
        let own = leader.as_ref().is_some_and(|term| term.agent == request.agent);
        if request.resource == "leases" && landed {
            if let Some(before) = leader.as_mut().filter(|_| own) {
                before.last_sign = request.received;
                continue;
            }
            verdict.hand_overs.extend(leader.take().map(|before| HandOver {
                to: request.agent.clone(),
                at: request.received,
                took: request.received.duration_since(before.last_sign),
                apart: before.last_write.map(|last| request.received.duration_since(last)),
            }));
            leader = Some(Term { agent: &request.agent, last_sign: request.received, last_write: None });
        } else if DUTIES.contains(&request.resource.as_str()) {
            ensure!(own || !landed, "{} wrote at {}, and did not lead: {}", request.agent, request.received, request.summary());
            verdict.late += usize::from(!own);
            if let Some(term) = leader.as_mut().filter(|_| own && landed) {
                (term.last_sign, term.last_write) = (request.received, Some(request.received));
                verdict.written += 1;
            }
        }
    }
    Ok(verdict)
}

/// The term that has not ended.
struct Term<'a> {
    agent: &'a str,
    last_sign: Timestamp,
    last_write: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(second: i64, agent: &str, verb: &str, resource: &str, code: u64) -> Request {
        let (agent, verb, resource, received) = (agent.to_owned(), verb.to_owned(), resource.to_owned(), at(second));
        Request { agent, verb, resource, code, received, ..Request::default() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn renewed(second: i64, agent: &str) -> Request {
        request(second, agent, "update", "leases", 200)
    }

    #[test]
    fn hand_overs_are_measured_from_the_last_sign_and_from_the_last_write() {
        let log = [
            renewed(0, "a"),
            request(1, "a", "patch", "nodepools", 200),
            renewed(2, "a"),
            // Of no leader's duties, refused, or only a look.
            request(3, "b", "create", "events", 201),
            request(4, "b", "update", "leases", 409),
            request(5, "b", "get", "nodepools", 200),
            renewed(18, "b"),
            request(19, "a", "patch", "nodeclaims", 409),
            request(20, "b", "delete", "nodeclaims", 200),
            request(21, "b", "patch", "nodepools", 409),
            renewed(40, "a"),
        ];
        let seconds = SignedDuration::from_secs;
        let hand_overs = vec![
            HandOver { to: "b".to_owned(), at: at(18), took: seconds(16), apart: Some(seconds(17)) },
            HandOver { to: "a".to_owned(), at: at(40), took: seconds(20), apart: Some(seconds(20)) },
        ];
        assert_eq!(judge(&log).unwrap(), Verdict { hand_overs, written: 2, late: 1 });
    }

    #[test]
    fn the_order_is_that_in_which_they_came_and_not_that_of_the_answers() {
        let log = [renewed(0, "a"), renewed(18, "b"), request(1, "a", "patch", "nodepools", 200)];
        assert_eq!(judge(&log).unwrap().written, 1);
    }

    #[test]
    fn what_another_than_the_leader_has_written_is_told() {
        let rows: [&[Request]; 3] = [
            &[request(1, "a", "create", "pods", 201)],
            &[renewed(0, "a"), renewed(18, "b"), request(19, "a", "patch", "nodes", 200)],
            &[renewed(0, "a"), request(1, "b", "patch", "rotationpolicies/status", 200)],
        ];
        for log in rows {
            let error = judge(log).unwrap_err().to_string();
            assert!(error.contains("did not lead"), "{error}");
        }
    }
}
