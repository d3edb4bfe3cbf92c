{{/*
Names and labels. 55 characters leave room for the longest suffix of a Service within 63.
*/}}

{{- define "node-rotation-controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 55 | trimSuffix "-" }}
{{- end }}

{{- define "node-rotation-controller.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 55 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 55 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 55 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "node-rotation-controller.webhookService" -}}
{{ include "node-rotation-controller.fullname" . }}-webhook
{{- end }}

{{/*
A Secret for each mode, so that nobody finds the keys of another one in it after a change of the mode.
*/}}
{{- define "node-rotation-controller.certificateSecret" -}}
{{- if .Values.certificates.secretName }}
{{- .Values.certificates.secretName }}
{{- else if eq .Values.certificates.mode "selfSigned" }}
{{- include "node-rotation-controller.fullname" . }}-webhook-tls
{{- else if eq .Values.certificates.mode "certManager" }}
{{- include "node-rotation-controller.fullname" . }}-webhook-cert-manager
{{- else }}
{{- fail "certificates.secretName: with certificates.mode=secret, name the Secret (type kubernetes.io/tls, with ca.crt) that holds your certificate" }}
{{- end }}
{{- end }}

{{/*
An object of its own for entries that the chart renders: each field of either object has one owner, whoever fills it.
*/}}
{{- define "node-rotation-controller.staticConfiguration" -}}
{{ include "node-rotation-controller.fullname" . }}-static
{{- end }}

{{- define "node-rotation-controller.webhookConfiguration" -}}
{{- if .Values.webhook.register }}
{{- include "node-rotation-controller.fullname" . }}
{{- else }}
{{- include "node-rotation-controller.staticConfiguration" . }}
{{- end }}
{{- end }}

{{- define "node-rotation-controller.selectorLabels" -}}
app.kubernetes.io/name: {{ include "node-rotation-controller.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/*
The chart's own labels win over commonLabels; _refusals.tpl says so to whoever sets one of them.
*/}}
{{- define "node-rotation-controller.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "node-rotation-controller.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- range $key, $value := .Values.commonLabels }}
{{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "node-rotation-controller.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "node-rotation-controller.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name: with serviceAccount.create=false, name the ServiceAccount that is to receive the rights" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "node-rotation-controller.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}
