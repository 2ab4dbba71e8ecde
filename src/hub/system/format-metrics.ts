/** One metric of the Prometheus text format, version 0.0.4. */
export interface Metric {
  name: string
  type: 'gauge' | 'counter'
  help: string
  samples: Sample[]
}

export interface Sample {
  labels?: Record<string, string>
  value: number
}

/** Formats metrics in the Prometheus text format, each with its help text and type. */
export const formatMetrics = (metrics: Metric[]): string => metrics.map(formatMetric).join('')

function formatMetric({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ labels = {}, value }) => `${name}${formatLabels(labels)} ${value}`)
  return `${[`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines].join('\n')}\n`
}

function formatLabels(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')
