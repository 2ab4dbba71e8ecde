import type * as z from 'zod'
import { definitionLimits, exploration, explorationScheduling } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import { formatNearest } from '../../shared/find-nearest'
import type { DefinitionFiles } from '../contract/agents'
import type { ExplorationFacts, ScheduleFacts } from '../contract/scheduler'
import { findCronProblem } from '../scheduler/cron'
import { type Config, configSchema } from './config-schema'
import { type Definition, readSkill, type Skill, toDefinition } from './definition'
import { fillTemplates } from './fill-templates'
import { describeField, explainUnknownField, findUnusableFields } from './known-fields'
import { createYamlBudget, readYaml, type YamlBudget, type YamlSource } from './yaml-source'

type DefinitionResult =
  | {
      ok: true
      config: Config
      definition: Definition
      source: YamlSource
      warnings: ErrorDetail[]
    }
  | { ok: false; problems: ErrorDetail[] }

/** Reads a definition's files. Reports the problems of all files at once. */
export function readDefinition(files: DefinitionFiles): DefinitionResult {
  const problems = checkFiles(files)
  if (problems.length > 0) return { ok: false, problems: limitDetails(problems) }
  const budget = createYamlBudget()
  const config = readConfig(files[configFile] ?? '', budget)
  const skills = readSkills(files, budget, problems)
  if (!config.ok) return { ok: false, problems: limitDetails([...config.problems, ...problems]) }

  const prompt = fillTemplates(promptFile, (files[promptFile] ?? '').trim(), config.config)
  problems.push(...prompt.problems, ...findScheduleProblems(config.config, config.source))
  if (problems.length > 0) return { ok: false, problems: limitDetails(problems) }
  const warnings = [
    ...config.warnings,
    ...warnSkillMismatches(config.config, skills, config.source),
  ]
  const definition = toDefinition(config.config, prompt.text, listedSkills(config.config, skills))
  return { ok: true, config: config.config, definition, source: config.source, warnings }
}

/** Returns the details that are listed, and how many more there are. */
export function limitDetails(details: ErrorDetail[]): ErrorDetail[] {
  const shown = details.slice(0, definitionLimits.detailsMax)
  const more = details.length - shown.length
  return more === 0 ? shown : [...shown, { path: 'files', message: `${more} more are not listed` }]
}

function readSkills(
  files: DefinitionFiles,
  budget: YamlBudget,
  problems: ErrorDetail[],
): Map<string, Skill> {
  const skills = new Map<string, Skill>()
  let terms = 0
  for (const { folder, file } of listSkillFiles(files)) {
    const read = readSkill(file, files[file] ?? '', budget)
    if (!read.ok) {
      problems.push(...read.problems)
      continue
    }
    skills.set(folder, read.skill)
    const { requiresGrants, triggers } = read.skill
    terms += requiresGrants.length + triggers.keywords.length + triggers.communities.length
  }
  if (terms > definitionLimits.skillTermsMax) problems.push(tooManyTerms(terms))
  return skills
}

const tooManyTerms = (terms: number): ErrorDetail => ({
  path: 'skills',
  message: `The skills name ${terms} grants, keywords and communities: the maximum is ${definitionLimits.skillTermsMax}. Remove some`,
})

/** Returns the skills that the definition lists; all skills when it has no list. */
function listedSkills(config: Config, skills: Map<string, Skill>): Skill[] {
  const listed = config.capabilities?.skills
  return [...skills]
    .filter(([folder, { name }]) => listed?.includes(folder) || listed?.includes(name) || !listed)
    .map(([, skill]) => skill)
}

/** Warns of listed skills without a file, and of files that are not listed. Folder and name both count. */
function warnSkillMismatches(
  config: Config,
  skills: Map<string, Skill>,
  source: YamlSource,
): ErrorDetail[] {
  const known = new Set([...skills].flatMap(([folder, { name }]) => [folder, name]))
  const listed = config.capabilities?.skills ?? []
  const missing = listed.flatMap((name, index) => {
    if (known.has(name)) return []
    const path = source.locate(['capabilities', 'skills', index])
    return [{ path, message: `Ignored: skills/${name}/SKILL.md does not exist` }]
  })
  const used = new Set(listedSkills(config, skills))
  const unlisted = [...skills].flatMap(([folder, skill]) => {
    if (used.has(skill)) return []
    const path = source.locate(['capabilities', 'skills'])
    return [{ path, message: `skills/${folder} is not used: it is not in this list` }]
  })
  return [...missing, ...unlisted]
}

type ConfigResult =
  | { ok: true; config: Config; source: YamlSource; warnings: ErrorDetail[] }
  | { ok: false; problems: ErrorDetail[] }

/** Parses `config.yaml`. Unknown and unsupported fields cause warnings; other errors are problems. */
function readConfig(text: string, budget: YamlBudget): ConfigResult {
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
  message: issue.message + (suggestValue(source, issue) || suggestShape(issue)),
})

/** Returns the field that a value of the wrong type is meant for, or how the field is written. */
const suggestShape = ({ code, path }: z.core.$ZodIssue): string =>
  code === 'invalid_type' || code === 'invalid_union' ? describeField(path) : ''

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

const minuteMs = 60_000

/**
 * Returns the exploration settings of an agent; null when it does not explore. Without
 * `behavior.discovery`, or with a weight of 0, there are no explorations and no costs.
 */
export function readExplorationFacts({ behavior, interests }: Config): ExplorationFacts | null {
  const discovery = behavior?.discovery
  if (!discovery || discovery.enabled === false || discovery.weight === 0) return null
  return {
    weight: Math.min(
      explorationScheduling.weightMax,
      Math.max(explorationScheduling.weightMin, discovery.weight ?? 1),
    ),
    intervalMs: readInterval(discovery),
    minConfidence: discovery.min_confidence ?? exploration.minConfidence,
    communities: clean(interests?.communities, /^m\//i),
    follows: clean(interests?.follow_agents, /^@/),
    words: [...new Set([...(interests?.keywords ?? []), ...(interests?.topics ?? [])])],
    wantsQuestions: discovery.respond_to_questions ?? true,
    wantsDiscussions: discovery.respond_to_discussions ?? true,
  }
}

type Discovery = NonNullable<NonNullable<Config['behavior']>['discovery']>

function readInterval({ frequency, min_interval_minutes }: Discovery): number {
  const least = (min_interval_minutes ?? 0) * minuteMs
  if (frequency === 'hourly') return Math.max(explorationScheduling.hourlyMs, least)
  if (frequency === 'daily') return Math.max(explorationScheduling.dailyMs, least)
  return min_interval_minutes === undefined
    ? explorationScheduling.intervalMs
    : Math.max(minuteMs, least)
}

const clean = (names: string[] | undefined, prefix: RegExp): string[] => [
  ...new Set((names ?? []).map((name) => name.replace(prefix, '').toLowerCase())),
]

type ScheduleConfig = NonNullable<NonNullable<Config['behavior']>['schedule']>[number]

/** Returns an entry with its key. Equal entries have equal keys across versions. */
export const toScheduleFacts = ({
  cron,
  timezone = 'UTC',
  task,
}: ScheduleConfig): ScheduleFacts => ({
  key: JSON.stringify([cron, timezone, task]),
  cron,
  timezone,
  task,
})

/** Returns the agent's schedules that are not paused. */
export const readSchedules = ({ behavior }: Config): ScheduleFacts[] => {
  const entries = (behavior?.schedule ?? []).filter(({ paused }) => !paused).map(toScheduleFacts)
  return [...new Map(entries.map((entry) => [entry.key, entry])).values()]
}

/** Problems of schedules that are looked for: that one is never due takes tens of milliseconds to find out. */
const problemsMax = 3

/** Returns the first problems of `behavior.schedule`, by file, line and field. */
function findScheduleProblems({ behavior }: Config, source: YamlSource): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  for (const [index, { cron, timezone = 'UTC' }] of (behavior?.schedule ?? []).entries()) {
    const problem = findCronProblem(cron, timezone)
    if (!problem) continue
    const path = source.locate(['behavior', 'schedule', index, problem.field])
    problems.push({ path, message: problem.message })
    if (problems.length === problemsMax) break
  }
  return problems
}

export const configFile = 'config.yaml'
export const promptFile = 'system-prompt.md'

const SKILL_FILE = /^skills\/([A-Za-z0-9][A-Za-z0-9_-]{0,63})\/SKILL\.md$/

/** Lists the skill files of a definition with their folders, sorted by path. */
function listSkillFiles(files: DefinitionFiles): { folder: string; file: string }[] {
  return Object.keys(files)
    .sort()
    .flatMap((file) => {
      const folder = SKILL_FILE.exec(file)?.[1]
      return folder === undefined ? [] : [{ folder, file }]
    })
}

/** Returns why files are no definition: a missing or unknown file, or more than a definition can hold. */
function checkFiles(files: DefinitionFiles): ErrorDetail[] {
  const { filesMax, fileCharsMax, charsMax, linesMax } = definitionLimits
  const entries = Object.entries(files)
  const chars = sum(entries.map(([, text]) => text.length))
  if (entries.length > filesMax) return [tooMuch(entries.length, filesMax, 'files')]
  if (chars > charsMax) return [tooMuch(chars, charsMax, 'characters in all files')]
  const lines = sum(entries.map(([, text]) => countLines(text)))
  if (lines > linesMax) return [tooMuch(lines, linesMax, 'lines in all files')]
  const missing = [configFile, promptFile].filter((path) => !files[path]?.trim())
  return [
    ...missing.map((path) => toFileProblem(path, 'The file is missing or empty')),
    ...entries.flatMap(([path, text]) => {
      if (!isKnownFile(path)) return [toFileProblem(path.slice(0, pathCharsShown), unknownFile)]
      if (text.length <= fileCharsMax) return []
      return [toFileProblem(path, `Too large: the maximum is ${fileCharsMax} characters`)]
    }),
  ]
}

const pathCharsShown = 200
const unknownFile = `Not a file of a definition. Remove it: a definition has ${configFile}, ${promptFile} and skills/<name>/SKILL.md`

const toFileProblem = (path: string, message: string): ErrorDetail => ({
  path: `${path}:1:`,
  message,
})

const tooMuch = (found: number, most: number, what: string): ErrorDetail => ({
  path: 'files',
  message: `${found} ${what}: the maximum is ${most}. Shorten the definition`,
})

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0)

function countLines(text: string): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

const isKnownFile = (path: string): boolean =>
  path === configFile || path === promptFile || SKILL_FILE.test(path)
