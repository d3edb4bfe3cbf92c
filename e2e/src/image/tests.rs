//! What must hold of the Dockerfile, what it reads, and the chart that starts what it makes.

use serde_yaml_ng::Value;

use super::dockerfile::Step;
use super::*;

const CHART: &str = "charts/node-rotation-controller";

fn last() -> Stage {
    stages().unwrap().pop().unwrap()
}

fn yaml(file: &str) -> Value {
    serde_yaml_ng::from_str(&text(file).unwrap()).unwrap()
}

/// The value of the first such key of Cargo.toml that is of this form.
fn of_manifest(key: &str) -> String {
    let manifest = text("Cargo.toml").unwrap();
    let value = manifest.lines().find_map(|line| line.strip_prefix(&format!("{key} = \""))?.strip_suffix('"').map(str::to_owned));
    value.unwrap_or_else(|| panic!("Cargo.toml has no {key}"))
}

#[test]
fn the_last_stage_is_the_program_alone_and_not_root() {
    let last = last();
    assert_eq!((last.base.as_str(), last.platform), ("scratch", None));
    let copies: Vec<&Step> = last.steps.iter().filter(|step| !matches!(step, Step::Arg { .. })).collect();
    let program = "/node-rotation-controller".to_owned();
    let copy = Step::Copy { from: Some("build".to_owned()), sources: vec![program.clone()], target: "/".to_owned() };
    assert_eq!(copies, [&copy]);
    assert_eq!(last.image.user.as_deref(), Some("65532:65532"));
    assert_eq!((last.image.entrypoint, last.image.command), (vec![program], vec!["run".to_owned()]));
}

#[test]
fn base_images_are_pinned_by_tag_and_digest_and_run_on_the_machine_that_builds() {
    let stages = stages().unwrap();
    let names: Vec<&str> = stages.iter().filter_map(|stage| stage.name.as_deref()).collect();
    let mut bases = stages.iter().filter(|stage| stage.base != "scratch" && !names.contains(&stage.base.as_str()));
    let base = bases.next().unwrap();
    assert!(bases.next().is_none(), "one base image is enough");
    assert_eq!(base.platform.as_deref(), Some("$BUILDPLATFORM"));
    let (tag, digest) = base.base.split_once("@sha256:").unwrap();
    assert!(digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit()), "{digest}");
    let version = tag.strip_prefix("rust:").and_then(|tag| tag.split('-').next()).unwrap();
    let numbers = |version: &str| version.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers(version).len(), 3, "{version} is no exact version");
    assert!(numbers(version) >= numbers(&of_manifest("rust-version")), "{version} is too old for this workspace");
}

#[test]
fn the_labels_say_what_the_manifest_says() {
    let image = finished(&last(), &arguments(Architecture::Amd64, "0123abc").unwrap()).unwrap();
    let expected = [
        ("title", of_manifest("name")),
        ("description", of_manifest("description")),
        ("version", of_manifest("version")),
        ("revision", "0123abc".to_owned()),
        ("licenses", of_manifest("license")),
    ];
    let expected: Variables = expected.map(|(name, value)| (format!("org.opencontainers.image.{name}"), value)).into();
    assert_eq!(image.labels, expected);
    assert_eq!(yaml(&format!("{CHART}/Chart.yaml")).get("appVersion").and_then(Value::as_str), Some(of_manifest("version").as_str()));
}

#[test]
fn dependencies_are_compiled_before_the_code_comes_in_and_in_the_same_way() {
    let stages = stages().unwrap();
    let build = stages.iter().find(|stage| stage.name.as_deref() == Some("build")).unwrap();
    let [Step::Copy { from: Some(skeleton), .. }, Step::Run(first), Step::Copy { from: None, .. }, Step::Run(second)] =
        build.steps.as_slice()
    else {
        panic!("{build:?}")
    };
    assert_eq!(skeleton, "skeleton");
    assert!(first.starts_with("cargo build --locked --release ") && second.contains(&format!("&& {first} ")), "{first:?} and {second:?}");
}

#[test]
fn both_processors_have_a_target_and_a_compiler() {
    let stages = stages().unwrap();
    let [Step::Arg { .. }, Step::Arg { .. }, Step::Env(variables), Step::Run(command), ..] = stages.first().unwrap().steps.as_slice()
    else {
        panic!("{stages:?}")
    };
    for (architecture, processor) in [(Architecture::Amd64, "x86_64"), (Architecture::Arm64, "aarch64")] {
        let target = format!("{processor}-unknown-linux-musl");
        assert!(command.contains(&format!("{}) target={target} ", architecture.name())), "{command}");
        let compiler = (format!("CC_{}", target.replace('-', "_")), format!("{processor}-linux-gnu-gcc"));
        assert!(variables.contains(&compiler), "{variables:?} has no {compiler:?}");
    }
}

#[test]
fn the_context_has_the_whole_program_and_of_the_rest_what_cargo_wants() {
    let context = context::files(&repository::path(""), &text(".dockerignore").unwrap()).unwrap();
    let has = |path: &str| context.iter().any(|file| file == path);
    let manifest = text("Cargo.toml").unwrap();
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = [")?.strip_suffix(']')).unwrap();
    let members: Vec<&str> = members.split(", ").map(|member| member.trim_matches('"')).collect();
    assert!(members.len() > 5 && has("Cargo.lock") && has("src/main.rs"), "{members:?} {context:?}");
    for member in members {
        assert!(has(&format!("{member}/Cargo.toml")) && has(&format!("{member}/src/lib.rs")), "of {member} the context has too little");
    }
    let program = ["core", "cert", "manifest", "forecast", "simulate", "webhook"];
    for part in program.map(|part| format!("{part}/src")).iter().map(String::as_str).chain(["src"]) {
        let all = context::files(&repository::path(part), "").unwrap();
        assert!(all.len() > 3 && all.iter().all(|file| has(&format!("{part}/{file}"))), "of {part} something is left out");
    }
    let strangers: Vec<&String> = context.iter().filter(|file| !file.ends_with(".rs") && !file.contains("Cargo.")).collect();
    let is_programs = |file: &str| file.split('/').next().is_some_and(|folder| folder == "src" || program.contains(&folder));
    assert!(strangers.iter().all(|file| is_programs(file)), "{strangers:?}");
}

#[test]
fn the_chart_starts_the_image_as_it_is_made() {
    let values = yaml(&format!("{CHART}/values.yaml"));
    let (pod, container) = (values.get("podSecurityContext").unwrap(), values.get("securityContext").unwrap());
    let image = last().image;
    let ids: Vec<u64> = image.user.unwrap().split(':').map(|id| id.parse().unwrap()).collect();
    let expected = serde_yaml_ng::from_str::<Value>(&format!(
        "{{runAsNonRoot: true, runAsUser: {}, runAsGroup: {}, seccompProfile: {{type: RuntimeDefault}}}}",
        ids.first().unwrap(),
        ids.last().unwrap()
    ));
    assert_eq!(pod, &expected.unwrap());
    let expected = "{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}";
    assert_eq!(container, &serde_yaml_ng::from_str::<Value>(expected).unwrap());
    let port = |name: &str| values.get(name).and_then(|value| value.get("port")).and_then(Value::as_u64).unwrap().to_string();
    assert_eq!(image.ports, [port("metrics"), port("probes"), port("webhook")]);
    for template in ["deployment.yaml", "hooks/_job.tpl"] {
        let template = text(&format!("{CHART}/templates/{template}")).unwrap();
        assert!(template.contains(" args:"), "it does not say what is started");
        for forbidden in [" command:", "volumes:", "volumeMounts:"] {
            assert!(!template.contains(forbidden), "the image's program is enough, and it writes nowhere: {forbidden}");
        }
    }
}
