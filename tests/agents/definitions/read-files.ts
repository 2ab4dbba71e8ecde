import { readDefinition } from '../../../src/agents/definitions/read-definition'

const read = (config: string, prompt = 'You are {{name}}.', more: Record<string, string> = {}) =>
  readDefinition({ 'config.yaml': config, 'system-prompt.md': prompt, ...more })

export function definitionOf(...args: Parameters<typeof read>) {
  const result = read(...args)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.definition
}

export function problemsOf(...args: Parameters<typeof read>) {
  const result = read(...args)
  return result.ok ? [] : result.problems.map(({ path, message }) => `${path} ${message}`)
}

export function warningsOf(...args: Parameters<typeof read>) {
  const result = read(...args)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.map(({ path, message }) => `${path} ${message}`)
}
