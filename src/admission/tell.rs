//! Tells of certificate and registration by events and series, each event once.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use noderotation_cert::rotation;
use noderotation_webhook::registration::Kind;

use super::Context;
use super::certificate::{Error as CertificateError, Kept};
use super::registration::{Change, Error as RegistrationError, Registered};
use crate::event::{EventRecord, Reason};
use crate::telemetry::words;

/// What has been told, so that what lasts is told once.
pub(super) struct Teller<'a> {
    context: &'a Context,
    /// The version of the Secret and the sentence that it was refused with.
    refused: Option<(Option<String>, String)>,
    waiting: bool,
    /// Whether the configuration was missing, for each kind.
    missing: [bool; 2],
}

impl<'a> Teller<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, refused: None, waiting: false, missing: [false; 2] }
    }

    /// What a look at the Secret has shown; `version` is that of the Secret.
    pub(super) fn certificate(&mut self, kept: &Result<Kept, CertificateError>, version: Option<&str>) {
        match kept {
            Ok(kept) => {
                self.refused = None;
                self.served(kept);
            }
            Err(error) if error.is_refusal() => self.refused(words(error), version),
            Err(_) => {}
        }
    }

    fn served(&mut self, kept: &Kept) {
        let seconds = |instant: Timestamp| instant.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64();
        let metrics = &self.context.metrics;
        metrics.certificate_not_after(seconds(kept.taken.pair.validity.not_after));
        metrics.authority_not_after(seconds(kept.taken.pair.root_validity.not_after));
        let secret = &self.context.options.certificate_secret;
        match &kept.wrote {
            Some(rotation::Reason::Unfit(misfit)) => {
                metrics.certificate_refused();
                let note = format!("what was found in Secret {secret} cannot be served and has been replaced: {misfit}");
                self.event(EventType::Warning, Reason::CertificateReplaced, self.secret(), note);
            }
            Some(reason) => {
                self.event(EventType::Normal, Reason::CertificateWritten, self.secret(), format!("Secret {secret} was written: {reason}"));
            }
            None => {}
        }
        if kept.taken.waits && !self.waiting {
            let note = format!(
                "Secret {secret} holds a pair of another root; it is served once the webhook configurations have had that root for --certificate-dwell, and until then the one before"
            );
            self.event(EventType::Normal, Reason::CertificateWaits, self.secret(), note);
        }
        self.waiting = kept.taken.waits;
    }

    fn refused(&mut self, note: String, version: Option<&str>) {
        let now = Some((version.map(str::to_owned), note));
        if self.refused != now {
            self.context.metrics.certificate_refused();
            if let Some((_, note)) = &now {
                self.event(EventType::Warning, Reason::CertificateRefused, self.secret(), note.clone());
            }
            self.refused = now;
        }
    }

    /// Neither configuration could be looked at.
    pub(super) fn unregistered(&self) {
        [Kind::Mutating, Kind::Validating].into_iter().for_each(|kind| self.context.metrics.webhook_registered(kind.label(), false));
    }

    /// What a look at one of the configurations has shown.
    pub(super) fn registration(&mut self, kind: Kind, outcome: &Result<Registered, RegistrationError>) {
        self.context.metrics.webhook_registered(kind.label(), outcome.is_ok());
        let configuration = &self.context.options.webhook_configuration;
        if matches!(outcome, Ok(registered) if registered.change == Change::Repaired) {
            let note = format!("{} {configuration} was not as it should be and has been repaired", kind.object_kind());
            self.event(EventType::Normal, Reason::WebhookConfigurationRepaired, self.configuration(kind), note);
        }
        let lost = match outcome {
            Err(error @ RegistrationError::NoShell(..)) => Some(words(error)),
            Ok(_) | Err(_) => None,
        };
        let missing = match kind {
            Kind::Mutating => &mut self.missing[0],
            Kind::Validating => &mut self.missing[1],
        };
        let before = std::mem::replace(missing, lost.is_some());
        if let Some(note) = lost.filter(|_| !before) {
            // The object itself is gone; the Service is where one looks for the endpoint.
            self.event(EventType::Warning, Reason::WebhookConfigurationMissing, self.service(), note);
        }
    }

    fn event(&self, type_: EventType, reason: Reason, regarding: ObjectReference, note: String) {
        let action = "KeepAdmission".to_owned();
        self.context.events.publish(EventRecord { type_, reason, action, regarding, related: None, note });
    }

    fn secret(&self) -> ObjectReference {
        self.namespaced("Secret", &self.context.options.certificate_secret)
    }

    fn service(&self) -> ObjectReference {
        self.namespaced("Service", &self.context.options.webhook_service)
    }

    fn namespaced(&self, kind: &str, name: &str) -> ObjectReference {
        ObjectReference { namespace: Some(self.context.namespace.clone()), ..reference("v1", kind, name) }
    }

    fn configuration(&self, kind: Kind) -> ObjectReference {
        reference("admissionregistration.k8s.io/v1", kind.object_kind(), &self.context.options.webhook_configuration)
    }
}

fn reference(version: &str, kind: &str, name: &str) -> ObjectReference {
    let text = |text: &str| Some(text.to_owned());
    ObjectReference { api_version: text(version), kind: text(kind), name: text(name), ..ObjectReference::default() }
}
