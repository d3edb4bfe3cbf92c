{{/*
Combinations of values that cannot work. Each is refused when the chart is rendered, with a sentence: the cluster would
only say much later, and to somebody else, that something does not answer.
*/}}
{{- define "node-rotation-controller.refusals" -}}
{{- include "node-rotation-controller.refusals.webhook" . }}
{{- include "node-rotation-controller.refusals.network" . }}
{{- include "node-rotation-controller.refusals.pod" . }}
{{- include "node-rotation-controller.refusals.arguments" . }}
{{- end }}

{{- define "node-rotation-controller.refusals.webhook" -}}
{{- $rendered := not .Values.webhook.register }}
{{- $mode := .Values.certificates.mode }}
{{- if and $rendered .Values.rotationPolicies }}
{{- fail "webhook.register: with false, rotationPolicies must be empty: Helm would create the configurations before the endpoint is up, and the API server would refuse the policies of the same release. Apply them afterwards, or leave webhook.register true" }}
{{- end }}
{{- if and $rendered (eq $mode "selfSigned") }}
{{- fail "webhook.register: with false, certificates.mode must be certManager or secret: the operator would make a CA that nobody puts into the configurations" }}
{{- end }}
{{- if and $rendered (eq $mode "secret") (not .Values.webhook.caBundle) }}
{{- fail "webhook.caBundle: with webhook.register=false and certificates.mode=secret, give the root that has signed your certificate (PEM, the Secret's ca.crt); nobody else puts it into the configurations" }}
{{- end }}
{{- if and .Values.webhook.caBundle (not (and $rendered (eq $mode "secret"))) }}
{{- fail "webhook.caBundle: leave it empty unless webhook.register=false and certificates.mode=secret: otherwise the operator takes the roots from the Secret, or cert-manager injects them, and two writers would fight over the field" }}
{{- end }}
{{- if and .Values.certificates.certManager.issuerRef (ne $mode "certManager") }}
{{- fail (printf "certificates.certManager.issuerRef: certificates.mode is %s, so nobody asks that issuer; set the mode to certManager, or leave issuerRef out" $mode) }}
{{- end }}
{{- end }}

{{- define "node-rotation-controller.refusals.network" -}}
{{- $used := dict }}
{{- range $name, $port := dict "metrics.port" .Values.metrics.port "probes.port" .Values.probes.port "webhook.port" .Values.webhook.port }}
{{- with get $used ($port | toString) }}
{{- fail (printf "%s: %d is %s as well; give each endpoint a port of its own" $name (int $port) .) }}
{{- end }}
{{- $_ := set $used ($port | toString) $name }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.webhook.hostNetwork }}
{{- fail "networkPolicy.enabled: a NetworkPolicy does not reach Pods in the network of their node; set webhook.hostNetwork to false, or leave the policy out" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) }}
{{- fail "metrics.serviceMonitor.enabled: a ServiceMonitor finds the operator by its metrics Service; set metrics.service.enabled to true" }}
{{- end }}
{{- end }}

{{- define "node-rotation-controller.refusals.pod" -}}
{{- $replicas := int .Values.replicaCount }}
{{- $stay := int .Values.podDisruptionBudget.minAvailable }}
{{- if and .Values.podDisruptionBudget.enabled (gt $replicas 1) (ge $stay $replicas) }}
{{- fail (printf "podDisruptionBudget.minAvailable: %d of %d replicas would let no node be drained; use a smaller number" $stay $replicas) }}
{{- end }}
{{- $selected := list "app.kubernetes.io/name" "app.kubernetes.io/instance" }}
{{- $own := concat $selected (list "helm.sh/chart" "app.kubernetes.io/version" "app.kubernetes.io/managed-by") }}
{{- range $value, $taken := dict "commonLabels" $own "podLabels" $selected }}
{{- range $key, $_ := get $.Values $value }}
{{- if has $key $taken }}
{{- fail (printf "%s: the chart sets %s itself; choose another key" $value $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "node-rotation-controller.refusals.arguments" -}}
{{- $flags := dict }}
{{- range include "node-rotation-controller.arguments" . | fromYamlArray }}
{{- $_ := set $flags (. | toString | splitList "=" | first) true }}
{{- end }}
{{- range $index, $argument := .Values.extraArgs }}
{{- $flag := $argument | splitList "=" | first }}
{{- if hasKey $flags $flag }}
{{- fail (printf "extraArgs[%d]: the chart sets %s itself; change the value that it comes from" $index $flag) }}
{{- end }}
{{- end }}
{{- end }}
