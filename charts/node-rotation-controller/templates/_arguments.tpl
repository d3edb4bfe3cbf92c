{{/*
The operator's command line, one flag a line; extraArgs come after it.
*/}}
{{- define "node-rotation-controller.arguments" -}}
- run
- --metrics-bind-address=:{{ .Values.metrics.port }}
{{- if .Values.metrics.debugState }}
- --debug-state
{{- end }}
{{- if .Values.metrics.ui }}
- --ui
{{- end }}
- --health-probe-bind-address=:{{ .Values.probes.port }}
- --leader-elect=true
- --namespace={{ .Release.Namespace }}
- --placeholder-image={{ .Values.placeholder.image }}
{{- with .Values.placeholder.imagePullSecrets }}
{{- $names := list }}
{{- range . }}{{ $names = append $names .name }}{{ end }}
- --placeholder-image-pull-secrets={{ join "," $names }}
{{- end }}
- --priority-class={{ .Values.placeholder.priorityClass.name }}
- --lease-duration={{ .Values.leaderElection.leaseDuration }}
- --renew-deadline={{ .Values.leaderElection.renewDeadline }}
- --retry-period={{ .Values.leaderElection.retryPeriod }}
- --webhook-bind-address=:{{ .Values.webhook.port }}
- --webhook-service={{ include "node-rotation-controller.webhookService" . }}
- --webhook-register={{ .Values.webhook.register }}
- --webhook-configuration={{ include "node-rotation-controller.webhookConfiguration" . }}
- --certificates={{ .Values.certificates.mode | kebabcase }}
- --certificate-secret={{ include "node-rotation-controller.certificateSecret" . }}
- --cluster-domain={{ .Values.clusterDomain }}
- --tie={{ .Values.webhook.tie }}
- --infeasible={{ .Values.webhook.infeasible }}
- --log-format={{ .Values.logging.development | ternary "text" .Values.logging.format }}
- --log-level={{ .Values.logging.development | ternary "debug" .Values.logging.level }}
{{- end }}
