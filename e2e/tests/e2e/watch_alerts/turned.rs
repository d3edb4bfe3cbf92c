//! That the tests of the alerts can fail: each rule is turned, once so that it must not fire and once so that it must.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::Cluster;

use super::plans::{PLANS, Plan};

/// An alert, what of its expression is turned so that it no longer fires, and so that it fires for nothing.
struct Turn {
    alert: &'static str,
    strict: &'static [(&'static str, &'static str)],
    lax: &'static [(&'static str, &'static str)],
}

const fn turn(alert: &'static str, strict: &'static [(&'static str, &'static str)], lax: &'static [(&'static str, &'static str)]) -> Turn {
    Turn { alert, strict, lax }
}

const MORE: &[(&str, &str)] = &[("> 0", "> 1000000")];
const ANY: &[(&str, &str)] = &[("> 0", ">= 0")];
const NEVER: &[(&str, &str)] = &[("== 1", "== 2")];
const ALWAYS: &[(&str, &str)] = &[("== 1", "== 0")];

const TURNS: &[Turn] = &[
    turn("NodeRotationCompletedFailureOrExpired", MORE, ANY),
    turn("NodeRotationCandidatesNotDraining", MORE, ANY),
    turn("NodeRotationStalledInWindow", NEVER, &[("== 1", ">= 0"), ("> 0 or", ">= 0 or")]),
    turn("NodeRotationDrainStuck", NEVER, ALWAYS),
    turn("NodeRotationShortLeadNodes", MORE, ANY),
    turn("NodeRotationRetryCountHigh", &[(">= 3", ">= 4")], &[(">= 3", ">= 0")]),
    turn("NodeRotationForcefulFallback", MORE, ANY),
    turn("NodeRotationWindowMissed", MORE, ANY),
    turn("NodeRotationInfeasible", NEVER, ALWAYS),
    turn("NodeRotationExpiryBeforeWindow", &[("< on", "> on")], &[("< on", "> on")]),
    turn("NodeRotationPolicyConflict", NEVER, ALWAYS),
    turn("NodeRotationCertificateExpires", &[("< 604800", "< 3600")], &[("< 604800", "< 604800000")]),
    turn("NodeRotationPassesFail", MORE, ANY),
    turn("NodeRotationNoLeader", &[("== 0", "== 7")], &[("== 0", "== 1")]),
];

pub(super) async fn each_that_is_turned_is_found_out(cluster: &Cluster) -> Result<()> {
    let (rules, promtool) = (super::rules(cluster).await?, super::promtool(cluster)?);
    let alerts: Vec<&str> = rules.alerts().collect();
    let turned: Vec<&str> = TURNS.iter().map(|turn| turn.alert).collect();
    ensure!(alerts == turned, "left the alerts, right those that are turned: {alerts:?} {turned:?}");
    // Silence is shown by the time that looks back far enough for the alert.
    let quiet = |alert: &str| if alert == "NodeRotationCandidatesNotDraining" { "quiet-weeks" } else { "quiet-day" };
    for turn in TURNS {
        let fires = |plan: &&Plan| plan.fires.iter().any(|fire| fire.alert == turn.alert);
        let loud = PLANS.iter().find(fires).with_context(|| format!("{} fires nowhere", turn.alert))?;
        let silent = PLANS.iter().find(|plan| plan.name == quiet(turn.alert)).context("there is no quiet time")?;
        let expression = rules.expression(turn.alert)?;
        for (plan, pieces) in [(loud, turn.strict), (silent, turn.lax)] {
            let asked = [turn.alert];
            let test = (plan.name, plan.test(&rules, &asked)?);
            let other = pieces.iter().fold(expression.to_owned(), |text, (from, to)| text.replace(from, to));
            ensure!(other != expression, "{}: nothing of {expression} was turned", turn.alert);
            let whole = promtool.test(&rules.only(turn.alert, expression)?, std::slice::from_ref(&test)).await?;
            ensure!(whole.success, "{} alone in {}: {}{}", turn.alert, plan.name, whole.output, whole.errors);
            let answer = promtool.test(&rules.only(turn.alert, &other)?, &[test]).await?;
            ensure!(
                answer.code == Some(1) && answer.errors.contains("exp:"),
                "nobody notices in {}: {other}\n{}",
                plan.name,
                answer.errors
            );
        }
    }
    Ok(())
}
