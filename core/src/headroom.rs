//! Does one more node fit under the NodePool's limits (§5.2 step 3, D6).
//!
//! Advice, not proof: Karpenter's usage is eventually consistent, and what it launches may be larger than the
//! placeholder. The gate spares an attempt that cannot succeed; a refusal may still come as "unschedulable".

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::karpenter::NodePool;
use crate::placeholder::Amount;

/// A limit that one more node would exceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// Resource name as in `spec.limits`.
    pub resource: String,
    /// What the placeholder requests; `1` for `nodes`.
    pub requested: String,
    /// `spec.limits` as written.
    pub limit: String,
    /// `status.resources`; where absent `0`, for `nodes` the number of NodeClaims.
    pub used: String,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} requested, {} of {} in use", self.resource, self.requested, self.used, self.limit)
    }
}

/// Every limit that `requests` on one more node would exceed; empty means it fits. Equality fits.
///
/// `claims` is how many NodeClaims the pool has: where its status does not count nodes, they do.
///
/// A limit or a usage that is not a quantity cannot be compared and does not block.
#[must_use]
pub fn shortfalls(pool: &NodePool, claims: usize, requests: &BTreeMap<String, Quantity>) -> Vec<Shortfall> {
    let one_node = Quantity("1".to_owned());
    let zero = Quantity("0".to_owned());
    let counted = Quantity(claims.to_string());
    let used = |resource: &str| {
        let otherwise = if resource == "nodes" { &counted } else { &zero };
        pool.status.as_ref().and_then(|s| s.resources.get(resource)).unwrap_or(otherwise)
    };
    pool.spec
        .limits
        .iter()
        .filter_map(|(resource, limit)| {
            let requested = if resource == "nodes" { &one_node } else { requests.get(resource)? };
            let used = used(resource);
            exceeds(requested, used, limit).then(|| Shortfall {
                resource: resource.clone(),
                requested: requested.0.clone(),
                limit: limit.0.clone(),
                used: used.0.clone(),
            })
        })
        .collect()
}

fn exceeds(requested: &Quantity, used: &Quantity, limit: &Quantity) -> bool {
    let amount = |q: &Quantity| Amount::parse(&q.0).ok();
    let sum = amount(requested).zip(amount(used)).map(|(requested, used)| requested.checked_add(used));
    match (sum, amount(limit)) {
        // A sum beyond any quantity is beyond any limit.
        (Some(None), Some(_)) => true,
        (Some(Some(sum)), Some(limit)) => sum > limit,
        (None, _) | (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::karpenter::{NodePoolSpec, NodePoolStatus};

    fn quantities(pairs: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), Quantity((*v).to_owned()))).collect()
    }

    #[test]
    fn limits_table() {
        type Pairs = &'static [(&'static str, &'static str)];
        let rows: &[(&str, Pairs, Pairs, Pairs, &[&str])] = &[
            ("no limits", &[], &[("cpu", "90")], &[("cpu", "4")], &[]),
            ("equality fits", &[("cpu", "10")], &[("cpu", "6")], &[("cpu", "4")], &[]),
            ("a milli too much", &[("cpu", "10")], &[("cpu", "6001m")], &[("cpu", "4")], &["cpu"]),
            ("usage beyond the limit", &[("cpu", "10")], &[("cpu", "12")], &[("cpu", "1m")], &["cpu"]),
            ("no usage is zero", &[("memory", "1Gi")], &[], &[("memory", "1Gi")], &[]),
            ("not requested", &[("cpu", "1")], &[("cpu", "9")], &[("memory", "1Gi")], &[]),
            ("one more node", &[("nodes", "3")], &[("nodes", "2")], &[("cpu", "1")], &[]),
            ("one node too many", &[("nodes", "3")], &[("nodes", "3")], &[("cpu", "1")], &["nodes"]),
            ("nodes that nobody has counted, with room", &[("nodes", "3")], &[("cpu", "9")], &[("cpu", "1")], &[]),
            ("nodes that nobody has counted, without", &[("nodes", "2")], &[("cpu", "9")], &[("cpu", "1")], &["nodes"]),
            ("every shortfall is named", &[("cpu", "1"), ("nodes", "0")], &[], &[("cpu", "2")], &["cpu", "nodes"]),
            ("an unreadable limit does not block", &[("cpu", "lots")], &[], &[("cpu", "2")], &[]),
        ];
        for (name, limits, used, requests, expected) in rows {
            let mut pool = NodePool::new("p", NodePoolSpec { limits: quantities(limits), ..NodePoolSpec::default() });
            pool.status = Some(NodePoolStatus { resources: quantities(used), ..NodePoolStatus::default() });
            let found: Vec<_> = shortfalls(&pool, 2, &quantities(requests)).into_iter().map(|s| s.resource).collect();
            assert_eq!(&found, expected, "{name}");
        }
    }

    fn pool(limits: &[(&str, &str)], used: &[(&str, &str)]) -> NodePool {
        let mut pool = NodePool::new("np0", NodePoolSpec { limits: quantities(limits), ..NodePoolSpec::default() });
        pool.status = Some(NodePoolStatus { resources: quantities(used), ..NodePoolStatus::default() });
        pool
    }

    fn told(pool: &NodePool, requests: &[(&str, &str)]) -> Vec<String> {
        shortfalls(pool, 2, &quantities(requests)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn c082_r11_a_limit_on_the_number_of_nodes_counts_one_more() {
        let full = pool(&[("nodes", "3")], &[("nodes", "3")]);
        assert_eq!(told(&full, &[("cpu", "1"), ("memory", "1Gi")]), ["nodes: 1 requested, 3 of 3 in use"]);
        assert!(told(&pool(&[("nodes", "3")], &[("nodes", "2")]), &[("cpu", "1"), ("memory", "1Gi")]).is_empty());
        // Where the status does not count nodes, the claims stand for them.
        assert_eq!(told(&pool(&[("nodes", "2")], &[]), &[("cpu", "1")]), ["nodes: 1 requested, 2 of 2 in use"]);
    }

    #[test]
    fn c084_a_limit_below_what_is_in_use_is_no_headroom() {
        let over = pool(&[("cpu", "8")], &[("cpu", "12")]);
        assert_eq!(told(&over, &[("cpu", "1m")]), ["cpu: 1m requested, 12 of 8 in use"]);
        assert!(told(&pool(&[("cpu", "12001m")], &[("cpu", "12")]), &[("cpu", "1m")]).is_empty());
    }

    #[test]
    fn c086_a_pool_without_limits_has_room_without_bound() {
        assert!(told(&pool(&[], &[("cpu", "12000"), ("nodes", "900")]), &[("cpu", "500"), ("memory", "9Ti")]).is_empty());
        // Also one whose status Karpenter has not written yet.
        assert!(shortfalls(&NodePool::new("np0", NodePoolSpec::default()), 2, &quantities(&[("cpu", "1")])).is_empty());
    }
}
