import type { TrialGate } from '../../hub/contract/hub'
import { autoProvider } from '../../shared/settings'
import type { DefinitionFiles } from '../contract/agents'
import {
  type AgentForm,
  type AgentFormApi,
  type AnswerField,
  countedRunsMax,
  type ExplorationPace,
  type ScheduleEdit,
  type ScheduleEntry,
} from '../contract/definitions'
import { readSchedule } from '../scheduler/cron'
import { editYaml, type YamlEdit } from './edit-yaml'
import { executorTypes } from './executors'
import { configFile, readDefinition, toScheduleFacts } from './read-definition'
import { createYamlBudget, readYaml } from './yaml-source'

type Path = (string | number)[]
/** The value at a path of a `config.yaml`, whatever it is; undefined when it is not there. */
type Read = (...path: Path) => unknown

const MICROUSD = 1_000_000

const answerFields: Record<AnswerField, string> = {
  mentions: 'respond_to_mentions',
  replies: 'respond_to_replies',
  dms: 'respond_to_dms',
  followUps: 'follow_threads',
}
const answers = Object.keys(answerFields) as AnswerField[]

/** Reads and writes definitions as forms show them. */
export const agentForms: AgentFormApi = {
  programs: executorTypes,
  read(files) {
    const read = openConfig(files)
    return read && readForm(read)
  },
  write(files, form) {
    const read = openConfig(files)
    if (!read) return files
    const edits = listEdits(read, readForm(read), form)
    if (edits.length === 0) return files
    return { ...files, [configFile]: editYaml(files[configFile] ?? '', edits) }
  },
}

function openConfig(files: DefinitionFiles): Read | null {
  const read = readYaml(configFile, files[configFile] ?? '', createYamlBudget())
  if (!read.ok) return null
  const { value } = read.source
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return (...path) =>
    path.reduce<unknown>(
      (parent, step) =>
        typeof parent === 'object' && parent !== null && Object.hasOwn(parent, step)
          ? Reflect.get(parent, step)
          : undefined,
      value,
    )
}

const toText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function readForm(read: Read): AgentForm {
  const cost = read('brain', 'max_cost_per_day')
  const schedules = toList(read('behavior', 'schedule'))
  return {
    name: toText(read('name')),
    displayName: toText(read('display_name')),
    description: toText(read('description')),
    model: readModel(read),
    grants: toList(read('capabilities', 'grants')).map(toText).filter(Boolean),
    costPerDayMicrousd: typeof cost === 'number' ? Math.round(cost * MICROUSD) : null,
    exploration: readPace(read),
    schedule: schedules.length === 1 ? readOnlySchedule(read) : null,
    scheduleCount: schedules.length,
    answers: Object.fromEntries(
      answers.map((name) => [name, read(...findAnswer(read, name)) !== false]),
    ) as AgentForm['answers'],
    program: toText(read('type')) || native,
    repository: toText(read('workspace', 'repository')),
    ref: toText(read('workspace', 'ref')),
    trial: readTrial(read),
  }
}

function readTrial(read: Read): TrialGate | null {
  const set = toText(read('trial', 'set')).trim()
  const numberOf = (field: string): number | null => {
    const value = read('trial', field)
    return typeof value === 'number' ? value : null
  }
  return set === ''
    ? null
    : {
        set,
        worseMax: numberOf('worse_max') ?? 0,
        costChangeMax: numberOf('cost_change_max'),
        repeats: numberOf('repeats') ?? 1,
      }
}

/** What runs an agent whose definition does not say. */
const native = executorTypes[0]

function readModel(read: Read): string {
  const [provider, model] = [toText(read('brain', 'provider')), toText(read('brain', 'model'))]
  if (provider === autoProvider) return ''
  return [provider, model].filter(Boolean).join('/')
}

function readPace(read: Read): ExplorationPace {
  const discovery = read('behavior', 'discovery')
  const isOn = typeof discovery === 'object' && discovery !== null
  if (!isOn || read('behavior', 'discovery', 'enabled') === false) return null
  if (read('behavior', 'discovery', 'weight') === 0) return null
  const frequency = read('behavior', 'discovery', 'frequency')
  return frequency === 'hourly' || frequency === 'daily' ? frequency : 'staleness'
}

const firstSchedule: Path = ['behavior', 'schedule', 0]

const readOnlySchedule = (read: Read) => ({
  cron: toText(read(...firstSchedule, 'cron')),
  timezone: toText(read(...firstSchedule, 'timezone')) || 'UTC',
  task: toText(read(...firstSchedule, 'task')),
})

/** Returns where a definition says whether something wakes the agent: below `notifications` in some of them. */
function findAnswer(read: Read, name: AnswerField): Path {
  const field = answerFields[name]
  const path = ['behavior', field]
  const other = ['behavior', 'notifications', field]
  return read(...path) === undefined && read(...other) !== undefined ? other : path
}

function listEdits(read: Read, before: AgentForm, after: AgentForm): YamlEdit[] {
  const text = (field: string, from: string, to: string): YamlEdit[] =>
    from === to ? [] : [{ path: [field], value: to === '' ? undefined : to }]
  return [
    ...text('name', before.name, after.name),
    ...text('display_name', before.displayName, after.displayName),
    ...text('description', before.description, after.description),
    ...editProgram(before, after),
    ...editTrial(before.trial, after.trial),
    ...editModel(before.model, after.model),
    ...editCost(before.costPerDayMicrousd, after.costPerDayMicrousd),
    ...editGrants(read, before.grants, after.grants),
    ...editPace(read, before.exploration, after.exploration),
    ...editSchedule(before, after),
    ...answers.flatMap((name) =>
      before.answers[name] === after.answers[name]
        ? []
        : [{ path: findAnswer(read, name), value: after.answers[name] }],
    ),
  ]
}

/** Without a repository there is no workspace, which needs one. */
function editProgram(before: AgentForm, after: AgentForm): YamlEdit[] {
  const { program, repository, ref } = after
  const edits =
    before.program === program
      ? []
      : [{ path: ['type'], value: program === native ? undefined : program }]
  if (repository === '' && before.repository !== '') {
    return [...edits, { path: ['workspace'], value: undefined }]
  }
  const fields = { repository, ref }
  return [
    ...edits,
    ...(['repository', 'ref'] as const)
      .filter((field) => fields[field] !== before[field])
      .map((field) => ({ path: ['workspace', field], value: fields[field] || undefined })),
  ]
}

const trialFields = {
  set: 'set',
  worseMax: 'worse_max',
  costChangeMax: 'cost_change_max',
  repeats: 'repeats',
} as const

/** What is as without the field is not written. */
function editTrial(before: TrialGate | null, after: TrialGate | null): YamlEdit[] {
  if (after === null) return before === null ? [] : [{ path: ['trial'], value: undefined }]
  const old: TrialGate = before ?? { set: '', worseMax: 0, costChangeMax: null, repeats: 1 }
  return (Object.keys(trialFields) as (keyof typeof trialFields)[])
    .filter((field) => after[field] !== old[field])
    .map((field) => ({ path: ['trial', trialFields[field]], value: after[field] ?? undefined }))
}

function editModel(before: string, after: string): YamlEdit[] {
  if (before === after) return []
  const at = after.indexOf('/')
  const [provider, model] = at < 0 ? [after, ''] : [after.slice(0, at), after.slice(at + 1)]
  return [
    { path: ['brain', 'provider'], value: provider || undefined },
    { path: ['brain', 'model'], value: model || undefined },
  ]
}

const editCost = (before: number | null, after: number | null): YamlEdit[] =>
  before === after
    ? []
    : [
        {
          path: ['brain', 'max_cost_per_day'],
          value: after === null ? undefined : after / MICROUSD,
        },
      ]

/** Adds and removes grants where they stand, and adds the servers of new ones to a list that would exclude them. */
function editGrants(read: Read, before: string[], after: string[]): YamlEdit[] {
  const path = ['capabilities', 'grants']
  const listed = toList(read(...path)).map(toText)
  const removed = listed
    .flatMap((grant, index) =>
      before.includes(grant) && !after.includes(grant)
        ? [{ path: [...path, index], value: undefined }]
        : [],
    )
    .reverse()
  const added = after.filter((grant) => !before.includes(grant))
  const left = listed.length - removed.length
  return [
    ...removed,
    ...added.map((grant, index) => ({ path: [...path, left + index], value: grant })),
    ...addServers(read, added),
  ]
}

function addServers(read: Read, grants: string[]): YamlEdit[] {
  const servers = toList(read('capabilities', 'mcp_servers'))
  if (servers.length === 0) return []
  const names = servers.map((each) =>
    typeof each === 'string' ? each : Reflect.get(Object(each), 'name'),
  )
  const wanted = new Set(grants.map((grant) => grant.split(':')[0] ?? ''))
  return [...wanted]
    .filter((name) => !names.includes(name))
    .map((name, index) => ({
      path: ['capabilities', 'mcp_servers', servers.length + index],
      value: name,
    }))
}

function editPace(read: Read, before: ExplorationPace, after: ExplorationPace): YamlEdit[] {
  if (before === after) return []
  const path = (field: string) => ['behavior', 'discovery', field]
  if (after === null) return [{ path: path('enabled'), value: false }]
  const isOff = read(...path('enabled')) === false
  const hasNoWeight = read(...path('weight')) === 0
  const frequency = toText(read(...path('frequency')))
  return [
    ...(isOff ? [{ path: path('enabled'), value: true }] : []),
    ...(hasNoWeight ? [{ path: path('weight'), value: 1 }] : []),
    ...(frequency === after || (frequency === '' && after === 'staleness' && isOff)
      ? []
      : [{ path: path('frequency'), value: after }]),
  ]
}

function editSchedule(before: AgentForm, after: AgentForm): YamlEdit[] {
  const { schedule } = after
  if (before.scheduleCount > 1) {
    return schedule
      ? [{ path: ['behavior', 'schedule', before.scheduleCount], value: schedule }]
      : []
  }
  const old = before.schedule
  if (schedule === null) return old === null ? [] : [{ path: firstSchedule, value: undefined }]
  if (old === null) return [{ path: firstSchedule, value: schedule }]
  return (['cron', 'timezone', 'task'] as const)
    .filter((field) => schedule[field] !== old[field])
    .map((field) => ({ path: [...firstSchedule, field], value: schedule[field] }))
}

const place = ['behavior', 'schedule']
const changeable = ['cron', 'timezone', 'task'] as const
const shownRuns = 5
const dayMs = 86_400_000

/** Returns the entries of `behavior.schedule` with their next runs; none for files that are not valid. */
export function listSchedules(files: DefinitionFiles, now: number): ScheduleEntry[] {
  const read = readDefinition(files)
  if (!read.ok) return []
  return (read.config.behavior?.schedule ?? []).map((entry) => {
    const facts = toScheduleFacts(entry)
    const runs = listRuns(facts.cron, facts.timezone, now)
    return {
      ...facts,
      isPaused: entry.paused === true,
      nextRuns: runs.slice(0, shownRuns),
      runsInDay: runs.filter((at) => at <= now + dayMs).length,
    }
  })
}

/** Returns the runs of the next day, and at least five. */
function listRuns(cron: string, timezone: string, now: number): number[] {
  const computeNext = readSchedule(cron, timezone)
  const runs: number[] = []
  let at: number | null = now
  while (runs.length < countedRunsMax && (runs.length < shownRuns || (at ?? 0) <= now + dayMs)) {
    at = computeNext(at ?? now)
    if (at === null) break
    runs.push(at)
  }
  return runs
}

/** Changes `behavior.schedule` in the YAML of a valid definition. Null when the entry is not there. */
export function editSchedules(files: DefinitionFiles, edit: ScheduleEdit): DefinitionFiles | null {
  // Beyond its limits; saving it says which.
  if (!readDefinition(files).ok) return files
  const entries = listSchedules(files, 0)
  const index =
    edit.kind === 'add' ? entries.length : entries.findIndex(({ key }) => key === edit.key)
  if (index < 0) return null
  const text = editYaml(files[configFile] ?? '', toEdits(edit, [...place, index], entries[index]))
  return { ...files, [configFile]: text }
}

function toEdits(
  edit: ScheduleEdit,
  path: (string | number)[],
  entry: ScheduleEntry | undefined,
): YamlEdit[] {
  switch (edit.kind) {
    case 'add': {
      const { cron, timezone, task } = edit
      return [{ path, value: { cron, timezone, task } }]
    }
    case 'change':
      // What did not change stays as it is written.
      return changeable
        .filter((field) => edit[field] !== entry?.[field])
        .map((field) => ({ path: [...path, field], value: edit[field] }))
    case 'pause':
      return [{ path: [...path, 'paused'], value: true }]
    case 'resume':
      return [{ path: [...path, 'paused'], value: undefined }]
    case 'delete':
      return [{ path, value: undefined }]
  }
}
