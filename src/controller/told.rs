//! What was told of one pool, so that what holds for many passes is told when it begins.
//!
//! In memory only: a restart tells each once more.

use std::collections::{BTreeMap, BTreeSet};

use noderotation_core::rotation::announcement::Notice;

/// What was told of one pool.
#[derive(Default)]
pub(super) struct Told {
    /// The pool that it was told of; a namesake created later is another pool.
    uid: Option<String>,
    /// The subjects of what held in the pass before.
    notices: BTreeSet<Notice>,
    /// A pool stays static for its whole life, so this is told once and not each time that nothing else is the matter.
    static_pool: bool,
    idle: Option<String>,
}

impl Told {
    /// Of what holds now, what did not hold in the pass before.
    pub(super) fn news(&mut self, uid: Option<&str>, notices: impl IntoIterator<Item = Notice>) -> Vec<Notice> {
        if self.uid.as_deref() != uid {
            *self = Self { uid: uid.map(str::to_owned), ..Self::default() };
        }
        let notices: BTreeMap<Notice, Notice> = notices.into_iter().map(|notice| (notice.subject(), notice)).collect();
        let known = |subject: &Notice| self.notices.contains(subject) || self.static_pool && *subject == Notice::StaticNodePool;
        let news: Vec<Notice> = notices.iter().filter(|(subject, _)| !known(subject)).map(|(_, notice)| notice.clone()).collect();
        self.static_pool |= notices.contains_key(&Notice::StaticNodePool);
        self.notices = notices.into_keys().collect();
        news
    }

    /// The reason why nothing rotates is another one than in the pass before.
    pub(super) fn idles_for_another_reason(&mut self, line: Option<String>) -> bool {
        let changed = line != self.idle;
        self.idle = line;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen() -> Notice {
        Notice::FreezeUnparsable { value: "soon".to_owned() }
    }

    #[test]
    fn t65_a_state_of_affairs_is_told_when_it_begins_and_when_it_begins_again() {
        let mut told = Told::default();
        let passes = [vec![frozen()], vec![frozen()], vec![], vec![frozen(), Notice::ShortLead { claim: "a".to_owned() }], vec![frozen()]];
        let news = passes.map(|notices| told.news(Some("1"), notices).len());
        assert_eq!(news, [1, 0, 0, 2, 0]);
    }

    #[test]
    fn t15_what_is_over_is_forgotten_so_that_claims_come_and_go() {
        let mut told = Told::default();
        for number in 0..100 {
            let (claim, placeholder) = (format!("claim-{number}"), format!("placeholder-{number}"));
            let message = "0/3 nodes are available".to_owned();
            assert_eq!(told.news(Some("1"), [Notice::SurgeUnschedulable { claim, placeholder, message }]).len(), 1);
            assert_eq!(told.notices.len(), 1);
        }
        assert_eq!((told.news(Some("1"), []).len(), told.notices.len()), (0, 0));
    }

    #[test]
    fn a_drain_that_stays_stuck_is_told_once_while_its_pods_change() {
        let mut told = Told::default();
        let stuck = |claim: &str, waits_for: &str| Notice::DrainStuck { claim: claim.to_owned(), waits_for: waits_for.to_owned() };
        assert_eq!(told.news(None, [stuck("a", "two Pods")]), [stuck("a", "two Pods")]);
        assert_eq!(told.news(None, [stuck("a", "one Pod")]), []);
        assert_eq!(told.news(None, [stuck("b", "one Pod")]), [stuck("b", "one Pod")]);
    }

    #[test]
    fn a_static_pool_is_told_once_in_its_life_and_its_namesake_again() {
        let mut told = Told::default();
        let passes = [("1", true), ("1", true), ("1", false), ("1", true), ("2", true), ("2", true)];
        let news = passes.map(|(uid, is_static)| told.news(Some(uid), is_static.then_some(Notice::StaticNodePool)).len());
        assert_eq!(news, [1, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn an_idle_reason_is_told_when_it_changes() {
        let mut told = Told::default();
        let lines = [Some("frozen"), Some("frozen"), None, Some("frozen"), Some("outOfWindow")];
        let changes = lines.map(|line| told.idles_for_another_reason(line.map(str::to_owned)));
        assert_eq!(changes, [true, false, true, true, true]);
    }
}
