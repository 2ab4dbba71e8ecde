import type { ErrorDetail } from '../../errors'

export type Arguments = { ok: true; value: unknown } | { ok: false; problems: ErrorDetail[] }

/** Parses what the model wrote. Models leave it empty for a tool without arguments. */
export function readArguments(raw: string): Arguments {
  if (raw.trim() === '') return { ok: true, value: {} }
  try {
    return { ok: true, value: JSON.parse(raw) }
  } catch {
    return { ok: false, problems: [{ path: '', message: 'they are not valid JSON' }] }
  }
}

/** One line that names each field and what is wrong with it. */
export function describeProblems(tool: string, problems: ErrorDetail[]): string {
  const lines = problems
    .slice(0, 10)
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
  return `Error: Wrong arguments for ${tool}: ${lines.join('; ')}.`
}
