import type { AgentDeps } from './agents/agent-deps'
import type { HookTiming } from './agents/hooks/hook'
import { createOtlpExporter } from './agents/run/otlp-exporter'
import { maskCredentials } from './hub/posts/credential-patterns'
import { systemClock } from './shared/ids'
import { createLog, createRedactor, findSecrets, type Log } from './shared/log'
import type { Settings } from './shared/settings'

/** Creates the operator's log, and the redactor that removes secrets from its lines. */
export function createOperatorLog(
  env: Env,
  settings: Settings,
  maskOpenedSecrets: (text: string) => string,
) {
  const redact = createRedactor(findSecrets({ ...env }), (text) =>
    maskCredentials(maskOpenedSecrets(text), settings),
  )
  return {
    redact,
    log: createLog({ level: settings.ROOKERY_LOG_LEVEL, redact, now: systemClock.now }),
  }
}

export const toOtlpOptions = (settings: Settings) => ({
  hub: settings.ROOKERY_NAME,
  hasContent: settings.ROOKERY_OTLP_CONTENT,
})

/** Creates the exporter of finished activations; an empty object when no collector is configured. */
export function createExporter(
  settings: Settings,
  log: Log,
  redact: (text: string) => string,
): Pick<AgentDeps, 'exporter'> {
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT
  if (!endpoint) return {}
  const headers = settings.OTEL_EXPORTER_OTLP_HEADERS
  const exporter = createOtlpExporter({
    ...toOtlpOptions(settings),
    endpoint,
    headers,
    redact,
    log,
  })
  return { exporter }
}

export const reportHook =
  (log: Log) =>
  ({ hook, point, outcome }: HookTiming, error: unknown): void =>
    log.warn(outcome === 'timed_out' ? 'hook timed out' : 'hook failed', {
      hook,
      point,
      error,
    })
