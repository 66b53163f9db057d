{{/* The names and labels of the objects. */}}

{{- define "wake.name" -}}
{{- if contains "wake" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ .Release.Name | trunc 45 | trimSuffix "-" }}-wake{{ end }}
{{- end }}

{{/* Takes a dict with `root` and `role`. */}}
{{- define "wake.roleName" -}}
{{ include "wake.name" .root }}-{{ .role }}
{{- end }}

{{- define "wake.releaseLabels" -}}
app.kubernetes.io/name: wake
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Takes a dict with `root` and `role`. These labels never change, because a Deployment keeps its selector. */}}
{{- define "wake.selector" -}}
{{ include "wake.releaseLabels" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{/* Takes a dict with `root` and `role`. */}}
{{- define "wake.labels" -}}
{{ include "wake.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "wake.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* Takes a dict with `root` and `role`: the Service that answers requests for this role. */}}
{{- define "wake.service" -}}
{{- $role := ternary .role "stream" .root.Values.web.enabled -}}
{{ include "wake.roleName" (dict "root" .root "role" $role) }}
{{- end }}

{{- define "wake.host" -}}
{{ (urlParse .Values.origin).hostname }}
{{- end }}
