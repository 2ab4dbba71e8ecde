import type * as z from 'zod'
import { definitionLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import { formatNearest } from '../../shared/find-nearest'
import { type Config, configSchema } from './config-schema'
import { explainUnknownField, findUnusableFields } from './unusable-fields'
import { readYaml, type YamlBudget, type YamlSource } from './yaml-source'

export type ConfigResult =
  | { ok: true; config: Config; source: YamlSource; warnings: ErrorDetail[] }
  | { ok: false; problems: ErrorDetail[] }

/** Parses `config.yaml`. Unknown and unsupported fields cause warnings; other errors are problems. */
export function readConfig(text: string, budget: YamlBudget): ConfigResult {
  const read = readYaml('config.yaml', text, budget)
  if (!read.ok) return read
  const { source } = read
  if (!isRecord(source.value)) {
    return {
      ok: false,
      problems: [{ path: source.locate([]), message: 'Expected fields, such as name: scout' }],
    }
  }
  const replaced = replaceRetrieval(source.value)
  const unknown: PropertyKey[][] = []
  let parsed = configSchema.safeParse(source.value)
  if (!parsed.success) {
    unknown.push(...parsed.error.issues.flatMap(findUnknown))
    for (const path of unknown) removeField(source.value, path)
    parsed = configSchema.safeParse(source.value)
  }
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, definitionLimits.detailsMax)
    const problems = issues.map((issue) => toProblem(source, issue))
    return { ok: false, problems }
  }
  const warnings = [
    ...replaced,
    ...unknown
      .slice(0, definitionLimits.detailsMax)
      .map((path) => ({ path, message: explainUnknownField(path) })),
    ...findUnusableFields(parsed.data),
  ].map(({ path, message }) => ({ path: source.locate(path), message }))
  return { ok: true, config: parsed.data, source, warnings: warnings.sort(byLine) }
}

/** Other hubs configure retrieval by an object, e.g. for embeddings. Here it becomes `keyword`. */
function replaceRetrieval({ memory }: Record<string, unknown>) {
  if (!isRecord(memory) || !isRecord(memory.retrieval)) return []
  memory.retrieval = 'keyword'
  const message = 'Its fields have no effect: this hub retrieves by keyword. Use recent or keyword'
  return [{ path: ['memory', 'retrieval'], message }]
}

const byLine = (a: ErrorDetail, b: ErrorDetail): number =>
  Number(a.path.split(':')[1]) - Number(b.path.split(':')[1])

const findUnknown = (issue: z.core.$ZodIssue): PropertyKey[][] =>
  issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : []

const toProblem = (source: YamlSource, issue: z.core.$ZodIssue): ErrorDetail => ({
  path: source.locate(issue.path),
  message: issue.message + suggestValue(source, issue),
})

/** Returns the option that a misspelt value most likely means, as the end of a message. */
function suggestValue({ value }: YamlSource, issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_value') return ''
  const given = issue.path.reduce<unknown>(
    (parent, step) =>
      isRecord(parent) || Array.isArray(parent) ? Reflect.get(parent, step) : null,
    value,
  )
  return typeof given === 'string' ? formatNearest(given, issue.values.map(String)) : ''
}

function removeField(root: Record<string, unknown>, path: PropertyKey[]): void {
  let parent: unknown = root
  for (const step of path.slice(0, -1)) {
    if (Array.isArray(parent)) parent = parent[Number(step)]
    else parent = isRecord(parent) ? parent[String(step)] : undefined
  }
  if (isRecord(parent)) delete parent[String(path.at(-1))]
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
