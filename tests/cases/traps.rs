//! The traps: what controllers of this kind have got wrong and this one must not.
//!
//! `t` and a number are faults that were reported of another controller, `r` and a number what its sources show. Here are
//! those that concern policies, schedule, selection, placeholder and the rotation itself, in our own words: what holds.
//! One placeholder stands for the whole node, as D7 wants it, so `r10` is not among them.

use std::collections::BTreeSet;

use super::{Area, leading_id, named, tell};

/// How many traps have a test. It only goes up: raise it with each trap that gets its test.
const FLOOR: usize = 101;

const AREAS: [Area; 4] = [
    (
        "races and crashes",
        &[
            ("t1", "an old view of the pool ends no rotation twice"),
            ("t2", "who loses the last write tells nothing, whatever it had measured"),
            ("t3", "an expiry while pending has one owner"),
            ("t4", "so has the expiry of a failed attempt"),
            ("t5", "an old view begins nothing anew after a rollback"),
            ("t6", "an old view adds and removes nothing during a drain"),
            ("t7", "an old view does not retry again and again"),
            ("t8", "a failure is told with the count that was written"),
            ("t9", "a claim that goes during its rollback has expired and not failed"),
            ("t10", "the next attempt is counted from the stored second"),
            ("t11", "an attempt whose start nobody can read is a fresh one"),
            ("t12", "a duration is measured at most once"),
            ("t13", "nothing is told before its write"),
            ("t14", "what was there before is not told as made"),
            ("t15", "what was told is forgotten when it is over"),
            ("t16", "the sweep comes before the first pass, and all wait"),
            ("t17", "what a crash has left is removed"),
            ("t18", "a claim that goes during the sweep is nobody's failure"),
            ("t19", "the Pod that was listed is deleted, by its uid"),
            ("t20", "a rotation that begins during the sweep keeps its marks"),
            ("t21", "thawing and uncordoning are different words"),
            ("t22", "only who releases the anchor tells of the lost policy"),
            ("t23", "a drain whose begin is not known is not measured"),
            ("t24", "a status from an old cache is put right without a change"),
            ("t25", "a lost race for a status is no error"),
            ("t26", "a missed window is told by who removes its stamp"),
            ("t27", "every release takes all companions along"),
        ],
    ),
    (
        "placeholder",
        &[
            ("t28", "the host to avoid is only preferred against"),
            ("t29", "the taints of the pool are tolerated"),
            ("t30", "no token is mounted"),
            ("t31", "one that is being deleted reserves nothing"),
            ("t32", "a Pod is pinned if every term admits this host only"),
            ("t33", "a Pod that belongs on another host is not pinned here"),
            ("t34", "a namesake elsewhere keeps the host alive"),
            ("t35", "greater and less are about integers"),
            ("t36", "greater-or-equal and less-or-equal hold at their bounds"),
            ("t37", "a label that only the claim asks for is replicated"),
            ("t38", "no more is asked for than a claim offers beside the DaemonSets"),
            ("t39", "where nothing is left the demand stays as it is"),
            ("t40", "limits are held against what is asked for in the end"),
            ("t41", "a DaemonSet's Pod that is done takes no room"),
            ("t42", "the longest name of a claim still gives a name"),
            ("t43", "a whole node is asked for whatever its Pods ask for"),
            ("t44", "even Pods that ask for nothing can be refused a place"),
            ("t45", "a refusal says what could still take the placeholder"),
            ("t46", "which Pods were counted and which not is told"),
        ],
    ),
    (
        "selection and schedule",
        &[
            ("t47", "the lead time is that of the claim"),
            ("t48", "the nearest deadline goes first"),
            ("t49", "a node that a person protects is left alone"),
            ("t50", "a person's protection survives the cleanup"),
            ("t51", "a protection that does not protect is replaced by ours"),
            ("t52", "an uncordon takes no protection along"),
            ("t53", "a window that never closes has a period of a minute"),
            ("t54", "the forecast knows how many claims there are"),
            ("t55", "the shortest window is measured on what was joined"),
            ("t56", "so is the period, also at the edge of the week"),
            ("t57", "a schedule that cannot work starts nothing"),
            ("t58", "the last start of a window may end outside"),
            ("t59", "the cooldown reaches into the next window too"),
            ("t60", "the forecast does not expect drains to be forced"),
            ("t61", "the forecast does not expect time limits to run out"),
            ("t62", "the buffer is four looks"),
            ("t63", "settling and failing have pauses of their own"),
            ("t64", "three weeks are allowed and no more"),
            ("t65", "what is doubtful is told once"),
            ("t66", "a zero that is written is not a default"),
            ("t67", "neither is a zero for the number of nodes"),
            ("t68", "the examples are policies"),
            ("t69", "a pool of fixed size is not rotated"),
            ("t70", "a backoff does not outlive its window"),
            ("t71", "a closed minute ends a window on both sides"),
            ("t72", "windows are looked up only for a claim that has failed"),
            ("t73", "a claim in backoff that is no longer due is not missed"),
            ("t74", "a window is missed also if all that is due is in backoff"),
            ("t75", "a failure is no progress"),
            ("t76", "a retry that does not fit is told"),
            ("t77", "a schedule that cannot work retries nothing"),
            ("t78", "a claim that is going is not chosen again"),
            ("t79", "a pool that loses its policy is rolled back"),
            ("t104", "half a day of life under a daily window is fatal"),
            ("t105", "the pauses hold the first rotation too"),
        ],
    ),
    (
        "what the sources show",
        &[
            ("r1", "a pool that is governed again is rotated again"),
            ("r2", "no edit of a policy takes a drain's reservation"),
            ("r5", "only what changes is written"),
            ("r6", "it is the delete that must come before the deadline"),
            ("r7", "the template says nothing of claims that there are"),
            ("r8", "only the claim that was bound is remembered"),
            ("r9", "a fallback that was cut off stays one"),
            ("r11", "one node more counts against a limit of nodes"),
            ("r12", "the API server lets the placeholder in"),
            ("r13", "a long name of a claim still gives a label"),
            ("r14", "the capacity type may be only preferred"),
            ("r15", "a pool that is going is not rotated"),
            ("r16", "a drain that does not end says what holds it"),
            ("r17", "midnight ends nothing"),
            ("r18", "counters outlive a conflict"),
            ("r19", "an expiry and a stuck drain are told"),
            ("r20", "an age override keeps the order of the deadlines"),
            ("r24", "a freeze and a stamp that cannot be right are told"),
            ("r25", "a label that cannot be replicated is named"),
            ("r26", "a stale companion is not shown by the next rotation"),
            ("r29", "one clock says what was launched for a surge"),
        ],
    ),
];

#[test]
fn each_trap_has_an_id_and_a_wording_of_its_own() {
    let traps: Vec<(&str, &str)> = AREAS.iter().flat_map(|(_, traps)| traps.iter().copied()).collect();
    for distinct in [traps.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>(), traps.iter().map(|(_, wording)| *wording).collect()] {
        assert_eq!(distinct.len(), traps.len());
    }
    for (id, wording) in traps {
        assert!(leading_id(&format!("{id}_")).is_some() && !wording.is_empty(), "{id} {wording:?}");
    }
}

#[test]
fn as_many_traps_as_ever_have_a_test() {
    tell("traps", &AREAS, named().unwrap(), &['t', 'r'], FLOOR, file!());
}
