{{/*
A Job that runs the program once, as a hook. Arguments: root, name, hook, serviceAccount, args.
Its Pods must not carry the labels of the operator's, or the Services would send them requests.
Argo CD reads Helm's annotations: an install or upgrade is its PreSync, a removal its PreDelete.
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
  activeDeadlineSeconds: 240
  template:
    metadata:
      labels:
        {{- include "node-rotation-controller.hookLabels" . | nindent 8 }}
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
its log.
*/}}
{{- define "node-rotation-controller.hookAnnotations" -}}
helm.sh/hook: {{ .hook }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
