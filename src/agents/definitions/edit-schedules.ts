import { type Document, isMap, isNode, isSeq, parseDocument, visit } from 'yaml'
import type { DefinitionFiles } from '../contract/agents'
import type { ScheduleEdit, ScheduleEntry } from '../contract/schedules'
import { countedRunsMax } from '../contract/schedules'
import { readSchedule } from '../scheduler/cron'
import { configFile } from './definition-files'
import { toScheduleFacts } from './exploration-facts'
import { readDefinition } from './read-definition'

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
  const document = parseDocument(files[configFile] ?? '')
  writeOutAliases(document)
  const toFiles = () => ({ ...files, [configFile]: document.toString({ lineWidth: 0 }) })
  if (edit.kind === 'add') {
    const { cron, timezone, task } = edit
    const entry = document.createNode({ cron, timezone, task })
    if (!isMap(document.get('behavior'))) document.set('behavior', document.createNode({}))
    if (isSeq(document.getIn(place))) document.addIn(place, entry)
    else document.setIn(place, document.createNode([entry]))
    return toFiles()
  }
  const entries = listSchedules(files, 0)
  const index = entries.findIndex(({ key }) => key === edit.key)
  const entry = entries[index]
  if (!entry) return null
  changeEntry(document, [...place, index], entry, edit)
  return toFiles()
}

function changeEntry(
  document: Document,
  path: (string | number)[],
  entry: ScheduleEntry,
  edit: Exclude<ScheduleEdit, { kind: 'add' }>,
): void {
  if (edit.kind === 'change') {
    // What did not change stays as it is written.
    const changed = changeable.filter((field) => edit[field] !== entry[field])
    for (const field of changed) document.setIn([...path, field], edit[field])
  } else if (edit.kind === 'pause') document.setIn([...path, 'paused'], true)
  else if (edit.kind === 'resume') document.deleteIn([...path, 'paused'])
  else document.deleteIn(path)
}

/** Writes a copy in place of each alias, so that a part can change, or go, without the others. */
function writeOutAliases(document: Document): void {
  visit(document, {
    Alias(_key, alias) {
      const copy = alias.resolve(document)?.clone()
      if (!isNode(copy)) return undefined
      if ('anchor' in copy) delete copy.anchor
      return copy
    },
  })
}
