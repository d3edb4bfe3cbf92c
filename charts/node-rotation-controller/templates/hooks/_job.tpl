{{/*
A Job that runs the program once, as a hook. Arguments: root, name, hook, serviceAccount, args, and optionally deadline.
Its Pods must not carry the labels of the operator's, or the Services would send them requests. Of the operator's affinity
they take what it says of nodes: away from the operator's own Pods they might find no place.
*/}}
{{- define "node-rotation-controller.hookJob" -}}
{{- $root := .root -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "node-rotation-controller.fullname" $root }}-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "node-rotation-controller.hookLabels" . | nindent 4 }}
  annotations:
    {{- include "node-rotation-controller.hookAnnotations" (merge (dict "weight" 2) .) | nindent 4 }}
spec:
  backoffLimit: 2
  activeDeadlineSeconds: {{ .deadline | default 240 }}
  template:
    metadata:
      labels:
        {{- toYaml (merge (include "node-rotation-controller.hookLabels" . | fromYaml) $root.Values.hooks.podLabels) | nindent 8 }}
      {{- with $root.Values.hooks.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ .serviceAccount }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $root.Values.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "node-rotation-controller.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          {{- with $root.Values.extraEnv }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $root.Values.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $root.Values.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with $root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with ($root.Values.affinity | default dict).nodeAffinity }}
      affinity:
        nodeAffinity:
          {{- toYaml . | nindent 10 }}
      {{- end }}
{{- end }}

{{/*
A Go duration in seconds, rounded up. The schema lets nothing else in.
*/}}
{{- define "node-rotation-controller.seconds" -}}
{{- $seconds := 0.0 }}
{{- range regexFindAll "[0-9.]+(ms|h|m|s)" . -1 }}
{{- $factor := get (dict "h" 3600.0 "m" 60.0 "s" 1.0 "ms" 0.001) (regexFind "[a-z]+" .) }}
{{- $seconds = addf $seconds (mulf (regexFind "[0-9.]+" . | float64) $factor) }}
{{- end }}
{{- ceil $seconds | int }}
{{- end }}

{{- define "node-rotation-controller.hookLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ printf "%s-hook" (include "node-rotation-controller.name" .root) | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
What a hook leaves behind goes when it has succeeded, and at the latest before the next one. A Job that has failed stays for
its log. Argo CD goes by Helm's annotations, unless `argocd` says something else.
*/}}
{{- define "node-rotation-controller.hookAnnotations" -}}
helm.sh/hook: {{ .hook }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- if .argocd }}
argocd.argoproj.io/hook: {{ .argocd }}
{{- end }}
{{- end }}
