//! The shell's part: passes, looks, and effects carried out one by one, as the API server would take them.

use super::*;

impl World {
    /// One pass as the shell makes it: until the step rests, a write is refused, or the process is cut off.
    pub(in crate::rotation::tests) fn pass(&mut self) -> Vec<Announcement> {
        self.pass_after(None)
    }

    /// A pass whose first look is at the caches as they were in `before`; every further look is live.
    pub(in crate::rotation::tests) fn pass_after(&mut self, before: Option<&Self>) -> Vec<Announcement> {
        let mut told = Vec::new();
        let mut first = before.map(Self::observation);
        for _ in 0..16 {
            let decision = self.decide_from(first.take().unwrap_or_else(|| self.observation()));
            invariant::hold(self, &decision);
            self.notices = decision.notices.clone();
            self.stuck = decision.report.drain_stuck;
            self.activity = Some(decision.report.activity.clone());
            self.next = decision.next;
            let mut written = BTreeMap::new();
            for planned in decision.effects {
                if !self.write(planned, &mut written, &mut told) {
                    return told;
                }
            }
            if decision.next != Next::Again {
                return told;
            }
        }
        panic!("the step does not come to an end");
    }

    /// What a leader decides now and has not written yet.
    pub(in crate::rotation::tests) fn decide(&self) -> Decision {
        self.decide_from(self.observation())
    }

    fn decide_from(&self, mut observation: Observation) -> Decision {
        for _ in 0..16 {
            match step(&observation, self.now) {
                ControlFlow::Continue(decision) => return decision,
                ControlFlow::Break(look) => self.look(&mut observation, look),
            }
        }
        panic!("the step has never seen enough");
    }

    /// A leader that was paused after its decision carries it out.
    pub(in crate::rotation::tests) fn carry_out(&mut self, decision: Decision) -> Vec<Announcement> {
        self.carry_out_with(decision, |_, _| {})
    }

    /// The same, with something that happens before each of its writes.
    pub(in crate::rotation::tests) fn carry_out_with(
        &mut self,
        decision: Decision,
        mut before: impl FnMut(&mut Self, &Effect),
    ) -> Vec<Announcement> {
        let (mut told, mut written) = (Vec::new(), BTreeMap::new());
        for planned in decision.effects {
            before(self, &planned.effect);
            if !self.write(planned, &mut written, &mut told) {
                break;
            }
        }
        told
    }

    fn look(&self, observation: &mut Observation, look: Look) {
        self.looks.set(self.looks.get() + 1);
        let pods_on = |node: Option<&Node>| {
            let name = node.map(ResourceExt::name_any);
            self.pods.values().filter(|pod| pod.spec.as_ref().unwrap().node_name == name && name.is_some()).cloned().collect()
        };
        if let Look::CloseUp { claim } = &look {
            let found = self.claims.get(claim);
            let mut close_up = CloseUp {
                name: claim.clone(),
                claim: found.cloned(),
                node: found.and_then(|claim| self.nodes.get(claim.node_name()?)).cloned(),
                placeholder: self.pods.get(&crate::placeholder::name(claim)).cloned(),
                ..CloseUp::default()
            };
            close_up.surge_claim = match close_up.bound_to() {
                Some(host) => of_pool(&self.claims).into_iter().find(|claim| claim.node_name() == Some(host)),
                None => found.and_then(|claim| self.claims.get(&claim.marks(self.now).surge_claim?)).cloned(),
            };
            let host = close_up.bound_to().or_else(|| close_up.surge_claim.as_ref()?.node_name());
            close_up.surge_node = host.and_then(|host| self.nodes.get(host)).cloned();
            observation.pool = self.pool.clone();
            observation.close_up = Some(close_up);
            return;
        }
        if look == Look::Leftovers {
            observation.leftovers =
                Some(Leftovers { marked: self.marked(), anchored: sweep::anchored(std::slice::from_ref(&self.pool), self.now) });
            observation.pool = self.pool.clone();
            return;
        }
        let close_up = observation.close_up.as_mut().unwrap();
        match look {
            Look::CloseUp { .. } | Look::Leftovers => panic!("served above"),
            Look::PodsOnCandidate => close_up.pods_on_candidate = Some(pods_on(close_up.node.as_ref())),
            Look::Budgets => close_up.budgets = Some(self.budgets.clone()),
            Look::PodsOnSurgeNode => close_up.pods_on_surge_node = Some(pods_on(close_up.surge_node.as_ref())),
            Look::PoolNodes => close_up.pool_nodes = Some(self.marked().nodes),
        }
    }

    /// Carries one effect out as the API server would; false when the rest of the list is not to be carried out.
    fn write(&mut self, planned: Planned, written: &mut BTreeMap<String, String>, told: &mut Vec<Announcement>) -> bool {
        if self.crash_before == Some(self.writes) {
            self.crash_before = None;
            return false;
        }
        self.writes += 1;
        self.version += 1;
        let version = self.version.to_string();
        let rival = self.rival;
        let landed = match planned.effect {
            Effect::AnnotatePool { pool, change } => {
                self.log.push(format!("annotate NodePool: {}", text(&change)));
                patch(&mut self.pool.metadata, &pool, written, &version, &change, self.rival)
            }
            Effect::AnnotateClaim { claim, change } => {
                self.log.push(format!("annotate NodeClaim {}: {}", claim.name, text(&change)));
                self.claims
                    .get_mut(&claim.name)
                    .is_some_and(|object| patch(&mut object.metadata, &claim, written, &version, &change, rival))
            }
            Effect::MarkNode { node, change, unschedulable, proceed } => {
                self.log.push(format!("mark Node {}: {} {unschedulable:?}", node.name, text(&change)));
                let object = self.nodes.get_mut(&node.name).unwrap();
                if !patch(&mut object.metadata, &node, written, &version, &change, rival) {
                    return false;
                }
                let spec = object.spec.get_or_insert_default();
                if let Some(unschedulable) = unschedulable {
                    spec.unschedulable = unschedulable.then_some(true);
                }
                if self.taint_on_patch.as_ref() == Some(&node.name) {
                    let taint = Taint { key: DISRUPTED_TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
                    spec.taints = Some(vec![taint]);
                }
                !(proceed == Proceed::UnlessLeaving && node_leaving(object))
            }
            Effect::CreatePlaceholder { pod } => self.create(*pod, &version),
            Effect::DeletePlaceholder { pod, .. } => {
                let found = self.pods.get(&pod.name).is_some_and(|object| object.uid() == Some(pod.uid.clone()));
                found && self.pods.remove(&pod.name).is_some()
            }
            Effect::DeleteClaim { claim } => self.delete(&claim, written),
        };
        if landed {
            told.extend(planned.then);
        }
        landed
    }

    fn create(&mut self, mut pod: Pod, version: &str) -> bool {
        let name = pod.name_any();
        self.log.push(format!("create Pod {name}"));
        pod.metadata.uid = Some(format!("uid-{name}-{version}"));
        pod.metadata.resource_version = Some(version.to_owned());
        pod.metadata.creation_timestamp = Some(time(self.now));
        pod.status = Some(PodStatus { phase: Some("Pending".to_owned()), ..PodStatus::default() });
        self.pods.insert(name, pod);
        true
    }

    fn delete(&mut self, target: &Target, written: &BTreeMap<String, String>) -> bool {
        let (now, rival) = (self.now, self.rival);
        let Some(claim) = self.claims.get_mut(&target.name).filter(|_| !self.fail_deletes) else {
            return false;
        };
        assert_eq!(claim.uid(), Some(target.uid.clone()));
        let expected = written.get(&target.uid).unwrap_or(&target.version);
        if rival && claim.resource_version().as_ref() != Some(expected) {
            return false;
        }
        assert_eq!(claim.resource_version().as_ref(), Some(expected), "a delete without the right version");
        claim.metadata.deletion_timestamp = Some(time(now));
        self.log.push(format!("delete NodeClaim {}", target.name));
        self.deleted.push(target.name.clone());
        true
    }
}

/// Merge-patches annotations under the precondition of the target's version.
fn patch(
    meta: &mut ObjectMeta,
    target: &Target,
    written: &mut BTreeMap<String, String>,
    version: &str,
    change: &Change,
    rival: bool,
) -> bool {
    let expected = written.get(&target.uid).unwrap_or(&target.version);
    if rival && meta.resource_version.as_ref() != Some(expected) {
        return false;
    }
    assert_eq!(meta.resource_version.as_ref(), Some(expected), "a stale write of {}", target.name);
    let annotations = meta.annotations.get_or_insert_default();
    for (key, value) in change {
        match value {
            Some(value) => annotations.insert((*key).to_owned(), value.clone()),
            None => annotations.remove(*key),
        };
    }
    meta.resource_version = Some(version.to_owned());
    written.insert(target.uid.clone(), version.to_owned());
    true
}

fn text(change: &Change) -> String {
    let entry = |(key, value): (&&str, &Option<String>)| {
        let key = key.trim_start_matches("noderotation.io/");
        value.as_ref().map_or_else(|| format!("-{key}"), |value| format!("{key}={value}"))
    };
    change.iter().map(entry).collect::<Vec<_>>().join(" ")
}
