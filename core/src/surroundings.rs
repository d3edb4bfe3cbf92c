//! The policies and NodePools of a cluster as last seen, and what they mean for a policy that is about to join them (D11).

use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use crate::doubt::{Among, Doubt, Matter, Strictness, doubts};
use crate::governance::{Governance, governance};
use crate::karpenter::NodePool;
use crate::policy::fault::Fault;
use crate::resolve::PolicyEntry;

/// What surrounds a policy.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    policies: Vec<PolicyEntry>,
    /// With the number of claims of each.
    pools: Vec<(NodePool, usize)>,
}

impl Surroundings {
    /// The objects of a cluster. Those that are being deleted do not count: a tool that renames a policy creates the new
    /// one before the old one has gone (review 20).
    #[must_use]
    pub fn new<'a>(policies: impl IntoIterator<Item = &'a Value>, pools: impl IntoIterator<Item = NodePool>) -> Self {
        let stays = |object: &&Value| object.pointer("/metadata/deletionTimestamp").is_none_or(Value::is_null);
        let pools = pools.into_iter().filter(|pool| pool.metadata.deletion_timestamp.is_none());
        Self {
            policies: policies.into_iter().filter(stays).map(PolicyEntry::from_object).collect(),
            pools: pools.map(|pool| (pool.nodes(), pool)).map(|(claims, pool)| (pool, claims)).collect(),
        }
    }

    /// What is doubtful about `new` here, in place of the policy of its name: the reasons to refuse it, and what is only
    /// told. `old` is what it replaces; a tie that was there before is no reason to refuse a change (review 20).
    #[must_use]
    pub fn judge(&self, old: Option<&PolicyEntry>, new: &PolicyEntry, strictness: Strictness, now: Timestamp) -> (Vec<Fault>, Vec<String>) {
        let policies = self.with(new);
        let after = self.governance(new, &policies);
        // What was before matters to a tie alone.
        let before = old.filter(|_| after.conflict().is_some()).map(|old| self.governance(old, &self.with(old))).unwrap_or_default();
        let introduced = !after.contested.is_subset(&before.contested) || !after.rivals.is_subset(&before.rivals);
        let pools: Vec<(&NodePool, usize)> = self.pools.iter().map(|(pool, claims)| (pool, *claims)).collect();
        let doubts = doubts(new, &after, Among { policies: &policies, pools: &pools }, now);
        let denied = |doubt: &Doubt| doubt.is_denied(strictness) && (doubt.matter != Matter::Tie || introduced);
        let (denied, told): (Vec<Doubt>, Vec<Doubt>) = doubts.into_iter().partition(denied);
        (denied.iter().map(Doubt::fault).collect(), told.iter().map(|doubt| doubt.fault().to_string()).collect())
    }

    /// The policies with `policy` in place of the one of its name.
    fn with(&self, policy: &PolicyEntry) -> Vec<PolicyEntry> {
        self.policies.iter().filter(|other| other.name != policy.name).chain([policy]).cloned().collect()
    }

    /// What `policy` has to do with the pools, as one of `policies`. No other pools than those that it selects matter to it.
    fn governance(&self, policy: &PolicyEntry, policies: &[PolicyEntry]) -> Governance {
        let Some(selector) = &policy.selector else {
            return Governance::default();
        };
        let selected = self.pools.iter().filter(|(pool, _)| selector.matches(pool.labels()));
        let mut all = governance(policies, selected.map(|(pool, _)| (pool.name(), pool.labels())));
        all.remove(&policy.name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::tests::good;

    const DENY: Strictness = Strictness { deny_ties: true, deny_infeasible: true };

    fn policy(name: &str, labels: &Value) -> Value {
        let mut policy = good();
        policy["metadata"] = json!({ "name": name });
        policy["spec"]["nodePoolSelector"] = json!({ "matchLabels": labels });
        policy
    }

    fn pool(name: &str, labels: &Value, expire_after: &str) -> NodePool {
        let template = json!({"spec": {"expireAfter": expire_after, "terminationGracePeriod": "1h"}});
        serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}, "spec": {"template": template}})).unwrap()
    }

    fn judge(here: &Surroundings, old: Option<&Value>, new: &Value) -> (Vec<String>, Vec<String>) {
        let old = old.map(PolicyEntry::from_object);
        let (denied, told) = here.judge(old.as_ref(), &PolicyEntry::from_object(new), DENY, "2026-01-06T12:00:00Z".parse().unwrap());
        (denied.iter().map(ToString::to_string).collect(), told)
    }

    #[test]
    fn a_tie_is_denied_to_whoever_brings_it_about_and_to_nobody_else() {
        let (team, tier) = (json!({"team": "a"}), json!({"tier": "gold"}));
        let (both, free) = (json!({"team": "a", "tier": "gold"}), json!({"team": "b"}));
        let here = Surroundings::new(&[policy("there", &team), policy("me", &free)], [pool("x", &both, "336h"), pool("y", &free, "336h")]);
        let tie = "spec.nodePoolSelector: ties with there for NodePool x, which is not rotated; give one selector more entries";
        let rows = [
            ("created into a tie", None, &tier, true),
            ("created beside one", None, &both, false),
            ("changed into a tie", Some(&free), &tier, true),
            ("in a tie before, with another selector", Some(&team), &tier, false),
            ("changed out of a tie", Some(&tier), &both, false),
        ];
        for (name, old, new, denied) in rows {
            let old = old.map(|old| policy("me", old));
            let (faults, told) = judge(&here, old.as_ref(), &policy("me", new));
            assert_eq!(faults, if denied { vec![tie] } else { vec![] }, "{name}");
            let ties_still = name.starts_with("in a tie");
            assert_eq!(told.iter().any(|told| told == tie), ties_still, "{name}: {told:?}");
        }
    }

    #[test]
    fn what_is_being_deleted_is_not_there() {
        let labels = json!({"team": "a"});
        let mut leaving = policy("there", &labels);
        let pools = || [pool("x", &labels, "336h")];
        assert_eq!(judge(&Surroundings::new(&[leaving.clone()], pools()), None, &policy("me", &labels)).0.len(), 1);
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(judge(&Surroundings::new(&[leaving], pools()), None, &policy("me", &labels)), (vec![], vec![]));
        let mut pool = pool("x", &labels, "48h");
        assert_eq!(judge(&Surroundings::new([], [pool.clone()]), None, &policy("me", &labels)).0.len(), 1);
        pool.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH));
        let told = vec!["spec.nodePoolSelector: selects no NodePool, since there is none yet".to_owned()];
        assert_eq!(judge(&Surroundings::new([], [pool]), None, &policy("me", &labels)), (vec![], told));
    }

    #[test]
    fn the_policy_takes_the_place_of_its_predecessor_and_is_no_rival_of_it() {
        let labels = json!({"team": "a"});
        let here = Surroundings::new(&[policy("me", &labels)], [pool("x", &labels, "336h")]);
        assert_eq!(judge(&here, Some(&policy("me", &labels)), &policy("me", &labels)), (vec![], vec![]));
        // One without a name yet is nobody's successor.
        let mut unnamed = policy("", &labels);
        unnamed["metadata"] = json!({"generateName": "me-"});
        assert_eq!(judge(&here, None, &unnamed).0.len(), 1);
    }

    #[test]
    fn a_forecast_counts_the_nodes_that_karpenter_has_counted() {
        let mut pool = pool("x", &json!({}), "336h");
        let told = |pool: &NodePool| judge(&Surroundings::new([], [pool.clone()]), None, &policy("me", &json!({}))).1;
        assert_eq!(told(&pool), Vec::<String>::new());
        pool.status = serde_json::from_value(json!({"resources": {"nodes": "500"}})).unwrap();
        let told = told(&pool);
        assert!(told.iter().any(|told| told.contains("(ThroughputBurstShortfall): if all 500 claims")), "{told:?}");
    }
}
