import type { ErrorDetail } from '../../shared/errors'
import { parseLosslessJson } from '../../shared/exact-json'

export type Arguments =
  | {
      ok: true
      value: unknown
      /** The same, with numbers that JavaScript cannot hold as they were written. */
      exact: unknown
    }
  | { ok: false; problems: ErrorDetail[] }

/** Parses the arguments that the model wrote. Empty text means no arguments. */
export function readArguments(raw: string): Arguments {
  if (raw.trim() === '') return { ok: true, value: {}, exact: {} }
  try {
    return { ok: true, value: JSON.parse(raw), exact: parseLosslessJson(raw) }
  } catch {
    return { ok: false, problems: [{ path: '', message: 'The arguments are not valid JSON' }] }
  }
}

/** Formats invalid arguments for the model: one line with each field and its problem. */
export function describeProblems(tool: string, problems: ErrorDetail[]): string {
  const lines = problems
    .slice(0, 10)
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
  return `Error: Invalid arguments for ${tool}: ${lines.join('; ')}.`
}
